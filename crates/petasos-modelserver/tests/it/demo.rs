//! The shipped job is right for its files.

use std::collections::BTreeSet;

use petasos_modelserver::{Call, DEMO, DEMO_FILES, DEMO_TASK, Script};
use serde_json::{Value, json};

fn calls() -> Vec<(String, Value)> {
    let script = Script::parse(DEMO).unwrap();
    let call = |call: &Call| (call.name.clone(), serde_json::from_str(call.arguments.as_str()).unwrap());
    script.replies().iter().flat_map(|reply| &reply.calls).map(call).collect()
}

/// The three longest lines, by characters and by bytes alike, worked out here.
fn longest(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines.iter().map(|line| line.len()).collect::<BTreeSet<_>>().len(),
        lines.len(),
        "two are as long"
    );
    assert!(text.is_ascii() && lines.len() == 10, "the job says that it has ten lines");
    lines.sort_by_key(|line| std::cmp::Reverse(line.len()));
    lines[..3].iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn the_job_writes_the_three_longest_lines_of_its_file() {
    let [(name, text)] = DEMO_FILES else { panic!("the job has one file") };
    let wanted = [
        ("list_files".to_owned(), json!({})),
        ("read_file".to_owned(), json!({"path": name})),
        ("write_file".to_owned(), json!({"path": "longest.txt", "content": longest(text)})),
    ];
    assert_eq!(calls(), wanted);
    assert!(DEMO_TASK.contains(name) && DEMO_TASK.contains("longest.txt"));
}

#[test]
fn the_job_has_a_reply_for_each_number_of_results_and_ends_with_words() {
    let script = Script::parse(DEMO).unwrap();
    let results: Vec<_> = script.replies().iter().map(|reply| reply.results).collect();
    assert_eq!(results, [Some(0), Some(1), Some(2), Some(3)]);
    let last = script.replies().last().unwrap();
    assert!(last.calls.is_empty() && last.text.as_ref().is_some_and(|text| text.contains("longest.txt")));
}
