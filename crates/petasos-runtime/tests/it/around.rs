//! What stands around a session in these tests: a model that follows a script, a disk that can be made to wait, and
//! tools that do what their names say.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{StreamExt as _, stream};
use petasos_core::approval::{Action, Approved, Policy, Rule};
use petasos_core::bounded::{Bounded, Cap};
use petasos_core::claims::{Claims, Rerun};
use petasos_core::entry::Head;
use petasos_core::id::Digest;
use petasos_core::learnt::Learnt;
use petasos_core::request::Target;
use petasos_core::text::{Json, Text};
use petasos_core::time::{Permille, Span, Time};
use petasos_core::tool::{Outcome, ToolOutput};
use petasos_core::turn::{Delta, Failure};
use petasos_providers::{Encoder, Outgoing, Provider, ReplyEvent, ReplyStream};
use petasos_runtime::config::Record;
use petasos_runtime::{Agent, Clock, Event, Parts, Providers, SessionHandle, SystemClock};
use petasos_store::{
    Disk, DiskFile, DiskLock, Durability, FolderStore, Holder, LockError, Opening, OsDisk, Store,
};
use petasos_testkit::words::{call, digest, ends};
use petasos_tools::{Context, Registry, Tool, ToolSpec};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::time::Instant;

/// What the model says to one request.
#[derive(Clone, Debug)]
pub enum Says {
    /// These pieces, then a good end.
    All(Vec<Delta>),
    /// These pieces, and nothing more.
    Stalls(Vec<Delta>),
    /// A panic in the code that reads it.
    Panics,
}

/// Text.
pub fn text(text: &str) -> Says {
    Says::All(vec![Delta::Text(text.into())])
}

/// Calls of these tools.
pub fn calls(tools: &[&str]) -> Says {
    Says::All(tools.iter().zip(0..).flat_map(|(tool, place)| call(place, tool, "{}")).collect())
}

/// A model that follows a script.
#[derive(Debug, Default)]
pub struct Scripted {
    says: Mutex<VecDeque<Says>>,
    bodies: Mutex<Vec<Bytes>>,
    writes_differently: AtomicBool,
}

impl Scripted {
    pub fn new(says: impl IntoIterator<Item = Says>) -> Arc<Self> {
        Arc::new(Self { says: Mutex::new(says.into_iter().collect()), ..Self::default() })
    }

    /// From now on requests are written as another version of the program might.
    pub fn write_differently(&self) {
        self.writes_differently.store(true, Ordering::Relaxed);
    }

    /// The bodies it was sent.
    pub fn bodies(&self) -> Vec<Bytes> {
        self.bodies.lock().unwrap().clone()
    }
}

impl Provider for Scripted {
    fn encoder(&self, target: &Target, head: &Head, learnt: &Learnt) -> Box<dyn Encoder> {
        let mut head = head.clone();
        if self.writes_differently.load(Ordering::Relaxed) {
            head.system = format!("{} ", head.system).into();
        }
        petasos_providers::encoder_knowing(target, &head, learnt)
    }

    fn call(&self, _target: &Target, body: Outgoing) -> ReplyStream {
        self.bodies.lock().unwrap().push(body.bytes);
        let says = self.says.lock().unwrap().pop_front().expect("the script is over");
        let deltas = |deltas: Vec<Delta>| stream::iter(deltas.into_iter().map(ReplyEvent::Delta));
        match says {
            Says::All(pieces) => {
                let end = ReplyEvent::Done(ends(petasos_core::entry::FinishReason::Stop));
                deltas(pieces).chain(stream::iter([end])).boxed()
            }
            Says::Stalls(pieces) => deltas(pieces).chain(stream::pending()).boxed(),
            Says::Panics => stream::once(async { panic!("the reader breaks down") }).boxed(),
        }
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<Text>, Failure>> {
        Box::pin(async { Ok(vec!["scripted".into()]) })
    }
}

/// The time as tokio has it, for tests that pause it.
#[derive(Debug)]
pub struct Paused(pub Instant);

impl Clock for Paused {
    fn now(&self) -> Time {
        Time(u64::try_from(self.0.elapsed().as_millis()).unwrap())
    }

    fn sleep_until(&self, at: Time) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep_until(self.0 + Duration::from_millis(at.0)))
    }
}

