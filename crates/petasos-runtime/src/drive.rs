//! THE LOOP, doing half: takes an effect, begins it, and never waits for one thing.
//!
//! It waits for whatever happens first: an op from the inbox, entries that are kept, a piece of a reply, the end
//! of a tool, a timer. That is an input; core takes it in and says what to do; that is begun; and again. What
//! is decided, and why, is `petasos-core/src/turn.rs`.

use std::sync::Arc;

use petasos_core::entry::{Body, Entry};
use petasos_core::error::{Handled, Rejected};
use petasos_core::session::Session;
use petasos_core::turn::Input;
use petasos_store::{Opened, StoreError};
use tokio::sync::{mpsc, oneshot};

use crate::agent::Opener;
use crate::op::Op;
use crate::saver::{Saved, Saver};
use crate::shell::Shell;

/// An op, and where its answer goes.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) op: Op,
    pub(crate) answer: oneshot::Sender<Result<Handled, OpError>>,
}

/// Opens a session again that was let go, and tells what was found damaged then.
#[derive(Debug)]
pub(crate) struct Reopener {
    pub(crate) opener: Arc<Opener>,
    pub(crate) found: mpsc::UnboundedSender<String>,
}

impl Reopener {
    /// The last entry is that of this opening; it names what none before has named.
    fn tell(&self, last: Option<&Entry>) {
        let Some(Body::Open(open)) = last.map(|last| &last.body) else { return };
        for damage in &open.damage {
            // Who would read it may be gone.
            drop(self.found.send(damage.why.to_string()));
        }
    }
}

/// Why an op was not taken. Nothing changed.
#[derive(Debug, thiserror::Error)]
pub enum OpError {
    /// It does not fit the session as it stands.
    #[error(transparent)]
    Rejected(#[from] Rejected),
    /// The session cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The session is closed.
    #[error("the session is closed; open it again")]
    Closed,
}

enum Happened {
    Op(Option<Request>),
    Saved(Saved),
    Input(Input),
    Silence,
}

/// Drives a session until nobody can ask anything of it any more and it rests.
pub(crate) async fn drive(
    mut session: Session,
    mut shell: Shell,
    opener: Reopener,
    mut inbox: mpsc::Receiver<Request>,
) {
    let mut is_open = true;
    while is_open || session.is_running() || !shell.saver.is_idle() {
        while let Some(input) = shell.due() {
            take_in(&mut session, &mut shell, input);
        }
        if !is_open && shell.take_questions() {
            take_in(&mut session, &mut shell, Input::Park);
            continue;
        }
        if !session.is_running() && shell.saver.is_idle() {
            shell.saver.release();
            if !is_open {
                break;
            }
        }
        let happened = tokio::select! {
            biased;
            request = inbox.recv(), if is_open => Happened::Op(request),
            saved = shell.saver.saved() => Happened::Saved(saved),
            input = shell.in_flight.next() => Happened::Input(input),
            () = shell.silence.passed(shell.around.clock.as_ref()) => Happened::Silence,
        };
        match happened {
            Happened::Op(Some(request)) => obey(&mut session, &mut shell, &opener, request).await,
            Happened::Op(None) => is_open = false,
            Happened::Saved(saved) => shell.saved(saved),
            Happened::Input(input) => take_in(&mut session, &mut shell, input),
            Happened::Silence => shell.tell_silence(),
        }
    }
    // They are the session's, not a turn's, and end with it.
    shell.shared.jobs.end_all().await;
}

fn take_in(session: &mut Session, shell: &mut Shell, input: Input) {
    let piece =
        if let Input::Delta { request, delta } = &input { Some((*request, delta.clone())) } else { None };
    match hand_over(session, shell, input) {
        Ok(Handled::Taken) => {
            if let Some((request, delta)) = piece {
                shell.tell_piece(request, &delta);
            }
        }
        Ok(Handled::Stale) => tracing::debug!(session = %shell.session, "an answer came too late"),
        Err(rejected) => tracing::warn!(session = %shell.session, %rejected, "an answer was refused"),
    }
}

fn hand_over(session: &mut Session, shell: &mut Shell, input: Input) -> Result<Handled, Rejected> {
    let handled = session.handle(shell.around.clock.now(), input);
    while let Some(effect) = session.next_effect() {
        shell.begin(session, effect);
    }
    handled
}

/// Takes an op to the session. One at rest is taken back from whoever else might hold it, and folded anew if
/// somebody did.
async fn obey(session: &mut Session, shell: &mut Shell, opener: &Reopener, request: Request) {
    let Request { op, answer } = request;
    let handled = match hold(session, shell, opener).await {
        Ok(()) => match op.into_input() {
            Ok(input) => hand_over(session, shell, input).map_err(OpError::from),
            Err(terms) => {
                session.set_terms(*terms);
                Ok(Handled::Taken)
            }
        },
        Err(error) => Err(error.into()),
    };
    // Who asked may be gone.
    drop(answer.send(handled));
}

async fn hold(session: &mut Session, shell: &mut Shell, opener: &Reopener) -> Result<(), StoreError> {
    if session.is_running() || !shell.saver.is_idle() {
        return Ok(());
    }
    match shell.saver.reacquire() {
        Ok(()) => Ok(()),
        Err(StoreError::Stale { .. } | StoreError::Broken { .. }) => {
            let Opened { writer, entries, .. } = opener.opener.open(&shell.session).await?;
            opener.tell(entries.last());
            let terms = session.terms().clone();
            *session = Session::fold(&entries, terms);
            shell.reopened(Saver::new(writer), &entries);
            Ok(())
        }
        Err(error) => Err(error),
    }
}
