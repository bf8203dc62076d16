//! Cases F-01 to F-04: how commands end, and that nothing of them is left.

use std::time::Duration;

use petasos_core::bounded::Cap;
use petasos_core::tool::{Outcome, ToolOutput};
use petasos_tools::Options;

use crate::say::{Room, arguments};

/// The arguments of a command.
fn command(command: &str) -> String {
    arguments(&[("command", command)])
}

/// Runs a script until it writes numbers of processes into the pipe `ready`, then stops the call or drops it.
async fn run_until_ready(room: &Room, script: &str, then: Then) -> (Option<ToolOutput>, Vec<String>) {
    room.sh("mkfifo ready");
    let proposal = room.propose("run_command", &command(script)).unwrap();
    let (raise, context) = room.context();
    let ready = room.path("ready");
    let told = tokio::task::spawn_blocking(move || std::fs::read_to_string(ready).unwrap());
    let call = crate::say::approved(proposal);
    let mut run = room.tool("run_command").run(&call, context);
    let pids = tokio::select! {
        output = &mut run => panic!("{output:?}"),
        pids = told => pids.unwrap(),
    };
    let output = match then {
        Then::Stop => {
            raise.send(true).unwrap();
            Some(run.await)
        }
        Then::Drop => {
            drop(run);
            None
        }
    };
    (output, pids.split_whitespace().map(str::to_owned).collect())
}

#[derive(Clone, Copy)]
enum Then {
    Stop,
    Drop,
}

/// Waits until a file is there and holds something.
const WAIT_FOR_PID: &str = "while [ ! -s pid ]; do sleep 0.01; done";

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
    let script = "trap '' TERM; echo begun; sleep 60 & echo $$ $! > ready; wait; sleep 60";
    let (output, pids) = run_until_ready(&room, script, Then::Stop).await;
    let output = output.unwrap();
    assert_eq!(output.outcome, Outcome::CutShort);
    assert!(output.for_model.text().ends_with("\nbegun\n"), "{:?}", output.for_model);
    assert_eq!(pids.len(), 2);
    for pid in pids {
        crate::say::until(|| !is_alive(&pid));
    }
}

/// `timeout` makes a group of its own; it is below the shell all the same.
#[tokio::test]
async fn case_f02_a_child_in_a_group_of_its_own_is_stopped_too() {
    let room = Room::new();
    let script = "timeout 60 sh -c 'echo $$ > ready; sleep 60; true'; true";
    let (output, pids) = run_until_ready(&room, script, Then::Stop).await;
    assert_eq!(output.unwrap().outcome, Outcome::CutShort);
    crate::say::until(|| !is_alive(&pids[0]));
}

/// False also for one that has ended and that nobody has waited for.
fn is_alive(pid: &str) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())) else { return false };
    !stat.rsplit_once(") ").unwrap().1.starts_with('Z')
}

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
    let tty = command("python3 -c 'open(\"/dev/tty\").read()'");
    let output = room.call("run_command", &tty).await;
    let text = output.for_model.text();
    assert!(text.contains("exit code 1") && text.contains("No such device or address"), "{text}");
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

/// When the result is there, the process is not: nothing is waited for here.
#[tokio::test]
async fn case_f01_a_child_in_a_session_of_its_own_is_stopped_and_told() {
    let room = Room::new();
    let script = format!("setsid sh -c 'echo $$ > pid; exec sleep 300' & {WAIT_FOR_PID}; echo done");
    let text = "exit code 0\n[what it left running in the background was stopped]\ndone\n";
    room.check("run_command", &command(&script), Outcome::Ok, text).await;
    assert!(!is_alive(&String::from_utf8(room.get("pid")).unwrap()));
}

#[tokio::test]
async fn case_f02_a_double_fork_is_stopped_with_the_rest() {
    let room = Room::new();
    let script = "(setsid sh -c 'echo $$ > ready; exec sleep 300' &); sleep 300";
    let (output, pids) = run_until_ready(&room, script, Then::Stop).await;
    assert_eq!((output.unwrap().outcome, pids.len()), (Outcome::CutShort, 1));
    assert!(!is_alive(&pids[0]));
}

#[tokio::test]
async fn case_f02_what_runs_under_timeout_in_the_background_is_stopped() {
    let room = Room::new();
    let script = format!("timeout 300 sh -c 'echo $$ > pid; sleep 300; true' & {WAIT_FOR_PID}; echo ok");
    let text = "exit code 0\n[what it left running in the background was stopped]\nok\n";
    room.check("run_command", &command(&script), Outcome::Ok, text).await;
    assert!(!is_alive(&String::from_utf8(room.get("pid")).unwrap()));
}

