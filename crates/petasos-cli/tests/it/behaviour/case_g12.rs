//! Case G-12: no key comes into a result, an event, the log, a blob, an error or a request.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::Path;

use petasos_testkit::model_server::ModelServer;
use serde_json::json;

use crate::program::{Ended, Place, bodies, ended, model, of_kind, results};

const KEY: &str = "sk-test-abcdefghijklmnopqrstuvwx1234";
/// A user who may not do everything.
const NOBODY: u32 = 65_534;

/// A reply with one call.
fn call(name: &str, arguments: &serde_json::Value) -> String {
    json!({"calls": [{"name": name, "arguments": arguments}]}).to_string()
}

fn command(line: &str) -> String {
    call("run_command", &json!({"command": line}))
}

/// Every file below a folder holds no key.
fn holds_no_key(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            holds_no_key(&path);
        } else {
            let bytes = fs::read(&path).unwrap();
            assert!(!bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes()), "{}", path.display());
        }
    }
}

/// What the results say, and that the key is nowhere.
#[track_caller]
fn told(place: &Place, server: ModelServer, run: &Ended) -> Vec<String> {
    assert_eq!(run.code, 0, "{run:?}");
    assert!(!run.stdout.contains(KEY) && !run.stderr.contains(KEY), "{run:?}");
    holds_no_key(&place.home());
    let requests = server.finish();
    for request in &requests {
        assert!(
            !String::from_utf8_lossy(&request.body).contains(KEY) && !format!("{request:?}").contains(KEY)
        );
    }
    let id = &place.sessions()[0];
    for look in
        [["dev", "request", id], ["sessions", "show", id], ["log", id, "--json"], ["sessions", "export", id]]
    {
        let shown = place.petasos_does(&look);
        assert!(!shown.stdout.contains(KEY) && !shown.stderr.contains(KEY), "{look:?} {shown:?}");
    }
    let bodies = bodies(&requests);
    results(bodies.last().unwrap()).iter().map(|(_, text)| (*text).to_owned()).collect()
}

/// The commands of the case, as they stand in it, and some that reach further.
const COMMANDS: [&str; 5] = [
    "env | sort",
    "cat /proc/$PPID/environ | tr '\\0' '\\n'",
    "echo $OPENAI_API_KEY | cut -c1-10",
    // Whoever runs us, wherever it is; and so much that a blob is made of it.
    "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -a ^OPENAI_API_KEY=; yes | head -c 200000",
    // Half of it now and half of it later.
    "printf 'sk-test-%s' abcdefghijklm; sleep 0.1; printf '%s\\n' nopqrstuvwx1234",
];

fn script() -> String {
    let calls = COMMANDS.iter().map(|line| command(line));
    calls.chain(["{\"text\":\"done\"}".to_owned()]).collect::<Vec<_>>().join("\n")
}

fn check_commands(texts: &[String]) {
    assert!(texts[0].contains("PATH=") && !texts[0].contains("OPENAI"), "{}", texts[0]);
    assert_eq!(texts[2], "exit code 0\n\n");
    assert!(texts[3].contains("characters left out; the whole is in blob:"), "{}", texts[3]);
    assert_eq!(texts[4], "exit code 0\n«hidden:OPENAI_API_KEY»\n");
}

#[test]
fn case_g12_the_key_is_in_no_result_event_log_or_blob() {
    let place = Place::new();
    let server = ModelServer::start(&script());
    let mut petasos = place.petasos();
    petasos.env("OPENAI_API_KEY", KEY).args(["run", "--json"]).args(model(&server));
    let run = ended(petasos.args(["--api-key-env", "OPENAI_API_KEY", "--allow-commands", "hello"]));
    let texts = told(&place, server, &run);
    check_commands(&texts);
    if rustix::process::geteuid().is_root() {
        // Root reads every environment; there the mask holds.
        assert!(texts[3].contains("OPENAI_API_KEY=«hidden:OPENAI_API_KEY»\n"), "{}", &texts[3][..300]);
    }
}

