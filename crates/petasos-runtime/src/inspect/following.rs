//! A session that somebody else works in, looked at from outside: without a lock, and changing nothing.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use petasos_core::entry::{Body, Entry, TurnEnd};
use petasos_core::id::{CallId, Seq, SessionId};
use petasos_core::session::{Session, Terms};
use petasos_store::{Contents, Store, StoreError};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until};

use crate::event::{CallTold, Event, ToolTold, WantsTold, calls_of, told};
use crate::result::{Follows, RunResult, UsageOfRun, budget, error, status};

/// The shortest wait between two looks: what a person takes for at once, nearly.
const SHORTEST: Duration = Duration::from_millis(200);
/// A look at a long log takes its time; the waits are so many times as long, so that looking on costs a tenth of a core
/// at most.
const REST: u32 = 10;

/// Tells entries as events, one after the other.
#[derive(Debug, Default)]
pub(super) struct Teller {
    calls: HashMap<CallId, ToolTold>,
}

impl Teller {
    pub(super) fn tell(&mut self, session: &SessionId, entry: &Entry) -> Option<Event> {
        if let Body::Reply(reply) = &entry.body {
            self.calls.extend(calls_of(entry.seq, &reply.blocks).into_iter().map(|call| {
                let CallTold { call, name, arguments } = call;
                (call, ToolTold { tool: name, arguments, wants: WantsTold::Approval })
            }));
        }
        let known = |call: CallId| self.calls.get(&call).cloned().unwrap_or_default();
        told(session, entry, &known)
    }
}

/// What happens in a session, as far as its log tells: first what is there, then what comes.
#[derive(Debug)]
pub struct Following {
    store: Arc<dyn Store>,
    session: SessionId,
    terms: Terms,
    teller: Teller,
    /// The last entry that was told.
    upto: Option<Seq>,
    ready: VecDeque<Event>,
    /// The result of the turn that is over.
    result: Option<RunResult>,
    damage: Vec<String>,
    next_look: Option<Instant>,
}

impl Following {
    pub(crate) fn new(store: Arc<dyn Store>, session: SessionId, terms: Terms) -> Self {
        Self {
            store,
            session,
            terms,
            teller: Teller::default(),
            upto: None,
            ready: VecDeque::new(),
            result: None,
            damage: Vec::new(),
            next_look: None,
        }
    }

    /// The next event; none once the last turn is over and nothing that was said waits. Of one whose process was killed
    /// the turn is open, so more is waited for. May be dropped and called anew.
    ///
    /// # Errors
    /// What the store says.
    pub async fn next(&mut self) -> Result<Option<Event>, StoreError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            if self.result.is_some() {
                return Ok(None);
            }
            self.look().await?;
        }
    }

    /// What came of the turn that is over.
    pub fn result(&self) -> Option<&RunResult> {
        self.result.as_ref()
    }

    /// What is damaged in the log, as the last look found it, for a person.
    pub fn damage(&self) -> &[String] {
        &self.damage
    }

    async fn look(&mut self) -> Result<(), StoreError> {
        if let Some(at) = self.next_look {
            sleep_until(at).await;
        }
        let began = Instant::now();
        let (store, id) = (Arc::clone(&self.store), self.session.clone());
        let read = spawn_blocking(move || store.read(&id)).await;
        let Contents { entries, damage } =
            read.map_err(|error| crate::setup::fault(&error.to_string()))??;
        let now = Instant::now();
        self.next_look = Some(now + SHORTEST.max((now - began) * REST));
        self.damage = damage.into_iter().map(|damage| damage.why.to_string()).collect();
        let last = entries.last().map(|entry| entry.seq);
        if last == self.upto {
            return Ok(());
        }
        for entry in entries.iter().filter(|entry| Some(entry.seq) > self.upto) {
            self.ready.extend(self.teller.tell(&self.session, entry));
        }
        self.upto = last;
        self.result = self.over(&entries);
        Ok(())
    }

    /// The result of the last turn, if that is over and nothing waits.
    fn over(&self, entries: &[Entry]) -> Option<RunResult> {
        let last =
            entries.iter().rfind(|entry| matches!(entry.body, Body::TurnEnd(_) | Body::TurnStart(_)))?;
        let Body::TurnEnd(end) = &last.body else { return None };
        let session = Session::fold(entries, self.terms.clone());
        (!session.begins_the_next()).then(|| result(&self.session, &session, end))
    }
}

fn result(id: &SessionId, session: &Session, end: &TurnEnd) -> RunResult {
    let detail = super::why(session, end);
    RunResult {
        status: status(end.reason),
        reply: super::reply_of(session, end),
        steps: end.steps,
        usage: UsageOfRun::new(&end.usage, end.micro_usd),
        session: Some(id.clone()),
        budget: budget(end.reason),
        error: error(end.reason, detail.as_deref(), id, &super::asking(session)),
        hint: None,
        reason: Some(end.reason),
        follows: Follows::Nothing,
    }
}