/// Whoever begins others faster than they can be ended one by one is stopped first.
#[tokio::test]
async fn case_f02_children_that_begin_children_all_end() {
    let room = Room::new();
    let script = "spawn() { trap '' TERM; echo $$ > ready; while :; do (setsid sleep 300 &); sleep 0.01; done; }; spawn";
    let (output, pids) = run_until_ready(&room, script, Then::Stop).await;
    let output = output.unwrap();
    assert_eq!(output.outcome, Outcome::CutShort);
    assert!(!output.for_model.text().contains("could not be ended"), "{:?}", output.for_model);
    assert!(!is_alive(&pids[0]), "{:?}", output.for_model);
}

#[tokio::test]
async fn t04_a_dropped_call_leaves_nothing() {
    let room = Room::new();
    let script = "trap '' TERM; (setsid sh -c 'trap \"\" TERM; sleep 300; true' &); sleep 300 & echo $$ $! > ready; wait";
    let (output, pids) = run_until_ready(&room, script, Then::Drop).await;
    assert!(output.is_none() && pids.len() == 2);
    let left = room.path("").to_string_lossy().into_owned();
    crate::say::until(|| pids.iter().all(|pid| !is_alive(pid)) && !is_any_in(&left));
}

#[tokio::test]
async fn t04_a_guardian_that_is_ended_by_its_command_is_told() {
    let room = Room::new();
    // Of its guardian only: this program is to live on.
    let script = "grep -q guardian /proc/$PPID/cmdline || exit 9; echo $$ > pid; kill -9 $PPID; sleep 300";
    let output = room.call("run_command", &command(script)).await;
    assert_eq!(output.outcome, Outcome::Error);
    let text = output.for_model.text();
    let begins = "ended in an unknown way (failed)\n[its guardian was ended by something else: ";
    assert!(text.starts_with(begins), "{text}");
    let pid = String::from_utf8(room.get("pid")).unwrap();
    crate::say::until(|| !is_alive(&pid));
}

/// As far as a program that is no guardian can see.
#[tokio::test]
async fn t04_without_a_guardian_the_group_and_the_tree_are_ended() {
    let room = Room::unguarded();
    let text = "exit code 0\n[what it left running in the background was stopped]\ndone\n";
    room.check("run_command", &command("sleep 30 & echo done"), Outcome::Ok, text).await;
    let script = "timeout 300 sh -c 'echo $PPID $$ > ready; sleep 300; true'; true";
    let (output, pids) = run_until_ready(&room, script, Then::Drop).await;
    assert!(output.is_none() && pids.len() == 2);
    crate::say::until(|| pids.iter().all(|pid| !is_alive(pid)));
}

#[tokio::test]
async fn t04_codes_of_the_shell_are_explained() {
    let room = Room::new();
    let check = async |script, text: &str| {
        room.check("run_command", &command(script), Outcome::Error, &format!("{text}\n(no output)")).await;
    };
    check("exit 126", "exit code 126 (failed; 126: what was to run is there and may not be run)").await;
    check("exit 127", "exit code 127 (failed; 127: a command was not found)").await;
    let text = "exit code 137 (failed; usually 128 + 9: killed by signal 9, often for want of memory)";
    check("exit 137", text).await;
    check("exit 143", "exit code 143 (failed; usually 128 + 15: killed by signal 15)").await;
    check("exit 129", "exit code 129 (failed)").await;
    check("exit 131", "exit code 131 (failed)").await;
    check("exit 200", "exit code 200 (failed)").await;
}

/// True if a process has its working folder there.
fn is_any_in(folder: &str) -> bool {
    let folder = folder.trim_end_matches('/');
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|process| std::fs::read_link(process.path().join("cwd")).ok())
        .any(|cwd| cwd.to_string_lossy().trim_end_matches(" (deleted)") == folder)
}

/// The first write to the disk takes until the command is over and longer; the rest of its output waits in the pipe.
#[tokio::test]
async fn t04_all_output_is_kept_when_the_disk_is_slow() {
    let room = Room::new();
    room.blobs.slow_until_gone(room.path("pid"));
    let script = command("echo $$ > pid; seq 1 20000; echo LAST LINE");
    let output = room.call("run_command", &script).await;
    let text = output.for_model.text();
    assert_eq!(output.outcome, Outcome::Ok, "{text}");
    assert!(text.ends_with("\n20000\nLAST LINE\n"), "{text}");
    let lines: String = (1..=20_000).map(|line| format!("{line}\n")).collect();
    assert_eq!(String::from_utf8(room.blobs.only()).unwrap(), format!("{lines}LAST LINE\n"));
}

