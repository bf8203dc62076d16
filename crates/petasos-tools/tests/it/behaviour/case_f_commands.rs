//! Cases F-01 to F-09 and G-12: commands.

use std::time::Duration;

use petasos_core::bounded::Cap;
use petasos_core::tool::Outcome;
use petasos_tools::Options;

use crate::say::{Room, arguments};

/// The arguments of a command.
fn command(command: &str) -> String {
    arguments(&[("command", command)])
}

#[tokio::test]
async fn case_f01_a_background_child_does_not_keep_the_call() {
    let room = Room::new();
    let text = "exit code 0\n[what it left running in the background was stopped]\ndone\n";
    room.check("run_command", &command("sleep 30 & echo done"), Outcome::Ok, text).await;
}

/// One that never is silent does not keep the call either, and no piece of its output is torn.
#[tokio::test]
async fn case_f01_a_background_child_that_writes_on_does_not_keep_the_call() {
    let room = Room::new();
    let output = room.call("run_command", &command("yes & echo done")).await;
    assert_eq!(output.outcome, Outcome::Ok);
    let text = output.for_model.text();
    let begins = "exit code 0\n[what it left running in the background was stopped]\n";
    assert!(text.starts_with(begins), "{text}");
    if let Some(blob) = output.blob {
        assert_eq!(room.blobs.only().len() as u64, blob.bytes);
        assert_eq!(output.bytes, blob.bytes);
    }
}

#[tokio::test(start_paused = true)]
async fn case_f02_a_group_that_ignores_term_is_over_after_its_time() {
    let room = Room::new();
    let call = r#"{"command":"bash -c 'trap \"\" TERM; sleep 60 & wait; sleep 60'","timeout_s":1}"#;
    let output = room.call("run_command", call).await;
    assert_eq!(output.outcome, Outcome::TimedOut);
    let (error, rest) = output.for_model.text().split_once('\n').unwrap();
    assert_eq!(crate::say::trouble(error)["error"], "timed out after 1 s");
    assert_eq!(rest, "(no output)");
}

