//! Servers that do what none should. Each is met by the real client over a real socket, and ends in a failure that says
//! what, where and what next; nothing grows without end, nothing waits without end, and no key goes astray.

use std::io::{ErrorKind, Read as _, Write as _};
use std::sync::Arc;
use std::time::Duration;

use petasos_core::request::Wire;
use petasos_core::stop::FailureKind;
use petasos_core::turn::{Delta, Failure, ReplyEnd};
use petasos_providers::{Endpoint, HttpProvider, Provider, Secret, Timeouts};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::AsyncWriteExt;
use tokio::time::{Instant, sleep};

use crate::say::target;
use crate::server::{call, collect, listen, ok, provider, request};

const TEXT: &[u8] = b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\n";
const FINISH: &[u8] = b"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";

/// A failure of this kind whose message holds all this, its host among it.
#[track_caller]
fn check(end: Result<ReplyEnd, Failure>, kind: FailureKind, words: &[&str]) {
    let failure = end.expect_err("it is no reply");
    assert_eq!(failure.kind, kind, "{}", failure.message);
    for word in words.iter().chain(&["127.0.0.1:"]) {
        assert!(failure.message.contains(word), "no {word:?} in {:?}", failure.message);
    }
    assert!(failure.message.len() < 1_000, "{}", failure.message);
}

/// What comes of a server that says this, and then this again and again until nobody listens; and how much it said.
async fn endless(start: &[u8], more: &'static [u8]) -> (Result<ReplyEnd, Failure>, usize) {
    let (listener, url) = listen().await;
    let start = start.to_vec();
    let server = tokio::spawn(async move {
        let (mut socket, _) = request(&listener).await;
        socket.write_all(&start).await.unwrap();
        let piece = more.repeat((1 << 14) / more.len());
        let mut written = 0;
        while socket.write_all(&piece).await.is_ok() {
            written += piece.len();
        }
        written
    });
    let end = collect(provider(&url).call(&target(), "{}".into())).await.1;
    (end, server.await.unwrap())
}

#[tokio::test]
async fn p06_a_line_or_a_body_that_does_not_end() {
    // What is taken in is at most 8 MiB; the rest stood in the buffers between.
    let most = 64 << 20;
    let (end, written) = endless(&ok(b"data: "), b"x").await;
    check(end, FailureKind::BadStream, &["one event of the stream is over 8388608 bytes"]);
    assert!(written < most, "{written}");
    let (end, written) = endless(&ok(b"{\"choices\":\""), b"x").await;
    check(end, FailureKind::BadStream, &["a body over 8388608 bytes"]);
    assert!(written < most, "{written}");
    let (end, written) = endless(b"HTTP/1.1 503 Busy\r\ncontent-type: text/plain\r\n\r\n", b"busy ").await;
    check(end, FailureKind::Overloaded, &["503 from", "busy busy"]);
    assert!(written < most, "{written}");
}

#[tokio::test]
async fn p06_a_head_that_does_not_end() {
    for start in ["HTTP/1.1 200 OK\r\nx-long: ", "HTTP/1.1 200 "] {
        let (end, written) = endless(start.as_bytes(), b"x").await;
        check(end, FailureKind::BadStream, &["no HTTP", "http"]);
        assert!(written < 64 << 20, "{written}");
    }
    let (end, _) = endless(b"HTTP/1.1 200 OK\r\n", b"x-one: 1\r\n").await;
    check(end, FailureKind::BadStream, &["no HTTP"]);
}

/// How a call ends, and after how many seconds, if the server says this, and then this each second.
async fn each_second(start: &[u8], more: &'static [u8]) -> (Result<ReplyEnd, Failure>, u64) {
    let (listener, url) = listen().await;
    let start = start.to_vec();
    let server = tokio::spawn(async move {
        let (mut socket, _) = request(&listener).await;
        socket.write_all(&start).await.unwrap();
        while socket.write_all(more).await.is_ok() {
            sleep(Duration::from_secs(1)).await;
        }
    });
    let timeouts = Timeouts { first_byte: Duration::from_secs(30), ..Timeouts::default() };
    let endpoint = Endpoint::new("example", &url, Wire::Chat).unwrap().with_timeouts(timeouts);
    let started = Instant::now();
    let (_, end) = collect(HttpProvider::new(endpoint).call(&target(), "{}".into())).await;
    let waited = started.elapsed().as_secs();
    server.abort();
    (end, waited)
}

