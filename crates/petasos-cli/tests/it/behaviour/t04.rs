//! Commands leave nothing: not when this process is killed, and not on a terminal.

use std::fs;
use std::io::Read as _;
use std::process::Command;

use petasos_testkit::model_server::ModelServer;

use crate::program::{Place, ended, model};
use crate::running::{Running, is_alive, until_gone};

/// One reply that runs a command.
fn runs(command: &str) -> String {
    let arguments = serde_json::json!({ "command": command, "timeout_s": 20 });
    let call = serde_json::json!({ "calls": [{ "name": "run_command", "arguments": arguments }] });
    format!("{call}\n{{\"text\":\"it ended\"}}")
}

#[test]
fn t04_sigkill_of_the_runtime_leaves_nothing() {
    let script = "trap '' TERM; (setsid sh -c 'echo $$ > inner; exec sleep 300' &); \
                  while [ ! -s inner ]; do sleep 0.01; done; echo $$ $(cat inner) > pids; sleep 300";
    let server = ModelServer::start(&runs(script));
    let place = Place::new();
    let pipe = place.work().join("pids");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut command = place.petasos();
    let command = command.args(["run", "--allow-commands"]).args(model(&server)).arg("Do it.");
    let running = Running::begin(command).hush();
    let mut pids = String::new();
    fs::File::open(&pipe).unwrap().read_to_string(&mut pids).unwrap();
    let pids: Vec<&str> = pids.split_whitespace().collect();
    assert_eq!(pids.len(), 2);
    running.signal("KILL");
    pids.into_iter().for_each(until_gone);
}

/// `drive` waits for it: nothing is waited for here.
#[test]
fn t04_a_job_ends_with_its_session() {
    let command = "(setsid sh -c 'echo $$ > pid; exec sleep 300' &); while [ ! -s pid ]; do sleep 0.01; done";
    let arguments = serde_json::json!({ "command": command, "background": true });
    let begins = serde_json::json!({ "calls": [{ "name": "run_command", "arguments": arguments }] });
    let looks = serde_json::json!({ "calls": [{ "name": "job", "arguments": { "action": "poll" } }] });
    let server = ModelServer::start(&format!("{begins}\n{looks}\n{{\"text\":\"it runs\"}}"));
    let place = Place::new();
    let run = place.run_json(&server, &["--allow-commands", "Go."]);
    assert!(run.stdout.contains("job 1 runs: (setsid sh -c"), "{run:?}");
    assert_eq!(run.code, 0, "{run:?}");
    assert!(!is_alive(place.read("pid").unwrap().trim()));
}

/// `script` gives the program a terminal, which its commands do not have.
#[test]
fn case_f03_dev_tty_cannot_be_opened_also_under_a_terminal() {
    let server = ModelServer::start(&runs("python3 -c 'open(\"/dev/tty\").read()'"));
    let place = Place::new();
    let petasos = place.petasos();
    let program = petasos.get_program().to_string_lossy().into_owned();
    let words = [program, "run".into(), "--json".into(), "--allow-commands".into()];
    let words: Vec<String> = words.into_iter().chain(model(&server)).chain(["Go.".into()]).collect();
    let mut script = place.command(std::path::Path::new("script"));
    let run = ended(script.args(["-qec", &words.join(" "), "/dev/null"]));
    let result = run.stdout.lines().find(|line| line.contains("\"tool_result\"")).unwrap();
    assert!(result.contains("exit code 1 (failed)") && result.contains("No such device"), "{result}");
    assert_eq!(run.code, 0, "{run:?}");
}
