//! The scripted model server for tests that block: on a thread of its own, and a judge of what it was asked.

use std::path::PathBuf;
use std::thread::JoinHandle;

use petasos_core::request::Wire;
use petasos_modelserver::{Options, Recorded, Script, Server};
use tokio::sync::oneshot;

use crate::check_request::{check_headers, check_prefix, check_request};

/// A server that is running. When it is finished or dropped, every request it got is checked, and the test fails with
/// what is wrong.
#[derive(Debug)]
pub struct ModelServer {
    running: Option<Running>,
    judged: Judged,
    prefixes: Prefixes,
}

#[derive(Debug)]
struct Running {
    server: Server,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

/// Whether requests are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judged {
    Yes,
    No,
}

/// Whether the parts of each request are to start those of the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Prefixes {
    Stable,
    MayBreak,
}

impl ModelServer {
    /// A server for a script, on any free port.
    ///
    /// # Panics
    /// If the script is wrong, or the server does not start.
    pub fn start(script: &str) -> Self {
        Self::start_with(script, Options::default())
    }

    /// The same, with a record kept in a file.
    ///
    /// # Panics
    /// As [`ModelServer::start`].
    pub fn start_recording(script: &str, record: PathBuf) -> Self {
        Self::start_with(script, Options { record: Some(record), ..Options::default() })
    }

    /// A server whose requests are not checked, for tests that send wrong ones on purpose. Their names say so.
    ///
    /// # Panics
    /// If the test's name does not contain `bad_`; else as [`ModelServer::start`].
    pub fn start_bad(script: &str) -> Self {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or_default();
        assert!(name.contains("bad_"), "{name} sends requests that are not checked; call it bad_…");
        let mut server = Self::start(script);
        server.judged = Judged::No;
        server
    }

    fn start_with(script: &str, options: Options) -> Self {
        let script = Script::parse(script).unwrap_or_else(|error| panic!("{error}"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let server =
            runtime.block_on(Server::start(script, options)).unwrap_or_else(|error| panic!("{error}"));
        let (stop, stopped) = oneshot::channel::<()>();
        let run = move || {
            // An error is a dropped sender: the same wish.
            drop(runtime.block_on(stopped));
        };
        let thread = std::thread::Builder::new().name("model server".into()).spawn(run).expect("a thread");
        let running = Running { server, stop, thread };
        Self { running: Some(running), judged: Judged::Yes, prefixes: Prefixes::Stable }
    }

    /// Requests may begin differently from one to the next: there are several conversations, or a break is meant.
    #[must_use]
    pub fn with_breaks(mut self) -> Self {
        self.prefixes = Prefixes::MayBreak;
        self
    }

    /// What a client takes as its base URL, whatever its wire.
    pub fn base_url(&self) -> String {
        self.running().server.base_url()
    }

    /// Every request so far.
    pub fn requests(&self) -> Vec<Recorded> {
        self.running().server.requests()
    }

    /// Ends the server and gives back every request.
    ///
    /// # Panics
    /// With what is wrong with the requests.
    pub fn finish(mut self) -> Vec<Recorded> {
        self.end()
    }

    fn running(&self) -> &Running {
        self.running.as_ref().expect("it runs until it is dropped")
    }

    fn end(&mut self) -> Vec<Recorded> {
        let Some(Running { server, stop, thread }) = self.running.take() else { return Vec::new() };
        let requests = server.requests();
        // In this order: the server's tasks end, then the runtime that they ended in.
        drop(server);
        drop(stop);
        let ended = thread.join();
        // A test that has failed says why by itself.
        if std::thread::panicking() {
            return requests;
        }
        assert!(ended.is_ok(), "the model server panicked");
        if self.judged == Judged::Yes {
            let complaints = complaints(&requests, self.prefixes);
            assert!(complaints.is_empty(), "wrong requests:\n{}", complaints.join("\n"));
        }
        requests
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        drop(self.end());
    }
}

fn complaints(requests: &[Recorded], prefixes: Prefixes) -> Vec<String> {
    let asked: Vec<(Wire, &Recorded)> =
        requests.iter().filter_map(|request| Some((wire(request)?, request))).collect();
    let mut found = Vec::new();
    for (at, (wire, request)) in asked.iter().enumerate() {
        let wrong = [check_request(*wire, &request.body), check_headers(*wire, &request.headers)].concat();
        found.extend(wrong.iter().map(|what| format!("request {at}: {what}")));
    }
    if prefixes == Prefixes::Stable {
        for (at, pair) in asked.windows(2).enumerate() {
            let (before, next) = (pair[0], pair[1]);
            if before.0 == next.0 {
                let wrong = check_prefix(next.0, &before.1.body, &next.1.body);
                found.extend(wrong.iter().map(|what| format!("request {}: {what}", at + 1)));
            }
        }
    }
    found
}

/// The wire of a request's path; none if it asks for something else than a reply.
fn wire(request: &Recorded) -> Option<Wire> {
    let path = request.path.split('?').next().unwrap_or_default();
    let wires =
        [("/chat/completions", Wire::Chat), ("/responses", Wire::Responses), ("/messages", Wire::Messages)];
    wires.into_iter().find(|(end, _)| path.ends_with(end)).map(|(_, wire)| wire)
}
