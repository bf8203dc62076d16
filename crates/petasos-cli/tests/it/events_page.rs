//! The page on events, and the events.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use petasos_testkit::format_page::FormatPage;
use petasos_testkit::model_server::ModelServer;
use serde_json::{Value, json};

use crate::program::{Ended, Place};

const PAGE: &str = include_str!("../../../../docs/format/events.md");
const SESSION_PAGE: &str = include_str!("../../../../docs/format/session.md");

static PARSED: LazyLock<FormatPage> = LazyLock::new(|| FormatPage::parse(PAGE));
static EXIT_CODES: LazyLock<BTreeMap<String, Vec<i32>>> = LazyLock::new(|| {
    let codes = |cell: &str| cell.split(", ").map(|code| code.parse().unwrap()).collect();
    rows(PAGE, "StatusOfRun").into_iter().map(|row| (row[0].clone(), codes(&row[2]))).collect()
});

/// A line as an event. All of it must be on the page.
#[track_caller]
pub fn event(line: &str) -> Value {
    walk(line).unwrap_or_else(|wrong| panic!("{wrong}: {line}")).0
}

/// The exit codes that go with a status.
pub fn exit_codes(status: &str) -> &'static [i32] {
    EXIT_CODES.get(status).map_or(&[], Vec::as_slice)
}

/// An event, and the names on the page that it shows.
fn walk(line: &str) -> Result<(Value, BTreeSet<String>), String> {
    let event: Value = serde_json::from_str(line).map_err(|error| format!("no JSON: {error}"))?;
    let mut fields = event.as_object().ok_or("no object")?.clone();
    if !line.starts_with(r#"{"v":1,"type":""#) || fields.remove("v") != Some(json!(1)) {
        return Err("v is to be 1 and come first, then the type".into());
    }
    let Some(Value::String(kind)) = fields.remove("type") else { return Err("the type is no text".into()) };
    let met = PARSED.walk_object(&format!("`{kind}`"), &Value::Object(fields))?;
    Ok((event, met))
}

/// The text under a heading.
fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let after = page.split(&format!("\n### {heading}\n")).nth(1).unwrap_or_else(|| panic!("no {heading}"));
    after.split("\n#").next().unwrap()
}

/// The cells of the table under a heading, without code marks.
fn rows(page: &str, heading: &str) -> Vec<Vec<String>> {
    let table = section(page, heading).lines().filter(|line| line.starts_with('|')).skip(2);
    let cells =
        |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().replace('`', "")).collect();
    table.map(cells).collect()
}

/// What stands first in the lines of the table under a heading.
fn values(page: &str, heading: &str) -> BTreeSet<String> {
    rows(page, heading).into_iter().map(|row| row[0].clone()).collect()
}

/// The types of lines.
fn types() -> BTreeSet<String> {
    let headings = PAGE.lines().filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`'));
    headings.map(str::to_owned).collect()
}

/// The names of fields, among the names of the page: the others are values.
fn fields() -> BTreeSet<String> {
    let is_field = |name: &String| {
        let (heading, _) = name.rsplit_once('.').unwrap();
        section(PAGE, heading).contains("| field | type | meaning |")
    };
    PARSED.names().into_iter().filter(is_field).collect()
}

#[test]
fn the_page_lists_the_types_that_it_describes() {
    let table = PAGE.split("\n| line | what it tells |\n|---|---|\n").nth(1).unwrap();
    let listed = table.lines().take_while(|line| line.starts_with('|'));
    let listed: BTreeSet<String> = listed.map(|line| line.split('`').nth(1).unwrap().to_owned()).collect();
    assert_eq!(listed, types());
}