#[tokio::test]
async fn t04_a_command_cannot_hold_the_life_line_of_its_guardian_nor_speak_for_it() {
    let room = Room::new();
    let open = "for fd in 0 1; do for way in '<' '>'; do sh -c \"exec 9$way/proc/$PPID/fd/$fd\" 2>/dev/null && echo held; done; done";
    let script = format!("grep -q guardian /proc/$PPID/cmdline || exit 9; {open}; exit 5");
    room.check("run_command", &command(&script), Outcome::Error, "exit code 5 (failed)\n(no output)").await;
    let script = "(exec 8>/proc/$PPID/fd/1; echo 'exited code 0' >&8; echo gone >&8) 2>/dev/null; exit 5";
    room.check("run_command", &command(script), Outcome::Error, "exit code 5 (failed)\n(no output)").await;
}

/// A guardian serves nobody else: its word on a command line runs nothing.
#[test]
fn t04_a_guardian_that_is_called_from_a_shell_runs_nothing() {
    let room = Room::new();
    let guardian = env!("CARGO_BIN_EXE_petasos-guardian");
    room.sh(&format!("printf 'call 9\\ntouch run;go 0\\n' | {guardian} petasos-guardian; [ ! -e run ]"));
}

#[tokio::test]
async fn t04_a_command_that_was_called_off_never_begins() {
    let room = Room::new();
    let (raise, context) = room.context();
    raise.send(true).unwrap();
    let output = room.call_in("run_command", &command("touch run"), context).await;
    let never = |output: &ToolOutput| {
        assert_eq!(output.outcome, Outcome::CutShort);
        let cause = &crate::say::trouble(output.for_model.text())["cause"];
        assert_eq!(cause, "the call was stopped before the command began; nothing of it has run");
    };
    never(&output);
    assert!(!room.path("run").exists());

    // While its guardian is waited for.
    room.sh("printf '#!/bin/sh\\ncat > /dev/null\\n' > slow; chmod +x slow");
    let slow = Room::guarded_by(room.path("slow"));
    let (raise, context) = slow.context();
    let arguments = command("touch run");
    let run = slow.call_in("run_command", &arguments, context);
    let (output, ()) = tokio::join!(run, async { raise.send(true).unwrap() });
    never(&output);
    assert!(!slow.path("run").exists());
}

/// A guardian that does nothing is woken to end its command, and is not killed.
#[tokio::test]
async fn t04_a_guardian_that_was_stopped_goes_on_and_ends_all() {
    let room = Room::new();
    let script = "grep -q guardian /proc/$PPID/cmdline || exit 9; trap '' TERM; echo $$ > pid; kill -STOP $PPID; sleep 300; true";
    let call = command(script).replace('}', r#","timeout_s":1}"#);
    let output = room.call("run_command", &call).await;
    let text = output.for_model.text();
    assert_eq!(output.outcome, Outcome::TimedOut, "{text}");
    assert!(!text.contains("by something else"), "{text}");
    let pid = String::from_utf8(room.get("pid")).unwrap();
    let left = room.path("").to_string_lossy().into_owned();
    crate::say::until(|| !is_alive(&pid) && !is_any_in(&left));
}

/// And the command does not inherit that.
#[tokio::test]
async fn t04_signals_that_end_a_program_end_no_guardian() {
    let room = Room::new();
    let signals = "for name in TERM HUP INT QUIT USR1 USR2 ALRM; do kill -$name $PPID; done";
    let script = format!(
        "grep -q guardian /proc/$PPID/cmdline || exit 9; (setsid sh -c 'echo $$ > pid; sleep 300; true' &); {WAIT_FOR_PID}; {signals}; \
         sh -c 'kill -USR1 $$'; exit $?"
    );
    let text = "exit code 138 (failed)\n[what it left running in the background was stopped]\n";
    let output = room.call("run_command", &command(&script)).await;
    assert!(output.for_model.text().starts_with(text), "{:?}", output.for_model);
    assert!(!is_alive(&String::from_utf8(room.get("pid")).unwrap()));
}

/// It looks like one that has ended and that nobody has waited for.
#[tokio::test]
async fn t04_a_process_whose_first_thread_has_ended_is_found() {
    let room = Room::new();
    room.put("first.py", FIRST_THREAD_ENDS);
    let script = format!("setsid python3 first.py & {WAIT_FOR_PID}; echo ok");
    let text = "exit code 0\n[what it left running in the background was stopped]\nok\n";
    room.check("run_command", &command(&script), Outcome::Ok, text).await;
    let left = room.path("").to_string_lossy().into_owned();
    assert!(!is_any_in(&left));
}

const FIRST_THREAD_ENDS: &str = r#"
import ctypes, os, signal, threading, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
def go_on():
    while open(f"/proc/{os.getpid()}/stat").read().rsplit(") ", 1)[1][0] != "Z":
        time.sleep(0.01)
    open("pid", "w").write(str(os.getpid()))
    time.sleep(300)
threading.Thread(target=go_on).start()
# `exit` of one thread, by the number that the system has for it.
ctypes.CDLL(None).syscall(60 if os.uname().machine == "x86_64" else 93, 0)
"#;
