//! Random legal worlds, judged by what they see, by the fold of their logs, and by the slow and simple
//! model of I1–I12.
//!
//! Seeds count up from a constant. A seed that fails is printed with its story; `PETASOS_SEED=17` runs
//! that one again.

use std::time::Instant;

use petasos_testkit::random::{Counts, Story, run};

/// Turns in the ordinary test.
const TURNS: u64 = 100_000;
/// The first seed.
const FIRST: u64 = 20_260_000;

/// What must happen, and how often at least: a world that never does a thing is a test that cannot fail.
const AT_LEAST: &[(u64, &str)] = &[
    (1_000, "another attempt"),
    (1_000, "append failed"),
    (1_000, "clock back"),
    (1_000, "clock forward"),
    (1_000, "closing call"),
    (1_000, "continue"),
    (1_000, "continue with more"),
    (1_000, "crash"),
    (1_000, "crash at rest"),
    (500, "cut between"),
    (500, "decided No"),
    (500, "decided NoAndStop"),
    (500, "decided Text"),
    (500, "decided Yes"),
    (500, "end AwaitingAnswer"),
    (500, "end AwaitingApproval"),
    (1_000, "end BudgetExhausted"),
    (1_000, "end Completed"),
    (500, "end ContextExhausted"),
    (500, "end Denied"),
    (1_000, "end Interrupted"),
    (1_000, "end ModelFailed"),
    (1_000, "end NotSaved"),
    (1_000, "end Refused"),
    (50, "end Stuck"),
    (1_000, "end TimedOut"),
    (3, "end ToolFailed"),
    (50, "end Truncated"),
    (100, "grace was over"),
    (50, "granted"),
    (1_000, "learnt"),
    (1_000, "model cancelled"),
    (500, "note Closing(Money)"),
    (1_000, "note Closing(Steps)"),
    (500, "note Closing(Tokens)"),
    (1_000, "note Continue"),
    (1_000, "note Guard"),
    (1_000, "note Nudge"),
    (1_000, "parked"),
    (1_000, "partial"),
    (1_000, "preparing stopped"),
    (10, "probed NeverBegan"),
    (50, "probed Ok"),
    (10, "probed Unknown"),
    (1_000, "raised while running"),
    (200, "ran again"),
    (1_000, "ran beside another"),
    (1_000, "reply calls"),
    (1_000, "reply cut"),
    (1_000, "reply cut calls"),
    (1_000, "reply empty"),
    (1_000, "reply failure"),
    (1_000, "reply odd"),
    (1_000, "reply odd text"),
    (1_000, "reply refusal"),
    (500, "result CutShort"),
    (1_000, "result Denied"),
    (1_000, "result Empty"),
    (1_000, "result Error"),
    (500, "result Invalid"),
    (1_000, "result NeverBegan"),
    (1_000, "result Ok"),
    (500, "result TimedOut"),
    (500, "result Unknown"),
    (1_000, "said at rest"),
    (1_000, "said while running"),
    (1_000, "said wrong things"),
    (1_000, "stale"),
    (1_000, "superseded"),
    (500, "went to"),
    (100, "undone"),
    (100, "retried"),
    (1_000, "withdrawn"),
    (500, "woke early"),
];

fn told(seed: u64) -> String {
    let report = run(seed, Story::Told);
    format!("PETASOS_SEED={seed}\n{}", report.findings.report())
}

#[test]
fn random_worlds_keep_the_invariants() {
    if let Ok(seed) = std::env::var("PETASOS_SEED") {
        let seed = seed.parse().unwrap();
        assert!(run(seed, Story::Untold).findings.is_empty(), "{}", told(seed));
        return;
    }
    let began = Instant::now();
    let (mut turns, mut seed, mut counts) = (0, FIRST, Counts::new());
    while turns < TURNS {
        let report = run(seed, Story::Untold);
        assert!(report.findings.is_empty(), "{}", told(seed));
        turns += report.turns;
        for (what, count) in report.counts {
            *counts.entry(what).or_default() += count;
        }
        seed += 1;
    }
    let seconds = began.elapsed().as_secs_f64();
    println!("{turns} turns, seeds {FIRST} to {}, {seconds:.1} s", seed - 1);
    for (what, count) in &counts {
        println!("{count:9} {what}");
    }
    for (least, what) in AT_LEAST {
        let count = counts.get(*what).copied().unwrap_or(0);
        assert!(count >= *least, "{what}: {count} times, at least {least} are wanted");
    }
}

#[test]
fn a_seed_says_the_same_each_time() {
    for seed in FIRST..FIRST + 20 {
        let (one, other) = (run(seed, Story::Untold), run(seed, Story::Told));
        assert_eq!(one.log, other.log);
        assert_eq!(one.counts, other.counts);
    }
}
