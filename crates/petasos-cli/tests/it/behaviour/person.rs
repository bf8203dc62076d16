//! What a person at a terminal is to see, and what no agent is to reach.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use petasos_testkit::model_server::ModelServer;

use crate::program::{Place, ended, model};
use crate::running::Running;

#[test]
fn t03_the_home_folder_is_out_of_reach_also_where_it_lies_in_the_workspace() {
    let script = r#"{"calls":[{"name":"read_file","arguments":{"path":"own/.env"}},{"name":"write_file","arguments":{"path":"own/config.yaml","content":"tools: {run_tests: \"touch pwned\"}"}},{"name":"write_file","arguments":{"path":".petasos/config.yaml","content":"max_steps: 1"}},{"name":"read_file","arguments":{"path":"link"}},{"name":"search_files","arguments":{"pattern":"hush"}},{"name":"list_files","arguments":{"depth":3}}]}
{"text":"I cannot."}"#;
    let server = ModelServer::start(script);
    let place = Place::new();
    let own = place.work().join("own");
    fs::create_dir(&own).unwrap();
    fs::write(own.join(".env"), "SOME_KEY=sk-hush-hush-1234567\n").unwrap();
    std::os::unix::fs::symlink("own/.env", place.work().join("link")).unwrap();
    let mut command = place.petasos();
    command.env("PETASOS_HOME", &own).arg("run").args(model(&server)).arg("look");
    let run = ended(&mut command);
    assert_eq!((run.code, run.stdout.as_str()), (0, "I cannot.\n"), "{run:?}");
    assert!(!run.stderr.contains("sk-hush"), "{run:?}");
    assert!(!own.join("config.yaml").exists() && !place.work().join(".petasos").exists());
    let sent = server.finish().pop().unwrap();
    let sent = String::from_utf8(sent.body.to_vec()).unwrap();
    assert!(!sent.contains("hush-1234567"), "{sent}");
    assert_eq!(sent.matches("not to be reached").count(), 4, "{sent}");
}

#[test]
fn s01_what_is_kept_is_for_its_person_alone() {
    let server = ModelServer::start(r#"{"text":"yes"}"#);
    let place = Place::new();
    place.run(&server, &["hello"]);
    let log = place.log(&place.sessions()[0]);
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&log), 0o600);
    assert_eq!(mode(log.parent().unwrap()), 0o700);
    assert_eq!(mode(&place.home()), 0o700);
}

#[test]
fn l06_a_terminal_that_is_closed_stops_the_run_and_its_command() {
    let script = r#"{"calls":[{"name":"run_command","arguments":{"command":"sleep 3000 & echo $! > pid; sleep 3001"}}]}"#;
    let server = ModelServer::start(script);
    let place = Place::new();
    let mut command = place.petasos();
    command.args(["run", "--json", "--allow-commands"]).args(model(&server)).arg("hello");
    let mut running = Running::begin(&mut command).hush();
    running.wait_for("tool_start");
    let pid = loop {
        match place.read("pid").filter(|text| text.ends_with('\n')) {
            Some(pid) => break pid,
            None => std::thread::yield_now(),
        }
    };
    running.signal("HUP");
    let run = running.end();
    assert_eq!((run.code, run.result()["status"].as_str()), (129, Some("interrupted")), "{run:?}");
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    assert!(stat.is_err() || stat.unwrap().contains(") Z "), "the command's child is left");
}

#[test]
fn t06_what_was_refused_is_told_with_the_ways_on() {
    let script = r#"{"calls":[{"name":"run_command","arguments":{"command":"true"}},{"name":"run_command","arguments":{"command":"false"}}]}
{"text":"I may not."}"#;
    let server = ModelServer::start(script);
    let run = Place::new().run(&server, &["do it"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "I may not.\n"));
    let line = run.stderr.lines().find(|line| line.contains("refused, since nobody was asked: 2")).unwrap();
    for way in ["--allow-commands", "--park", "petasos chat"] {
        assert!(line.contains(way), "{line}");
    }
}

#[test]
fn t07_a_call_that_a_person_refused_is_not_told_as_one_that_nobody_was_asked_about() {
    let script = r#"{"calls":[{"name":"run_command","arguments":{"command":"true"}}]}
{"text":"Then not."}
{"text":"Hello again."}"#;
    for last in [["resume", "--deny"].as_slice(), &["resume", "-m", "leave it"]] {
        let server = ModelServer::start(script).with_breaks();
        let place = Place::new();
        assert_eq!(place.run(&server, &["--park", "do it"]).code, 15);
        let run = place.petasos_does(last);
        assert_eq!((run.code, run.stdout.as_str()), (0, "Then not.\n"), "{run:?}");
        assert!(!run.stderr.contains("nobody was asked"), "{run:?}");
    }
}