/// One provider that serves every target.
#[derive(Debug)]
pub struct Only<P>(pub Arc<P>);

impl<P: Provider + 'static> Providers for Only<P> {
    fn serving(&self, target: &Target) -> Result<Arc<dyn Provider>, String> {
        match &*target.provider {
            "nobody" => Err("there is no provider \"nobody\"".into()),
            _ => Ok(Arc::<P>::clone(&self.0) as Arc<dyn Provider>),
        }
    }
}

/// A tool that does what its name says.
#[derive(Debug)]
struct Named(ToolSpec, Arc<watch::Sender<u32>>);

/// Tools of one agent share a count, by which they end one after the other: `first` at once, `second` after it,
/// `third` after both.
fn tool(name: &str, count: &Arc<watch::Sender<u32>>) -> Arc<dyn Tool> {
    let parameters = Json::try_from(r#"{"type":"object","properties":{}}"#).unwrap();
    Arc::new(Named(ToolSpec { name: name.into(), description: name.into(), parameters }, Arc::clone(count)))
}

impl Tool for Named {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn claims(&self, _arguments: &Json) -> Result<Claims, Bounded> {
        assert_ne!(&*self.0.name, "panics_early", "it breaks down while it is prepared");
        let is_free = ["reads", "first", "second", "third"].contains(&&*self.0.name);
        let rerun = if is_free { Rerun::Free } else { Rerun::Never };
        Ok(Claims { rerun, places: Vec::new(), alone: false, argv: Vec::new(), probe: None })
    }

    fn run<'a>(&'a self, _call: &'a Approved, mut context: Context) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let before = ["first", "second", "third"].iter().position(|name| *name == &*self.0.name);
            if let Some(before) = before {
                let mut count = self.1.subscribe();
                drop(count.wait_for(|count| *count as usize == before).await.unwrap());
                // Who waits for it is woken after this one has ended: there is one thread.
                self.1.send_modify(|count| *count += 1);
            }
            let (outcome, text) = match &*self.0.name {
                "panics" => panic!("the tool breaks down"),
                "waits" => {
                    context.stop.raised().await;
                    (Outcome::CutShort, "stopped")
                }
                _ => (Outcome::Ok, "done"),
            };
            let for_model = Bounded::new(text, context.cap, "");
            ToolOutput { outcome, for_model, bytes: 4, blob: None, facts: Vec::new(), took: Span(0) }
        })
    }
}

/// A gate that a disk waits at while it is shut.
#[derive(Clone, Debug, Default)]
pub struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    pub fn shut(&self) {
        *self.0.0.lock().unwrap() = true;
    }

    pub fn open(&self) {
        *self.0.0.lock().unwrap() = false;
        self.0.1.notify_all();
    }

    fn pass(&self) {
        let guard = self.0.0.lock().unwrap();
        // The time is a guard against a test that never opens it.
        let (guard, late) =
            self.0.1.wait_timeout_while(guard, Duration::from_secs(30), |shut| *shut).unwrap();
        drop(guard);
        assert!(!late.timed_out(), "the gate was never opened");
    }
}

/// The system's disk, on which a sync waits at a gate.
#[derive(Debug)]
struct SlowDisk(Gate);

#[derive(Debug)]
struct SlowFile(Box<dyn DiskFile>, Gate);

impl Disk for SlowDisk {
    fn make_folder(&self, path: &Path) -> std::io::Result<()> {
        OsDisk.make_folder(path)
    }

    fn names(&self, folder: &Path) -> std::io::Result<Vec<String>> {
        OsDisk.names(folder)
    }

    fn sync_folder(&self, path: &Path) -> std::io::Result<()> {
        OsDisk.sync_folder(path)
    }

    fn read(&self, path: &Path, range: Range<u64>) -> std::io::Result<Vec<u8>> {
        OsDisk.read(path, range)
    }

    fn length(&self, path: &Path) -> std::io::Result<u64> {
        OsDisk.length(path)
    }

