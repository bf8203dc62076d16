//! Every wait has an end. The clock stands still but where a test moves it, or where everybody waits.

use std::time::Duration;

use futures_util::StreamExt;
use petasos_core::request::Wire;
use petasos_core::stop::FailureKind;
use petasos_core::time::Span;
use petasos_core::turn::Delta;
use petasos_providers::{Endpoint, HttpProvider, Provider, ReplyEvent, Timeouts};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::{Instant, advance};

use crate::say::target;
use crate::server::{collect, listen, provider, request};

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
const PIECE: &[u8] = b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n";
const FINISH: &[u8] = b"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";

/// Answers one request with these bytes and keeps the connection open.
async fn hold(listener: tokio::net::TcpListener, bytes: Vec<u8>) -> TcpStream {
    let (mut socket, _) = request(&listener).await;
    socket.write_all(&bytes).await.unwrap();
    socket
}

/// How a call ends, and after how many seconds, if the server says this and then nothing more.
async fn silent_after(bytes: &[u8], timeouts: Timeouts) -> (Vec<Delta>, String, u64) {
    let (listener, url) = listen().await;
    let server = tokio::spawn(hold(listener, bytes.to_vec()));
    let endpoint = Endpoint::new("example", &url, Wire::Chat).unwrap().with_timeouts(timeouts);
    let started = Instant::now();
    let (deltas, end) = collect(HttpProvider::new(endpoint).call(&target(), "{}".into())).await;
    let waited = started.elapsed().as_secs();
    drop(server.await.unwrap());
    let end = match end {
        Ok(end) => format!("{:?}", end.finish),
        Err(failure) => format!("{:?}: {}", failure.kind, failure.message),
    };
    (deltas, end, waited)
}

fn seconds(connect: u64, first_byte: u64, idle: u64, call: Option<u64>) -> Timeouts {
    Timeouts {
        connect: Duration::from_secs(connect),
        first_byte: Duration::from_secs(first_byte),
        idle: Duration::from_secs(idle),
        call: call.map(Duration::from_secs),
    }
}

#[test]
fn p05_a_server_on_this_machine_is_waited_for_longer_unless_a_person_says_how_long() {
    let waits = |url: &str| Endpoint::new("example", url, Wire::Chat).unwrap().timeouts;
    for local in ["http://localhost:8080/v1", "http://127.0.0.1/v1", "http://[::1]:1234/v1"] {
        assert_eq!(waits(local), seconds(10, 1_800, 1_800, None), "{local}");
    }
    for hosted in ["https://models.example/v1", "http://192.168.1.5:8080/v1", "https://localhost.example/v1"]
    {
        assert_eq!(waits(hosted), seconds(10, 120, 120, None), "{hosted}");
    }
    let set = Endpoint::new("example", "http://localhost/v1", Wire::Chat).unwrap();
    assert_eq!(set.with_timeouts(seconds(1, 2, 3, None)).timeouts, seconds(1, 2, 3, None));
}

#[tokio::test(start_paused = true)]
async fn p05_a_server_that_never_answers() {
    let (deltas, end, waited) = silent_after(b"", seconds(10, 30, 20, None)).await;
    assert_eq!((deltas, waited), (vec![], 30));
    assert!(end.starts_with("Timeout: no answer from 127.0.0.1:"), "{end}");
}

#[tokio::test(start_paused = true)]
async fn p05_a_server_that_answers_and_never_begins() {
    let comments = [HEAD, b": processing\n\n: processing\n\n"].concat();
    let (deltas, end, waited) = silent_after(&comments, seconds(10, 30, 20, None)).await;
    assert_eq!((deltas, waited), (vec![], 30));
    assert!(end.starts_with("Timeout: nothing of a reply came"), "{end}");
}

#[tokio::test(start_paused = true)]
async fn p05_a_stream_that_stalls() {
    let (deltas, end, waited) = silent_after(&[HEAD, PIECE].concat(), seconds(10, 30, 20, None)).await;
    assert_eq!((deltas, waited), (vec![Delta::Text("a".into())], 20));
    assert!(end.contains("stopped in the middle of its reply for 20 s"), "{end}");
}

