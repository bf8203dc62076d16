//! Every wait has an end. The clock stands still but where a test moves it, or where everybody waits.

use std::time::Duration;

use futures_util::StreamExt;
use petasos_core::request::Wire;
use petasos_core::stop::FailureKind;
use petasos_core::time::Span;
use petasos_core::turn::Delta;
use petasos_providers::{
    AnswerDecoder, Endpoint, Fed, HttpProvider, Provider, ReplyEvent, Timeouts, TimeoutsSet,
};
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

fn waits(url: &str, model: &str) -> Timeouts {
    Endpoint::new("example", url, Wire::Chat).unwrap().timeouts(model)
}

#[test]
fn p05_a_server_of_ones_own_is_waited_for_longer_unless_a_person_says_how_long() {
    for local in [
        "http://localhost:8080/v1",
        "http://127.0.0.1/v1",
        "http://127.8.0.1/v1",
        "http://0.0.0.0:8080/v1",
        "http://[::1]:1234/v1",
        "http://10.1.2.3:8000/v1",
        "http://172.16.0.1/v1",
        "http://172.31.255.255/v1",
        "http://192.168.1.5:8080/v1",
        "http://169.254.7.7/v1",
        "http://[fd12:3456::1]:8080/v1",
        "http://[fe80::1]/v1",
        "http://[::ffff:192.168.1.5]/v1",
        "http://studio.local:1234/v1",
        "http://GPU.LAN./v1",
        "http://box.home.arpa/v1",
        "http://host.docker.internal:11434/v1",
        "https://gpu-box/v1",
    ] {
        assert_eq!(waits(local, "m"), seconds(10, 1_800, 1_800, None), "{local}");
    }
    for hosted in [
        "https://models.example/v1",
        "http://172.32.0.1/v1",
        "http://11.0.0.1/v1",
        "http://192.169.0.1/v1",
        "http://[2001:db8::1]/v1",
        "http://[::ffff:8.8.8.8]/v1",
        "https://localhost.example/v1",
        "https://local.example/v1",
        "https://host.docker.internal.example/v1",
    ] {
        assert_eq!(waits(hosted, "m"), seconds(10, 120, 120, None), "{hosted}");
    }
    let set = Endpoint::new("example", "http://localhost/v1", Wire::Chat).unwrap();
    assert_eq!(set.with_timeouts(seconds(1, 2, 3, None)).timeouts("m"), seconds(1, 2, 3, None));
}

