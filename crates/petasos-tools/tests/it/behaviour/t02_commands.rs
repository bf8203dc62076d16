//! Commands that run.

use petasos_core::claims::Rerun;
use petasos_core::text::Text;
use petasos_core::tool::{Fact, Outcome};
use petasos_tools::Options;

use crate::say::Room;

#[tokio::test]
async fn t02_a_command_tells_its_exit_code_and_both_outputs_in_order() {
    let room = Room::new();
    let output = room.call("run_command", r#"{"command":"echo a; echo b >&2; echo c; exit 3"}"#).await;
    assert_eq!(&**output.for_model.text(), "exit code 3 (failed)\na\nb\nc\n");
    assert_eq!(output.outcome, Outcome::Error);
    let argv = ["sh", "-c", "echo a; echo b >&2; echo c; exit 3"].map(Text::from).to_vec();
    assert_eq!(output.facts, [Fact::Ran { argv, exit: Some(3) }]);
}

#[tokio::test]
async fn t02_tests_run_the_command_that_was_set_alone() {
    let run_tests = Some("echo 3 passed; test ! -e broken".to_owned());
    let room = Room::with(Options { run_tests, ..Options::default() });
    let claims = room.propose("run_tests", "").unwrap().claims;
    assert_eq!((claims.rerun, claims.alone), (Rerun::Free, true));
    room.check("run_tests", "{}", Outcome::Ok, "exit code 0\n3 passed\n").await;
    room.put("broken", "");
    room.check("run_tests", "{}", Outcome::Error, "exit code 1 (failed)\n3 passed\n").await;
    room.refused("run_tests", r#"{"command":"ls"}"#, "has no argument \\\"command\\\"").await;
}

/// Nothing of one call is left for the next.
#[tokio::test]
async fn t02_a_command_begins_anew_in_its_folder() {
    let room = Room::new();
    room.sh("mkdir -p sub/deep; ln -s sub link");
    room.call("run_command", r#"{"command":"cd sub; export A=1; alias x=ls"}"#).await;
    let call = r#"{"command":"echo \"[$A]\"; basename \"$PWD\"","cwd":"link/deep"}"#;
    room.check("run_command", call, Outcome::Ok, "exit code 0\n[]\ndeep\n").await;
    let call = r#"{"command":"basename \"$PWD\"; test -p /dev/stdin || wc -c"}"#;
    room.check("run_command", call, Outcome::Ok, "exit code 0\nproj\n0\n").await;
}

#[tokio::test(start_paused = true)]
async fn t02_a_command_that_takes_too_long_is_told_with_its_limit() {
    let room = Room::new();
    for (arguments, limit) in
        [(r#"{"command":"sleep 99"}"#, "120"), (r#"{"command":"sleep 99","timeout_s":9999999}"#, "3600")]
    {
        let output = room.call("run_command", arguments).await;
        assert_eq!(output.outcome, Outcome::TimedOut);
        let text = output.for_model.text();
        assert!(text.contains(&format!("timed out after {limit} s")), "{text}");
        assert_eq!(output.facts.len(), 1);
    }
}
