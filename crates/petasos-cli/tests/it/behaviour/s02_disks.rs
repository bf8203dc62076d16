//! Row S02 and case H-06: a disk that is full, and one that may not be written.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use petasos_testkit::model_server::ModelServer;
use serde_json::{Value, json};

use crate::kill::programs;
use crate::program::{Ended, Place, ended, model, of_kind};

const SCRIPT: &str = r#"{"calls":[{"name":"run_command","arguments":{"command":"echo one >> counter.txt"}},{"name":"write_file","arguments":{"path":"out.txt","content":"x"}}],"when":{"results":0}}
{"text":"It is done.","when":{"results":2}}"#;

const RUN: [&str; 3] = ["run", "--json", "--allow-commands"];

/// At each write of a run the disk becomes full: the turn stops there and says so, no half line stays, nothing is done that
/// is not in the log, and with room again it goes on.
#[test]
fn case_h06_a_disk_that_is_full_at_any_write_stops_the_turn_which_goes_on_once_there_is_room() {
    let whole = Place::new();
    fs::create_dir(whole.home()).unwrap();
    let list = whole.home().join("acts");
    let server = ModelServer::start(SCRIPT);
    let mut command = whole.command(&programs().on_a_bad_disk);
    let run = ended(command.arg("list").arg(&list).args(RUN).args(model(&server)).arg("do it"));
    assert_eq!(run.code, 0, "{run:?}");
    let acts = fs::read_to_string(list).unwrap();
    let mut told = std::collections::BTreeMap::<&str, u32>::new();
    for (at, act) in
        acts.lines().enumerate().filter(|(_, act)| act.starts_with("line") || act.starts_with("make"))
    {
        *told.entry(full_at(at as u64 + 1, act)).or_default() += 1;
    }
    println!("{told:?}");
    assert!(told["not_saved"] > 10 && told["not_started"] > 2, "{told:?}");
}

