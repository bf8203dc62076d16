//! The server: a port on the loopback, and the tasks behind it.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::record::{RecordFile, Recorded};
use crate::service::Desk;
use crate::socket::{Flushes, Socket};
use crate::{ModelServerError, Script};

/// Connections at the same time; further ones wait in the system's queue.
const MOST_CONNECTIONS: usize = 512;

/// How long a stop waits for replies that are under way.
const GRACE: Duration = Duration::from_secs(1);

/// How long to wait when the system has no connection to give, as when all descriptors are in use.
const PAUSE: Duration = Duration::from_millis(50);

/// How a server is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The port; 0 takes any free one.
    pub port: u16,
    /// The file that every request is appended to.
    pub record: Option<PathBuf>,
    /// The one model that is listed, and named in replies to a request that names none.
    pub model: String,
}

impl Default for Options {
    fn default() -> Self {
        Self { port: 0, record: None, model: "scripted".into() }
    }
}

/// A running server. Dropping it ends it at once, with all connections.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    desk: Arc<Desk>,
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

impl Server {
    /// Listens on 127.0.0.1, and nowhere else, and answers from `script`. To be called inside a tokio runtime with
    /// sockets and timers; the server lives in it.
    ///
    /// # Errors
    /// If the port cannot be had or the record cannot be written.
    pub async fn start(script: Script, options: Options) -> Result<Self, ModelServerError> {
        let record = options.record.as_deref().map(RecordFile::open).transpose()?;
        let wrong = |source| ModelServerError::Port { port: options.port, source };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port)).await.map_err(wrong)?;
        let address = listener.local_addr().map_err(wrong)?;
        let desk = Arc::new(Desk::new(script, options.model, record));
        let (stop, stopped) = watch::channel(false);
        let mut tasks = JoinSet::new();
        tasks.spawn(listen(listener, desk.clone(), stopped));
        Ok(Self { address, desk, stop, tasks })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What a client takes as its base URL: `http://127.0.0.1:<port>/v1`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Every request so far, in the order of the answers. All are kept as long as the server lives.
    pub fn requests(&self) -> Vec<Recorded> {
        self.desk.requests()
    }

    /// Takes no more connections, lets replies that are under way end, cuts those that take longer than a second,
    /// and gives back every request.
    pub async fn stop(mut self) -> Vec<Recorded> {
        self.stop.send_replace(true);
        while self.tasks.join_next().await.is_some() {}
        self.desk.requests()
    }
}

/// Owns all connections: they end with it.
async fn listen(listener: TcpListener, desk: Arc<Desk>, mut stopped: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    loop {
        let may_accept = connections.len() < MOST_CONNECTIONS;
        tokio::select! {
            accepted = listener.accept(), if may_accept => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(serve(stream, desk.clone(), stopped.clone()));
                }
                Err(_) => tokio::time::sleep(PAUSE).await,
            },
            Some(_) = connections.join_next() => {}
            () = raised(&mut stopped) => break,
        }
    }
    drop(listener);
    let drained = async { while connections.join_next().await.is_some() {} };
    // What is left after the grace ends with the set.
    drop(tokio::time::timeout(GRACE, drained).await);
}

async fn serve(stream: TcpStream, desk: Arc<Desk>, mut stopped: watch::Receiver<bool>) {
    // Frames are to arrive one by one. A system that cannot do that serves all the same.
    drop(stream.set_nodelay(true));
    let flushes = Flushes::default();
    let answer = {
        let flushes = flushes.clone();
        move |request: Request<Incoming>| {
            let answer = desk.clone().answer(request, flushes.clone());
            async move { Ok::<_, Infallible>(answer.await) }
        }
    };
    let connection = http1::Builder::new().serve_connection(Socket::new(stream, flushes), service_fn(answer));
    tokio::pin!(connection);
    // How a connection ends is its client's affair: a cut of ours is told as an error too.
    tokio::select! {
        ended = connection.as_mut() => drop(ended),
        () = raised(&mut stopped) => {
            connection.as_mut().graceful_shutdown();
            drop(connection.await);
        }
    }
}

/// Ends once the server is to stop, or is gone.
async fn raised(stopped: &mut watch::Receiver<bool>) {
    drop(stopped.wait_for(|stopped| *stopped).await);
}
