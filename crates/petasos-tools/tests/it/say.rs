//! The words of these tests: a workspace with tools on it, calls, and blobs in memory.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use petasos_core::approval::{Action, Approved, Grants, Policy, Proposal, Rule, Verdict, judge};
use petasos_core::bounded::Cap;
use petasos_core::entry::{CallForm, ModelCall};
use petasos_core::id::{CallId, Digest, Seq};
use petasos_core::text::Text;
use petasos_core::time::Time;
use petasos_core::tool::{BlobName, Outcome, ToolOutput};
use petasos_tools::{
    BlobTrouble, BlobWriter, Blobs, Context, Options, Registry, SessionState, Stop, Tool, Workspace, builtin,
};
use sha2::{Digest as _, Sha256};

/// A workspace, and the built-in tools on it.
pub struct Room {
    /// Holds the workspace `w/proj` and what lies beside it.
    pub outside: tempfile::TempDir,
    pub registry: Registry,
    pub blobs: Arc<Memory>,
    pub cap: Cap,
    /// What its calls share.
    pub session: Arc<SessionState>,
}

impl Room {
    pub fn new() -> Self {
        Self::with(Options::default())
    }

    /// Commands have a guardian, as those of the program have.
    pub fn with(options: Options) -> Self {
        let guardian = Some(PathBuf::from(env!("CARGO_BIN_EXE_petasos-guardian")));
        Self::as_it_is(Options { guardian, ..options })
    }

    /// Commands have no guardian, as in a program that is none.
    pub fn unguarded() -> Self {
        Self::as_it_is(Options::default())
    }

    /// Commands have this program as their guardian.
    pub fn guarded_by(guardian: PathBuf) -> Self {
        Self::as_it_is(Options { guardian: Some(guardian), ..Options::default() })
    }

    fn as_it_is(options: Options) -> Self {
        let outside = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(outside.path().join("w/proj")).unwrap();
        let workspace = Arc::new(Workspace::open(outside.path().join("w/proj")).unwrap());
        let registry = Registry::new(builtin(workspace, options));
        Self { outside, registry, blobs: Arc::default(), cap: Cap::RESULT, session: Arc::default() }
    }

    /// A workspace with one file.
    pub fn holding(path: &str, content: impl AsRef<[u8]>) -> Self {
        let room = Self::new();
        room.put(path, content);
        room
    }

    /// A path in the workspace.
    pub fn path(&self, path: &str) -> PathBuf {
        self.outside.path().join("w/proj").join(path)
    }

    pub fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        std::fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        std::fs::write(self.path(path), content).unwrap();
    }

    pub fn get(&self, path: &str) -> Vec<u8> {
        std::fs::read(self.path(path)).unwrap()
    }

    /// Runs a command that makes what is tested.
    #[track_caller]
    pub fn sh(&self, script: &str) {
        let mut command = std::process::Command::new("bash");
        let status = command.arg("-c").arg(script).current_dir(self.path("")).status().unwrap();
        assert!(status.success(), "{script}");
    }

    pub fn context(&self) -> (tokio::sync::watch::Sender<bool>, Context) {
        let (raise, stop) = Stop::new();
        let blobs: Arc<dyn Blobs> = Arc::new(Handle(Arc::clone(&self.blobs)));
        let session = Arc::clone(&self.session);
        (raise, Context { stop, cap: self.cap, blobs, now: Time(1_764_412_345_678), session })
    }

    /// Runs one call, or answers with what the model reads of one that was not understood.
    pub async fn call(&self, tool: &str, arguments: &str) -> ToolOutput {
        let (_raise, context) = self.context();
        self.call_in(tool, arguments, context).await
    }

    pub async fn call_in(&self, tool: &str, arguments: &str, context: Context) -> ToolOutput {
        match self.propose(tool, arguments) {
            Ok(proposal) => self.tool(tool).run(&approved(proposal), context).await,
            Err(text) => ToolOutput {
                outcome: Outcome::Invalid,
                bytes: text.len() as u64,
                for_model: petasos_core::bounded::Bounded::new(&text, Cap(usize::MAX), ""),
                blob: None,
                facts: Vec::new(),
                took: petasos_core::time::Span(0),
            },
        }
    }

    pub fn propose(&self, tool: &str, arguments: &str) -> Result<Proposal, String> {
        let made = ModelCall {
            wire_id: None,
            name: Text::from(tool),
            arguments: Text::from(arguments),
            form: CallForm::Native,
            complete: true,
        };
        let proposal = self.registry.propose(CallId { reply: Seq(3), place: 0 }, &made);
        proposal.map_err(|text| text.text().to_string())
    }

    pub fn tool(&self, name: &str) -> &Arc<dyn Tool> {
        self.registry.get(name).unwrap()
    }

    /// What the model reads.
    pub async fn text(&self, tool: &str, arguments: &str) -> String {
        self.call(tool, arguments).await.for_model.text().to_string()
    }

    /// How a call ends and what the model reads.
    pub async fn check(&self, tool: &str, arguments: &str, outcome: Outcome, text: &str) {
        let output = self.call(tool, arguments).await;
        assert_eq!((&**output.for_model.text(), output.outcome), (text, outcome), "{tool} {arguments}");
    }

    /// The call fails, with an error that has these words in it.
    pub async fn refused(&self, tool: &str, arguments: &str, words: &str) {
        let output = self.call(tool, arguments).await;
        let text = output.for_model.text();
        assert!(matches!(output.outcome, Outcome::Error | Outcome::Invalid), "{arguments}: {text}");
        trouble(text);
        assert!(text.contains(words), "{arguments}: {text}");
    }
}

