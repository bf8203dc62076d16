//! Row L10 through the binary: what a person and a program read of a turn that got nowhere. Cases D-01 to D-05, D-13.

use petasos_testkit::model_server::ModelServer;
use serde_json::{Value, json};

use crate::program::{Place, bodies, content, messages, of_kind, results};

const WRITE: &str = r#"{"calls":[{"name":"write_file","arguments":{"path":"m.md","content":"note"}}]}"#;

fn lines<'a>(lines: impl IntoIterator<Item = &'a str>) -> String {
    lines.into_iter().collect::<Vec<_>>().join("\n")
}

fn outcomes(place: &Place) -> Vec<Value> {
    of_kind(&place.entries(), "tool_result").iter().map(|one| one["body"]["outcome"].clone()).collect()
}

fn notes(place: &Place) -> Vec<Value> {
    of_kind(&place.entries(), "note").iter().map(|one| one["body"]["source"].clone()).collect()
}

#[test]
fn case_d01_the_same_write_again_and_again() {
    let server = ModelServer::start(&lines([WRITE; 9]));
    let place = Place::new();
    let run = place.run_json(&server, &["hello"]);
    let result = run.result();
    let session = result["session"].as_str().unwrap();
    let message = "the model does the same again and again: write_file was called 5 times with the same arguments, and \
                   the result was the same each time";
    let hint = format!("say how to go on: petasos resume {session} -m \"…\"");
    assert_eq!(result["error"], json!({ "kind": "stuck", "message": message, "hint": hint }));
    assert_eq!((run.code, &result["status"], &result["steps"]), (12, &json!("stuck"), &json!(5)));
    assert_eq!(outcomes(&place), ["ok", "ok", "ok", "never_began", "never_began"]);
    assert_eq!(notes(&place), [json!("guard")]);
    let sent = bodies(&server.finish());
    assert_eq!(sent.len(), 5);
    let told = content(messages(&sent[3]).last().unwrap());
    assert!(told.contains("write_file was called 3 times") && told.contains("Try another way"), "{told}");
    let refused: Value = serde_json::from_str(results(&sent[4])[3].1).unwrap();
    assert_eq!(refused["error"], "the call was not run");
}

