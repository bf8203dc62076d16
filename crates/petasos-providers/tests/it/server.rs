//! A server that writes the bytes it was told, over a real socket, and keeps what it was sent.

use futures_util::StreamExt;
use petasos_core::turn::{Delta, Failure, ReplyEnd};
use petasos_providers::{Endpoint, HttpProvider, Provider, ReplyEvent, ReplyStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A provider whose next requests go to this listener.
pub async fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    (listener, url)
}

/// A provider at this URL without a key.
pub fn provider(url: &str) -> HttpProvider {
    HttpProvider::new(Endpoint::new("example", url, petasos_core::request::Wire::Chat).unwrap())
}

/// Takes one request in, head and body.
pub async fn request(listener: &TcpListener) -> (TcpStream, String) {
    let (mut socket, _) = listener.accept().await.unwrap();
    let request = read_request(&mut socket).await;
    (socket, request)
}

/// Reads one request, head and body.
pub async fn read_request(socket: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return text;
            }
        }
        let mut piece = [0; 4096];
        let read = socket.read(&mut piece).await.unwrap();
        assert!(read > 0, "the request was cut: {text}");
        bytes.extend_from_slice(&piece[..read]);
    }
}

/// Answers one request with these bytes and closes.
pub async fn answer(listener: TcpListener, bytes: Vec<u8>) -> String {
    let (mut socket, request) = request(&listener).await;
    socket.write_all(&bytes).await.unwrap();
    socket.shutdown().await.unwrap();
    request
}

/// A good answer with this body, ended by the end of the connection.
pub fn ok(body: &[u8]) -> Vec<u8> {
    [b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n", body].concat()
}

/// All of a reply.
pub async fn collect(mut stream: ReplyStream) -> (Vec<Delta>, Result<ReplyEnd, Failure>) {
    let mut deltas = Vec::new();
    while let Some(event) = stream.next().await {
        let end = match event {
            ReplyEvent::Delta(delta) => {
                deltas.push(delta);
                continue;
            }
            ReplyEvent::Done(end) => Ok(end),
            ReplyEvent::Failed(failure) => Err(failure),
        };
        assert_eq!(stream.next().await, None, "nothing comes after the end");
        return (deltas, end);
    }
    panic!("a stream without an end");
}

/// What a provider makes of one answer.
pub async fn call(bytes: Vec<u8>) -> (Vec<Delta>, Result<ReplyEnd, Failure>) {
    let (listener, url) = listen().await;
    let server = tokio::spawn(answer(listener, bytes));
    let reply = collect(provider(&url).call(&crate::say::target(), "{}".into())).await;
    server.await.unwrap();
    reply
}
