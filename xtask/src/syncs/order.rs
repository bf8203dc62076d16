//! What must hold in a trace of the driver:
//!
//! - before a call is acted on, its `tool_start` is written, and after that the log is synced;
//! - a step of free calls costs one sync of the log, that of its request.

use std::collections::HashMap;

use super::trace::Call;

const LOG: &str = "/log.jsonl";
const STDERR: u32 = 2;

/// What a trace shows, as sentences.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Seen {
    pub held: Vec<String>,
    pub broken: Vec<String>,
}

/// One thing that matters here, with the lines of the trace on which it was begun and done.
#[derive(Debug)]
struct Happening {
    what: What,
    begun: usize,
    ended: usize,
}

#[derive(Debug)]
enum What {
    /// A line of a log, with the path of that log.
    Line {
        log: String,
        text: String,
    },
    Sync {
        log: String,
    },
    Mark(String),
}

pub fn check(calls: &[Call]) -> Seen {
    let happenings = happenings(calls);
    let mut seen = Seen::default();
    let (mut acted, mut steps) = (0, 0);
    let mut step = None;
    for happening in &happenings {
        let What::Mark(mark) = &happening.what else { continue };
        if let Some(call) = mark.strip_prefix("acting on ") {
            acted += 1;
            synced_before(&happenings, call, happening.begun, &mut seen);
        } else if mark == "free step begins" {
            step = Some(happening.ended);
        } else if mark == "free step ends" {
            match step.take() {
                Some(begun) => {
                    steps += 1;
                    one_sync(&happenings, begun, happening.begun, &mut seen);
                }
                None => seen.broken.push("a free step ends that did not begin".into()),
            }
        }
    }
    if step.is_some() {
        seen.broken.push("a free step begins and does not end".into());
    }
    if acted == 0 {
        seen.broken.push("nothing was acted on, so nothing was seen; wanted `MARK acting on <call>`".into());
    }
    if steps == 0 {
        seen.broken.push("no free step was seen; wanted `MARK free step begins` and `ends`".into());
    }
    seen
}

/// The written line is whole before the sync begins, and the sync is done before the mark begins.
fn synced_before(happenings: &[Happening], call: &str, mark: usize, seen: &mut Seen) {
    let named = format!("\"call\":\"{call}\"");
    let start = happenings.iter().rev().find(|happening| {
        happening.ended < mark
            && matches!(&happening.what, What::Line { text, .. }
                if text.contains("\"kind\":\"tool_start\"") && text.contains(&named))
    });
    let Some(Happening { what: What::Line { log, .. }, ended, .. }) = start else {
        seen.broken.push(format!("{call} was acted on, and no tool_start for it was written before"));
        return;
    };
    let synced = happenings.iter().any(|happening| {
        happening.begun > *ended
            && happening.ended < mark
            && matches!(&happening.what, What::Sync { log: synced } if synced == log)
    });
    if synced {
        seen.held.push(format!("{call}: tool_start was written, synced, then acted on"));
    } else {
        seen.broken
            .push(format!("{call} was acted on after its tool_start was written and before it was synced"));
    }
}

fn one_sync(happenings: &[Happening], begun: usize, ended: usize, seen: &mut Seen) {
    let syncs = happenings
        .iter()
        .filter(|happening| matches!(happening.what, What::Sync { .. }))
        .filter(|happening| happening.ended > begun && happening.begun < ended)
        .count();
    if syncs == 1 {
        seen.held.push("a step of free calls cost one sync of the log".into());
    } else {
        seen.broken.push(format!(
            "a step of free calls cost {syncs} syncs of the log; one is wanted, its request's"
        ));
    }
}

