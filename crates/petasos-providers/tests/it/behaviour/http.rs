//! Requests and answers over a real socket.

use std::time::Duration;

use futures_util::StreamExt;
use petasos_core::entry::FinishReason;
use petasos_core::request::Wire;
use petasos_core::stop::FailureKind;
use petasos_core::turn::{Delta, Failure};
use petasos_core::usage::Usage;
use petasos_providers::{Endpoint, HttpProvider, Provider, ProviderError, ReplyEvent, Secret};
use tokio::io::AsyncReadExt;
use tokio::io::AsyncWriteExt;

use crate::say::target;
use crate::server::{answer, call, collect, listen, ok, provider, read_request, request};

const TEXT: &[u8] = b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\n";

fn with_status(status: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\n\r\n{body}").into_bytes()
}

async fn failure(bytes: Vec<u8>) -> Failure {
    call(bytes).await.1.unwrap_err()
}

fn assert_says(failure: &Failure, words: &[&str]) {
    for word in words {
        assert!(failure.message.contains(word), "no {word:?} in {:?}", failure.message);
    }
}

#[tokio::test]
async fn p01_a_reply_comes_in_pieces_over_http() {
    let (deltas, end) = call(ok(include_bytes!("../../cases/a10.sse"))).await;
    assert_eq!(deltas, [Delta::Text("done.".into())]);
    assert_eq!(end.unwrap().finish, FinishReason::Stop);
}