/// The three parts of an error.
#[track_caller]
pub fn trouble(text: &str) -> BTreeMap<String, String> {
    let parts: BTreeMap<String, String> = serde_json::from_str(text).unwrap_or_else(|_| panic!("{text}"));
    let names: Vec<&str> = parts.keys().map(String::as_str).collect();
    assert_eq!(names, ["cause", "error", "hint"], "{text}");
    assert!(parts.values().all(|part| !part.trim().is_empty()), "{text}");
    parts
}

pub fn approved(proposal: Proposal) -> Approved {
    let rule = Rule { tool: Text::from("*"), action: Action::Allow, name: Text::from("all") };
    let policy = Policy { rules: vec![rule], hash: Digest([0; 32]) };
    match judge(&policy, &Grants::default(), proposal).verdict {
        Verdict::Allow(approved) => approved,
        other => panic!("{other:?}"),
    }
}

/// Blobs in memory.
#[derive(Debug, Default)]
pub struct Memory(pub Mutex<BTreeMap<String, Vec<u8>>>, AtomicUsize, Mutex<Option<PathBuf>>);

impl Memory {
    pub fn only(&self) -> Vec<u8> {
        let kept = self.0.lock().unwrap();
        assert_eq!(kept.len(), 1);
        kept.values().next().unwrap().clone()
    }

    /// The disk is slow from now on: a write takes until the process is gone whose number stands in the file, and on.
    pub fn slow_until_gone(&self, file: PathBuf) {
        *self.2.lock().unwrap() = Some(file);
    }

    /// The most bytes that came at once.
    pub fn largest_piece(&self) -> usize {
        self.1.load(Ordering::Relaxed)
    }

    pub fn is_empty(&self) -> bool {
        self.0.lock().unwrap().is_empty()
    }
}

#[derive(Debug)]
struct Writing(Arc<Memory>, Vec<u8>);

#[derive(Debug)]
struct Handle(Arc<Memory>);

impl Blobs for Handle {
    fn create(&self) -> BoxFuture<'_, Result<Box<dyn BlobWriter>, BlobTrouble>> {
        let writer: Box<dyn BlobWriter> = Box::new(Writing(Arc::clone(&self.0), Vec::new()));
        Box::pin(std::future::ready(Ok(writer)))
    }

    fn read<'a>(
        &'a self,
        name: &'a str,
        range: Range<u64>,
    ) -> BoxFuture<'a, Result<(Vec<u8>, u64), BlobTrouble>> {
        let kept = self.0.0.lock().unwrap();
        let found = kept.iter().find(|(hash, _)| hash.starts_with(name)).map(|(_, bytes)| bytes);
        let read = found.ok_or_else(|| BlobTrouble::NotFound(name.to_owned())).map(|bytes| {
            let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
            (bytes[place(range.start)..place(range.end)].to_vec(), bytes.len() as u64)
        });
        Box::pin(std::future::ready(read))
    }
}

impl BlobWriter for Writing {
    fn write(&mut self, bytes: Vec<u8>) -> BoxFuture<'_, Result<(), BlobTrouble>> {
        self.0.1.fetch_max(bytes.len(), Ordering::Relaxed);
        self.1.extend(bytes);
        let slow = self.0.2.lock().unwrap().take();
        Box::pin(async move {
            if let Some(file) = slow {
                let pid = std::fs::read_to_string(file).unwrap();
                let place = PathBuf::from("/proc").join(pid.trim());
                while place.exists() {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                // Far longer than anything of a command is waited for.
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            Ok(())
        })
    }

    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<BlobName, BlobTrouble>> {
        let name = BlobName { hash: hash(&self.1), bytes: self.1.len() as u64 };
        self.0.0.lock().unwrap().insert(name.hash.to_string(), self.1);
        Box::pin(std::future::ready(Ok(name)))
    }
}

pub fn hash(bytes: &[u8]) -> Digest {
    Digest(Sha256::digest(bytes).into())
}

/// Arguments that are all text.
pub fn arguments(pairs: &[(&str, &str)]) -> String {
    let pairs: BTreeMap<&str, &str> = pairs.iter().copied().collect();
    serde_json::to_string(&pairs).unwrap()
}

/// The arguments of one edit.
pub fn edit(path: &str, old: &str, new: &str) -> String {
    format!("{{\"path\":{},\"edits\":[{}]}}", json(path), arguments(&[("old", old), ("new", new)]))
}

fn json(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// Waits until something is so; the guard only keeps a broken test from hanging.
#[track_caller]
pub fn until(mut is_so: impl FnMut() -> bool) {
    let begun = std::time::Instant::now();
    while !is_so() {
        assert!(begun.elapsed().as_secs() < 30, "it never was so");
        std::thread::yield_now();
    }
}

/// Does it as a user who may not do everything: what a thread begins has the rights of that thread.
#[cfg(target_os = "linux")]
pub fn unprivileged(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::spawn(|| {
        if rustix::process::geteuid().is_root() {
            let nobody = rustix::process::Uid::from_raw(65_534);
            rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
        }
        work();
    });
    thread.join().unwrap();
}

/// Runs to its end on this thread and those it begins.
pub fn wait<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}