fn full_at(act: u64, name: &str) -> &'static str {
    let (place, server) = (Place::new(), ModelServer::start(SCRIPT));
    let mut command = place.command(&programs().on_a_bad_disk);
    let at = act.to_string();
    let run = ended(command.args(["full", &at]).args(RUN).args(model(&server)).arg("do it"));
    let result = run.result();
    let what = format!("full at {act}, {name}: {run:?}");
    assert!(["not_saved", "not_started"].contains(&result["status"].as_str().unwrap()), "{what}");
    let message = result["error"]["message"].as_str().unwrap();
    assert!(message.contains("no room for "), "{what}");
    let logs = place.sessions().into_iter().map(|session| place.log(&session)).filter(|log| log.is_file());
    let entries: Vec<Value> = logs.flat_map(|log| lines(&fs::read(log).unwrap())).collect();
    let starts = of_kind(&entries, "tool_start").len();
    let ran = place.read("counter.txt").map_or(0, |text| text.lines().count());
    let wrote = usize::from(place.read("out.txt").is_some());
    assert!(ran + wrote <= starts, "what is done is in the log before: {what}");
    for event in run.events() {
        let Some(seq) = event.get("entry").filter(|seq| !seq.is_null()) else { continue };
        assert!(entries.iter().any(|entry| entry["seq"] == *seq), "{event} is told and not kept: {what}");
    }
    let (base, flags) = (server.base_url(), ["--model", "scripted", "--allow-commands", "--base-url"]);
    let resumed = ended(place.petasos().args(["resume", "--json"]).args(flags).arg(&base));
    if of_kind(&entries, "said").is_empty() {
        // Nothing was taken in, so there is nothing to go on with, and nothing else was offered.
        assert!(
            !result["error"]["hint"].as_str().unwrap().contains("resume") || result["session"].is_string(),
            "{what}"
        );
        assert_eq!((resumed.code, starts), (2, 0), "{what}");
        return if result["status"] == "not_saved" { "not_saved" } else { "not_started" };
    }
    assert_eq!(result["status"], "not_saved", "{what}");
    if entries.iter().any(|entry| entry["kind"] == "turn_end") {
        assert_eq!(resumed.code, 2, "{what}");
    } else {
        assert_eq!(
            (resumed.code, &resumed.result()["reply"]),
            (0, &json!("It is done.")),
            "{what}: {resumed:?}"
        );
    }
    assert!(place.read("counter.txt").is_none_or(|text| text == "one\n"), "{what}");
    let log = fs::read(place.log(result["session"].as_str().unwrap())).unwrap();
    let seqs: Vec<u64> = lines(&log).iter().map(|entry| entry["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (0..seqs.len() as u64).collect::<Vec<_>>(), "{what}");
    "not_saved"
}

/// Every line of a log, whole.
fn lines(log: &[u8]) -> Vec<Value> {
    let lines = log.split_inclusive(|byte| *byte == b'\n');
    lines
        .map(|line| serde_json::from_slice(line.strip_suffix(b"\n").expect("a whole line")).unwrap())
        .collect()
}

/// Runs the program on a home that is mounted read only. Root does as it likes with modes, so a mount it is; none where
/// the system gives none, which is no way out in CI.
fn on_a_read_only_home(place: &Place, arguments: &[&str]) -> Option<Ended> {
    let script = place.work().join("mounted");
    let text = "#!/bin/sh\nmount --bind \"$PETASOS_HOME\" \"$PETASOS_HOME\" && mount -o remount,bind,ro \"$PETASOS_HOME\" || exit 77\n\
                exec \"$@\"\n";
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let mut outer: Command = place.command(std::path::Path::new("unshare"));
    outer.args(["--user", "--map-root-user", "--mount"]).arg(&script);
    let output = outer.arg(env!("CARGO_BIN_EXE_petasos")).args(arguments).output();
    let why = match output {
        Ok(output)
            if output.status.code() == Some(77)
                || output.stdout.is_empty() && output.stderr.starts_with(b"unshare") =>
        {
            String::from_utf8_lossy(&output.stderr).trim().to_owned()
        }
        Ok(output) => {
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            let code = output.status.code().unwrap();
            return Some(Ended { code, stdout: text(&output.stdout), stderr: text(&output.stderr) });
        }
        Err(error) => error.to_string(),
    };
    println!("left out: a home that is mounted read only; {why}");
    assert!(std::env::var_os("CI").is_none(), "nothing may be left out where CI is set: {why}");
    None
}

#[test]
fn s02_a_home_that_may_not_be_written_is_told_before_anything_is_done_and_can_be_looked_at() {
    let server = ModelServer::start("{\"text\":\"one\"}\n{\"text\":\"two\"}");
    let place = Place::new();
    assert_eq!(place.run(&server, &["first"]).code, 0);
    let session = place.sessions().pop().unwrap();
    let log = fs::read(place.log(&session)).unwrap();
    let Some(shown) = on_a_read_only_home(&place, &["sessions", "show"]) else { return };
    assert!(shown.code == 0 && shown.stdout.contains("said: first"), "{shown:?}");
    let listed = on_a_read_only_home(&place, &["sessions", "list"]).unwrap();
    assert!(listed.code == 0 && listed.stdout.contains("first"), "{listed:?}");
    let looked = on_a_read_only_home(&place, &["resume", "--read-only"]).unwrap();
    assert!(looked.code == 0 && looked.stdout.contains("reply: one"), "{looked:?}");
    let base = server.base_url();
    for arguments in [
        &["resume", "--json", "-m", "second"][..],
        &["run", "--json", "--base-url", &base, "--model", "scripted", "another"],
    ] {
        let refused = on_a_read_only_home(&place, arguments).unwrap();
        let error = refused.result()["error"].clone();
        assert_eq!((refused.code, &error["kind"]), (2, &json!("config")), "{refused:?}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("may not be written") && message.contains("permissions"), "{message}");
    }
    assert_eq!(fs::read(place.log(&session)).unwrap(), log);
    assert_eq!((server.requests().len(), place.sessions().len()), (1, 1), "no model was asked");
    // With a home that may be written it goes on.
    assert_eq!(place.petasos_does(&["resume", "-m", "second"]).stdout, "two\n");
}
