//! Rows L06 and U01: SIGINT and SIGTERM end a run with its result, whatever it waits for.

use std::fs;
use std::io::Read as _;
use std::process::Command;

use petasos_testkit::model_server::ModelServer;
use serde_json::json;

use crate::program::{Ended, Place, bodies, model, of_kind, results};
use crate::running::{Running, until_gone};

fn begin(place: &Place, server: &ModelServer) -> Running {
    let mut command = place.petasos();
    Running::begin(command.args(["run", "--json", "--allow-commands"]).args(model(server)).arg("hello"))
        .hush()
}

fn check_interrupted(run: &Ended, code: i32, steps: u32) {
    let result = run.result();
    let session = result["session"].as_str().unwrap();
    assert_eq!((run.code, run.stderr.as_str()), (code, ""), "{run:?}");
    let error = json!({
        "kind": "interrupted", "message": "the turn was interrupted", "hint": format!("go on: petasos resume {session}"),
    });
    let told = [&result["status"], &result["steps"], &result["budget"], &result["error"]];
    assert_eq!(told, [&json!("interrupted"), &json!(steps), &json!(null), &error]);
}

#[test]
fn l06_a_signal_while_the_model_is_silent() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let server = ModelServer::start(r#"{"fault":"stall"}"#);
        let place = Place::new();
        let mut running = begin(&place, &server);
        running.wait_for("step_start");
        running.signal(signal);
        let run = running.end();
        check_interrupted(&run, code, 0);
        assert_eq!(run.result()["reply"], "");
        // The request may have been called off before it was sent, so another server goes on.
        let server = ModelServer::start(r#"{"text":"here I am"}"#);
        let base = server.base_url();
        let resumed = place.petasos_does(&["resume", "--base-url", &base, "--model", "scripted"]);
        assert_eq!((resumed.code, resumed.stdout.as_str()), (0, "here I am\n"), "{resumed:?}");
        assert_eq!(server.finish().len(), 1);
    }
}

/// A command with a child of its own: neither is left, and its result says that it was cut short.
#[test]
fn l06_a_signal_while_a_command_runs() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let command = "sleep 1000 & echo $$ $! > pids; sleep 1000";
        let server = ModelServer::start(&format!(
            r#"{{"calls":[{{"name":"run_command","arguments":{{"command":"{command}"}}}}]}}
{{"text":"it was stopped"}}"#
        ));
        let place = Place::new();
        let pipe = place.work().join("pids");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let running = begin(&place, &server);
        let mut pids = String::new();
        // Opened and written by the command, when it runs.
        fs::File::open(&pipe).unwrap().read_to_string(&mut pids).unwrap();
        running.signal(signal);
        let run = running.end();
        check_interrupted(&run, code, 1);
        for pid in pids.split_whitespace() {
            until_gone(pid);
        }
        let entries = place.entries();
        let ended: Vec<_> =
            of_kind(&entries, "tool_result").iter().map(|one| one["body"]["outcome"].clone()).collect();
        assert_eq!(ended, [json!("cut_short")]);
        let resumed = place.petasos_does(&["resume"]);
        assert_eq!((resumed.code, resumed.stdout.as_str()), (0, "it was stopped\n"), "{resumed:?}");
        let sent = bodies(&server.finish());
        assert_eq!(results(&sent[1]).len(), 1);
        assert_eq!(of_kind(&place.entries(), "tool_start").len(), 1, "it is not run again");
    }
}

/// While it waits before another try.
#[test]
fn l06_a_signal_while_it_waits_to_try_again() {
    let slow = r#"{"fault":{"status":500}}"#;
    let server = ModelServer::start(&format!("{slow}\n{{\"text\":\"now\"}}"));
    let place = Place::new();
    let mut running = begin(&place, &server);
    running.wait_for("retrying");
    running.signal("TERM");
    check_interrupted(&running.end(), 143, 0);
    let resumed = place.petasos_does(&["resume"]);
    assert_eq!((resumed.code, resumed.stdout.as_str()), (0, "now\n"), "{resumed:?}");
}

/// Before there is a session, in the middle of reading what is piped in.
#[test]
fn u01_a_signal_before_there_is_a_prompt_ends_with_a_result_too() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let place = Place::new();
        let mut command = place.petasos();
        let arguments = ["run", "--json", "--base-url", "http://127.0.0.1:1/v1", "--model", "m", "hello"];
        let mut running = Running::begin(command.args(arguments));
        running.wait_for_talk("petasos: reading stdin until it ends");
        running.signal(signal);
        let run = running.end_by_itself();
        let error = json!({
            "kind": "interrupted", "message": "the run was stopped",
            "hint": "nothing was begun; run it again",
        });
        let result = run.result();
        let told = [&result["status"], &result["session"], &result["error"]];
        assert_eq!((run.code, told), (code, [&json!("interrupted"), &json!(null), &error]));
        assert_eq!(place.sessions(), Vec::<String>::new());
    }
}

#[test]
fn l06_a_second_signal_does_not_wait() {
    let server = ModelServer::start(
        r#"{"calls":[{"name":"run_command","arguments":{"command":"trap '' TERM INT; echo $$ > pids; while :; do sleep 1; done"}}],"usage":{"input":40,"output":7,"cached":30,"reasoning":2}}
{"text":"it was stopped"}"#,
    );
    let place = Place::new();
    let pipe = place.work().join("pids");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let running = begin(&place, &server);
    let mut pids = String::new();
    fs::File::open(&pipe).unwrap().read_to_string(&mut pids).unwrap();
    // Two of one kind may arrive as one, and of two kinds the second may be met first.
    running.signal("INT");
    running.signal("TERM");
    let run = running.end();
    let result = run.result();
    let told = [&result["status"], &result["session"], &result["steps"]];
    let wanted = [&json!("interrupted"), &json!(place.sessions()[0]), &json!(1)];
    assert_eq!(told, wanted, "{run:?}");
    assert!([130, 143].contains(&run.code), "{run:?}");
    let usage = json!({ "input": 40, "output": 7, "cached": 30, "reasoning": 2, "micro_usd": null });
    assert_eq!(result["usage"], usage);
    until_gone(pids.trim());
    let resumed = place.petasos_does(&["resume", "--json"]);
    assert_eq!((resumed.code, &resumed.result()["reply"]), (0, &json!("it was stopped")), "{resumed:?}");
    assert_eq!(of_kind(&place.entries(), "tool_result")[0]["body"]["outcome"], "unknown");
}
