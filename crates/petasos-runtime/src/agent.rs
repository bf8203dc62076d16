//! An agent: what sessions share, and how one is begun or opened.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::join_all;
use petasos_core::approval::Policy;
use petasos_core::bounded::Cap;
use petasos_core::budget::Limits;
use petasos_core::entry::{Entry, Origin, SessionStart};
use petasos_core::error::Handled;
use petasos_core::id::{CallId, Digest, SessionId};
use petasos_core::session::{Session, Terms};
use petasos_core::text::Text;
use petasos_core::time::{Permille, Time};
use petasos_store::{Holder, LAYOUT, Opened, Store, StoreError};
use petasos_tools::{Mask, Registry};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, spawn_blocking};

use crate::blobs::StoredBlobs;
use crate::clock::Clock;
use crate::config::Record;
use crate::drive::{OpError, Reopener, Request, drive};
use crate::event::Event;
use crate::gate::Gates;
use crate::op::Op;
use crate::requests::{Providers, Requests};
use crate::saver::Saver;
use crate::shell::{Around, Shell};

/// Ops that may wait for a session: whoever sends more waits for it.
const INBOX: usize = 64;

/// What the sessions of an agent share.
#[derive(Clone, Debug)]
pub struct Parts {
    /// Where sessions are kept.
    pub store: Arc<dyn Store>,
    /// Who this process is, for others that want the same session.
    pub holder: Holder,
    /// Whom requests go to.
    pub providers: Arc<dyn Providers>,
    /// The tools.
    pub registry: Arc<Registry>,
    /// Who may do what.
    pub policy: Arc<Policy>,
    /// The folder it works in.
    pub workspace: PathBuf,
    /// The most characters of a tool's result.
    pub result_cap: Cap,
    /// What is kept of requests beside their hashes.
    pub record: Record,
    /// The secrets that no result shows.
    pub mask: Arc<Mask>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Chance, for the waits between tries.
    pub chance: fn() -> Permille,
}

/// Runs sessions.
#[derive(Clone, Debug)]
pub struct Agent {
    parts: Parts,
    gates: Arc<Gates>,
    opener: Arc<Opener>,
}

/// Where sessions are opened from, on threads that may wait.
#[derive(Debug)]
pub(crate) struct Opener {
    store: Arc<dyn Store>,
    holder: Holder,
    clock: Arc<dyn Clock>,
}

impl Opener {
    pub(crate) async fn open(&self, session: &SessionId) -> Result<Opened, StoreError> {
        let (store, holder, at) = (Arc::clone(&self.store), self.holder.clone(), self.clock.now());
        let id = session.clone();
        on_thread(session, move || store.open(&id, &holder, at)).await
    }

    async fn create(&self, start: SessionStart) -> Result<Opened, StoreError> {
        let (store, holder, at) = (Arc::clone(&self.store), self.holder.clone(), self.clock.now());
        let id = start.id.clone();
        on_thread(&id, move || store.create(start, &holder, at)).await
    }
}

async fn on_thread<T: Send + 'static>(
    session: &SessionId,
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    match spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(StoreError::Unusable { session: session.clone(), why: error.to_string() }),
    }
}

impl Agent {
    /// An agent of these parts.
    pub fn new(parts: Parts) -> Self {
        let opener = Opener {
            store: Arc::clone(&parts.store),
            holder: parts.holder.clone(),
            clock: Arc::clone(&parts.clock),
        };
        let gates = Arc::new(Gates::new(Arc::clone(&parts.clock), Arc::clone(&parts.providers)));
        Self { parts, gates, opener: Arc::new(opener) }
    }

    /// Begins a session under a new id.
    ///
    /// # Errors
    /// What the store says.
    pub async fn create(&self, terms: Terms) -> Result<SessionHandle, StoreError> {
        let start = SessionStart {
            format: LAYOUT,
            id: new_id(self.parts.clock.now()),
            workspace: self.parts.workspace.to_string_lossy().as_ref().into(),
            origin: Origin::New,
            depth: 0,
        };
        self.look(&terms).await;
        let opened = self.opener.create(start.clone()).await?;
        Ok(self.begin(start.id, opened, terms))
    }

    /// Opens a session for writing. `terms` says from its log under what its next turn works; a turn that is
    /// continued keeps its own.
    ///
    /// # Errors
    /// What the store says; `Held` names who holds it.
    pub async fn open(
        &self,
        session: &SessionId,
        terms: impl FnOnce(&[Entry]) -> Terms,
    ) -> Result<SessionHandle, StoreError> {
        let opened = self.opener.open(session).await?;
        let terms = terms(&opened.entries);
        self.look(&terms).await;
        Ok(self.begin(session.clone(), opened, terms))
    }

    /// Asks the servers of these terms what only they know, all at once.
    async fn look(&self, terms: &Terms) {
        let targets = std::iter::once(&terms.target).chain(&terms.fallback);
        join_all(targets.map(|target| self.parts.providers.look(target))).await;
    }

