//! A web server on the loopback for tests that fetch: it gives the pages it was told, as bytes, and remembers who asked.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// What is given for a path: the bytes of a whole answer, head and body.
#[derive(Clone, Debug)]
pub struct Page {
    bytes: Vec<u8>,
    end: End,
}

/// What follows the bytes of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The connection is closed.
    Close,
    /// Nothing, until the other side goes away.
    Stall,
}

impl Page {
    /// A page of this content type.
    pub fn of(media: &str, body: impl AsRef<[u8]>) -> Self {
        Self::answer("200 OK", &[("content-type", media)], body)
    }

    /// A page in HTML.
    pub fn html(body: impl AsRef<[u8]>) -> Self {
        Self::of("text/html; charset=utf-8", body)
    }

    /// A redirect to this place.
    pub fn to(place: &str) -> Self {
        Self::answer("302 Found", &[("location", place)], "")
    }

    /// An answer with this status and these headers; the length is told.
    pub fn answer(status: &str, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref();
        let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let head = format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n", body.len());
        Self { bytes: [head.as_bytes(), body].concat(), end: End::Close }
    }

    /// These bytes, and the end of the connection.
    pub fn raw(bytes: impl AsRef<[u8]>) -> Self {
        Self { bytes: bytes.as_ref().to_vec(), end: End::Close }
    }

    /// The same, but nothing more comes and the connection stays.
    #[must_use]
    pub fn stalling(mut self) -> Self {
        self.end = End::Stall;
        self
    }
}

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct PageServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    pages: BTreeMap<String, Page>,
    asked: Mutex<Vec<String>>,
    connections: AtomicUsize,
    over: AtomicBool,
}

impl PageServer {
    /// A server with pages by their paths, on any free port.
    ///
    /// # Panics
    /// If there is no port.
    pub fn start<'a>(pages: impl IntoIterator<Item = (&'a str, Page)>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let pages = pages.into_iter().map(|(path, page)| (path.to_owned(), page)).collect();
        let shared = Arc::new(Shared { pages, ..Shared::default() });
        let serving = Arc::clone(&shared);
        let thread = std::thread::spawn(move || serve(&listener, &serving));
        Self { address, shared, thread: Some(thread) }
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of one of its pages, by its number.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The heads of the requests so far, as they came.
    ///
    /// # Panics
    /// If the server did.
    pub fn asked(&self) -> Vec<String> {
        self.shared.asked.lock().expect("no panic").clone()
    }

    /// Connections so far, also those that asked nothing.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }
}

impl Drop for PageServer {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        // It waits for one more.
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

fn serve(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.over.load(Ordering::SeqCst) {
            return;
        }
        shared.connections.fetch_add(1, Ordering::SeqCst);
        let (Ok(stream), shared) = (stream, Arc::clone(shared)) else { continue };
        std::thread::spawn(move || answer(stream, &shared));
    }
}

fn answer(mut stream: TcpStream, shared: &Shared) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            Ok(_) | Err(_) => return,
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    shared.asked.lock().expect("no panic").push(head);
    let missing = Page::answer("404 Not Found", &[("content-type", "text/plain")], "no such page");
    let page = shared.pages.get(&path).unwrap_or(&missing);
    // Whoever asked may have heard enough.
    drop(stream.write_all(&page.bytes));
    if page.end == End::Stall {
        while matches!(stream.read(&mut byte), Ok(1)) {}
    }
}