/// A line may come in several writes, and a write may hold several lines: a line happens from the first
/// write that has a part of it to the write that ends it.
fn happenings(calls: &[Call]) -> Vec<Happening> {
    let mut parts = HashMap::<String, (usize, String)>::new();
    let mut found = Vec::new();
    for call in calls.iter().filter(|call| call.succeeded) {
        let is_log = call.path.ends_with(LOG);
        let is_sync = matches!(call.name.as_str(), "fdatasync" | "fsync");
        if is_log && is_sync {
            let what = What::Sync { log: call.path.clone() };
            found.push(Happening { what, begun: call.begun, ended: call.ended });
        }
        let is_write = matches!(call.name.as_str(), "write" | "writev" | "pwrite64");
        if !is_write || !(is_log || call.descriptor == Some(STDERR)) {
            continue;
        }
        let part = parts.entry(call.path.clone()).or_insert((call.begun, String::new()));
        if part.1.is_empty() {
            part.0 = call.begun;
        }
        part.1.push_str(&call.text);
        while let Some((line, rest)) = part.1.split_once('\n') {
            let (line, rest) = (line.to_owned(), rest.to_owned());
            let what = match line.strip_prefix("MARK ") {
                Some(mark) if !is_log => Some(What::Mark(mark.trim_end().to_owned())),
                _ => is_log.then(|| What::Line { log: call.path.clone(), text: line.clone() }),
            };
            found.extend(what.map(|what| Happening { what, begun: part.0, ended: call.ended }));
            *part = (call.begun, rest);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::trace::parse;
    use super::*;

    const START: &str =
        r#"1 write(3</s/log.jsonl>, "{\"kind\":\"tool_start\",\"body\":{\"call\":\"3.0\"}}\n", 9) = 9"#;
    const SYNC: &str = "1 fdatasync(3</s/log.jsonl>) = 0";
    const ACT: &str = r#"1 write(2<pipe:[7]>, "MARK acting on 3.0\n", 9) = 9"#;
    const BEGINS: &str = r#"1 write(2<pipe:[7]>, "MARK free step begins\n", 9) = 9"#;
    const ENDS: &str = r#"1 write(2<pipe:[7]>, "MARK free step ends\n", 9) = 9"#;

    #[track_caller]
    fn check_trace(lines: &[&str], wanted: &[&str]) {
        assert_eq!(check(&parse(&lines.join("\n"))).broken, wanted);
    }

    #[test]
    fn a_call_is_acted_on_after_its_start_is_synced() {
        let free = [BEGINS, SYNC, ENDS];
        let with_free = |lines: &[&'static str]| [lines, free.as_slice()].concat();
        check_trace(&with_free(&[START, SYNC, ACT]), &[]);
        let not_synced = "3.0 was acted on after its tool_start was written and before it was synced";
        check_trace(&with_free(&[START, ACT]), &[not_synced]);
        check_trace(&with_free(&[SYNC, START, ACT]), &[not_synced]);
        check_trace(&with_free(&[START, "1 fdatasync(3</s/log.jsonl>) = -1 EIO (x)", ACT]), &[not_synced]);
        check_trace(&with_free(&[START, "1 fdatasync(3</t/log.jsonl>) = 0", ACT]), &[not_synced]);
        let not_written = "3.0 was acted on, and no tool_start for it was written before";
        check_trace(&with_free(&[SYNC, ACT, START]), &[not_written]);
    }

    #[test]
    fn a_sync_that_is_not_done_does_not_count() {
        let unfinished = "2 fdatasync(3</s/log.jsonl> <unfinished ...>";
        let resumed = "2 <... fdatasync resumed>) = 0";
        let not_synced = "3.0 was acted on after its tool_start was written and before it was synced";
        check_trace(&[START, unfinished, resumed, ACT, BEGINS, SYNC, ENDS], &[]);
        check_trace(&[START, unfinished, ACT, resumed, BEGINS, SYNC, ENDS], &[not_synced]);
        check_trace(&[unfinished, START, resumed, ACT, BEGINS, SYNC, ENDS], &[not_synced]);
    }

    #[test]
    fn a_step_of_free_calls_costs_one_sync() {
        let acted = [START, SYNC, ACT];
        let with_act = |lines: &[&'static str]| [acted.as_slice(), lines].concat();
        check_trace(&with_act(&[BEGINS, SYNC, ENDS]), &[]);
        let cost = |count| {
            format!("a step of free calls cost {count} syncs of the log; one is wanted, its request's")
        };
        check_trace(&with_act(&[BEGINS, ENDS]), &[&cost(0)]);
        check_trace(&with_act(&[BEGINS, SYNC, SYNC, ENDS]), &[&cost(2)]);
        check_trace(&with_act(&[BEGINS, SYNC, "1 fsync(4</s>) = 0", ENDS]), &[]);
    }

    #[test]
    fn a_mark_in_pieces_is_one_mark() {
        let pieces = [
            r#"1 write(2<pipe:[7]>, "MARK acting on ", 15) = 15"#,
            r#"1 write(2<pipe:[7]>, "3.0", 3) = 3"#,
            r#"1 write(2<pipe:[7]>, "\n", 1) = 1"#,
        ];
        check_trace(&[&[START, SYNC], pieces.as_slice(), &[BEGINS, SYNC, ENDS]].concat(), &[]);
    }

    #[test]
    fn a_driver_that_says_nothing_shows_nothing() {
        check_trace(
            &[START, SYNC],
            &[
                "nothing was acted on, so nothing was seen; wanted `MARK acting on <call>`",
                "no free step was seen; wanted `MARK free step begins` and `ends`",
            ],
        );
    }
}