    fn begin(&self, id: SessionId, opened: Opened, terms: Terms) -> SessionHandle {
        let Opened { writer, entries, damage } = opened;
        let session = Session::fold(&entries, terms.clone());
        let standing = Standing::of(&session);
        let Parts { providers, registry, policy, workspace, result_cap, record, clock, chance, mask, .. } =
            self.parts.clone();
        let gates = Arc::clone(&self.gates);
        let around = Around { clock, chance, gates, registry, policy, workspace, result_cap, record, mask };
        let (events, told) = mpsc::unbounded_channel();
        let (ops, inbox) = mpsc::channel(INBOX);
        let requests = Requests::new(providers, &entries);
        let blobs = Arc::new(StoredBlobs::new(Arc::clone(&self.parts.store), id.clone()));
        let shell = Shell::new(around, id.clone(), (Saver::new(writer), requests, blobs), events, &entries);
        let damage = damage.into_iter().map(|damage| damage.why.to_string()).collect();
        let (found, found_since) = mpsc::unbounded_channel();
        let reopener = Reopener { opener: Arc::clone(&self.opener), found };
        let task = tokio::spawn(drive(session, shell, reopener, inbox));
        SessionHandle { id, terms, standing, damage, found_since, ops, told, task }
    }
}

/// How a session stood when it was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// True if `Continue` has something to go on with.
    pub can_continue: bool,
    /// Calls that wait for a person, in order.
    pub asking: Vec<Asking>,
    /// What the turn that `Continue` goes on with may use in all; nothing is limited where there is none.
    pub limits: Limits,
}

/// A call that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asking {
    /// Which call.
    pub call: CallId,
    /// Over what was shown.
    pub shown: Digest,
    /// The tool.
    pub tool: Text,
    /// Its arguments, as they would run.
    pub arguments: Text,
}

impl Standing {
    fn of(session: &Session) -> Self {
        Self {
            can_continue: session.can_continue(),
            asking: crate::inspect::asking(session),
            limits: session.turn().map(|turn| turn.told().limits.clone()).unwrap_or_default(),
        }
    }
}

/// A session that is driven by a task of its own. Dropping it lets the run under way come to its end.
#[derive(Debug)]
pub struct SessionHandle {
    id: SessionId,
    terms: Terms,
    standing: Standing,
    damage: Vec<String>,
    found_since: mpsc::UnboundedReceiver<String>,
    ops: mpsc::Sender<Request>,
    told: mpsc::UnboundedReceiver<Event>,
    task: JoinHandle<()>,
}

impl SessionHandle {
    /// Which session.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// The terms that it was opened with. They are looked at here; others are asked for by [`Op::Terms`].
    ///
    /// ```compile_fail,E0594
    /// fn change(session: &petasos_runtime::SessionHandle) {
    ///     session.terms().limits.steps = None;
    /// }
    /// ```
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// How it stood when it was opened; nothing of the session changes with it.
    ///
    /// ```compile_fail,E0596
    /// fn change(session: &petasos_runtime::SessionHandle) {
    ///     session.standing().asking.clear();
    /// }
    /// ```
    pub fn standing(&self) -> &Standing {
        &self.standing
    }

    /// What was found damaged in its log, for a person.
    pub fn damage(&self) -> &[String] {
        &self.damage
    }

    /// What was found damaged since it was opened, each told once, for a person: while it was at rest another process may
    /// have worked in it.
    pub fn found_since(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.found_since.try_recv().ok()).collect()
    }

    /// Asks something of the session. Answered when it is taken in; what is kept of it is told by an event
    /// once it is on disk.
    ///
    /// # Errors
    /// [`OpError`]; nothing changed then.
    pub async fn ask(&self, op: Op) -> Result<Handled, OpError> {
        let (answer, answered) = oneshot::channel();
        self.ops.send(Request { op, answer }).await.map_err(|_| OpError::Closed)?;
        answered.await.map_err(|_| OpError::Closed)?
    }

    /// The next event; none when the session is closed. May be dropped and called anew.
    pub async fn next_event(&mut self) -> Option<Event> {
        self.told.recv().await
    }

    /// Lets a run under way come to its end, and closes the session.
    pub async fn close(self) {
        let Self { ops, told, task, .. } = self;
        drop(ops);
        // A fault in the task was logged where it happened; there is nobody left to tell.
        drop(task.await);
        drop(told);
    }
}

/// A new session id: 48 bits of milliseconds, then 80 bits of chance.
pub(crate) fn new_id(now: Time) -> SessionId {
    let mut chance = [0_u8; 16];
    // Without chance from the system the id is only the time; making a session that exists is refused.
    if let Err(error) = getrandom::fill(&mut chance) {
        tracing::warn!(%error, "the system gives no random bytes");
    }
    let low = u128::from_be_bytes(chance) & ((1 << 80) - 1);
    SessionId::of_number((u128::from(now.0) << 80) | low)
}
