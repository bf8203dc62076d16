//! Row P07 through the program: servers that cut off the front of what they are sent.

use petasos_testkit::model_server::ModelServer;
use serde_json::{Value, json};

use crate::program::{Place, of_kind};

/// What a server answered that read 2,051 tokens of 12,000.
const CUT: &str =
    r#"{"text":"What would you like me to do with this file?","usage":{"input":2051,"output":12}}"#;

/// A prompt of about so many tokens.
fn prompt(tokens: usize) -> String {
    "Look at this. ".repeat(tokens / 4)
}

fn notes(events: &[Value]) -> Vec<&Value> {
    events.iter().filter(|event| event["type"] == "note").collect()
}

/// A request of which all is read: less than a third of the one behind it.
const WHOLE: &str = r#"{"text":"Well.","usage":{"input":3000,"output":1}}"#;

/// A session whose first request is read whole and whose second is cut.
fn cut(server: &ModelServer) -> (Place, crate::program::Ended) {
    let place = Place::new();
    assert_eq!(place.run(server, &[&prompt(1_500)]).code, 0);
    let run = place.petasos_does(&["resume", "--json", "-m", &prompt(12_000)]);
    assert_eq!(run.code, 0, "{run:?}");
    (place, run)
}

/// What the log keeps of it.
fn windows(place: &Place) -> Vec<Value> {
    let entries = place.entries();
    let told = |setting: &&Value| json!([setting["body"]["key"], setting["body"]["value"]]);
    of_kind(&entries, "setting").iter().map(told).collect()
}

#[test]
fn case_e08_a_server_that_cuts_the_front_off_is_told_once_and_its_window_is_kept() {
    let server = ModelServer::start(&format!("{WHOLE}\n{CUT}\n{CUT}"));
    let (place, run) = cut(&server);
    let events = run.events();
    let [note] = notes(&events)[..] else { panic!("{run:?}") };
    assert_eq!(windows(&place), [json!(["window_seen", "4096"])]);
    let entries = place.entries();
    let setting = of_kind(&entries, "setting")[0];
    assert_eq!((&note["source"], &note["entry"]), (&json!("cut_prompt"), &setting["seq"]));
    let text = note["text"].as_str().unwrap();
    for part in ["read 2051 tokens of about", "about 4096", "num_ctx", "--ctx-size", "model.window"] {
        assert!(text.contains(part), "{text}");
    }
    // The next request does not fit what is known now, and is not sent to be cut again.
    let run = place.petasos_does(&["resume", "--json", "-m", "and now?"]);
    assert_eq!((run.code, &run.result()["status"]), (11, &json!("context_exhausted")), "{run:?}");
    assert_eq!(server.finish().len(), 2);
    // A person reads it too.
    let server = ModelServer::start(&format!("{WHOLE}\n{CUT}"));
    let place = Place::new();
    assert_eq!(place.run(&server, &[&prompt(1_500)]).code, 0);
    let run = place.petasos_does(&["resume", "-m", &prompt(12_000)]);
    assert!(run.stderr.contains("petasos: the server read 2051 tokens of about"), "{run:?}");
}