#[tokio::test]
async fn t04_a_call_that_names_no_time_has_that_of_the_settings() {
    let room = Room::with(Options { limit: Duration::from_secs(1), ..Options::default() });
    let output = room.call("run_command", r#"{"command":"sleep 60"}"#).await;
    let (error, _) = output.for_model.text().split_once('\n').unwrap();
    assert_eq!(crate::say::trouble(error)["error"], "timed out after 1 s");
    let output = room.call("run_command", r#"{"command":"sleep 1.2; echo done","timeout_s":60}"#).await;
    assert_eq!(&**output.for_model.text(), "exit code 0\ndone\n");
}

/// Order of events: the group says that it ignores TERM, then the call is stopped, then all of it is gone.
#[tokio::test]
async fn case_f02_nothing_of_a_stopped_group_is_alive_and_its_output_is_kept() {
    let room = Room::new();
    room.sh("mkfifo ready");
    let script = "trap '' TERM; echo begun; sleep 60 & echo $$ $! > ready; wait; sleep 60";
    let proposal = room.propose("run_command", &command(script)).unwrap();
    let (raise, context) = room.context();
    let ready = room.path("ready");
    let told = tokio::task::spawn_blocking(move || std::fs::read_to_string(ready).unwrap());
    let call = crate::say::approved(proposal);
    let run = room.tool("run_command").run(&call, context);
    let stop = async {
        let pids = told.await.unwrap();
        raise.send(true).unwrap();
        pids
    };
    let (output, pids) = tokio::join!(run, stop);
    assert_eq!(output.outcome, Outcome::CutShort);
    assert!(output.for_model.text().ends_with("\nbegun\n"), "{:?}", output.for_model);
    let pids: Vec<&str> = pids.split_whitespace().collect();
    assert_eq!(pids.len(), 2);
    for pid in pids {
        crate::say::until(|| !is_alive(pid));
    }
}

/// `timeout` makes a group of its own; it is below the shell all the same.
#[tokio::test]
async fn case_f02_a_child_in_a_group_of_its_own_is_stopped_too() {
    let room = Room::new();
    room.sh("mkfifo ready");
    let script = "timeout 60 sh -c 'echo $$ > ready; sleep 60; true'; true";
    let proposal = room.propose("run_command", &command(script)).unwrap();
    let (raise, context) = room.context();
    let ready = room.path("ready");
    let told = tokio::task::spawn_blocking(move || std::fs::read_to_string(ready).unwrap());
    let call = crate::say::approved(proposal);
    let run = room.tool("run_command").run(&call, context);
    let stop = async {
        let pid = told.await.unwrap();
        raise.send(true).unwrap();
        pid
    };
    let (output, pid) = tokio::join!(run, stop);
    assert_eq!(output.outcome, Outcome::CutShort);
    crate::say::until(|| !is_alive(pid.trim()));
}

/// False also for one that has ended and that nobody has waited for.
fn is_alive(pid: &str) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    !stat.rsplit_once(") ").unwrap().1.starts_with('Z')
}

/// `open("/dev/tty")` is not among them: it needs a session of its own, which comes with the sandbox.
#[tokio::test]
async fn case_f03_programs_that_wait_for_a_person_end_by_themselves() {
    let room = Room::new();
    room.sh("git init -q");
    room.check("run_command", &command("cat"), Outcome::Empty, "exit code 0\n(no output)").await;
    let read = command("read x; echo \"got:$x\"");
    room.check("run_command", &read, Outcome::Ok, "exit code 0\ngot:\n").await;
    let commit = command("git -c user.name=n -c user.email=e@x commit --allow-empty");
    let output = room.call("run_command", &commit).await;
    assert_eq!(output.outcome, Outcome::Error);
    assert!(output.for_model.text().contains("exit code 1"), "{:?}", output.for_model);
    let sudo = room.call("run_command", &command("sudo -k true")).await;
    assert!(matches!(sudo.outcome, Outcome::Ok | Outcome::Empty | Outcome::Error));
}

/// The command is `timeout 5 yes` there; the cap of bytes ends it first here, so nothing waits.
#[tokio::test]
async fn case_f04_endless_output_is_stopped_at_its_cap() {
    let room = Room::with(Options { most_output: 4_000_000, ..Options::default() });
    let output = room.call("run_command", &command("timeout 5 yes")).await;
    assert_eq!(output.outcome, Outcome::Error);
    let text = output.for_model.text();
    assert_eq!(crate::say::trouble(text.lines().next().unwrap())["error"], "too much output");
    assert!(text.ends_with("y\ny\n") && text.contains("characters left out"), "{text}");
    assert!(text.chars().count() <= Cap::RESULT.0);
    assert!(room.blobs.only().len() >= 4_000_000);
}

#[tokio::test]
async fn case_f05_the_exit_code_and_the_last_line_reach_the_model() {
    let room = Room::new();
    for n in [100, 27_000, 29_000, 31_000, 500_000] {
        let script =
            "python3 -c \"import sys; sys.stdout.write('x'*29000+'\\nERROR: last line\\n'); sys.exit(3)\"";
        let script = script.replace("29000", &n.to_string());
        let output = room.call("run_command", &command(&script)).await;
        assert_eq!(output.outcome, Outcome::Error);
        let text = output.for_model.text();
        assert!(text.starts_with("exit code 3 (failed)\nx"), "{n}");
        assert!(text.ends_with("x\nERROR: last line\n"), "{n}");
        assert_eq!(text.matches("left out").count(), usize::from(n > 50_000), "{n}");
        assert_eq!(output.bytes, n + 18);
    }
}

#[tokio::test]
async fn case_f06_a_command_without_output_says_so() {
    let room = Room::new();
    let check =
        async |script, outcome, text| room.check("run_command", &command(script), outcome, text).await;
    check("false", Outcome::Error, "exit code 1 (failed)\n(no output)").await;
    check("true", Outcome::Empty, "exit code 0\n(no output)").await;
    check("kill -9 $$", Outcome::Error, "killed by signal 9 (failed)\n(no output)").await;
}

#[tokio::test]
async fn case_f07_redraws_are_one_line() {
    let room = Room::new();
    room.put(
        "case.sh",
        r"for i in $(seq 1 100); do printf '\033[2K\rGetting image: %d%%' $i; done; printf '\033[32m done\033[0m\n\033]0;title\007'",
    );
    let text = "exit code 0\nGetting image: 100% done\n";
    room.check("run_command", &command("bash case.sh"), Outcome::Ok, text).await;
    // Programs set the colour back between the two parts of a line end, or wipe the line before the next.
    let text = "exit code 0\nred\n\nnew\nabX\n";
    let script =
        r"printf '\033[31mred\r\033[0m\n'; printf 'old\r\033[K\nold\r\033[2Knew\n'; printf 'old\r\babc\bX\n'";
    room.check("run_command", &command(script), Outcome::Ok, text).await;
    let text = "exit code 0\none\ntwo\n";
    room.check("run_command", &command(r"printf 'one\r\ntwo\r\n'"), Outcome::Ok, text).await;
}

#[tokio::test]
async fn case_f08_output_that_is_no_text_becomes_text() {
    let mut room = Room::new();
    room.put("case.sh", r#"printf 'caf\xe9 \x00 \xff\xfe ok\n'; python3 -c "print('北'*40000)""#);
    for cap in [2_000, 2_001, 2_002, 30_000, 50_000] {
        room.cap = Cap(cap);
        let text = room.text("run_command", &command("bash case.sh")).await;
        let text = text.strip_prefix("exit code 0\ncaf\u{fffd} \u{2400} \u{fffd}\u{fffd} ok\n").unwrap();
        assert!(!text.contains('\u{fffd}') && text.ends_with("北北\n"), "{cap}");
        assert!(text.chars().count() <= cap);
    }
}

#[tokio::test]
async fn case_f09_a_folder_that_goes_away_costs_only_the_calls_in_it() {
    let room = Room::new();
    let text = room.text("run_command", &command("mkdir -p w/sub && cd w/sub && pwd")).await;
    assert!(text.ends_with("/w/proj/w/sub\n"), "{text}");
    let here = |script| arguments(&[("command", script), ("cwd", "w/sub")]);
    let text = "exit code 0\nremoved\n";
    room.check("run_command", &here(r#"rm -rf "$PWD"; echo removed"#), Outcome::Ok, text).await;
    room.refused("run_command", &here("echo still alive"), "there is no w/sub").await;
    let text = "exit code 0\nstill alive\n";
    room.check("run_command", &command("echo still alive"), Outcome::Ok, text).await;
}

/// Cargo tells its tests where their crate is, so a name that must not get through is always there.
#[tokio::test]
async fn case_g12_no_name_but_those_allowed_is_in_the_environment() {
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let room = Room::new();
    let text = room.text("run_command", &command("env | sort")).await;
    let allowed = "PATH HOME LANG TZ USER SHELL TMPDIR TERM PAGER GIT_PAGER GIT_TERMINAL_PROMPT GIT_EDITOR EDITOR \
                   VISUAL PWD OLDPWD SHLVL _";
    for line in text.lines().skip(1) {
        let name = line.split('=').next().unwrap();
        assert!(allowed.split_whitespace().any(|known| known == name) || name.starts_with("LC_"), "{line}");
    }
    assert!(text.contains("\nTERM=dumb\n"), "{text}");
}