    fn open(&self, path: &Path, how: Opening) -> std::io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(SlowFile(OsDisk.open(path, how)?, self.0.clone())))
    }

    fn rename(&self, from: &Path, to: &Path) -> std::io::Result<()> {
        OsDisk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> std::io::Result<()> {
        OsDisk.remove(path)
    }

    fn remove_folder(&self, path: &Path) -> std::io::Result<()> {
        OsDisk.remove_folder(path)
    }

    fn link(&self, from: &Path, to: &Path) -> std::io::Result<()> {
        OsDisk.link(from, to)
    }

    fn lock(&self, path: &Path, holder: &str) -> Result<Box<dyn DiskLock>, LockError> {
        OsDisk.lock(path, holder)
    }
}

impl DiskFile for SlowFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }

    fn sync(&mut self) -> std::io::Result<()> {
        self.1.pass();
        self.0.sync()
    }

    fn cut(&mut self, length: u64) -> std::io::Result<()> {
        self.0.cut(length)
    }

    fn length(&self) -> std::io::Result<u64> {
        self.0.length()
    }

    fn distrust(&mut self) {
        self.0.distrust();
    }
}

/// A home folder, a disk with a gate, a model with a script.
pub struct Around {
    folder: TempDir,
    pub gate: Gate,
    pub model: Arc<Scripted>,
}

impl Around {
    pub fn new(says: impl IntoIterator<Item = Says>) -> Self {
        Self { folder: tempfile::tempdir().unwrap(), gate: Gate::default(), model: Scripted::new(says) }
    }

    pub fn root(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    pub fn store(&self) -> Arc<dyn Store> {
        let disk = Arc::new(SlowDisk(self.gate.clone()));
        Arc::new(FolderStore::on(disk, self.folder.path(), Durability::Power))
    }

    /// An agent, as each process would make one.
    pub fn agent(&self) -> Agent {
        Agent::new(self.parts())
    }

    /// What that agent is made of.
    pub fn parts(&self) -> Parts {
        let allow = |tool: &str| Rule { tool: tool.into(), action: Action::Allow, name: "test".into() };
        let rules = ["panics", "waits", "writes", "panics_early", "look.up", "look_up"].map(allow);
        let count = Arc::new(watch::Sender::new(0));
        let names = [
            "reads",
            "writes",
            "waits",
            "panics",
            "panics_early",
            "asks",
            "first",
            "second",
            "third",
            "look.up",
            "look_up",
        ];
        let tools = names.map(|name| tool(name, &count));
        Parts {
            store: self.store(),
            holder: Holder { text: "test".into(), program: "0".into() },
            providers: Arc::new(Only(Arc::clone(&self.model))),
            registry: Arc::new(Registry::new(tools)),
            policy: Arc::new(Policy { rules: rules.to_vec(), hash: Digest([7; 32]) }),
            workspace: self.root(),
            result_cap: Cap::RESULT,
            record: Record::None,
            mask: Arc::default(),
            clock: Arc::new(SystemClock::new()),
            chance: || Permille(0),
        }
    }
}

/// The events up to and with the first that fits.
pub async fn until(session: &mut SessionHandle, fits: impl Fn(&Event) -> bool) -> Vec<Event> {
    let mut events = Vec::new();
    loop {
        let next = tokio::time::timeout(Duration::from_secs(30), session.next_event());
        let event = next.await.unwrap_or_else(|_| panic!("nothing more came after {events:#?}"));
        let event = event.unwrap_or_else(|| panic!("the session closed after {events:#?}"));
        events.push(event);
        if fits(events.last().unwrap()) {
            return events;
        }
    }
}

/// The events up to the result.
pub async fn to_the_end(session: &mut SessionHandle) -> Vec<Event> {
    until(session, |event| matches!(event, Event::Result(_))).await
}

/// The type of each event.
pub fn types(events: &[Event]) -> Vec<&'static str> {
    events
        .iter()
        .map(|event| match event {
            Event::Said { .. } => "said",
            Event::TurnStart { .. } => "turn_start",
            Event::StepStart { .. } => "step_start",
            Event::Delta { .. } => "delta",
            Event::Reply { .. } => "reply",
            Event::ToolStart { .. } => "tool_start",
            Event::ToolResult { .. } => "tool_result",
            Event::Asking { .. } => "asking",
            Event::Note { .. } => "note",
            Event::Retrying { .. } => "retrying",
            Event::Waiting { .. } => "waiting",
            Event::TurnEnd { .. } => "turn_end",
            Event::Result(_) => "result",
        })
        .collect()
}

/// A hash for an answer that was shown something else.
pub fn other_hash() -> Digest {
    digest(99)
}