/// It can be taken up with a message, as a new turn.
#[test]
fn l06_stuck() {
    let first = [WRITE; 5].into_iter().chain([WRITE, r#"{"text":"I see"}"#]);
    let server = ModelServer::start(&lines(first));
    let place = Place::new();
    let run = place.run(&server, &["hello"]);
    assert_eq!((run.code, run.stdout.as_str()), (12, ""), "{run:?}");
    assert!(
        run.stderr.contains("petasos: stuck: the model does the same again and again: write_file"),
        "{run:?}"
    );
    let again = place.petasos_does(&["resume", "--json"]);
    assert_eq!((again.code, &again.result()["status"]), (2, &json!("not_started")), "{again:?}");
    let again = place.petasos_does(&["resume", "--json", "-m", "once more"]);
    assert_eq!((again.code, &again.result()["reply"]), (0, &json!("I see")), "{again:?}");
    assert_eq!(outcomes(&place).last(), Some(&json!("ok")));
}

#[test]
fn case_d02_two_calls_in_turn() {
    let read =
        |path: &str| format!(r#"{{"calls":[{{"name":"read_file","arguments":{{"path":"{path}"}}}}]}}"#);
    let script: Vec<String> = (0..6).flat_map(|_| [read("a.txt"), read("b.txt")]).collect();
    let server = ModelServer::start(&script.join("\n"));
    let place = Place::new();
    place.write("a.txt", "one\n");
    place.write("b.txt", "two\n");
    let run = place.run_json(&server, &["hello"]);
    assert_eq!(
        (run.code, &run.result()["steps"], notes(&place)),
        (12, &json!(9), vec![json!("guard")]),
        "{run:?}"
    );
    let message = run.result()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("read_file, read_file were called in turn 5 times"), "{message}");
}

#[test]
fn case_d03_polling_with_news() {
    let poll = r#"{"calls":[{"name":"run_command","arguments":{"command":"echo x >> log; wc -l < log"}}]}"#;
    let server = ModelServer::start(&lines([poll; 6].into_iter().chain([r#"{"text":"done"}"#])));
    let place = Place::new();
    let run = place.run_json(&server, &["--allow-commands", "hello"]);
    assert_eq!((run.code, place.read("log").as_deref()), (0, Some("x\nx\nx\nx\nx\nx\n")), "{run:?}");
    assert_eq!(notes(&place), Vec::<Value>::new());
}

#[test]
fn case_d04_nothing_after_tool_work() {
    let server = ModelServer::start(&lines([WRITE, "{}", "{}"]));
    let place = Place::new();
    let run = place.run_json(&server, &["hello"]);
    let error = &run.result()["error"];
    assert_eq!((run.code, &error["kind"]), (20, &json!("empty")), "{run:?}");
    let message = "the model answered nothing, twice: the last result before that is of write_file";
    assert_eq!(error["message"], message);
    assert_eq!(notes(&place), [json!("nudge")]);
    let sent = bodies(&server.finish());
    assert_eq!(sent.len(), 3);
    // The nudge is a new line for the model, and no empty answer stands before it.
    let last: Vec<&str> = messages(&sent[2]).iter().skip(3).map(content).collect();
    assert!(last.last().unwrap().contains("was empty"), "{last:?}");
    assert!(last.iter().all(|text| !text.trim().is_empty()), "{last:?}");
}

#[test]
fn case_d05_the_steps_are_used_up() {
    let list = r#"{"calls":[{"name":"list_files","arguments":{"path":"DIR"}}]}"#;
    let script = ["a", "b", "c"].map(|dir| list.replace("DIR", dir));
    let closing = r#"{"text":"Two folders were looked at."}"#;
    let server = ModelServer::start(&lines(script.iter().map(String::as_str).chain([closing])));
    let place = Place::new();
    for folder in ["a", "b", "c"] {
        std::fs::create_dir(place.work().join(folder)).unwrap();
    }
    let run = place.run_json(&server, &["--max-steps", "3", "hello"]);
    let result = run.result();
    let told = (run.code, &result["status"], &result["budget"], &result["steps"], &result["reply"]);
    let reply = json!("Two folders were looked at.");
    assert_eq!(told, (10, &json!("budget_exhausted"), &json!("steps"), &json!(3), &reply));
    let sent = bodies(&server.finish());
    assert_eq!((sent.len(), &sent[3]["tool_choice"]), (4, &json!("none")));
    for steps in ["0", "-1"] {
        let server = ModelServer::start("");
        let run = place.run_json(&server, &["--max-steps", steps, "hello"]);
        assert_eq!((run.code, &run.result()["status"]), (2, &json!("not_started")), "{run:?}");
        assert_eq!(server.finish().len(), 0);
    }
}

#[test]
fn case_d13_an_answer_cut_by_the_output_limit_is_not_done() {
    let cut = r#"{"text":"The fix is to change the","finish":"length"}"#;
    let server = ModelServer::start(&lines([cut, r#"{"text":" second line."}"#]));
    let place = Place::new();
    let run = place.run_json(&server, &["hello"]);
    assert_eq!(
        (run.code, &run.result()["reply"]),
        (0, &json!("The fix is to change the second line.")),
        "{run:?}"
    );
    let server = ModelServer::start(&lines([cut; 9]));
    let run = Place::new().run_json(&server, &["hello"]);
    assert_eq!((run.code, &run.result()["status"]), (18, &json!("truncated")), "{run:?}");
    assert_eq!(server.finish().len(), 5);
    let thought = r#"{"reasoning":"I should change the","finish":"length"}"#;
    let server = ModelServer::start(&lines([thought, r#"{"text":"done"}"#]));
    let run = Place::new().run_json(&server, &["hello"]);
    assert_eq!((run.code, &run.result()["reply"]), (0, &json!("done")), "{run:?}");
}

/// An unknown name counts as any other failure does.
#[test]
fn l06_tool_failed() {
    let call = |name: &str, number: usize| {
        format!(r#"{{"calls":[{{"name":"{name}","arguments":{{"path":"{number}.txt"}}}}]}}"#)
    };
    for name in ["read_file", "look_up"] {
        let script: Vec<String> = (0..12).map(|number| call(name, number)).collect();
        let server = ModelServer::start(&script.join("\n"));
        let place = Place::new();
        let run = place.run_json(&server, &["hello"]);
        let result = run.result();
        let session = result["session"].as_str().unwrap();
        let hint = format!("say how to go on: petasos resume {session} -m \"…\"");
        let message = format!("one tool failed again and again: {name} failed 8 times running");
        assert_eq!(result["error"], json!({ "kind": "tool_failed", "message": message, "hint": hint }));
        assert_eq!((run.code, &result["status"], &result["steps"]), (13, &json!("tool_failed"), &json!(8)));
    }
}

/// Tests that still fail after the next edit are work.
#[test]
fn l10_commands_that_end_with_an_error_among_edits_end_nothing() {
    let step = |number: usize| {
        let edit = format!(
            r#"{{"calls":[{{"name":"write_file","arguments":{{"path":"a","content":"{number}"}}}}]}}"#
        );
        [edit, r#"{"calls":[{"name":"run_command","arguments":{"command":"grep 99 a"}}]}"#.to_owned()]
    };
    let script: Vec<String> = (0..10).flat_map(step).chain([r#"{"text":"done"}"#.to_owned()]).collect();
    let server = ModelServer::start(&script.join("\n"));
    let place = Place::new();
    let run = place.run_json(&server, &["--allow-commands", "hello"]);
    assert_eq!((run.code, notes(&place)), (0, Vec::new()), "{run:?}");
}

/// In the home or in the workspace.
#[test]
fn l10_guards_can_be_switched_off() {
    for folder in ["home", "workspace"] {
        let server = ModelServer::start(&lines([WRITE; 7].into_iter().chain([r#"{"text":"done"}"#])));
        let place = Place::new();
        if folder == "home" {
            place.settings("guards: off\n");
        } else {
            std::fs::create_dir(place.work().join(".petasos")).unwrap();
            place.write(".petasos/config.yaml", "guards: false\n");
        }
        let run = place.run_json(&server, &["hello"]);
        assert_eq!(
            (run.code, outcomes(&place).len(), notes(&place)),
            (0, 7, Vec::new()),
            "{folder}: {run:?}"
        );
        assert_eq!(of_kind(&place.entries(), "turn_start")[0]["body"]["mode"]["guards"], "off");
    }
}

/// The stream is left as soon as it is seen; the model is told once.
#[test]
fn l10_a_reply_that_repeats_itself_is_cut_while_it_streams() {
    let loops = format!(r#"{{"text":"{}"}}"#, "I will try again. ".repeat(3_000));
    let server = ModelServer::start(&lines([loops.as_str(), r#"{"text":"done"}"#]));
    let place = Place::new();
    let run = place.run_json(&server, &["hello"]);
    assert_eq!((run.code, &run.result()["reply"]), (0, &json!("done")), "{run:?}");
    let entries = place.entries();
    let reply = &of_kind(&entries, "reply")[0]["body"];
    assert_eq!((&reply["finish"], notes(&place)), (&json!("cut"), vec![json!("guard")]));
    let server = ModelServer::start(&lines([loops.as_str(), loops.as_str()]));
    let run = Place::new().run_json(&server, &["hello"]);
    let message = "the model does the same again and again: the reply said the same again and again";
    assert_eq!((run.code, &run.result()["error"]["message"]), (12, &json!(message)), "{run:?}");
}