#[test]
fn each_sample_stands_under_its_type_and_together_they_show_every_field() {
    let mut met = BTreeSet::new();
    for kind in types() {
        let samples =
            section(PAGE, &format!("`{kind}`")).lines().filter_map(|line| line.strip_prefix("    "));
        let samples: Vec<&str> = samples.collect();
        assert!(!samples.is_empty(), "{kind} has no sample");
        for sample in samples {
            let (event, shown) = walk(sample).unwrap_or_else(|wrong| panic!("{wrong}: {sample}"));
            assert_eq!(event["type"], json!(kind));
            // Fields in the order in which they are written.
            let places = rows(PAGE, &format!("`{kind}`"))
                .into_iter()
                .filter_map(|row| sample.find(&format!(r#","{}":"#, row[0].trim_end_matches('?'))));
            assert!(places.is_sorted(), "{sample}");
            met.extend(shown);
        }
    }
    assert_eq!(fields().difference(&met).collect::<Vec<_>>(), Vec::<&String>::new());
    // That of the line as such.
    let others = PAGE.lines().filter(|line| line.starts_with("    {"));
    others.for_each(|line| drop(event(line.trim_start())));
}

/// What entries hold is described there, and checked there against what core has.
#[test]
fn types_that_entries_have_too_read_the_same_on_the_page_of_sessions() {
    let shared = "Speaker When Purpose FinishReason Outcome Limit FailureKind";
    for heading in shared.split(' ') {
        assert_eq!(section(PAGE, heading).trim_end(), section(SESSION_PAGE, heading).trim_end(), "{heading}");
    }
    let reasons = values(SESSION_PAGE, "StopReason");
    assert_eq!(values(PAGE, "Status"), reasons);
    let more = |some: &BTreeSet<String>, names: &[&str]| {
        some.iter().cloned().chain(names.iter().map(|name| (*name).to_owned())).collect::<BTreeSet<_>>()
    };
    // What is for the person alone is no entry.
    assert_eq!(values(PAGE, "NoteTold"), more(&values(SESSION_PAGE, "NoteSource"), &["cut_prompt"]));
    assert_eq!(values(PAGE, "StatusOfRun"), more(&reasons, &["not_started"]));
    let mut kinds = more(&(&reasons | &values(SESSION_PAGE, "FailureKind")), &["usage", "config", "held"]);
    assert!(kinds.remove("completed") && kinds.remove("model_failed"));
    assert_eq!(values(PAGE, "ErrorKind"), kinds);
}

/// What is wrong is seen.
#[test]
fn a_line_that_is_not_on_the_page_is_refused() {
    for (line, wrong) in [
        ("", "no JSON: "),
        ("[]", "no object"),
        (r#"{"type":"note","v":1}"#, "v is to be 1 and come first"),
        (r#"{"v":1,"type":"weather"}"#, "the page has no fields under `weather`"),
        (r#"{"v":1,"type":"delta","request":5,"kind":"text"}"#, "`delta`.text is left out"),
        (r#"{"v":1,"type":"delta","request":5,"kind":"text","text":"a","more":1}"#, "`delta` has more"),
        (r#"{"v":1,"type":"delta","request":"5","kind":"text","text":"a"}"#, "`delta`.request: \"5\" is no"),
        (r#"{"v":1,"type":"delta","request":5,"kind":"song","text":"a"}"#, "DeltaKind has the value song"),
    ] {
        let told = walk(line).unwrap_err();
        assert!(told.starts_with(wrong), "{told}");
    }
}

/// Names on the page that the events of a run show.
fn shown(run: &Ended) -> BTreeSet<String> {
    run.stdout
        .lines()
        .flat_map(|line| walk(line).unwrap_or_else(|wrong| panic!("{wrong}: {line}")).1)
        .collect()
}

/// A session with something of everything: a failed try, reasoning, calls that read, write, fail, find nothing, are too
/// long, are wrong, ask and are refused, an empty reply, a cut one, and the end of a budget.
const SCRIPT: &str = r#"{"fault":{"status":429,"headers":{"Retry-After":0},"body":{"error":{"message":"slow down"}}}}
{"reasoning":"Look first.","text":"I look.","calls":[{"name":"read_file","arguments":{"path":"notes.txt"}},{"name":"write_file","arguments":{"path":"new.txt","content":"new"}}]}
{}
{"calls":[{"name":"search_files","arguments":{"pattern":"needle"}},{"name":"search_files","arguments":{"pattern":"no such words"}},{"name":"write_file","arguments":{"path":"folder","content":"x"}},{"name":"write_file","arguments":"{\"path\""}]}
{"calls":[{"name":"run_command","arguments":{"command":"touch ran"}}]}
{"text":"So, first of","finish":"length"}
{"calls":[{"name":"list_files","arguments":{}}]}
{"text":"This is as far as I got.","usage":null}"#;

#[test]
fn every_type_and_field_of_the_page_is_seen_in_sessions() {
    let place = Place::new();
    place.settings("tools: {result_chars: 2000}\n");
    place.write("notes.txt", "buy rope\n");
    place.write("long.txt", &"a needle in a line\n".repeat(400));
    std::fs::create_dir(place.work().join("folder")).unwrap();
    let server = ModelServer::start(SCRIPT);
    let parked = place.run_json(&server, &["--park", "--max-steps", "6", "Do it."]);
    assert_eq!(parked.result()["status"], "awaiting_approval", "{parked:?}");
    let over = place.petasos_does(&["resume", "--json", "--deny"]);
    assert_eq!(over.result()["status"], "budget_exhausted", "{over:?}");
    assert_eq!(server.finish().len(), 8);
    let server = ModelServer::start(
        r#"{"calls":[{"name":"run_command","arguments":{"command":"touch ran"}}]}
{"text":"Then not."}"#,
    );
    let refused = place.run_json(&server, &["Do it."]);
    assert_eq!(refused.result()["status"], "completed", "{refused:?}");
    assert_eq!(place.read("ran"), None);
    let wrong = place.petasos_does(&["run", "--json", "--max-step", "3"]);
    let server = ModelServer::start(r#"{"text":"<tool_call>{\"name\":\"list_files\"}</tool_call>"}"#);
    let written = place.run_json(&server, &["Do it."]);

    let runs = [&parked, &over, &refused, &wrong, &written];
    let seen: BTreeSet<String> = runs.iter().flat_map(|run| run.types()).collect();
    // It takes 30 s of silence: `petasos-runtime`'s tests/it/silence.rs shows it, with these very samples.
    let told_late = "waiting";
    assert_eq!(seen, types().into_iter().filter(|kind| kind != told_late).collect());
    let met: BTreeSet<String> = runs.into_iter().flat_map(shown).collect();
    let late = format!("`{told_late}`.");
    let unseen: Vec<String> =
        fields().difference(&met).filter(|name| !name.starts_with(&late)).cloned().collect();
    assert_eq!(unseen, Vec::<String>::new());
    for (heading, values) in [
        ("DeltaKind", "text reasoning"),
        ("Purpose", "step closing"),
        ("FinishReason", "stop tool_use length"),
        ("Outcome", "ok empty error denied invalid"),
        ("NoteTold", "nudge continue closing"),
        ("FailureKind", "rate_limit"),
        ("Wants", "approval"),
        ("Status", "completed budget_exhausted awaiting_approval"),
        ("StatusOfRun", "completed budget_exhausted awaiting_approval not_started"),
        ("ErrorKind", "usage budget_exhausted awaiting_approval"),
        ("Limit", "steps"),
    ] {
        for value in values.split(' ') {
            assert!(met.contains(&format!("{heading}.{value}")), "{heading}.{value} is not seen");
        }
    }
}
