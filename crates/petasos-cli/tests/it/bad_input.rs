//! What users get wrong: a test for each row of the table in README.md, named after its first column
//! (`cargo xtask tidy` compares them). Each says what is wrong, where, and what next; ends with the code for it;
//! and shows no key.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use petasos_testkit::model_server::ModelServer;

use crate::behaviour::find::keep;
use crate::program::{Ended, Place, end_of, ended, model};

/// What no output and no file may hold.
const KEY: &str = "sk-test-4f1c7d0be2a9";

const ANSWER: &str = r#"{"text":"Done."}"#;

/// The code, and words of what is said on stderr.
#[track_caller]
fn check(place: &Place, ended: &Ended, code: i32, words: &[&str]) {
    assert_eq!(ended.code, code, "{ended:?}");
    for word in words {
        assert!(ended.stderr.contains(word), "{word:?} is not said:\n{}", ended.stderr);
    }
    assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
    assert!(!format!("{ended:?}").contains(KEY), "the key is shown:\n{ended:?}");
    for session in place.sessions() {
        let log = fs::read(place.log(&session)).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&log).contains(KEY), "the key is in the log of {session}");
    }
}

/// The same for what ends before a session is made.
#[track_caller]
fn check_refused(place: &Place, ended: &Ended, words: &[&str]) {
    check(place, ended, 2, words);
    assert_eq!(place.sessions(), Vec::<String>::new());
    assert_eq!(ended.stdout, "");
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn config(text: &str) -> Place {
    let place = Place::new();
    write(&place.home().join("config.yaml"), text);
    place
}

/// A place with one session that is finished.
fn place_with_session() -> (Place, String) {
    let (place, server) = (Place::new(), ModelServer::start(ANSWER));
    assert_eq!(place.run(&server, &["Begin."]).code, 0);
    let session = place.sessions().remove(0);
    (place, session)
}

/// What this machine does not let us show is said, and is a failure where everything must be shown.
fn left_out(what: &str) {
    println!("left out: {what}");
    assert_ne!(std::env::var("CI").as_deref(), Ok("1"), "left out: {what}");
}

#[test]
fn bad_input_the_base_url_is_no_address() {
    let place = Place::new();
    for (url, words) in [
        ("http//127.0.0.1:8080/v1", &["http//127.0.0.1:8080/v1", "https://host.example/v1"][..]),
        ("ftp://host.example/v1", &["ftp://host.example/v1", "neither http nor https"]),
        ("localhost", &["\"localhost\"", "--base-url URL"]),
        (&format!("http://me:{KEY}@host.example/v1"), &["a user name or a password", "its variable"]),
        (&format!("http://host.example/v1?api_key={KEY}"), &["seems to hold a key", "--api-key-env"]),
    ] {
        let run = place.petasos_does(&["run", "--base-url", url, "--model", "m", "Do it."]);
        check_refused(&place, &run, words);
    }
}

#[test]
fn bad_input_no_server_answers_there() {
    let place = Place::new();
    // A port that was free a moment ago.
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{address}/v1");
    let run = place.petasos_does(&["run", "--base-url", &url, "Do it."]);
    check_refused(&place, &run, &[&url, "cannot be listed", "--model NAME"]);
    let run = place.petasos_does(&["run", "--base-url", &url, "--model", "m", "Do it."]);
    let session = place.sessions().remove(0);
    let resume = format!("check --base-url and that the server runs, then: petasos resume {session}");
    check(&place, &run, 20, &["cannot be reached", &address.to_string(), &resume]);
    // The task is kept, and goes on where a server is.
    let server = ModelServer::start(ANSWER);
    let resumed = ended(place.petasos().arg("resume").arg(&session).args(model(&server)));
    check(&place, &resumed, 0, &[]);
    assert_eq!(resumed.stdout, "Done.\n");
}

#[test]
fn bad_input_the_provider_refuses_the_key() {
    let refusal =
        format!(r#"{{"error":{{"message":"Incorrect API key provided: {KEY}","code":"invalid_api_key"}}}}"#);
    let script = format!("{{\"fault\":{{\"status\":401,\"body\":{refusal}}}}}\n{ANSWER}\n");
    let (place, server) = (Place::new(), ModelServer::start(&script));
    let mut run = place.petasos();
    run.arg("run")
        .args(model(&server))
        .args(["--api-key-env", "OLD_API_KEY", "Do it."])
        .env("OLD_API_KEY", KEY);
    check(&place, &ended(&mut run), 20, &["does not take the key", "--api-key-env", "petasos resume"]);
    assert_eq!(server.requests().len(), 1, "a key is not tried twice");
    // One that says it in the stream, after a good status.
    let event = format!("data: {refusal}\n\n").replace('"', "\\\"").replace('\n', "\\n");
    let stream = format!(
        r#"{{"fault":{{"status":200,"headers":{{"Content-Type":"text/event-stream"}},"body":"{event}"}},"when":{{"results":0}}}}"#
    );
    let (other, streaming) = (Place::new(), ModelServer::start(&stream));
    let mut run = other.petasos();
    run.arg("run")
        .args(model(&streaming))
        .args(["--api-key-env", "OLD_API_KEY", "Do it."])
        .env("OLD_API_KEY", KEY);
    check(&other, &ended(&mut run), 20, &["Incorrect API key provided"]);
    // As the hint says.
    let mut resume = place.petasos();
    resume.args(["resume", "--api-key-env", "NEW_API_KEY"]).env("NEW_API_KEY", KEY);
    let resumed = ended(&mut resume);
    check(&place, &resumed, 0, &[]);
    assert_eq!(resumed.stdout, "Done.\n");
}

#[test]
fn bad_input_there_is_no_such_model() {
    let refusal = r#"{"error":{"message":"The model `scripted` does not exist","code":"model_not_found"}}"#;
    let script = format!("{{\"fault\":{{\"status\":404,\"body\":{refusal}}}}}\n{ANSWER}\n");
    let (place, server) = (Place::new(), ModelServer::start(&script).with_breaks());
    let run = place.run(&server, &["Do it."]);
    check(&place, &run, 20, &["The model `scripted` does not exist", "--model", "petasos resume"]);
    // With another one at the same address.
    let resumed = place.petasos_does(&["resume", "--model", "other"]);
    check(&place, &resumed, 0, &[]);
    let text = |request: &petasos_modelserver::Recorded| String::from_utf8(request.body.to_vec()).unwrap();
    let asked: Vec<bool> =
        server.requests().iter().map(|request| text(request).contains(r#""model":"other""#)).collect();
    assert_eq!(asked, [false, true]);
}

#[test]
fn bad_input_a_page_comes_instead_of_an_answer() {
    let page = r#"{"fault":{"status":200,"headers":{"Content-Type":"text/html"},"body":"<html><title>Welcome</title></html>"},"when":{"results":0}}"#;
    let (place, server) = (Place::new(), ModelServer::start(page));
    let run = place.run(&server, &["Do it."]);
    check(&place, &run, 20, &["petasos: model_failed", "next: "]);
}

#[test]
fn bad_input_the_workspace_is_not_there() {
    let place = Place::new();
    place.write("file", "");
    for (workspace, why) in [("nowhere", "cannot be reached"), ("file", "is no folder")] {
        let run = place.petasos_does(&["run", "--workspace", workspace, "Do it."]);
        check_refused(&place, &run, &[workspace, why, "--workspace DIR"]);
    }
}

#[test]
fn bad_input_the_workspace_cannot_be_read() {
    let place = Place::new();
    let closed = place.work().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    fs::set_permissions(place.work().parent().unwrap(), fs::Permissions::from_mode(0o755)).unwrap();
    let mut plain = place.petasos();
    let command = if rustix::process::geteuid().is_root() {
        // To root nothing is closed.
        let user = ["--reuid", "65534", "--regid", "65534", "--clear-groups", "--"];
        let mut other = place.command(Path::new("setpriv"));
        other.args(user).arg(env!("CARGO_BIN_EXE_petasos"));
        let reaches = other.arg("--version").output().is_ok_and(|output| output.status.success());
        if !reaches {
            return left_out(
                "a workspace that cannot be read: no other user to be had who reaches the program",
            );
        }
        plain = place.command(Path::new("setpriv"));
        plain.args(user).arg(env!("CARGO_BIN_EXE_petasos"))
    } else {
        &mut plain
    };
    let run = ended(command.args(["run", "--workspace"]).arg(&closed).arg("Do it."));
    check_refused(&place, &run, &[closed.to_str().unwrap(), "cannot be read", "--workspace DIR"]);
}

#[test]
fn bad_input_another_process_holds_the_session() {
    let (place, server) = (Place::new(), ModelServer::start(r#"{"fault":"stall"}"#));
    let mut run = place.petasos();
    run.arg("run").args(model(&server)).args(["--json", "Do it."]).stdout(Stdio::piped());
    let mut holder = run.spawn().unwrap();
    let mut lines = BufReader::new(holder.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains(r#""type":"step_start""#)), "it came to no step");
    let resumed = place.petasos_does(&["resume"]);
    let pid = format!("held by pid {}", holder.id());
    check(&place, &resumed, 2, &[&pid, "next: wait until its turn is over, or stop that process"]);
    let told = place.petasos_does(&["resume", "--json"]).result();
    assert_eq!((&told["status"], &told["error"]["kind"]), (&"not_started".into(), &"held".into()));
    holder.kill().unwrap();
    holder.wait().unwrap();
}

#[test]
fn bad_input_a_line_of_the_log_is_damaged() {
    let (place, session) = place_with_session();
    let log = place.log(&session);
    let mut bytes = fs::read(&log).unwrap();
    let end = bytes.len() - 60;
    bytes[end] ^= 1;
    fs::write(&log, &bytes).unwrap();
    let server = ModelServer::start(ANSWER);
    let resumed = ended(place.petasos().args(["resume", "-m", "Again."]).args(model(&server)));
    check(&place, &resumed, 0, &["is damaged", &session]);
    assert_eq!(resumed.stdout, "Done.\n");
    let set_aside = fs::read_dir(log.parent().unwrap()).unwrap();
    let names: Vec<String> = set_aside.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    assert!(names.iter().any(|name| name == "damaged-2.bin"), "{names:?}");
    assert!(place.petasos_does(&["sessions", "show"]).stdout.contains("said: Begin."));
}

#[test]
fn bad_input_the_last_line_of_the_log_is_cut() {
    let (place, session) = place_with_session();
    let log = place.log(&session);
    let bytes = fs::read(&log).unwrap();
    fs::write(&log, &bytes[..bytes.len() - 10]).unwrap();
    let resumed = place.petasos_does(&["resume", &session]);
    check(&place, &resumed, 0, &["is damaged", &session]);
    // What the model answered was kept before the line that is cut.
    assert_eq!(resumed.stdout, "Done.\n");
}

#[test]
fn bad_input_the_first_line_of_the_log_is_damaged() {
    let (place, session) = place_with_session();
    let server = ModelServer::start(ANSWER);
    assert_eq!(place.run(&server, &["Another."]).code, 0);
    let log = place.log(&session);
    let mut bytes = fs::read(&log).unwrap();
    bytes[20] ^= 1;
    fs::write(&log, &bytes).unwrap();
    let resumed = place.petasos_does(&["resume", &session]);
    check(&place, &resumed, 2, &[&session, "cannot be used", "petasos sessions list"]);
    let listed = place.petasos_does(&["sessions", "list"]);
    check(&place, &listed, 0, &[&session, "cannot be used"]);
    assert!(listed.stdout.contains("Another."), "{}", listed.stdout);
    assert_eq!(fs::read(&log).unwrap(), bytes);
}

/// A disk of 64 KiB in a mount namespace of its own; what is on it is copied out before it goes.
#[test]
fn bad_input_the_disk_is_full() {
    // Numbers, for a reply that repeats itself is cut before it fills anything.
    let text: String = (0..20_000).map(|number| format!("{number} ")).collect();
    let (place, server) = (Place::new(), ModelServer::start(&format!("{{\"text\":\"{text}\"}}")));
    fs::create_dir(place.home()).unwrap();
    let inside = r#"mount -t tmpfs -o size=64k none "$PETASOS_HOME" || exit 77; "$@"; code=$?
        cat "$PETASOS_HOME"/sessions/*/log.jsonl > log; exit $code"#;
    let mut command = place.command(Path::new("unshare"));
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", inside, "sh"]);
    command.arg(env!("CARGO_BIN_EXE_petasos")).arg("run").args(model(&server)).arg("Do it.");
    let run = match command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn() {
        Ok(child) => end_of(child),
        Err(error) => return left_out(&format!("a full disk: unshare: {error}")),
    };
    if run.code == 77 || place.read("log").is_none() {
        return left_out(&format!("a full disk: {}", run.stderr));
    }
    check(
        &place,
        &run,
        19,
        &["not_saved", "no room for", "log.jsonl", "next: mend the disk", "petasos resume"],
    );
    let log = place.read("log").unwrap();
    assert!(log.ends_with('\n') && log.contains("Do it."), "{log}");
}

#[test]
fn bad_input_a_flag_is_unknown() {
    let place = Place::new();
    let run = place.petasos_does(&["run", "--modle", "m", "Do it."]);
    check_refused(&place, &run, &["--modle", "'--model'", "--help"]);
    let told = place.petasos_does(&["run", "--json", "--modle", "m"]);
    assert_eq!((told.code, told.stderr.as_str()), (2, ""));
    let error = &told.result()["error"];
    assert_eq!(error["kind"], "usage");
    assert!(error["message"].as_str().unwrap().contains("--modle"), "{error}");
    assert!(error["hint"].as_str().unwrap().contains("--model"), "{error}");
}

#[test]
fn bad_input_a_setting_is_unknown() {
    for (text, name, nearest) in [
        ("model:\n  nmae: m\n", "model.nmae", "model.name"),
        ("max_step: 3\n", "max_step", "max_steps"),
        ("timeouts: {firstbyte: 3}\n", "timeouts.firstbyte", "timeouts.first_byte"),
    ] {
        let place = config(text);
        let file = place.home().join("config.yaml");
        let run = place.petasos_does(&["run", "Do it."]);
        let told = format!("there is no setting `{name}`; the nearest is `{nearest}`");
        check_refused(&place, &run, &[file.to_str().unwrap(), &told]);
    }
    // Nothing is near.
    let place = config("hooks: {before: x}\n");
    let told = "there is no setting `hooks.before`; docs/format/config.md lists all that there are";
    check_refused(&place, &place.petasos_does(&["run", "Do it."]), &[told]);
}

#[test]
fn bad_input_a_tool_that_is_switched_off_is_unknown() {
    let (place, server) = (config("tools: {disabled: [run_comand]}\n"), ModelServer::start(ANSWER));
    let run = place.run(&server, &["Do it."]);
    check_refused(&place, &run, &["`tools.disabled`", "\"run_comand\"", "`run_command`"]);
}

#[test]
fn bad_input_a_config_file_is_no_yaml() {
    for text in [
        format!("model:\n  name: [m\n  api_key_env: {KEY}\n"),
        format!("model:\n  api_key_env: [{KEY}]\n"),
        format!("max_steps: {KEY}\n"),
        format!("- {KEY}\n"),
    ] {
        let place = config(&text);
        let file = place.home().join("config.yaml");
        let run = place.petasos_does(&["run", "Do it."]);
        check_refused(&place, &run, &[file.to_str().unwrap(), "line", "docs/format/config.md"]);
    }
}

#[test]
fn bad_input_a_workspace_file_names_a_server() {
    let place = Place::new();
    let file = place.work().join(".petasos/config.yaml");
    write(&file, "model:\n  base_url: http://evil.example/v1\n");
    let run = place.petasos_does(&["run", "Do it."]);
    let words = ["`model.base_url` may not stand in a workspace file", "config.yaml of the home folder"];
    check_refused(&place, &run, &[file.to_str().unwrap(), words[0], words[1]]);
}

#[test]
fn bad_input_the_variable_of_the_key_is_not_set() {
    let (place, server) = (Place::new(), ModelServer::start(ANSWER));
    let run = place.run(&server, &["--api-key-env", "MY_API_KEY", "Do it."]);
    check_refused(&place, &run, &["MY_API_KEY", "is not set", "export MY_API_KEY=", ".env"]);
    // Some put the key itself there.
    let run = place.run(&server, &["--api-key-env", KEY, "Do it."]);
    check_refused(&place, &run, &["is not set", "it may be the key", "MY_API_KEY"]);
    assert_eq!(server.finish().len(), 0);
}

#[test]
fn bad_input_a_line_of_env_is_no_name_and_value() {
    let place = Place::new();
    write(&place.home().join(".env"), &format!("# keys\n{KEY}\n"));
    let run = place.petasos_does(&["run", "Do it."]);
    check_refused(&place, &run, &[place.home().join(".env").to_str().unwrap(), "line 2", "NAME=value"]);
}

#[test]
fn bad_input_a_fallback_is_wrong() {
    let place = config("fallback:\n  - name: m\n  - {name: n, provider: opnai}\n  - base_url: http://h/v1\n");
    let run = place.petasos_does(&["run", "--base-url", "http://127.0.0.1:1/v1", "--model", "m", "Do it."]);
    let words = ["fallback 1", "`base_url`", "fallback 2", "\"opnai\"", "openai", "fallback 3", "`name`"];
    check_refused(&place, &run, &words);
}

#[test]
fn bad_input_no_model_is_named() {
    let place = Place::new();
    let ways =
        ["llama-server", "--base-url URL --model NAME", "export OPENAI_API_KEY=", "petasos demo --scripted"];
    check_refused(&place, &place.petasos_does(&["run", "Do it."]), &ways);
    let run = place.petasos_does(&["run", "--model", "m", "Do it."]);
    check_refused(&place, &run, &["the model m is named, but not where it is served", "--base-url URL"]);
}

#[test]
fn bad_input_the_prompt_is_empty() {
    let place = Place::new();
    for arguments in [&["run"][..], &["run", ""], &["run", " \n"]] {
        check_refused(&place, &place.petasos_does(arguments), &["there is no prompt", "petasos run \""]);
    }
}

#[test]
fn bad_input_the_prompt_is_larger_than_1_mib() {
    let place = Place::new();
    let run = place.with_stdin(&["run"], &vec![b'x'; 10 << 20]);
    check_refused(&place, &run, &["larger than 1 MiB", "put it into a file of the workspace"]);
}

#[test]
fn bad_input_stdin_is_not_utf_8() {
    let place = Place::new();
    let run = place.with_stdin(&["run", "Read it."], b"caf\xe9 au lait");
    check_refused(&place, &run, &["stdin is not UTF-8", "byte 3", "iconv -t UTF-8"]);
}

#[test]
fn an_argument_that_is_not_utf_8_is_told() {
    use std::os::unix::ffi::OsStrExt as _;
    let place = Place::new();
    let mut run: Command = place.petasos();
    let run = ended(run.arg("run").arg(std::ffi::OsStr::from_bytes(b"caf\xe9")));
    check_refused(&place, &run, &["UTF-8"]);
}

#[test]
fn bad_input_an_exported_file_is_not_whole() {
    let (place, _) = place_with_session();
    let file = place.work().join("session.jsonl");
    let exported = place.petasos_does(&["sessions", "export", "-o", "session.jsonl"]);
    check(&place, &exported, 0, &[]);
    let other = Place::new();
    let import = |words: &[&str]| {
        let run = other.petasos_does(&["sessions", "import", file.to_str().unwrap()]);
        check_refused(&other, &run, words);
    };
    let whole = fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    fs::write(&file, lines[..lines.len() - 1].concat()).unwrap();
    let cut =
        format!("line {} of the file: the file ends here, without its last line: it is cut", lines.len());
    import(&[
        "session.jsonl is no whole exported session",
        &cut,
        "nothing was imported",
        "sessions export ID",
    ]);
    fs::write(&file, whole.replacen("Begin.", "Begun.", 1)).unwrap();
    import(&["line 3 of the file: it has no right sum"]);
    fs::write(&file, "a text\n").unwrap();
    import(&["line 1 of the file: it is no line of a session's log"]);
    fs::remove_file(&file).unwrap();
    import(&["session.jsonl cannot be read: No such file"]);
    fs::create_dir(&file).unwrap();
    import(&["session.jsonl cannot be read: is a directory"]);
    let nowhere = place.petasos_does(&["sessions", "export", "-o", "no/such/folder/file"]);
    check(&place, &nowhere, 2, &["no/such/folder/file cannot be written: No such file", "-o FILE"]);
}

#[test]
fn bad_input_the_index_is_damaged_locked_or_missing() {
    let place = Place::new();
    keep(&place, "s1", &place.work(), (1_000, "fix foo_bar"), None);
    let index = place.home().join("index.sqlite");
    let search = || place.petasos_does(&["sessions", "search", "foo_bar"]);
    let whole = search();
    check(&place, &whole, 0, &[]);
    assert!(whole.stdout.ends_with("  said: fix foo_bar\n") && whole.stderr.is_empty(), "{whole:?}");
    // Damaged, missing: it is made anew.
    fs::write(&index, "no index at all".repeat(1_000)).unwrap();
    assert_eq!((search().stdout, search().stderr), (whole.stdout.clone(), String::new()));
    fs::remove_file(&index).unwrap();
    assert_eq!((search().stdout, search().stderr), (whole.stdout.clone(), String::new()));
    // It can be neither read nor made.
    fs::remove_file(&index).unwrap();
    fs::create_dir(&index).unwrap();
    let without = search();
    check(&place, &without, 0, &["the logs of 1 sessions were read, for the index cannot be used"]);
    assert_eq!(without.stdout, whole.stdout);
    let listed = place.petasos_does(&["sessions", "list"]);
    assert!(listed.stdout.starts_with("s1  ") && listed.stderr.is_empty(), "{listed:?}");
}

#[test]
fn bad_input_an_id_is_that_of_no_session() {
    let (place, session) = place_with_session();
    for id in ["zzz", "", "../..", "/etc"] {
        for command in [&["sessions", "show", id][..], &["resume", id], &["sessions", "delete", id, "--yes"]]
        {
            let refused = place.petasos_does(command);
            check(
                &place,
                &refused,
                2,
                &["no session's id or title begins with", "petasos sessions list --all"],
            );
        }
    }
    assert_eq!(place.sessions(), [session]);
}

#[test]
fn bad_input_a_session_is_deleted_by_its_title() {
    let (place, session) = place_with_session();
    let refused = place.petasos_does(&["sessions", "delete", "Begin.", "--yes"]);
    check(&place, &refused, 2, &["\"Begin.\" is no beginning of a session's id", &session]);
    assert_eq!(place.sessions(), [session]);
}

#[test]
fn bad_input_nobody_can_be_asked() {
    let (place, session) = place_with_session();
    for command in [&["sessions", "delete", &session][..], &["sessions", "clean", "--total", "1B"]] {
        let refused = place.petasos_does(command);
        check(&place, &refused, 2, &["nothing was deleted", "--yes says it beforehand"]);
    }
    assert_eq!(place.sessions(), [session]);
}

#[test]
fn bad_input_an_entry_to_fork_at_is_not_there() {
    let (place, session) = place_with_session();
    let refused = place.petasos_does(&["sessions", "fork", "--at", "99"]);
    let words = ["there is no entry 99; the last one is ", "tells the numbers", &session];
    check(&place, &refused, 2, &words);
    assert_eq!(place.sessions(), [session]);
}

#[test]
fn bad_input_a_tool_is_asked_for_that_is_not_there() {
    let place = Place::new();
    let run = place.petasos_does(&["tools", "show", "read_fil"]);
    check_refused(&place, &run, &["there is no tool \"read_fil\"", "name one of read_file, write_file"]);
}

#[test]
fn bad_input_a_file_of_tools_holds_none() {
    let place = Place::new();
    let lint = |content: &[u8], words: &[&str]| {
        fs::write(place.work().join("tools.json"), content).unwrap();
        let run = place.petasos_does(&["tools", "lint", "tools.json"]);
        check_refused(
            &place,
            &run,
            &[&["tools.json: ", "give a JSON file with a tool or a list of tools"], words].concat(),
        );
    };
    lint(b"", &["it is no JSON: EOF while parsing a value at line 1 column 0"]);
    lint(b"name: read_log\n", &["it is no JSON: expected ident at line 1 column 2"]);
    lint(b"[]", &["there is no tool in it"]);
    lint(b"[{\"name\":\"a\"},7]", &["[1] is no tool: it is no object"]);
    lint(b"{\"openapi\":\"3.1.0\"}", &["the file is no tool: it has no name; a tool is {\"name\""]);
    lint(b"\xff\xfe[\0", &["it is not UTF-8: byte 0 begins no character"]);
    let missing = place.petasos_does(&["tools", "lint", "no.json"]);
    check_refused(&place, &missing, &["no.json: No such file or directory"]);
    let folder = place.petasos_does(&["tools", "lint", "."]);
    check_refused(&place, &folder, &[".: Is a directory"]);
}
