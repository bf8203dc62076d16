//! What holds on all wires holds through the program: the same scripts, served by each.
//!
//! The server judges every request by the rules of its wire, and its parts against those of the one before.

use std::collections::BTreeSet;

use petasos_testkit::check_request::check_request;
use petasos_testkit::format_page::FormatPage;
use petasos_testkit::model_server::ModelServer;
use serde_json::{Value, json};

use super::l12::check_calls;
use crate::program::{Ended, Place, ended, model, of_kind};
use crate::running::Running;

/// The wires, as `--api-mode` has them, and the paths of their requests.
const WIRES: [(&str, &str); 3] =
    [("chat", "/chat/completions"), ("responses", "/responses"), ("messages", "/messages")];

fn run_on(wire: &str, place: &Place, server: &ModelServer, arguments: &[&str]) -> Ended {
    place.run_json(server, &[&["--api-mode", wire], arguments].concat())
}

/// The bodies of a wire's requests; no other wire was asked.
fn bodies(wire: &str, server: ModelServer) -> Vec<Value> {
    let requests = server.finish();
    let asked =
        requests.iter().filter(|request| request.path.contains("/v1/") && !request.path.ends_with("/models"));
    let path = WIRES.iter().find(|(name, _)| *name == wire).unwrap().1;
    asked
        .map(|request| {
            assert!(request.path.ends_with(path), "{}", request.path);
            serde_json::from_slice(&request.body).unwrap()
        })
        .collect()
}

/// The ids and texts of the results of a request, in order.
fn results(wire: &str, body: &Value) -> Vec<(String, String)> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    match wire {
        "chat" => list(&body["messages"])
            .iter()
            .filter(|message| message["role"] == "tool")
            .map(|message| (text(&message["tool_call_id"]), text(&message["content"])))
            .collect(),
        "responses" => list(&body["input"])
            .iter()
            .filter(|item| item["type"] == "function_call_output")
            .map(|item| (text(&item["call_id"]), text(&item["output"])))
            .collect(),
        _ => list(&body["messages"])
            .iter()
            .flat_map(|message| list(&message["content"]))
            .filter(|block| block["type"] == "tool_result")
            .map(|block| (text(&block["tool_use_id"]), text(&block["content"])))
            .collect(),
    }
}

