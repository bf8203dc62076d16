//! Each fault as a client meets it.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::client::{Answer, End, chat, post, read, start};

const ASK: &str = r#"{"model":"m","messages":[{"role":"user","content":"x"}]}"#;
const ASK_STREAM: &str = r#"{"model":"m","messages":[{"role":"user","content":"x"}],"stream":true}"#;

async fn answer_of(line: &str, body: &str) -> Answer {
    chat(&start(line).await, body).await
}

#[tokio::test]
async fn a_status_comes_with_its_headers_and_its_body() {
    let line = r#"{"fault":{"status":429,"headers":{"Retry-After":7,"x-a":"b"},"body":{"error": 1.50}}}"#;
    let answer = answer_of(line, ASK).await;
    assert_eq!((answer.status, answer.text()), (429, r#"{"error": 1.50}"#));
    let headers = ["retry-after", "x-a", "content-type"].map(|name| answer.header(name));
    assert_eq!(headers, [Some("7"), Some("b"), Some("application/json")]);
}

#[tokio::test]
async fn a_status_may_bring_a_page_and_says_what_it_is_without_one() {
    let line = r#"{"fault":{"status":503,"headers":{"Content-Type":"text/html"},"body":"<html>"}}"#;
    let answer = answer_of(line, ASK_STREAM).await;
    assert_eq!(
        (answer.status, answer.text(), answer.header("content-type")),
        (503, "<html>", Some("text/html"))
    );
    let plain = answer_of(r#"{"fault":{"status":503,"body":"busy"}}"#, ASK).await;
    assert_eq!((plain.text(), plain.header("content-type")), ("busy", Some("text/plain; charset=utf-8")));
    let usual = answer_of(r#"{"fault":{"status":401}}"#, ASK).await;
    let wanted = r#"{"error":{"message":"Unauthorized (as the script says)","type":"scripted_model_server","code":401}}"#;
    assert_eq!((usual.status, usual.text()), (401, wanted));
}

#[tokio::test]
async fn a_cut_leaves_exactly_its_bytes() {
    for body in [ASK, ASK_STREAM] {
        let whole = answer_of(r#"{"text":"cut me here, or there"}"#, body).await;
        assert_eq!(whole.end, End::Whole);
        for bytes in [0, 1, 7, 200, 301] {
            let line = format!(r#"{{"text":"cut me here, or there","fault":{{"cut_after_bytes":{bytes}}}}}"#);
            let cut = answer_of(&line, body).await;
            let bytes = bytes.min(whole.body.len());
            let end = if bytes == whole.body.len() { End::Whole } else { End::Cut };
            assert_eq!((cut.status, &cut.body, cut.end), (200, &whole.body[..bytes].to_vec(), end));
        }
    }
}

/// The faults of a body are those of every wire.
#[tokio::test]
async fn other_wires_fail_alike() {
    let asked = [
        ("/v1/responses", r#"{"model":"m","input":"x"}"#),
        ("/v1/responses", r#"{"model":"m","input":"x","stream":true}"#),
        ("/v1/messages", ASK),
        ("/v1/messages", ASK_STREAM),
    ];
    for (path, body) in asked {
        let ask = async |fault: &str| {
            let line = format!(r#"{{"text":"cut me here, or there"{fault}}}"#);
            post(&start(&line).await, path, body).await
        };
        let whole = ask("").await;
        assert_eq!((whole.status, whole.end), (200, End::Whole));
        for bytes in [0, 1, 100] {
            let cut = ask(&format!(r#","fault":{{"cut_after_bytes":{bytes}}}"#)).await;
            assert_eq!((cut.status, &cut.body, cut.end), (200, &whole.body[..bytes].to_vec(), End::Cut));
        }
        let garbage = ask(r#","fault":"garbage""#).await;
        assert!(garbage.status == 200 && std::str::from_utf8(&garbage.body).is_err());
        let busy = ask(r#","fault":{"status":529,"headers":{"Retry-After":7},"body":{"a": 1.50}}"#).await;
        assert_eq!((busy.status, busy.text(), busy.header("retry-after")), (529, "{\"a\": 1.50}", Some("7")));
    }
}

/// More than any buffer between the two holds, to a client that reads late.
#[tokio::test]
async fn a_cut_far_behind_loses_nothing_before_it() {
    let text = "z".repeat(8 << 20);
    let line = format!(r#"{{"text":"{text}","fault":{{"cut_after_bytes":8000000}}}}"#);
    for body in [ASK, ASK_STREAM] {
        let cut = answer_of(&line, body).await;
        assert_eq!((cut.body.len(), cut.end), (8_000_000, End::Cut));
    }
}

#[tokio::test]
async fn a_streamed_cut_behind_the_end_takes_the_end_away() {
    let cut = answer_of(r#"{"text":"x","fault":{"cut_after_bytes":100000}}"#, ASK_STREAM).await;
    assert_eq!((cut.end, cut.events().last().copied()), (End::Cut, Some("[DONE]")));
}

#[tokio::test]
async fn garbage_is_neither_json_nor_events_and_not_even_text() {
    for body in [ASK, ASK_STREAM] {
        let answer = answer_of(r#"{"text":"x","fault":"garbage"}"#, body).await;
        assert_eq!((answer.status, answer.end), (200, End::Whole));
        assert!(std::str::from_utf8(&answer.body).is_err());
        assert!(!answer.body.windows(5).any(|five| five == b"data:"));
    }
}

async fn asked(address: SocketAddr, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    ask(&mut stream, body).await;
    stream
}

async fn ask(stream: &mut TcpStream, body: &str) {
    let head = format!("POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {}", body.len());
    stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).await.unwrap();
}

async fn headers(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        bytes.push(stream.read_u8().await.unwrap());
    }
    bytes
}

/// The server is asked to stop only when the headers are here, so what follows them was withheld for that long. The
/// clock is turned on over the grace that a stop gives.
#[tokio::test(start_paused = true)]
async fn a_stall_is_headers_and_nothing_more() {
    let server = start(r#"{"text":"x","fault":"stall"}"#).await;
    let mut stream = asked(server.address(), ASK_STREAM).await;
    let mut bytes = headers(&mut stream).await;
    let begun = Instant::now();
    let requests = server.stop().await;
    assert!(begun.elapsed() >= Duration::from_secs(1));
    stream.read_to_end(&mut bytes).await.unwrap();
    let answer = read(&bytes);
    assert_eq!((answer.status, answer.body, answer.end), (200, Vec::new(), End::Cut));
    assert_eq!(requests.len(), 1);
}

#[tokio::test]
async fn a_stall_does_not_keep_others_waiting() {
    let server = start("{\"fault\":\"stall\"}\n{\"text\":\"next\"}").await;
    let mut stream = asked(server.address(), ASK).await;
    headers(&mut stream).await;
    assert!(chat(&server, ASK).await.text().contains("next"));
}

/// Otherwise the stop would wait for its grace.
#[tokio::test(start_paused = true)]
async fn a_stall_ends_when_the_client_goes_away() {
    let server = start(r#"{"fault":"stall"}"#).await;
    let mut stream = asked(server.address(), ASK).await;
    headers(&mut stream).await;
    drop(stream);
    let begun = Instant::now();
    assert_eq!(server.stop().await.len(), 1);
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

/// As many pauses as there are pieces of 64 bytes, whichever of them the client reads together.
#[tokio::test(start_paused = true)]
async fn a_trickle_brings_a_small_piece_each_time() {
    for body in [ASK, ASK_STREAM] {
        let server = start(r#"{"text":"slow","usage":null,"fault":{"trickle_ms":60000}}"#).await;
        let mut stream = asked(server.address(), body).await;
        let mut bytes = headers(&mut stream).await;
        let begun = Instant::now();
        stream.read_u8().await.map(|byte| bytes.push(byte)).unwrap();
        assert_eq!(begun.elapsed(), Duration::from_secs(60));
        while !ended(&bytes) {
            let mut piece = [0; 500];
            let read = stream.read(&mut piece).await.unwrap();
            bytes.extend_from_slice(&piece[..read]);
        }
        let pieces = read(&bytes).body.len().div_ceil(64) as u64;
        assert!(begun.elapsed() >= Duration::from_secs(60 * pieces), "{pieces} in {:?}", begun.elapsed());
    }
}

fn ended(bytes: &[u8]) -> bool {
    bytes.ends_with(b"\r\n0\r\n\r\n") || bytes.ends_with(b"}]}") || bytes.ends_with(b"}}")
}

/// Clients use a connection again; a fault of one reply is not one of the next, but for the cut that ends all.
#[tokio::test]
async fn one_connection_carries_several_replies_until_one_is_cut() {
    let lines = [
        r#"{"text":"one"}"#,
        r#"{"fault":{"status":429}}"#,
        r#"{"text":"two"}"#,
        r#"{"fault":{"cut_after_bytes":5}}"#,
    ];
    let server = start(&lines.join("\n")).await;
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    let mut seen = Vec::new();
    for body in [ASK_STREAM, ASK, ASK_STREAM, ASK] {
        ask(&mut stream, body).await;
        let mut bytes = headers(&mut stream).await;
        while !ended(&bytes) {
            let mut more = [0; 500];
            let read = stream.read(&mut more).await.unwrap();
            if read == 0 {
                break;
            }
            bytes.extend_from_slice(&more[..read]);
        }
        let answer = read(&bytes);
        seen.push((answer.status, answer.end));
    }
    assert_eq!(seen, [(200, End::Whole), (429, End::Whole), (200, End::Whole), (200, End::Cut)]);
    assert_eq!(stream.read(&mut [0; 9]).await.unwrap(), 0);
}