/// A count that is low for other reasons teaches nothing: estimates are wrong by a factor of ten where a text is mostly
/// blanks, and only fewer tokens of more words than before show a cut.
#[test]
fn p07_a_count_that_is_low_for_other_reasons_teaches_nothing() {
    let rows: &[(&str, &str, &str)] = &[
        (
            "the first request",
            r#"{"text":"a","usage":{"input":300,"output":1}}"#,
            r#"{"text":"a","usage":{"input":301,"output":1}}"#,
        ),
        ("a little more is read", WHOLE, r#"{"text":"a","usage":{"input":3001,"output":1}}"#),
        ("what is in a cache is not counted", WHOLE, r#"{"text":"a","usage":{"input":1499,"output":1}}"#),
        ("nobody says", WHOLE, r#"{"text":"a","usage":null}"#),
        ("none at all", WHOLE, r#"{"text":"a","usage":{"input":0,"output":1}}"#),
    ];
    for (what, first, second) in rows {
        let server = ModelServer::start(&format!("{first}\n{second}"));
        let (place, run) = cut(&server);
        assert_eq!(notes(&run.events()).len(), 0, "{what}: {run:?}");
        assert_eq!(windows(&place), Vec::<Value>::new(), "{what}");
    }
    // As many words as before, more or less.
    let less = r#"{"text":"a","usage":{"input":2900,"output":1}}"#;
    let server = ModelServer::start(&format!("{WHOLE}\n{less}"));
    let place = Place::new();
    assert_eq!(place.run(&server, &[&prompt(4_000)]).code, 0);
    assert_eq!(place.petasos_does(&["resume", "-m", &prompt(400)]).code, 0);
    assert_eq!(windows(&place), Vec::<Value>::new());
}

/// Files that are mostly blanks: a tokenizer makes far fewer tokens of them than their bytes let expect, and the session
/// goes on.
#[test]
fn p07_many_blanks_are_no_cut() {
    let blanks = format!("Look:{}", " ".repeat(60_000));
    let read = |tokens: u64| format!(r#"{{"text":"a","usage":{{"input":{tokens},"output":1}}}}"#);
    let server = ModelServer::start(&[read(2_000), read(2_950), read(3_900)].join("\n"));
    let place = Place::new();
    assert_eq!(place.run(&server, &["hello"]).code, 0);
    for _ in 0..2 {
        assert_eq!(place.petasos_does(&["resume", "-m", &blanks]).code, 0);
    }
    assert_eq!((windows(&place), server.finish().len()), (Vec::new(), 3));
}

/// Whoever says how much it takes keeps what fits: a person's word counts before what the numbers look like. And a guess
/// that was wrong is mended by the reply that shows it.
#[test]
fn p07_a_window_that_is_set_is_not_guessed_and_a_wrong_guess_grows_again() {
    let server = ModelServer::start(&format!("{WHOLE}\n{CUT}"));
    let place = Place::new();
    place.settings("model: {window: 100000}\n");
    assert_eq!(place.run(&server, &[&prompt(1_500)]).code, 0);
    assert_eq!(place.petasos_does(&["resume", "-m", &prompt(12_000)]).code, 0);
    assert_eq!(windows(&place), Vec::<Value>::new());

    let more = r#"{"text":"a","usage":{"input":17000,"output":1}}"#;
    let server = ModelServer::start(&format!("{WHOLE}\n{CUT}\n{more}\n{more}"));
    let (place, _) = cut(&server);
    place.settings("model: {window: 100000}\n");
    let run = place.petasos_does(&["resume", "--json", "-m", "and now?"]);
    assert_eq!((run.code, notes(&run.events()).len()), (0, 0), "{run:?}");
    assert_eq!(windows(&place), [json!(["window_seen", "4096"]), json!(["window_seen", "32768"])]);
    place.settings("");
    let run = place.petasos_does(&["resume", "--json", "-m", "and now?"]);
    assert_eq!((run.code, server.finish().len()), (0, 4), "{run:?}");
}

/// A server that answers one question, and counts what else it is asked.
fn telling(path: &'static str, body: &'static str) -> (String, std::thread::JoinHandle<Vec<String>>) {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let serve = move || {
        let mut asked = Vec::new();
        for socket in listener.incoming() {
            let mut reader = BufReader::new(socket.unwrap());
            let mut lines = Vec::new();
            while lines.last().is_none_or(|line: &String| line != "\r\n") {
                let mut line = String::new();
                assert!(reader.read_line(&mut line).unwrap() > 0, "{lines:?}");
                lines.push(line);
            }
            let length = lines.iter().find_map(|line| line.strip_prefix("content-length: "));
            let mut sent = vec![0; length.map_or(0, |length| length.trim().parse().unwrap())];
            reader.read_exact(&mut sent).unwrap();
            let first: Vec<&str> = lines[0].split(' ').take(2).collect();
            if first[1] == "/end" {
                return asked;
            }
            asked.push(first.join(" "));
            let answer = if first[1] == path { ("200 OK", body) } else { ("404 Not Found", "") };
            let (status, body) = answer;
            let head =
                format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            reader.get_mut().write_all(format!("{head}{body}").as_bytes()).unwrap();
        }
        asked
    };
    (url, std::thread::spawn(serve))
}

/// Ends that server, and tells what it was asked.
fn asked(url: &str, server: std::thread::JoinHandle<Vec<String>>) -> Vec<String> {
    use std::io::Write as _;
    let address = url.trim_start_matches("http://").trim_end_matches("/v1");
    std::net::TcpStream::connect(address).unwrap().write_all(b"GET /end HTTP/1.1\r\n\r\n").unwrap();
    let mut asked = server.join().unwrap();
    asked.sort();
    asked
}

#[test]
fn p07_a_request_that_is_larger_than_the_window_a_server_tells_is_not_sent() {
    let (url, server) = telling("/props", r#"{"default_generation_settings":{"n_ctx":1000}}"#);
    let place = Place::new();
    let arguments = ["run", "--json", "--base-url", &url, "--model", "m", "hello"];
    let run = crate::program::ended(place.petasos().env_remove("PETASOS_NO_PROBE").args(arguments));
    assert_eq!((run.code, &run.result()["status"]), (11, &json!("context_exhausted")), "{run:?}");
    let questions = ["GET /api/ps", "GET /api/v0/models", "GET /props", "GET /v1/models", "POST /api/show"];
    assert_eq!(asked(&url, server), questions);
}

/// The price of a model on this machine is asked for by the same questions.
#[test]
fn p07_a_window_and_a_price_that_are_set_are_not_asked_for() {
    let (url, server) = telling("/props", r#"{"default_generation_settings":{"n_ctx":1000000}}"#);
    let place = Place::new();
    place.settings(&format!(
        "model: {{base_url: \"{url}\", name: m, window: 1000, price: {{input: 0, output: 0}}}}\n"
    ));
    let run = crate::program::ended(
        place.petasos().env_remove("PETASOS_NO_PROBE").args(["run", "--json", "hello"]),
    );
    assert_eq!((run.code, asked(&url, server)), (11, Vec::<String>::new()), "{run:?}");
}

/// With a limit of money a model on this machine costs nothing if its server says that it runs it.
#[test]
fn b01_a_server_that_runs_the_model_itself_costs_nothing() {
    let place = Place::new();
    let of =
        |url: &str| format!("model: {{base_url: \"{url}\", name: m, window: 1000}}\nlimits: {{usd: 1}}\n");
    let run = |url: &str| {
        place.settings(&of(url));
        crate::program::ended(place.petasos().env_remove("PETASOS_NO_PROBE").args(["run", "--json", "hello"]))
    };
    let (url, server) = telling("/props", r#"{"default_generation_settings":{"n_ctx":9000}}"#);
    let ended = run(&url);
    assert_eq!((ended.code, &ended.result()["status"]), (11, &json!("context_exhausted")), "{ended:?}");
    asked(&url, server);
    let (url, server) = telling("/v1/models", r#"{"data":[{"id":"m","object":"model"}]}"#);
    let ended = run(&url);
    assert_eq!((ended.code, &ended.result()["error"]["kind"]), (2, &json!("config")), "{ended:?}");
    asked(&url, server);
}