#[tokio::test(start_paused = true)]
async fn p05_a_head_that_comes_byte_by_byte_has_the_time_of_the_first_byte() {
    let (end, waited) = each_second(b"HTTP/1.1 200 OK\r\nx-slow: ", b"x").await;
    check(end, FailureKind::Timeout, &["no answer", "30 s", "timeouts.first_byte"]);
    assert_eq!(waited, 30);
}

#[tokio::test(start_paused = true)]
async fn p05_answers_that_only_say_wait_do_not_put_off_the_end() {
    for informational in
        [&b"HTTP/1.1 100 Continue\r\n\r\n"[..], b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n"]
    {
        let (end, waited) = each_second(b"", informational).await;
        check(end, FailureKind::Timeout, &["no answer", "30 s", "timeouts.first_byte"]);
        assert_eq!(waited, 30);
    }
}

#[tokio::test]
async fn p06_a_flood_of_answers_that_only_say_wait_is_passed_over() {
    let flood = b"HTTP/1.1 102 Processing\r\n\r\n".repeat(20_000);
    let (deltas, end) = call([&flood, &ok(&[TEXT, FINISH].concat())[..]].concat()).await;
    assert_eq!(deltas, [Delta::Text("Hi".into())]);
    end.unwrap();
}

#[tokio::test]
async fn p04_what_is_no_http_is_told_as_such() {
    for bytes in [
        &b"hello\r\n\r\n"[..],
        b"<html>It works</html>\r\n",
        b"data: {\"choices\":[]}\n\n",
        b"HTTP/9.9 200 OK\r\n\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabcd",
        // A server with TLS, spoken to without.
        b"\x15\x03\x01\x00\x02\x02\x46",
        b"SSH-2.0-OpenSSH_9.9\r\n",
    ] {
        let end = call(bytes.to_vec()).await.1;
        check(end, FailureKind::BadStream, &["no HTTP", "https://"]);
    }
}

#[tokio::test]
async fn p04_a_body_that_is_not_as_long_as_it_says() {
    let head = |rest: &str| format!("HTTP/1.1 200 OK\r\n{rest}\r\n\r\n").into_bytes();
    let chunked = head("transfer-encoding: chunked");
    for (what, bytes) in [
        ("too short", [&head("content-length: 20")[..], TEXT, FINISH].concat()),
        ("too long", [&head("content-length: 9000")[..], TEXT].concat()),
        ("no size", [&chunked[..], b"zz\r\n", TEXT].concat()),
        ("too large a size", [&chunked[..], b"fffffffffffffffffffff\r\n", TEXT].concat()),
        ("another size", [&chunked[..], b"4\r\n", TEXT, b"\r\n0\r\n\r\n"].concat()),
        ("no end", [&chunked[..], format!("{:x}\r\n", TEXT.len()).as_bytes(), TEXT, b"\r\n"].concat()),
    ] {
        let (deltas, end) = call(bytes).await;
        check(end, FailureKind::BadStream, &["broke off"]);
        assert!(deltas.len() <= 1, "{what}: {deltas:?}");
    }
}

#[tokio::test]
async fn p04_a_connection_that_is_reset_in_the_middle() {
    let (listener, url) = listen().await;
    let server = tokio::spawn(async move {
        let (mut socket, _) = request(&listener).await;
        socket.write_all(&ok(TEXT)).await.unwrap();
        // The first piece is read before the reset throws away what is not.
        sleep(Duration::from_millis(1)).await;
        socket
    });
    let mut stream = provider(&url).call(&target(), "{}".into());
    let first = futures_util::StreamExt::next(&mut stream).await;
    assert_eq!(first, Some(petasos_providers::ReplyEvent::Delta(Delta::Text("Hi".into()))));
    server.await.unwrap().set_zero_linger().unwrap();
    let end = collect(stream).await.1;
    check(end, FailureKind::BadStream, &["broke off", "reset"]);
}

#[tokio::test]
async fn p04_of_two_content_types_neither_matters() {
    let head =
        b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-type: image/png\r\nconnection: close\r\n\r\n";
    let (deltas, end) = call([&head[..], TEXT, FINISH].concat()).await;
    assert_eq!(deltas, [Delta::Text("Hi".into())]);
    end.unwrap();
}

#[tokio::test]
async fn p04_bytes_that_are_no_utf8_cost_themselves_alone() {
    let text = TEXT.iter().flat_map(|byte| if *byte == b'H' { vec![0xff, b'H'] } else { vec![*byte] });
    let (deltas, end) = call(ok(&[&text.collect::<Vec<u8>>()[..], FINISH].concat())).await;
    assert_eq!(deltas, [Delta::Text("\u{fffd}Hi".into())]);
    end.unwrap();
    let (_, end) = call(b"HTTP/1.1 500 Oops\r\ncontent-length: 5\r\n\r\n\xff\xfe\xfdno".to_vec()).await;
    check(end, FailureKind::Other, &["500 from", "no"]);
}

/// A gzip of some text: its first bytes tell it.
const GZIP: &[u8] =
    b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\x48\xcd\xc9\xc9\x07\x00\x86\xa6\x10\x36\x05\x00\x00\x00";

#[tokio::test]
async fn p04_an_answer_that_is_packed_though_nobody_asked_is_told_as_such() {
    let packed = |status: &str, encoding: &str| {
        let head = format!("HTTP/1.1 {status}\r\n{encoding}connection: close\r\n\r\n");
        [head.as_bytes(), GZIP].concat()
    };
    for (encoding, name) in
        [("gzip", "gzip"), ("br", "br"), ("deflate", "deflate"), ("GZIP, identity", "gzip, identity")]
    {
        let bytes = packed("200 OK", &format!("content-encoding: {encoding}\r\n"));
        check(call(bytes).await.1, FailureKind::BadRequest, &["packed", name, "proxy"]);
        let bytes = packed("502 Bad Gateway", &format!("content-encoding: {encoding}\r\n"));
        check(call(bytes).await.1, FailureKind::Other, &["502 from", "packed", name]);
    }
    check(call(packed("200 OK", "")).await.1, FailureKind::BadRequest, &["packed", "gzip", "proxy"]);
    check(call(packed("502 Bad Gateway", "")).await.1, FailureKind::Other, &["502", "packed", "gzip"]);
    // What is announced as nothing is nothing.
    let head = b"HTTP/1.1 200 OK\r\ncontent-encoding: identity\r\nconnection: close\r\n\r\n";
    call([&head[..], TEXT, FINISH].concat()).await.1.unwrap();
}

#[tokio::test]
async fn p04_no_packing_is_asked_for() {
    let (listener, url) = listen().await;
    let server = tokio::spawn(crate::server::answer(listener, ok(&[TEXT, FINISH].concat())));
    collect(provider(&url).call(&target(), "{}".into())).await.1.unwrap();
    let sent = server.await.unwrap();
    assert!(sent.lines().any(|line| line == "accept-encoding: identity"), "{sent}");
}

#[tokio::test]
async fn p04_a_key_never_follows_to_another_host() {
    let elsewhere = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    elsewhere.set_nonblocking(true).unwrap();
    let place = elsewhere.local_addr().unwrap();
    for status in ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"] {
        let (listener, url) = listen().await;
        let head =
            format!("HTTP/1.1 {status}\r\nlocation: http://{place}/v1/chat\r\ncontent-length: 0\r\n\r\n");
        tokio::spawn(crate::server::answer(listener, head.into_bytes()));
        let endpoint = Endpoint::new("example", &url, Wire::Chat).unwrap();
        let provider = HttpProvider::new(endpoint.with_key(Secret::new("sk-1")));
        let end = collect(provider.call(&target(), "{}".into())).await.1;
        check(end, FailureKind::NotFound, &["sends requests on to", "base URL"]);
        let got = elsewhere.accept().expect_err("nobody comes there");
        assert_eq!(got.kind(), ErrorKind::WouldBlock);
    }
}

