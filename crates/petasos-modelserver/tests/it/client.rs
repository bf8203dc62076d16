//! A client that sees bytes: what was sent, and whether the body ended as it should.

use std::time::Duration;

use petasos_modelserver::{Options, Script, Server};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What came back, up to the end of the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    pub end: End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Whole,
    Cut,
}

impl Answer {
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The data of each event of a stream.
    pub fn events(&self) -> Vec<&str> {
        self.text().split_terminator("\n\n").map(|event| event.strip_prefix("data: ").unwrap()).collect()
    }

    /// The data of each event of a stream that names its events too; the name is that of the data's type.
    pub fn named_events(&self) -> Vec<Value> {
        let data = |event: &str| {
            let (name, data) = event.strip_prefix("event: ").unwrap().split_once("\ndata: ").unwrap();
            let data: Value = serde_json::from_str(data).unwrap();
            assert_eq!(data["type"], name);
            data
        };
        self.text().split_terminator("\n\n").map(data).collect()
    }
}

pub async fn start(script: &str) -> Server {
    Server::start(Script::parse(script).unwrap(), Options::default()).await.unwrap()
}

/// Against hanging, not a bound that anything is judged by.
pub async fn guarded<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), what).await.expect("it hangs")
}

pub async fn chat(server: &Server, body: &str) -> Answer {
    post(server, "/v1/chat/completions", body).await
}

pub async fn post(server: &Server, path: &str, body: &str) -> Answer {
    let headers = format!("content-type: application/json\r\ncontent-length: {}", body.len());
    send(server, &format!("POST {path}"), &headers, body).await
}

pub async fn send(server: &Server, begin: &str, headers: &str, body: &str) -> Answer {
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    let request = format!("{begin} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{headers}\r\n\r\n{body}");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    guarded(stream.read_to_end(&mut bytes)).await.unwrap();
    read(&bytes)
}

pub fn read(bytes: &[u8]) -> Answer {
    let split = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("no end of the headers");
    let head = std::str::from_utf8(&bytes[..split]).unwrap();
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let header = |line: &str| {
        let (name, value) = line.split_once(": ").unwrap();
        (name.to_lowercase(), value.to_owned())
    };
    let headers: Vec<_> = lines.map(header).collect();
    let rest = &bytes[split + 4..];
    let length =
        headers.iter().find(|(name, _)| name == "content-length").map(|(_, value)| value.parse().unwrap());
    let (body, end) = match length {
        Some(length) if rest.len() < length => (rest.to_vec(), End::Cut),
        Some(length) => (rest[..length].to_vec(), End::Whole),
        None => unchunked(rest),
    };
    Answer { status, headers, body, end }
}

fn unchunked(mut rest: &[u8]) -> (Vec<u8>, End) {
    let mut body = Vec::new();
    while let Some(line) = rest.windows(2).position(|two| two == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..line]).unwrap(), 16).unwrap();
        if size == 0 {
            return (body, End::Whole);
        }
        body.extend_from_slice(&rest[line + 2..line + 2 + size]);
        rest = &rest[line + 2 + size + 2..];
    }
    (body, End::Cut)
}