#[tokio::test]
async fn p01_a_request_is_sent_as_it_was_made() {
    let (listener, url) = listen().await;
    let endpoint = Endpoint::new("example", &format!("{url}//"), Wire::Chat).unwrap();
    let provider = HttpProvider::new(endpoint.with_key(Secret::new(" sk-1 \n")));
    let server = tokio::spawn(answer(listener, ok(include_bytes!("../../cases/a10.sse"))));
    collect(provider.call(&target(), r#"{"model":"m"}"#.into())).await.1.unwrap();
    let sent = server.await.unwrap();
    let (head, body) = sent.split_once("\r\n\r\n").unwrap();
    assert_eq!(body, r#"{"model":"m"}"#);
    assert!(head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{head}");
    let agent = format!("user-agent: petasos/{}", env!("CARGO_PKG_VERSION"));
    for line in
        ["authorization: Bearer sk-1", "content-type: application/json", "accept: text/event-stream", &agent]
    {
        assert!(head.lines().any(|sent| sent == line), "no {line:?} in {head}");
    }
}

#[tokio::test]
async fn p01_nothing_is_sent_before_the_stream_is_polled_and_dropping_it_closes_the_connection() {
    let (listener, url) = listen().await;
    let provider = provider(&url);
    drop(provider.call(&target(), "{}".into()));
    let mut stream = provider.call(&target(), r#"{"second":true}"#.into());
    let server = tokio::spawn(async move {
        let (mut socket, sent) = request(&listener).await;
        assert!(sent.ends_with(r#"{"second":true}"#), "{sent}");
        socket.write_all(&ok(TEXT)).await.unwrap();
        socket.read(&mut [0; 16]).await
    });
    assert_eq!(stream.next().await, Some(ReplyEvent::Delta(Delta::Text("Hi".into()))));
    drop(stream);
    let seen = server.await.unwrap();
    assert!(matches!(seen, Ok(0) | Err(_)), "the connection is still open: {seen:?}");
}

#[tokio::test]
async fn p01_the_next_request_goes_over_the_same_connection() {
    let (listener, url) = listen().await;
    let provider = provider(&url);
    let body = String::from_utf8_lossy(include_bytes!("../../cases/a16.sse")).into_owned();
    let chunked = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    let bytes = format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{chunked}");
    let server = tokio::spawn(async move {
        let (mut socket, _) = request(&listener).await;
        for left in [1, 0] {
            socket.write_all(bytes.as_bytes()).await.unwrap();
            if left > 0 {
                read_request(&mut socket).await;
            }
        }
    });
    for _ in 0..2 {
        let reply = collect(provider.call(&target(), "{}".into()));
        let reply = tokio::time::timeout(Duration::from_secs(30), reply).await;
        reply.expect("a second connection is never answered").1.unwrap();
    }
    server.await.unwrap();
}

#[tokio::test]
async fn p01_a_target_that_cannot_be_asked_here_is_refused_before_anything_is_sent() {
    let provider = provider("http://127.0.0.1:9/v1");
    let mut other = target();
    other.wire = Wire::Messages;
    let failure = collect(provider.call(&other, "{}".into())).await.1.unwrap_err();
    assert_eq!((failure.kind, failure.usage), (FailureKind::BadRequest, Some(Usage::default())));
}

#[tokio::test]
async fn p01_the_models_of_a_server_in_its_order() {
    for body in [
        r#"{"object":"list","data":[{"id":"b","object":"model"},{"id":"a"}]}"#,
        r#"[{"id":"b"},{"id":"a"}]"#,
        r#"{"models":[{"name":"b"},{"name":"a"}]}"#,
    ] {
        let (listener, url) = listen().await;
        let server = tokio::spawn(answer(listener, with_status("200 OK", "", body)));
        let models = provider(&url).models().await.unwrap();
        assert_eq!(models, ["b".into(), "a".into()]);
        let sent = server.await.unwrap();
        assert!(sent.starts_with("GET /v1/models HTTP/1.1\r\n"), "{sent}");
    }
}

#[tokio::test]
async fn p01_what_is_no_list_of_models_says_what_it_is() {
    let (listener, url) = listen().await;
    let page = "<!doctype html><title>Sign in</title>";
    tokio::spawn(answer(listener, with_status("200 OK", "", page)));
    assert_says(&provider(&url).models().await.unwrap_err(), &["HTML page", "Sign in", "/v1"]);
    let (listener, url) = listen().await;
    tokio::spawn(answer(listener, with_status("401 Unauthorized", "", "")));
    assert_eq!(provider(&url).models().await.unwrap_err().kind, FailureKind::Auth);
}

#[tokio::test]
async fn p03_a_whole_reply_where_a_stream_was_asked_for_is_the_same_reply() {
    let body = r#"{"id":"x","object":"chat.completion","model":"small-2","choices":[{"index":0,"message":{"role":"assistant","content":"I look.","tool_calls":[{"id":"c1","type":"function","function":{"name":"ls","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13}}"#;
    let (deltas, end) = call(with_status("200 OK", "content-type: application/json\r\n", body)).await;
    assert!(deltas.contains(&Delta::Text("I look.".into())), "{deltas:?}");
    assert!(deltas.contains(&Delta::CallComplete { place: 0 }), "{deltas:?}");
    let end = end.unwrap();
    assert_eq!(end.finish, FinishReason::ToolUse);
    assert_eq!(end.model, Some("small-2".into()));
    assert_eq!(end.usage, Some(Usage { input: 9, output: 4, cached: 0, reasoning: 0, cache_written: 0 }));
}

#[tokio::test]
async fn case_d08_bodies_that_are_no_json_or_have_the_wrong_type() {
    let page = "<html><head><title>502 Bad Gateway</title></head><body><center><h1>502 Bad Gateway</h1></center></body></html>";
    let gateway = failure(with_status("502 Bad Gateway", "content-type: text/html\r\n", page)).await;
    assert!(gateway.kind.is_passing());
    assert_eq!(gateway.status, Some(502));
    assert_says(&gateway, &["502 from 127.0.0.1:", "HTML page", "502 Bad Gateway"]);
    assert!(!gateway.message.contains('<'), "{}", gateway.message);
    let error = r#"{"error":{"message":"model not loaded","code":"model_not_found"}}"#;
    let loading = failure(with_status("200 OK", "content-type: text/event-stream\r\n", error)).await;
    assert_eq!(loading.kind, FailureKind::NotFound);
    assert_says(&loading, &["model not loaded", "model_not_found"]);
    let login = "<!doctype html><title>Sign in</title>";
    let page = failure(with_status("200 OK", "content-type: text/html\r\n", login)).await;
    assert!(!page.kind.is_passing());
    assert_says(&page, &["HTML page", "Sign in", "base URL"]);
}

#[tokio::test]
async fn p03_a_good_answer_with_nothing_or_junk_in_it_is_a_bad_stream() {
    for body in ["", "busy, come back later", "\n\n\n"] {
        let failure = failure(with_status("200 OK", "", body)).await;
        assert_eq!(failure.kind, FailureKind::BadStream, "{body:?}");
    }
}

#[tokio::test]
async fn p03_a_connection_that_breaks_off_is_a_bad_stream_after_what_came() {
    let bytes = [b"HTTP/1.1 200 OK\r\ncontent-length: 10000\r\n\r\n", TEXT].concat();
    let (deltas, end) = call(bytes).await;
    assert_eq!(deltas, [Delta::Text("Hi".into())]);
    let failure = end.unwrap_err();
    assert_eq!((failure.kind, failure.usage), (FailureKind::BadStream, None));
    assert_says(&failure, &["broke off"]);
}

#[tokio::test]
async fn p04_a_refused_key_says_whether_one_was_sent() {
    let body = r#"{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}"#;
    let none = failure(with_status("401 Unauthorized", "", body)).await;
    assert_eq!((none.kind, none.status, none.usage), (FailureKind::Auth, Some(401), Some(Usage::default())));
    assert_says(&none, &["401 from 127.0.0.1", "Incorrect API key", "no key was sent"]);
}

#[tokio::test]
async fn p04_a_missing_page_under_a_url_without_a_path_hints_at_v1() {
    let (listener, url) = listen().await;
    tokio::spawn(answer(listener, with_status("404 Not Found", "", "404 page not found")));
    let provider = provider(url.trim_end_matches("/v1"));
    let failure = collect(provider.call(&target(), "{}".into())).await.1.unwrap_err();
    assert_eq!(failure.kind, FailureKind::NotFound);
    assert_says(&failure, &["404 page not found", "no path: add /v1"]);
}

#[tokio::test]
async fn p04_a_redirect_is_not_followed_and_says_where_it_goes() {
    let headers = "location: https://elsewhere.example/v1/chat/completions\r\n";
    let failure = failure(with_status("308 Permanent Redirect", headers, "")).await;
    assert_eq!((failure.kind, failure.status), (FailureKind::NotFound, Some(308)));
    assert_says(&failure, &["https://elsewhere.example/v1"]);
}

#[tokio::test]
async fn p04_a_server_that_is_not_there_is_told_from_one_that_does_not_answer() {
    let (listener, url) = listen().await;
    drop(listener);
    let gone = collect(provider(&url).call(&target(), "{}".into())).await.1.unwrap_err();
    assert_eq!((gone.kind, gone.usage), (FailureKind::Network, Some(Usage::default())));
    assert_says(&gone, &["nothing listens at 127.0.0.1:"]);
    let closes = failure(Vec::new()).await;
    assert_eq!((closes.kind, closes.usage), (FailureKind::Network, None));
    assert_says(&closes, &["closed the connection"]);
}

#[tokio::test]
async fn p04_a_server_without_tls_where_tls_was_wanted_is_told() {
    let (listener, url) = listen().await;
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        socket.shutdown().await.unwrap();
        socket.read(&mut [0; 4096]).await
    });
    let provider = provider(&url.replace("http://", "https://"));
    let failure = collect(provider.call(&target(), "{}".into())).await.1.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Network);
    assert_says(&failure, &["no TLS connection to 127.0.0.1:"]);
}

#[tokio::test]
async fn p04_a_key_is_never_shown() {
    let endpoint = Endpoint::new("example", "http://127.0.0.1:9/v1", Wire::Chat).unwrap();
    let provider = HttpProvider::new(endpoint.with_key(Secret::new("sk-very-secret\u{1}x")));
    let failure = collect(provider.call(&target(), "{}".into())).await.1.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Auth);
    let secret = Secret::new("sk-very-secret");
    let shown = format!("{provider:?} {failure:?} {secret} {secret:?}");
    assert!(!shown.contains("very"), "{shown}");
}

#[tokio::test]
async fn p04_a_key_that_a_server_says_back_is_never_shown_not_even_half() {
    let key = "sk-very-secret-0123456789";
    // Before the key, so that a cut goes through it: at 200, 300 and 600 characters.
    for body in [180, 190, 280, 290, 590].map(|before| format!("{}{key}", "x".repeat(before))) {
        let answers = [
            body.clone(),
            format!("data: {{{body}\n\n"),
            format!("data: {{\"error\":{{\"message\":\"{body}\"}}}}\n\n"),
            format!("{{\"error\":{{\"message\":\"{body}\"}}}}"),
            format!("{{{body}"),
        ];
        for sent in
            answers.iter().flat_map(|sent| ["200 OK", "400 Bad"].map(|status| with_status(status, "", sent)))
        {
            let told = failures(&sent, key).await;
            assert!(!told.contains("sk-"), "{told}");
        }
    }
}

/// What is told of this answer to a list of models, and to a request.
async fn failures(sent: &[u8], key: &str) -> String {
    let (listener, url) = listen().await;
    let sent = sent.to_vec();
    let server = tokio::spawn(async move {
        for _ in 0..2 {
            let (mut socket, _) = request(&listener).await;
            socket.write_all(&sent).await.unwrap();
            socket.shutdown().await.unwrap();
        }
    });
    let endpoint = Endpoint::new("example", &url, Wire::Chat).unwrap();
    let endpoint = endpoint.with_key(Secret::new(key));
    // Each with a client of its own, so that neither meets the connection that was closed.
    let list = HttpProvider::new(endpoint.clone()).models().await.unwrap_err();
    let reply = collect(HttpProvider::new(endpoint).call(&target(), "{}".into())).await.1.unwrap_err();
    server.await.unwrap();
    format!("{}\n{}", list.message, reply.message)
}

#[test]
fn p01_a_base_url_that_cannot_be_used_says_why_and_shows_no_key() {
    let why = |url: &str| {
        let ProviderError::BadUrl { url, why } = Endpoint::new("example", url, Wire::Chat).unwrap_err();
        format!("{url}: {why}")
    };
    for (url, write) in [
        ("models.example/v1", "write https://models.example/v1"),
        ("127.0.0.1:9131/v1", "write http://127.0.0.1:9131/v1"),
        ("http//127.0.0.1:8080/v1", "write http://127.0.0.1:8080/v1"),
        ("localhost:8080/v1", "write http://localhost:8080/v1"),
        ("//10.1.2.3:8000/v1?key=sk-secret", "write http://10.1.2.3:8000/v1"),
        ("me:sk-secret@models.example/v1", "write https://models.example/v1"),
    ] {
        let told = why(url);
        assert!(told.ends_with(&format!(": it does not begin with http:// or https://; {write}")), "{told}");
        assert!(!told.contains("sk-secret"), "{told}");
    }
    assert!(why("ftp://models.example/v1").contains("neither http nor https"));
    assert!(why("http://").contains("host"));
    let key = why("https://user:sk-secret@models.example/v1");
    assert!(key.starts_with("https://models.example/v1: it holds"), "{key}");
    let query = why("ftp://models.example/v1?key=sk-secret");
    assert!(!query.contains("secret"), "{query}");
    let endpoint = Endpoint::new("example", "https://models.example/v1?key=sk-secret", Wire::Chat).unwrap();
    assert!(!format!("{endpoint:?}").contains("secret"), "{endpoint:?}");
}

#[tokio::test]
async fn p01_each_wire_has_its_path_and_its_headers_also_behind_a_whole_address() {
    for (wire, path, key) in [
        (Wire::Chat, "/chat/completions", "authorization: Bearer sk-1"),
        (Wire::Responses, "/responses", "authorization: Bearer sk-1"),
        (Wire::Messages, "/messages", "x-api-key: sk-1"),
    ] {
        for behind in ["", "/", path, "/chat/completions", "/responses", "/messages/"] {
            let (listener, url) = listen().await;
            let endpoint = Endpoint::new("example", &format!("{url}{behind}"), wire).unwrap();
            let provider = HttpProvider::new(endpoint.with_key(Secret::new("sk-1")));
            let server = tokio::spawn(answer(listener, ok(b"")));
            let asked = petasos_core::request::Target { wire, ..target() };
            collect(provider.call(&asked, "{}".into())).await.1.unwrap_err();
            let sent = server.await.unwrap();
            assert!(sent.starts_with(&format!("POST /v1{path} HTTP/1.1\r\n")), "{sent}");
            assert!(sent.lines().any(|line| line == key), "{sent}");
            let keys = sent.lines().filter(|line| line.contains("sk-1")).count();
            let version = sent.lines().any(|line| line == "anthropic-version: 2023-06-01");
            let is_messages = wire == Wire::Messages;
            // vLLM reads the second whatever the wire.
            assert_eq!((keys, version), (if is_messages { 2 } else { 1 }, is_messages), "{sent}");
            assert!(sent.lines().any(|line| line == "authorization: Bearer sk-1"), "{sent}");
        }
    }
}

#[tokio::test]
async fn p01_anthropic_itself_gets_the_key_in_its_own_header_alone() {
    let (listener, url) = listen().await;
    let endpoint = Endpoint::new("anthropic", &url, Wire::Messages).unwrap();
    let provider = HttpProvider::new(endpoint.with_key(Secret::new("sk-1")));
    let server = tokio::spawn(answer(listener, ok(b"")));
    let asked = petasos_core::request::Target { wire: Wire::Messages, ..target() };
    collect(provider.call(&asked, "{}".into())).await.1.unwrap_err();
    let sent = server.await.unwrap();
    let keys: Vec<&str> = sent.lines().filter(|line| line.contains("sk-1")).collect();
    assert_eq!(keys, ["x-api-key: sk-1"]);
}

#[tokio::test]
async fn p04_where_there_is_nothing_at_the_path_of_a_wire_the_others_are_named() {
    let hint =
        "it was asked by the protocol messages; if it speaks another, try --api-mode chat or responses";
    for (status, body, is_hinted) in [
        ("404 Not Found", r#"{"detail":"Not Found"}"#, true),
        ("405 Method Not Allowed", "", true),
        ("404 Not Found", r#"{"error":{"message":"The model `m` does not exist."}}"#, false),
        ("400 Bad Request", "{}", false),
    ] {
        let (listener, url) = listen().await;
        tokio::spawn(answer(listener, with_status(status, "", body)));
        let provider = HttpProvider::new(Endpoint::new("example", &url, Wire::Messages).unwrap());
        let asked = petasos_core::request::Target { wire: Wire::Messages, ..target() };
        let failure = collect(provider.call(&asked, "{}".into())).await.1.unwrap_err();
        assert_eq!(failure.message.ends_with(hint), is_hinted, "{}", failure.message);
    }
    // The list of models is the same on all wires.
    let (listener, url) = listen().await;
    tokio::spawn(answer(listener, with_status("404 Not Found", "", "{}")));
    let provider = HttpProvider::new(Endpoint::new("example", &url, Wire::Messages).unwrap());
    let failure = provider.models().await.unwrap_err();
    assert!(!failure.message.contains("--api-mode"), "{}", failure.message);
}

/// Such addresses are given to the vendor's own clients, which put the version behind them.
#[tokio::test]
async fn p01_an_address_that_ends_in_anthropic_goes_on_with_the_version() {
    for behind in ["/anthropic", "/anthropic/", "/anthropic/v1", "/anthropic/v1/messages"] {
        let (listener, url) = listen().await;
        let endpoint = Endpoint::new("example", &format!("{url}{behind}"), Wire::Messages).unwrap();
        let server = tokio::spawn(answer(listener, ok(b"")));
        let asked = petasos_core::request::Target { wire: Wire::Messages, ..target() };
        collect(HttpProvider::new(endpoint).call(&asked, "{}".into())).await.1.unwrap_err();
        let sent = server.await.unwrap();
        assert!(sent.starts_with("POST /v1/anthropic/v1/messages HTTP/1.1\r\n"), "{behind}: {sent}");
    }
}