#[test]
fn l02_results_stand_under_their_calls_on_each_wire_whatever_the_ids() {
    for (wire, _) in WIRES {
        let call = |id: &str, path: &str| {
            format!(r#"{{"id":{id},"name":"read_file","arguments":{{"path":"{path}"}}}}"#)
        };
        let calls = [
            call(r#""same""#, "a.txt"),
            call(r#""same""#, "b.txt"),
            call("null", "c.txt"),
            call(r#""""#, "d.txt"),
        ];
        let script =
            format!("{{\"text\":\"Reading.\",\"calls\":[{}]}}\n{{\"text\":\"done\"}}", calls.join(","));
        let server = ModelServer::start(&script);
        let place = Place::new();
        for name in ["a", "b", "c", "d"] {
            place.write(&format!("{name}.txt"), &format!("text of {name}\n"));
        }
        let ran = run_on(wire, &place, &server, &["hello"]);
        assert_eq!((ran.code, &ran.result()["reply"]), (0, &json!("done")), "{wire}: {ran:?}");
        let sent = bodies(wire, server);
        let told = results(wire, &sent[1]);
        let ids: BTreeSet<&String> = told.iter().map(|(id, _)| id).collect();
        assert_eq!((told.len(), ids.len(), told[0].0.as_str()), (4, 4, "same"), "{wire}");
        for ((_, text), name) in told.iter().zip(["a", "b", "c", "d"]) {
            assert!(text.contains(&format!("text of {name}")), "{wire}: {told:?}");
        }
    }
}

/// That only keys on the list are sent is for the server to judge.
#[test]
fn l03_what_is_kept_is_not_what_is_sent_on_any_wire() {
    for (wire, _) in WIRES {
        let server = ModelServer::start(
            r#"{"text":"I look","reasoning":"secret thoughts","calls":[{"name":"list_files","arguments":{}}],"usage":{"input":70,"output":30,"cached":20,"reasoning":10}}
{"text":"done"}"#,
        );
        let place = Place::new();
        let ran = run_on(wire, &place, &server, &["hello"]);
        assert_eq!(ran.code, 0, "{wire}: {ran:?}");
        let entries = place.entries();
        let usage = &of_kind(&entries, "reply")[0]["body"]["usage"]["reported"];
        assert_eq!(
            (&usage["input"], &usage["output"], &usage["cached"]),
            (&json!(70), &json!(30), &json!(20)),
            "{wire}"
        );
        let log = std::fs::read_to_string(place.log(&place.sessions()[0])).unwrap();
        assert!(log.contains("secret thoughts") && log.contains("\"timing\""), "{wire}");
        for body in bodies(wire, server) {
            let text = body.to_string();
            let kept = ["trace_id", "elapsed_ms", "timestamp", "timing", "\"seq\"", "workspace\":"];
            assert!(!kept.iter().any(|kept| text.contains(kept)), "{wire}: {text}");
            // Sealed by the server that it goes back to, or not sent at all.
            assert!(wire == "messages" || !text.contains("secret thoughts"), "{wire}: {text}");
        }
    }
}

#[test]
fn l11_how_a_reply_ends_on_each_wire() {
    for (wire, _) in WIRES {
        let server = ModelServer::start(
            r#"{"text":"The first half, ","finish":"length"}
{"text":"and the second."}"#,
        );
        let ran = run_on(wire, &Place::new(), &server, &["hello"]);
        assert_eq!(
            (ran.code, &ran.result()["reply"]),
            (0, &json!("The first half, and the second.")),
            "{wire}"
        );
        bodies(wire, server);

        let cut =
            r#"{"calls":[{"name":"run_command","arguments":"{\"command\": \"touch cut"}],"finish":"length"}"#;
        let server = ModelServer::start(&format!("{cut}\n{{\"text\":\"done\"}}"));
        let place = Place::new();
        let ran = run_on(wire, &place, &server, &["--allow-commands", "hello"]);
        assert_eq!((ran.code, place.read("cut")), (0, None), "{wire}: {ran:?}");
        assert_eq!(of_kind(&place.entries(), "tool_result")[0]["body"]["outcome"], "never_began", "{wire}");
        assert_eq!(results(wire, &bodies(wire, server)[1]).len(), 1, "{wire}");

        let server = ModelServer::start(r#"{"text":"I will not.","finish":"content_filter"}"#);
        let ran = run_on(wire, &Place::new(), &server, &["hello"]);
        assert_eq!((ran.code, &ran.result()["status"]), (17, &json!("refused")), "{wire}: {ran:?}");
    }
}

/// Errors in each wire's own form, and streams that end before the reply does.
#[test]
fn l11_p04_what_fails_on_each_wire_is_named() {
    for (wire, _) in WIRES {
        let long = r#"{"fault":{"status":400,"body":"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"code\":\"context_length_exceeded\",\"message\":\"prompt is too long: 250000 tokens > 200000 maximum\"}}"}}"#;
        let server = ModelServer::start(long);
        let ran = run_on(wire, &Place::new(), &server, &["hello"]);
        assert_eq!((ran.code, &ran.result()["error"]["kind"]), (20, &json!("overflow")), "{wire}: {ran:?}");

        let script = "{\"text\":\"Half an answer\",\"fault\":{\"cut_after_bytes\":300}}\n{\"text\":\"The whole answer\"}";
        let server = ModelServer::start(script);
        let place = Place::new();
        let ran = run_on(wire, &place, &server, &["hello"]);
        assert_eq!((ran.code, &ran.result()["reply"]), (0, &json!("The whole answer")), "{wire}: {ran:?}");
        assert_eq!(of_kind(&place.entries(), "request_end").len(), 1, "{wire}");
        assert_eq!(bodies(wire, server).len(), 2, "{wire}");
    }
}

/// An interrupt between the two calls of the reply leaves one of them.
const COUNTER: &str = r#"{"text":"I look","calls":[{"name":"list_files","arguments":{}},{"name":"run_command","arguments":{"command":"echo one >> counter"}}],"when":{"results":0}}
{"text":"There is a counter.","when":{"results":1}}
{"text":"There is a counter.","when":{"results":2}}"#;

#[test]
fn l12_interrupted_at_each_event_the_next_turn_is_valid_on_each_wire() {
    for (wire, _) in WIRES {
        let unbroken = {
            let server = ModelServer::start(COUNTER);
            run_on(wire, &Place::new(), &server, &["--allow-commands", "hello"]).types().len()
        };
        let mut interrupted = 0;
        for at in 1..unbroken {
            let server = ModelServer::start(COUNTER);
            let place = Place::new();
            let mut command = place.petasos();
            let command = command.args(["run", "--json", "--allow-commands", "--api-mode", wire]);
            let mut running = Running::begin(command.args(model(&server)).arg("hello")).hush();
            for _ in 0..at {
                running.line().unwrap();
            }
            running.signal("INT");
            let ran = running.end();
            assert!([130, 0].contains(&ran.code), "{wire}: {ran:?}");
            interrupted += u32::from(ran.code == 130);
            check_calls(&place.entries());
            let next = place.petasos_does(&["resume", "--json", "--allow-commands", "-m", "and now?"]);
            assert_eq!(
                (next.code, &next.result()["reply"]),
                (0, &json!("There is a counter.")),
                "{wire}: {next:?}"
            );
            check_calls(&place.entries());
            bodies(wire, server);
        }
        assert!(interrupted > 3, "{wire}: {interrupted}");
    }
}

/// Three calls and an interrupt: what ran, what was stopped, what never began. The same on each wire.
#[test]
fn case_b12_b14_an_interrupt_among_three_calls_is_told_as_it_was() {
    for (wire, _) in WIRES {
        let script = r#"{"calls":[{"name":"read_file","arguments":{"path":"a.txt"}},{"name":"run_command","arguments":{"command":"for i in 1 2 3; do echo $i >> out.txt; sleep 30; done"}},{"name":"write_file","arguments":{"path":"c.txt","content":"c\n"}}],"when":{"results":0}}
{"text":"I see","when":{"results":3}}"#;
        let server = ModelServer::start(script);
        let place = Place::new();
        place.write("a.txt", "the first\n");
        let mut command = place.petasos();
        let command = command.args(["run", "--json", "--allow-commands", "--api-mode", wire]);
        let mut running = Running::begin(command.args(model(&server)).arg("go")).hush();
        running.wait_for("tool_result");
        // The shell makes the file before anything is in it.
        while place.read("out.txt").is_none_or(|text| text.is_empty()) {
            std::thread::yield_now();
        }
        running.signal("INT");
        assert_eq!(running.end().code, 130, "{wire}");
        let next = place.petasos_does(&["resume", "--json", "-m", "continue"]);
        assert_eq!((next.code, &next.result()["reply"]), (0, &json!("I see")), "{wire}: {next:?}");
        let entries = place.entries();
        let outcomes: Vec<&Value> =
            of_kind(&entries, "tool_result").iter().map(|one| &one["body"]["outcome"]).collect();
        assert!(
            outcomes.contains(&&json!("cut_short")) && outcomes.contains(&&json!("never_began")),
            "{outcomes:?}"
        );
        let sent = bodies(wire, server);
        let told = results(wire, &sent[1]);
        assert_eq!(told.len(), 3, "{wire}: {told:?}");
        assert!(told[0].1.contains("the first"), "{wire}: {told:?}");
        // It ran: nobody refused it, and what it did may remain.
        assert!(told[1].1.contains("stopped") && !told[1].1.contains("never began"), "{wire}: {told:?}");
        assert!(!told[1].1.contains("denied") && !told[1].1.contains("refused"), "{wire}: {told:?}");
        assert!(told[2].1.contains("never began"), "{wire}: {told:?}");
        assert_eq!((place.read("out.txt").as_deref(), place.read("c.txt")), (Some("1\n"), None), "{wire}");
    }
}

/// The process dies while a tool runs: the result says so, and the command does not run again by itself.
#[test]
fn case_b03_a_call_whose_process_died_has_a_result_on_each_wire() {
    for (wire, _) in WIRES {
        let script = r#"{"calls":[{"name":"run_command","arguments":{"command":"echo once >> ran.txt; sleep 30"}}],"when":{"results":0}}
{"text":"I will look","when":{"results":1}}"#;
        let server = ModelServer::start(script);
        let place = Place::new();
        let mut command = place.petasos();
        let command = command.args(["run", "--json", "--allow-commands", "--api-mode", wire]);
        let mut running = Running::begin(command.args(model(&server)).arg("clean old logs")).hush();
        running.wait_for("tool_start");
        while place.read("ran.txt").is_none_or(|text| text.is_empty()) {
            std::thread::yield_now();
        }
        running.signal("KILL");
        assert_eq!(running.end().code, -9, "{wire}");
        let next = place.petasos_does(&["resume", "--json", "--allow-commands"]);
        assert_eq!((next.code, &next.result()["reply"]), (0, &json!("I will look")), "{wire}: {next:?}");
        assert_eq!(place.read("ran.txt").as_deref(), Some("once\n"), "{wire}");
        let sent = bodies(wire, server);
        let told = results(wire, &sent[1]);
        assert!(told[0].1.contains("the outcome is unknown"), "{wire}: {told:?}");
    }
}

/// Each turn is a process of its own; the server compares every request with the one before.
fn fifty_turns(wire: &str) {
    let lines = r#"{"text":"I look","reasoning":"hm","calls":[{"name":"read_file","arguments":{"path":"a.txt"}}]}
{"text":"It is there."}
"#;
    let server = ModelServer::start(&lines.repeat(50));
    let place = Place::new();
    place.write("a.txt", "a\n");
    let first = run_on(wire, &place, &server, &["turn 1"]);
    assert_eq!(first.code, 0, "{first:?}");
    for turn in 2..=50 {
        let ran = place.petasos_does(&["resume", "--json", "-m", &format!("turn {turn}")]);
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    let entries = place.entries();
    let requests = of_kind(&entries, "request");
    assert_eq!(requests.len(), 100);
    assert!(requests.iter().all(|request| request["body"].get("breaks").is_none()), "{wire}");
    let parts: usize =
        requests.iter().map(|request| request["body"]["parts"].as_array().unwrap().len()).sum();
    // Parameters, tools and system once, then each thing said and each step but the last.
    assert_eq!(parts, 3 + 50 + 99, "{wire}");
    assert_eq!(bodies(wire, server).len(), 100);
}

#[test]
fn p10_fifty_turns_in_fifty_processes_on_chat() {
    fifty_turns("chat");
}

#[test]
fn p10_fifty_turns_in_fifty_processes_on_responses() {
    fifty_turns("responses");
}

#[test]
fn p10_fifty_turns_in_fifty_processes_on_messages() {
    fifty_turns("messages");
}

/// From wire to wire, turn by turn: what one has made the next can read, and the log names the break.
#[test]
fn p02_a_session_goes_from_wire_to_wire() {
    let lines = r#"{"text":"I look","reasoning":"hm","calls":[{"name":"read_file","arguments":{"path":"a.txt"}},{"id":"call_9f2c7a10b4d84e6fa1c3|fc_0a1b2c3d4e5f60718293a4b5c6d7e8f9","name":"no.such tool","arguments":"{'a'"}]}
{"text":"It is there."}
"#;
    let server = ModelServer::start(&lines.repeat(7)).with_breaks();
    let place = Place::new();
    place.write("a.txt", "a\n");
    let order = ["chat", "responses", "messages", "responses", "chat", "messages", "chat"];
    let first = run_on(order[0], &place, &server, &["begin"]);
    assert_eq!(first.code, 0, "{first:?}");
    for wire in &order[1..] {
        let mut command = place.petasos();
        let command = command.args(["resume", "--json", "--api-mode", wire]).args(model(&server));
        let ran = ended(command.args(["-m", "go on"]));
        assert_eq!((ran.code, &ran.result()["reply"]), (0, &json!("It is there.")), "{wire}: {ran:?}");
    }
    let entries = place.entries();
    let breaks: Vec<Value> =
        of_kind(&entries, "request").iter().map(|request| request["body"]["breaks"].clone()).collect();
    for (at, breaks) in breaks.iter().enumerate() {
        let wanted = if at > 0 && at % 2 == 0 { json!(["target"]) } else { Value::Null };
        assert_eq!(*breaks, wanted, "request {at}");
    }
    assert_eq!(server.finish().len(), 14);
}

#[test]
fn dev_request_prints_what_was_sent_byte_for_byte() {
    for (wire, _) in WIRES {
        let script = r#"{"text":"I look","reasoning":"hm","calls":[{"name":"read_file","arguments":{"path":"a.txt"}}]}
{"text":"It is there."}
{"text":"Still there."}"#;
        let server = ModelServer::start(script);
        let place = Place::new();
        place.settings("limits: {tokens: 900000}\n");
        assert_eq!(run_on(wire, &place, &server, &["look"]).code, 0, "{wire}");
        assert_eq!(place.petasos_does(&["resume", "-m", "again"]).code, 0, "{wire}");
        let sent = server.finish();
        let session = &place.sessions()[0];
        let written = |arguments: &[&str]| {
            let ran = place.petasos_does(&[&["dev", "request", &session[..20]], arguments].concat());
            assert_eq!(ran.code, 0, "{wire} {arguments:?}: {ran:?}");
            (ran.stdout, ran.stderr)
        };
        for (step, request) in (1..).zip(&sent) {
            let (body, talk) = written(&["--wire", wire, "--step", &step.to_string()]);
            assert_eq!(body.as_bytes(), &request.body[..], "{wire} {step}");
            assert_eq!(talk, "", "{wire} {step}");
        }
        assert_eq!(written(&[]).0.as_bytes(), &sent[2].body[..], "{wire}: the last is the default");
        for (other, _) in WIRES.iter().filter(|(other, _)| *other != wire) {
            let (body, talk) = written(&["--wire", other]);
            let as_wire = serde_json::from_value(json!(other)).unwrap();
            assert_eq!(
                check_request(as_wire, body.trim_end().as_bytes()),
                Vec::<String>::new(),
                "{wire} {other}"
            );
            assert!(talk.contains("another wire"), "{talk}");
        }
        let ran = place.petasos_does(&["dev", "request", session, "--step", "4"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{ran:?}");
        assert!(ran.stderr.contains("3 steps"), "{ran:?}");
    }
}

#[test]
fn dev_decode_tells_what_a_stream_means() {
    let place = Place::new();
    let check = |wire: &str, stream: &str, code: i32, wanted: Value| {
        let ran = place.with_stdin(&["dev", "decode", "--wire", wire, "-"], stream.as_bytes());
        assert_eq!(ran.code, code, "{ran:?}");
        let told: Value = serde_json::from_str(&ran.stdout).unwrap();
        let page = FormatPage::parse(include_str!("../../../../../docs/format/decode.md"));
        let names = page.walk_object("decoded", &told);
        assert!(names.is_ok(), "{names:?}: {told}");
        for (key, value) in wanted.as_object().unwrap() {
            assert_eq!(told[key], *value, "{key} of {told}");
        }
        // A file means what its bytes mean.
        place.write("stream.sse", stream);
        let file = place.work().join("stream.sse");
        let again = place.petasos_does(&["dev", "decode", "--wire", wire, file.to_str().unwrap()]);
        assert_eq!((again.code, again.stdout), (ran.code, ran.stdout));
    };
    let chat = "data: {\"model\":\"small-1\",\"choices\":[{\"delta\":{\"reasoning_content\":\"Hm.\",\"content\":\"Hi\",\"tool_calls\":[{\"id\":\"c1\",\"function\":{\"name\":\"ls\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\"}],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":4}}\n\ndata: [DONE]\n\n";
    let usage = json!({ "input": 9, "output": 4, "cached": 0, "reasoning": 0 });
    let call = json!([{ "id": "c1", "name": "ls", "arguments": "{}", "complete": true }]);
    check(
        "chat",
        chat,
        0,
        json!({ "v": 1, "wire": "chat", "ended": "complete", "text": "Hi", "reasoning": "Hm.", "calls": call, "finish": "tool_use", "usage": usage, "model": "small-1", "error": null }),
    );
    let failed = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let ran = place.with_stdin(&["dev", "decode", "--wire", "messages", "-"], failed.as_bytes());
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        (ran.code, &told["error"]["kind"], &told["ended"]),
        (1, &json!("overloaded"), &json!("error"))
    );
    let cut = "data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"Half\"}\n\n";
    check("responses", cut, 3, json!({ "ended": "cut", "text": "Half", "finish": null }));
    check("chat", "<html>no</html>", 1, json!({ "ended": "unreadable", "text": "", "calls": [] }));
    check("chat", "", 3, json!({ "ended": "cut", "usage": null }));
    for strange in ["null", "no stream at all\n", cut] {
        check("chat", strange, 1, json!({ "ended": "unreadable", "text": "", "finish": null }));
    }
    let missing = place.petasos_does(&["dev", "decode", "--wire", "chat", "no-such-file"]);
    assert_eq!((missing.code, missing.stdout.as_str()), (2, ""));
    assert!(missing.stderr.contains("no-such-file"), "{missing:?}");
}

/// The names and arguments of the calls of a request, in order; arguments are an object, or the text of one.
fn calls_sent(wire: &str, body: &Value) -> Vec<(String, Value)> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let read = |text: &Value| serde_json::from_str(text.as_str().unwrap()).unwrap();
    let name = |call: &Value| call["name"].as_str().unwrap().to_owned();
    match wire {
        "chat" => list(&body["messages"])
            .iter()
            .flat_map(|message| list(&message["tool_calls"]))
            .map(|call| (name(&call["function"]), read(&call["function"]["arguments"])))
            .collect(),
        "responses" => list(&body["input"])
            .iter()
            .filter(|item| item["type"] == "function_call")
            .map(|call| (name(call), read(&call["arguments"])))
            .collect(),
        _ => list(&body["messages"])
            .iter()
            .flat_map(|message| list(&message["content"]))
            .filter(|block| block["type"] == "tool_use")
            .map(|call| (name(&call), call["input"].clone()))
            .collect(),
    }
}

#[test]
fn p09_a_repaired_call_goes_back_as_it_ran_on_each_wire_and_the_log_keeps_what_was_written() {
    let written = [
        ("functions.read_file:0", r#""{\"path\": \"a.txt\"}""#),
        ("Read_File", "{'path': 'a.txt', 'lines': '1'}"),
        ("read_file", "{\"path\":\"a.txt\", // why\n}"),
        ("read_file", r#"{ "path":"a.txt"}"#),
    ];
    for (wire, _) in WIRES {
        let calls = written.map(|(name, arguments)| json!({"name": name, "arguments": arguments}));
        let server = ModelServer::start(&format!("{}\n{{\"text\":\"done\"}}", json!({ "calls": calls })));
        let place = Place::new();
        place.write("a.txt", "text of a\n");
        let ran = run_on(wire, &place, &server, &["hello"]);
        assert_eq!((ran.code, &ran.result()["reply"]), (0, &json!("done")), "{wire}: {ran:?}");
        let sent = bodies(wire, server);
        let told = results(wire, &sent[1]);
        assert!(told.len() == 4 && told.iter().all(|(_, text)| text.contains("text of a")), "{told:?}");
        let read = |arguments: Value| ("read_file".to_owned(), arguments);
        let path = || read(json!({"path": "a.txt"}));
        let second = read(json!({"path": "a.txt", "lines": 1}));
        assert_eq!(calls_sent(wire, &sent[1]), [path(), second, path(), path()], "{wire}");
        let entries = place.entries();
        // They are prepared at once, and written as each is done.
        let mut changed: Vec<&Value> = of_kind(&entries, "call").iter().map(|call| &call["body"]).collect();
        changed.sort_by_key(|call| call["call"].to_string());
        let by: Vec<&Value> = changed.iter().map(|call| &call["changed_by"]).collect();
        let wanted = [
            json!(["repair: name", "repair: encoded twice"]),
            json!(["repair: name", "repair: single quotes", "repair: text of a value"]),
            json!(["repair: comment", "repair: trailing comma"]),
        ];
        assert_eq!(by, wanted.iter().collect::<Vec<_>>(), "{wire}");
        assert_eq!(changed[2]["arguments"], r#"{"path":"a.txt"}"#, "{wire}");
        let blocks = of_kind(&entries, "reply")[0]["body"]["blocks"].as_array().unwrap().clone();
        let kept: Vec<_> = blocks
            .iter()
            .map(|block| {
                (block["call"]["name"].as_str().unwrap(), block["call"]["arguments"].as_str().unwrap())
            })
            .collect();
        assert_eq!(kept, written, "{wire}");
    }
}

/// Of a call that was cut nothing is closed and nothing runs; the model is told by what it was cut.
#[test]
fn case_c08_a_call_cut_at_the_output_limit_is_to_be_made_in_smaller_parts() {
    for (wire, _) in WIRES {
        let call = json!({"name": "write_file", "arguments": r#"{"tags": ["a", "b", "c"#});
        let server = ModelServer::start(&format!(
            "{}\n{{\"text\":\"done\"}}",
            json!({"calls": [call], "finish": "length"})
        ));
        let place = Place::new();
        let ran = run_on(wire, &place, &server, &["hello"]);
        assert_eq!(ran.code, 0, "{wire}: {ran:?}");
        let sent = bodies(wire, server);
        let told: Value = serde_json::from_str(&results(wire, &sent[1])[0].1).unwrap();
        let wanted = json!({
            "error": "the call was cut off",
            "cause": "the reply came to its output limit before the arguments were whole",
            "hint": "nothing was done; do it in smaller parts, each in a call of its own",
        });
        assert_eq!(told, wanted, "{wire}");
        assert_eq!(of_kind(&place.entries(), "tool_result")[0]["body"]["outcome"], "never_began", "{wire}");
    }
}