#[tokio::test(start_paused = true)]
async fn p05_a_whole_call_has_its_end_where_one_was_set() {
    let (_, end, waited) = silent_after(&[HEAD, PIECE].concat(), seconds(10, 30, 20, Some(7))).await;
    assert_eq!(waited, 7);
    assert!(end.starts_with("Timeout: the reply of 127.0.0.1:"), "{end}");
    let (_, end, waited) = silent_after(b"", seconds(10, 30, 20, Some(7))).await;
    assert_eq!(waited, 7, "{end}");
}

#[tokio::test(start_paused = true)]
async fn p05_a_finish_is_an_end_though_the_connection_stays_open() {
    let (deltas, end, waited) = silent_after(&[HEAD, PIECE, FINISH].concat(), Timeouts::default()).await;
    assert_eq!((deltas.len(), end.as_str()), (1, "Stop"));
    assert!(waited <= 5, "{waited}");
}

#[tokio::test(start_paused = true)]
async fn p05_waits_longer_than_a_clock_can_hold_are_waits() {
    let ever = Duration::MAX;
    let timeouts = Timeouts { connect: ever, first_byte: ever, idle: ever, call: Some(ever) };
    let done = [HEAD, PIECE, FINISH, b"data: [DONE]\n\n"].concat();
    assert_eq!(silent_after(&done, timeouts).await.1, "Stop");
}

#[tokio::test(start_paused = true)]
async fn p05_the_end_mark_is_an_end_at_once() {
    let done = [HEAD, PIECE, FINISH, b"data: [DONE]\n\n"].concat();
    let (_, end, waited) = silent_after(&done, Timeouts::default()).await;
    assert_eq!((end.as_str(), waited), ("Stop", 0));
}

#[tokio::test(start_paused = true)]
async fn p05_a_slow_trickle_is_not_stale_and_its_time_is_told() {
    let (listener, url) = listen().await;
    let (ask, mut asked) = tokio::sync::mpsc::channel::<&[u8]>(1);
    let server = tokio::spawn(async move {
        let mut socket = hold(listener, HEAD.to_vec()).await;
        while let Some(bytes) = asked.recv().await {
            advance(Duration::from_secs(100)).await;
            socket.write_all(bytes).await.unwrap();
        }
    });
    let endpoint = Endpoint::new("example", &url, Wire::Chat).unwrap().with_timeouts(Timeouts::default());
    let mut stream = HttpProvider::new(endpoint).call(&target(), "{}".into());
    for _ in 0..5 {
        ask.send(PIECE).await.unwrap();
        assert_eq!(stream.next().await, Some(ReplyEvent::Delta(Delta::Text("a".into()))));
    }
    ask.send(FINISH).await.unwrap();
    drop(ask);
    let Some(ReplyEvent::Done(end)) = stream.next().await else { panic!("it ends") };
    assert_eq!((end.timing.first, end.timing.whole), (Span::seconds(100), Span::seconds(600)));
    server.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn p06_an_error_whose_body_never_comes() {
    let head = b"HTTP/1.1 500 Oops\r\ncontent-length: 100\r\n\r\nhalf of ";
    let (_, end, waited) = silent_after(head, Timeouts::default()).await;
    assert_eq!(waited, 10);
    assert!(end.starts_with("Other: 500 from 127.0.0.1:") && end.contains("half of"), "{end}");
}

#[tokio::test]
async fn p06_an_error_whose_body_never_ends() {
    let (listener, url) = listen().await;
    let server = tokio::spawn(async move {
        let (mut socket, _) = request(&listener).await;
        socket.write_all(b"HTTP/1.1 429 Slow\r\nretry-after: 3\r\n\r\n").await.unwrap();
        let mut written = 0_usize;
        while socket.write_all(&[b'x'; 1 << 14]).await.is_ok() {
            written += 1 << 14;
        }
        written
    });
    let failure = collect(provider(&url).call(&target(), "{}".into())).await.1.unwrap_err();
    assert_eq!((failure.kind, failure.status), (FailureKind::RateLimit, Some(429)));
    assert_eq!(failure.retry_after, Some(Span::seconds(3)));
    assert!(failure.message.len() < 2_000, "{}", failure.message);
    // The client closed; what was written is what fits into the buffers between.
    assert!(server.await.unwrap() < 64 << 20);
}
