//! Rows P04 to P06 through the binary: what people see of waits and retries, and servers that do what none should.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;

use petasos_testkit::model_server::ModelServer;
use serde_json::json;

use crate::program::{Place, ended, model};
use crate::running::Running;

const LIMITED: &str =
    r#"{"fault":{"status":429,"headers":{"Retry-After":0},"body":{"error":{"message":"slow down"}}}}"#;
const LATER: &str =
    r#"{"fault":{"status":429,"headers":{"Retry-After":5},"body":{"error":{"message":"slow down"}}}}"#;

/// The lines of stderr that tell of another try or another model.
fn retries(stderr: &str) -> Vec<String> {
    let is_one = |line: &&str| line.contains("trying again") || line.contains("next model");
    stderr.lines().filter(is_one).map(str::to_owned).collect()
}

#[test]
fn p04_people_read_of_a_retry_if_it_matters() {
    let begun = [&[LIMITED][..], &[LIMITED, LIMITED], &[LATER]].map(|failures| {
        let script = [failures, &[r#"{"text":"there"}"#]].concat().join("\n");
        let (server, place) = (ModelServer::start(&script), Place::new());
        let mut command = place.petasos();
        let running = Running::begin(command.arg("run").args(model(&server)).arg("hello")).hush();
        (running, server, place)
    });
    let told = begun.map(|(running, server, _place)| {
        let run = running.end();
        assert_eq!((run.code, run.stdout.as_str()), (0, "there\n"), "{run:?}");
        let host = server.base_url();
        let host = host.trim_start_matches("http://").trim_end_matches("/v1");
        retries(&run.stderr).iter().map(|line| line.replace(host, "HOST")).collect::<Vec<_>>()
    });
    // Once, and soon.
    assert_eq!(told[0], Vec::<String>::new());
    // Twice in a row: the wait is one of chance.
    let [second] = &told[1][..] else { panic!("{told:?}") };
    assert!(
        second.starts_with("  trying again in ") && second.ends_with(" s: 429 from HOST: slow down"),
        "{second}"
    );
    // Once, and later: five seconds are asked for, and as much again may come on top by chance.
    let [later] = &told[2][..] else { panic!("{told:?}") };
    let may_be = (5..=10).map(|seconds| format!("  trying again in {seconds} s: 429 from HOST: slow down"));
    assert!(may_be.into_iter().any(|line| line == *later), "{later}");
}

#[test]
fn p04_people_read_that_the_next_model_is_asked_and_why() {
    let place = Place::new();
    let first =
        ModelServer::start(r#"{"fault":{"status":401,"body":{"error":{"message":"Incorrect API key"}}}}"#);
    let second = ModelServer::start(r#"{"text":"from the second"}"#);
    place.settings(&format!("fallback: [{{name: n, base_url: \"{}\"}}]", second.base_url()));
    let run = place.run(&first, &["hello"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "from the second\n"), "{run:?}");
    let [told] = &retries(&run.stderr)[..] else { panic!("{run:?}") };
    assert!(told.starts_with("  going to the next model: 401 from ") && told.contains("Incorrect"), "{told}");
}

#[test]
fn p05_a_wait_of_no_time_is_refused_with_a_hint() {
    for name in ["connect", "first_byte", "idle", "call"] {
        let place = Place::new();
        place.settings(&format!("timeouts: {{{name}: 0}}\n"));
        let run = place.petasos_does(&["run", "--json", "--base-url", "http://127.0.0.1:9/v1", "hello"]);
        let error = run.result()["error"].clone();
        assert_eq!((run.code, &error["kind"]), (2, &json!("config")), "{run:?}");
        let told = error["message"].as_str().unwrap();
        assert!(
            told.starts_with(&format!("`timeouts.{name}` is 0")) && told.contains("1 at least"),
            "{told}"
        );
    }
}

/// Reads a request: its head, and its body by its length.
fn request(socket: &mut TcpStream) {
    let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return;
            }
        }
        let read = socket.read(&mut piece).unwrap();
        assert!(read > 0, "the request was cut");
        bytes.extend_from_slice(&piece[..read]);
    }
}

/// A server that answers every request with these bytes, and closes.
fn answering(bytes: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            request(&mut socket);
            // The client may have had enough.
            drop(socket.write_all(&bytes));
        }
    });
    url
}