#[test]
fn p05_a_model_that_thinks_long_is_waited_for_longer_unless_a_person_says_how_long() {
    let at = |provider: &str, url: &str, model: &str| {
        Endpoint::new(provider, url, Wire::Chat).unwrap().timeouts(model)
    };
    let openai = "https://api.openai.com/v1";
    for (provider, url, model, wait) in [
        ("openai", openai, "gpt-5-mini", 600),
        ("openai", openai, "o3", 600),
        ("openai", openai, "gpt-5-chat-latest", 120),
        ("openai", openai, "gpt-4.1", 120),
        // By its address too, and however the name is written.
        (openai, openai, "O4-mini", 600),
        ("deepseek", "https://api.deepseek.com", "deepseek-reasoner", 600),
        ("deepseek", "https://api.deepseek.com", "deepseek-chat", 120),
        ("openrouter", "https://openrouter.ai/api/v1", "openai/gpt-5", 600),
        ("example", "https://models.example/v1", "o3", 120),
        ("openai", "http://127.0.0.1:8080/v1", "o3", 1_800),
    ] {
        assert_eq!(at(provider, url, model), seconds(10, wait, wait, None), "{provider} {url} {model}");
    }
    let endpoint = Endpoint::new("openai", openai, Wire::Chat).unwrap();
    let idle = TimeoutsSet { idle: Some(Duration::from_secs(7)), ..TimeoutsSet::default() };
    assert_eq!(endpoint.with_set(idle).timeouts("o3"), seconds(10, 600, 7, None));
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

/// What a server says that only shows that it is alive: comments, pings, events that change nothing.
const SIGNS: [&[u8]; 6] = [
    b": PROCESSING\n\n",
    b"\n\n",
    b"data: {}\n\n",
    b"data: {\"choices\":[]}\n\n",
    b"data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n",
    b"event: ping\ndata: {\"type\":\"ping\"}\n\n",
];

/// How a call ends, and after how many seconds, if a server says this and then shows every 50 s that it is alive.
async fn alive_after(bytes: &[u8], usual: Timeouts, set: TimeoutsSet) -> (usize, String, u64) {
    let (listener, url) = listen().await;
    let bytes = bytes.to_vec();
    let server = tokio::spawn(async move {
        let mut socket = hold(listener, bytes).await;
        for sign in SIGNS.iter().cycle() {
            tokio::time::sleep(Duration::from_secs(50)).await;
            if socket.write_all(sign).await.is_err() {
                return;
            }
        }
    });
    let endpoint = Endpoint::new("example", &url, Wire::Chat).unwrap();
    let endpoint = endpoint.with_timeouts(usual).with_set(set);
    let started = Instant::now();
    let (deltas, end) = collect(HttpProvider::new(endpoint).call(&target(), "{}".into())).await;
    let waited = started.elapsed().as_secs();
    server.abort();
    (deltas.len(), end.unwrap_err().message.to_string(), waited)
}

/// OpenRouter and DeepSeek send comments for minutes while a request waits for its machine.
#[tokio::test(start_paused = true)]
async fn p05_signs_of_life_put_the_end_off_but_not_for_ever() {
    let (hosted, nothing) = (Timeouts::default(), TimeoutsSet::default());
    let (deltas, end, waited) = alive_after(HEAD, hosted, nothing).await;
    assert_eq!((deltas, waited), (0, 1_800));
    assert!(end.starts_with("nothing of a reply came from 127.0.0.1:"), "{end}");
    let told = "for 1800 s, only what keeps a connection open (timeouts.first_byte)";
    assert!(end.contains(told), "{end}");
    let (deltas, end, waited) = alive_after(&[HEAD, PIECE].concat(), hosted, nothing).await;
    assert_eq!((deltas, waited), (1, 1_800));
    let told = "in the middle of its reply for 1800 s, only what keeps a connection open (timeouts.idle)";
    assert!(end.contains(told), "{end}");
}

#[tokio::test(start_paused = true)]
async fn p05_a_wait_that_a_person_set_is_the_whole_wait_whatever_signs_of_life_there_are() {
    let set = |first_byte, idle| TimeoutsSet {
        first_byte: Some(Duration::from_secs(first_byte)),
        idle: Some(Duration::from_secs(idle)),
        ..TimeoutsSet::default()
    };
    let (_, end, waited) = alive_after(HEAD, Timeouts::default(), set(130, 70)).await;
    assert_eq!(waited, 130, "{end}");
    let (_, end, waited) = alive_after(&[HEAD, PIECE].concat(), Timeouts::default(), set(130, 70)).await;
    assert_eq!(waited, 70, "{end}");
}

/// Signs that come further apart than the wait for a piece are not waited for.
#[tokio::test(start_paused = true)]
async fn p05_after_the_last_sign_of_life_the_usual_wait_holds() {
    let signs = [HEAD, SIGNS[0], SIGNS[2]].concat();
    let usual = seconds(10, 40, 30, None);
    let (_, end, waited) = alive_after(&signs, usual, TimeoutsSet::default()).await;
    assert_eq!(waited, 40, "{end}");
    let (_, end, waited) = alive_after(&[&signs, PIECE].concat(), usual, TimeoutsSet::default()).await;
    assert_eq!(waited, 30, "{end}");
}

#[test]
fn p05_what_only_keeps_the_connection_open_is_no_progress_in_any_pieces() {
    for sign in SIGNS {
        let mut decoder = AnswerDecoder::new(&target(), "models.example");
        decoder.feed(PIECE);
        for byte in sign.chunks(1) {
            assert_eq!(decoder.feed(byte), Fed::Nothing, "{}", String::from_utf8_lossy(sign));
        }
        assert_eq!(decoder.feed(PIECE), Fed::Progress);
    }
    // An event that is large is progress while it comes.
    let mut decoder = AnswerDecoder::new(&target(), "models.example");
    let large = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{}", "x".repeat(2_000));
    assert_eq!(decoder.feed(large.as_bytes()), Fed::Progress);
    assert_eq!(decoder.feed(b"x"), Fed::Progress);
}

#[tokio::test(start_paused = true)]
async fn case_d12_one_delta_then_nothing_and_the_socket_stays_open() {
    let (deltas, end, waited) = silent_after(&[HEAD, PIECE].concat(), seconds(10, 30, 2, None)).await;
    assert_eq!((deltas, waited), (vec![Delta::Text("a".into())], 2));
    assert!(end.starts_with("Timeout: ") && end.contains("reply for 2 s (timeouts.idle)"), "{end}");
    assert!(FailureKind::Timeout.is_passing(), "it is tried again");
}