/// The environment of the program cannot be read by what it runs, where that is not root.
#[test]
fn case_g12_another_process_of_the_same_user_reads_no_environment_of_ours() {
    let place = Place::new();
    let server = ModelServer::start(&script());
    let program = place.work().parent().unwrap().join("petasos");
    fs::copy(env!("CARGO_BIN_EXE_petasos"), &program).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let mut petasos = place.command(&program);
    if rustix::process::geteuid().is_root() {
        chown(place.work(), Some(NOBODY), Some(NOBODY)).unwrap();
        chown(place.work().parent().unwrap(), Some(NOBODY), Some(NOBODY)).unwrap();
        petasos.uid(NOBODY).gid(NOBODY);
    }
    petasos.env("OPENAI_API_KEY", KEY).args(["run", "--json"]).args(model(&server));
    let run = ended(petasos.args(["--api-key-env", "OPENAI_API_KEY", "--allow-commands", "hello"]));
    let texts = told(&place, server, &run);
    check_commands(&texts);
    assert!(!texts[1].contains("OPENAI") && !texts[3].contains("OPENAI"), "{}{}", texts[1], &texts[3][..300]);
}

/// A key of the `.env` file, in files, in what is found, and in what a server says of it.
#[test]
fn case_g12_the_key_is_in_no_file_that_is_read_and_no_error() {
    let place = Place::new();
    fs::create_dir_all(place.home()).unwrap();
    let kept = "OTHER_SECRET=hunter2hunter2\nPETASOS_MAX_STEPS=9\nSHORT=abc\n";
    fs::write(place.home().join(".env"), kept).unwrap();
    place.write(
        "a.py",
        &format!("key = \"{KEY}\"\nother = 'hunter2hunter2'\nos.getenv(\"OPENAI_API_KEY\")\n"),
    );
    let failed = format!(
        r#"{{"fault":{{"status":401,"body":{{"error":{{"message":"bad key {KEY} and sk-Ab3dEf6hIj9lMn2pQr5tUv8x"}}}}}}}}"#
    );
    let script = [
        call("read_file", &json!({"path": "a.py"})),
        call("search_files", &json!({"pattern": "key|other"})),
        command("cat a.py >&2; exit 3"),
        failed,
    ];
    let server = ModelServer::start(&script.join("\n"));
    let mut petasos = place.petasos();
    petasos.env("OPENAI_API_KEY", KEY).args(["run", "--json"]).args(model(&server));
    let run = ended(petasos.args(["--api-key-env", "OPENAI_API_KEY", "--allow-commands", "hello"]));
    assert_eq!(run.result()["status"], "model_failed", "{run:?}");
    let shown =
        "key = \"«hidden:OPENAI_API_KEY»\"\nother = '«hidden:OTHER_SECRET»'\nos.getenv(\"OPENAI_API_KEY\")\n";
    let events = run.events();
    let texts = events.iter().filter(|event| event["type"] == "tool_result");
    let texts: Vec<&str> = texts.map(|event| event["text"].as_str().unwrap()).collect();
    assert_eq!(texts[0], shown);
    assert!(texts[1].contains("a.py:1: key = \"«hidden:OPENAI_API_KEY»\"\n"), "{}", texts[1]);
    assert_eq!(texts[2], format!("exit code 3 (failed)\n{shown}"));
    let error = run.result()["error"]["message"].to_string();
    assert!(error.contains("bad key ***") || error.contains("bad key «hidden:OPENAI_API_KEY»"), "{error}");
    assert!(error.contains("and «hidden:sk-…"), "{error}");
    let sessions = place.home().join("sessions");
    holds_no_key(&sessions);
    for text in [&run.stdout, &run.stderr, &fs::read_to_string(place.log(&place.sessions()[0])).unwrap()] {
        assert!(!text.contains(KEY) && !text.contains("hunter2") && !text.contains("sk-Ab3"), "{text}");
    }
    assert_eq!(of_kind(&place.entries(), "tool_result").len(), 3);
}