/// After each the session is as it should be: the same turn goes on with a server that works, whose requests are
/// checked.
#[test]
fn p06_after_hostile_answers_the_turn_goes_on() {
    let stream = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";
    let text = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"half\"}}]}\n\n";
    let call = r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"list_files","arguments":"{\"pa"}}]}}]}"#;
    let long = "x".repeat(9 << 20);
    let hostile: Vec<(&str, Vec<u8>)> = vec![
        ("bad_stream", b"SSH-2.0-OpenSSH_9.9\r\n".to_vec()),
        ("bad_stream", format!("HTTP/1.1 200 OK\r\nx-long: {long}\r\n\r\n").into_bytes()),
        ("bad_stream", format!("{stream}\r\ndata: {long}").into_bytes()),
        ("bad_stream", format!("{stream}content-length: 20\r\n\r\n{text}").into_bytes()),
        ("bad_stream", format!("{stream}transfer-encoding: chunked\r\n\r\nzz\r\n{text}").into_bytes()),
        ("bad_stream", format!("{stream}\r\n{text}{call}\n\n").into_bytes()),
        ("bad_request", format!("{stream}content-encoding: br\r\n\r\n{text}").into_bytes()),
        ("bad_request", [stream.as_bytes(), b"\r\n\x1f\x8b\x08\x00\x00\x00\x00\x00"].concat()),
        ("bad_request", b"HTTP/1.1 200 OK\r\n\r\n<html><title>Sign in</title>".to_vec()),
        ("not_found", b"HTTP/1.1 307 Temporary\r\nlocation: http://127.0.0.1:9/\r\n\r\n".to_vec()),
        ("network", Vec::new()),
    ];
    let begun: Vec<_> = hostile
        .into_iter()
        .map(|(kind, bytes)| {
            let place = Place::new();
            let mut command = place.petasos();
            let url = answering(bytes);
            let command = command.args(["run", "--json", "--base-url", &url, "--model", "m", "hello"]);
            (Running::begin(command).hush(), place, kind, url)
        })
        .collect();
    for (running, place, kind, url) in begun {
        let run = running.end();
        let error = run.result()["error"].clone();
        assert_eq!((run.code, &error["kind"]), (20, &json!(kind)), "{run:?}");
        let host = url.trim_start_matches("http://").trim_end_matches("/v1");
        let told = error["message"].as_str().unwrap();
        assert!(told.contains(host) && told.len() < 1_000, "{told}");
        assert!(error["hint"].as_str().unwrap().contains("petasos resume"), "{error}");
        let works = ModelServer::start(r#"{"text":"now it is there"}"#);
        let resumed =
            ended(place.petasos().args(["resume", "--base-url", &works.base_url(), "--model", "m"]));
        assert_eq!((resumed.code, resumed.stdout.as_str()), (0, "now it is there\n"), "{kind}: {resumed:?}");
        works.finish();
    }
}

/// Bytes of the stream below that are sent, in MiB; by hand, more: `PETASOS_STREAM_MIB=500`.
fn stream_mib() -> usize {
    std::env::var("PETASOS_STREAM_MIB").map_or(64, |mib| mib.parse().unwrap())
}

/// The most memory that a process had so far, in KiB.
fn peak_kib(pid: u32) -> Option<usize> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

/// A piece of a reply that is not like the one before: a reply that repeats itself would be cut.
fn piece(dice: &mut u64) -> String {
    *dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    let letter = char::from(b'a' + u8::try_from((*dice >> 33) % 26).unwrap());
    format!(
        "data: {{\"id\":\"chatcmpl-0123456789\",\"object\":\"chat.completion.chunk\",\"created\":1764412345,\
         \"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{letter}\"}},\"finish_reason\":null}}]}}\n\n"
    )
}

/// 64 MiB of small pieces of a reply: what is kept of them is their text alone.
#[test]
fn p06_a_long_stream_takes_no_memory_of_its_length() {
    let finish =
        b"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let place = Place::new();
    let mut command = place.petasos();
    let command = command.args(["run", "--base-url", &url, "--model", "m", "hello"]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (mut socket, _) = listener.accept().unwrap();
    request(&mut socket);
    socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n").unwrap();
    let (mut dice, mut pieces) = (7, 0);
    for _ in 0..stream_mib() {
        let mut many = String::new();
        while many.len() < 1 << 20 {
            many.push_str(&piece(&mut dice));
            pieces += 1;
        }
        socket.write_all(many.as_bytes()).unwrap();
    }
    // All but what stands in the buffers between was read by now, and the program is still there.
    let peak = peak_kib(child.id());
    socket.write_all(finish).unwrap();
    let run = child.wait_with_output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    assert_eq!(run.stdout.len(), pieces + 1, "every piece is there");
    // Without /proc there is nothing to be read.
    if let Some(peak) = peak {
        println!("{} MiB of stream, {pieces} pieces: at most {} MiB of memory", stream_mib(), peak >> 10);
        assert!(peak < 64 << 10, "{peak} KiB");
    }
}
