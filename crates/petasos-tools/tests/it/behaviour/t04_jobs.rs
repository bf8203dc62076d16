//! Jobs: commands that run beside the steps.

use petasos_core::approval::{Action, Grants, Policy, Rule, Verdict, judge};
use petasos_core::claims::Rerun;
use petasos_core::id::Digest;
use petasos_core::text::Text;
use petasos_core::tool::{Outcome, ToolOutput};
use petasos_tools::Options;

use crate::say::{Room, arguments};

/// Begins a job.
async fn begin(room: &Room, command: &str) -> ToolOutput {
    let command = arguments(&[("command", command)]);
    let call = command.replace('}', r#","background":true}"#);
    room.call("run_command", &call).await
}

/// Polls a job until its text ends so; the bound only keeps a broken test from hanging.
async fn poll_until(room: &Room, id: u32, end: &str) -> String {
    let begun = std::time::Instant::now();
    let mut all = String::new();
    loop {
        let text = room.text("job", &format!(r#"{{"id":{id},"action":"poll"}}"#)).await;
        all.push_str(&text);
        if all.ends_with(end) {
            return all;
        }
        assert!(begun.elapsed().as_secs() < 30, "{all}");
    }
}

#[tokio::test]
async fn t04_a_job_goes_on_beside_other_calls_and_is_polled() {
    let room = Room::new();
    room.sh("mkfifo go");
    let output = begin(&room, "echo begun; cat go; echo done; exit 3").await;
    assert_eq!((output.outcome, &**output.for_model.text()), (Outcome::Ok, "job 1 runs (0 s)\nbegun\n"));
    let text = "exit code 0\nbeside\n";
    room.check("run_command", r#"{"command":"echo beside"}"#, Outcome::Ok, text).await;
    let text = "job 1 runs: echo begun; cat go; echo done; exit 3\n";
    room.check("job", r#"{"action":"poll"}"#, Outcome::Ok, text).await;
    room.sh("echo words > go");
    let told = poll_until(&room, 1, "done\n").await;
    let last = told.rsplit_once("job 1").unwrap().1;
    if last.contains("has ended") {
        assert!(last.starts_with(" has ended: exit code 3 (failed)\n"), "{told}");
    } else {
        let text = "job 1 has ended: exit code 3 (failed)\n(no more output)";
        room.check("job", r#"{"id":1,"action":"poll"}"#, Outcome::Error, text).await;
    }
    room.refused("job", r#"{"id":1,"action":"poll"}"#, "a job is gone once its end was told").await;
    let text = "no job runs; run_command begins one with background: true";
    room.check("job", r#"{"action":"poll"}"#, Outcome::Empty, text).await;
}

/// A command that ends in `&` is one job all the same.
#[tokio::test]
async fn t04_a_job_is_all_that_its_command_began() {
    let room = Room::new();
    let output = begin(
        &room,
        "(setsid sh -c 'echo $$ > pid; exec sleep 300' &); while [ ! -s pid ]; do sleep 0.01; done",
    )
    .await;
    assert!(output.for_model.text().starts_with("job 1 runs (0 s)\n"), "{:?}", output.for_model);
    let text = "job 1 has ended: it was stopped\n(no more output)";
    room.check("job", r#"{"id":1,"action":"stop"}"#, Outcome::Ok, text).await;
    let pid = String::from_utf8(room.get("pid")).unwrap();
    assert!(std::fs::metadata(format!("/proc/{}", pid.trim())).is_err());
}

#[tokio::test]
async fn t04_a_job_reads_what_it_is_written() {
    for room in [Room::new(), Room::unguarded()] {
        begin(&room, "while read line; do echo \"got:$line\"; done; echo end").await;
        let text = "job 1 gets 8 bytes; poll it for what it says";
        room.check("job", r#"{"id":1,"action":"write","text":"one\ntwo\n"}"#, Outcome::Ok, text).await;
        poll_until(&room, 1, "got:two\n").await;
        let text = "the input of job 1 has its end";
        room.check("job", r#"{"id":1,"action":"write","text":""}"#, Outcome::Ok, text).await;
        poll_until(&room, 1, "end\n").await;
    }
}

#[tokio::test]
async fn t04_a_job_that_fails_at_once_is_told_at_once() {
    let room = Room::new();
    let output = begin(&room, "echo no such server; exit 1").await;
    let text = "job 1 has ended: exit code 1 (failed)\nno such server\n";
    assert_eq!((output.outcome, &**output.for_model.text()), (Outcome::Error, text));
}

/// An own number each, also when the first is gone.
#[tokio::test]
async fn t04_there_are_eight_jobs_at_most() {
    let room = Room::new();
    for _ in 0..8 {
        assert_eq!(begin(&room, "sleep 300").await.outcome, Outcome::Ok);
    }
    let output = begin(&room, "sleep 300").await;
    assert_eq!(crate::say::trouble(output.for_model.text())["error"], "too many jobs");
    room.call("job", r#"{"id":1,"action":"stop"}"#).await;
    assert!(begin(&room, "sleep 300").await.for_model.text().starts_with("job 9 runs"));
    room.session.jobs.end_all().await;
    room.refused("job", r#"{"id":9,"action":"poll"}"#, "with the process of Petasos that began it").await;
}

#[tokio::test]
async fn t04_jobs_end_with_their_session() {
    let room = Room::new();
    begin(&room, "echo $$ > pid; sleep 300").await;
    let pid = String::from_utf8(room.get("pid")).unwrap();
    room.session.jobs.end_all().await;
    assert!(std::fs::metadata(format!("/proc/{}", pid.trim())).is_err());
}

#[tokio::test]
async fn t04_a_job_that_says_too_much_is_ended_and_all_it_said_is_kept() {
    let room = Room::with(Options { most_output: 1_000_000, ..Options::default() });
    let mut output = begin(&room, "yes").await;
    while output.outcome == Outcome::Ok {
        assert!(output.for_model.text().chars().count() <= room.cap.0);
        output = room.call("job", r#"{"id":1,"action":"poll"}"#).await;
    }
    let text = output.for_model.text();
    assert!(text.starts_with("job 1 has ended: it wrote more than 1000000 bytes of output\n"), "{text}");
    assert!(!room.blobs.is_empty());
}

/// Looking is free; what a shell reads is a command, and asks like one.
#[tokio::test]
async fn t04_what_a_job_is_written_asks_like_a_command() {
    let room = Room::new();
    let asks = |call| {
        let rule = Rule { tool: "run_command".into(), action: Action::Ask, name: "commands ask".into() };
        let policy = Policy { rules: vec![rule], hash: Digest([0; 32]) };
        let proposal = room.propose("job", call).unwrap();
        let claims = proposal.claims.clone();
        let asks = matches!(judge(&policy, &Grants::default(), proposal).verdict, Verdict::Ask(_));
        (asks, claims.rerun, claims.argv)
    };
    assert_eq!(asks(r#"{"action":"poll"}"#), (false, Rerun::Free, vec![]));
    assert_eq!(asks(r#"{"id":1,"action":"poll"}"#), (false, Rerun::Free, vec![]));
    assert_eq!(asks(r#"{"id":1,"action":"stop"}"#), (true, Rerun::Never, vec![]));
    let argv = vec![vec![Text::from("rm -r x\n")]];
    assert_eq!(asks(r#"{"id":1,"action":"write","text":"rm -r x\n"}"#), (true, Rerun::Never, argv));
    room.refused("job", r#"{"action":"stop"}"#, "give its id").await;
    room.refused("job", r#"{"id":1,"action":"write"}"#, "give text").await;
    room.refused("job", r#"{"id":1,"action":"poll","text":"y"}"#, "use action write").await;
}