#[test]
fn t07_several_calls_that_wait_are_shown_as_they_would_run_with_the_command_for_each() {
    let script = r#"{"calls":[{"name":"run_command","arguments":{"command":"echo \u957f; \"rm\" x"}},{"name":"run_command","arguments":{"command":"true"}}]}"#;
    let server = ModelServer::start(script);
    let place = Place::new();
    let run = place.run(&server, &["--park", "do it"]);
    let id = place.sessions().pop().unwrap();
    for call in ["6.0", "6.1"] {
        assert!(run.stderr.contains(&format!("petasos resume {id} --approve={call}")), "{run:?}");
    }
    assert!(run.stderr.contains("command: echo 长; \"rm\" x"), "{run:?}");
    let unclear = place.petasos_does(&["resume", "--approve"]);
    assert_eq!(unclear.code, 2);
    assert!(
        unclear.stderr.contains("command: true") && unclear.stderr.contains("--approve=6.1"),
        "{unclear:?}"
    );
    let looked = place.petasos_does(&["resume"]);
    assert_eq!(looked.code, 15, "what waits goes on waiting: {looked:?}");
    assert!(looked.stderr.contains("command: true"), "{looked:?}");
}

#[test]
fn u05_resume_says_where_it_goes_and_what_it_passed_over() {
    let server =
        ModelServer::start("{\"text\":\"one\"}\n{\"text\":\"two\"}\n{\"text\":\"three\"}").with_breaks();
    let place = Place::new();
    place.run(&server, &["the old job"]);
    place.run(&server, &["the new job"]);
    let ids = place.sessions();
    let log = place.log(&ids[1]);
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, text.replacen("{\"v\"", "XX\"v\"", 1)).unwrap();
    let run = place.petasos_does(&["resume", "-m", "to the new one"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.stderr.contains(&format!("session {}", ids[0])) && run.stderr.contains("the old job"),
        "{run:?}"
    );
    assert!(run.stderr.contains("a newer session cannot be read") && run.stderr.contains(&ids[1]), "{run:?}");
}

#[test]
fn u01_an_answer_that_cannot_be_written_is_no_success() {
    let server = ModelServer::start(r#"{"text":"yes"}"#);
    let place = Place::new();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = place.petasos();
    let command =
        command.arg("run").args(model(&server)).arg("hello").stdout(Stdio::from(full)).stderr(Stdio::piped());
    let output = command.spawn().unwrap().wait_with_output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("stdout cannot be written"), "{told}");
    assert!(told.contains("the session has it all"), "{told}");
}

#[test]
fn u01_what_a_command_without_a_session_cannot_write_is_lost_and_told_so() {
    let place = Place::new();
    place.write("null", "null");
    let file = place.work().join("null");
    for arguments in
        [&["dev", "decode", "--wire", "chat", file.to_str().unwrap()][..], &["--help"], &["--version"]]
    {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = place.petasos();
        let command = command.args(arguments).stdout(Stdio::from(full)).stderr(Stdio::piped());
        let output = command.spawn().unwrap().wait_with_output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains("stdout cannot be written") && told.contains("run it again"), "{told}");
        assert!(!told.contains("session"), "{told}");
    }
}

#[test]
fn s03_sessions_are_looked_at_whatever_is_wrong_with_settings() {
    let server = ModelServer::start(r#"{"text":"yes"}"#);
    let place = Place::new();
    place.run(&server, &["hello"]);
    fs::create_dir_all(place.work().join(".petasos")).unwrap();
    fs::write(place.work().join(".petasos/config.yaml"), "nonsense: 1\n").unwrap();
    fs::write(place.home().join("config.yaml"), "more: nonsense\n").unwrap();
    let listed = place.petasos_does(&["sessions", "list"]);
    assert_eq!((listed.code, listed.stdout.lines().count()), (0, 1), "{listed:?}");
    let shown = place.petasos_does(&["sessions", "show"]);
    assert!(shown.code == 0 && shown.stdout.contains("said: hello"), "{shown:?}");
}