/// A certificate that nobody vouches for (`openssl req -x509`, P-256, until 2126), and its key, which is used for
/// nothing else.
const CERTIFICATE: &[u8] = include_bytes!("../../tls/self_signed.der");
const KEY: &[u8] = include_bytes!("../../tls/self_signed.key.der");

#[tokio::test]
async fn p04_a_certificate_that_nobody_vouches_for_is_told_and_gets_no_key() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/v1", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(KEY.to_vec()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![CertificateDer::from(CERTIFICATE)], key)
            .unwrap();
        let mut tls = rustls::ServerConnection::new(Arc::new(config)).unwrap();
        let (mut socket, _) = listener.accept().unwrap();
        let mut got = Vec::new();
        let mut stream = rustls::Stream::new(&mut tls, &mut socket);
        drop(stream.read_to_end(&mut got));
        drop(stream.flush());
        got
    });
    let endpoint = Endpoint::new("example", &url, Wire::Chat).unwrap();
    let provider = HttpProvider::new(endpoint.with_key(Secret::new("sk-1")));
    let end = collect(provider.call(&target(), "{}".into())).await.1;
    check(end, FailureKind::Network, &["no TLS connection", "certificate"]);
    assert_eq!(server.join().unwrap(), b"", "nothing was said to it");
}
