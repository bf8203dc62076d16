//! Row T10: the tools as a person sees them, and what is said of their descriptions.

use serde_json::{Value, json};

use crate::program::Place;

#[test]
fn t10_tools_are_listed_with_what_they_touch_and_why_they_are_off() {
    let place = Place::new();
    place.settings("tools:\n  disabled: [calculate]\n");
    let listed = place.petasos_does(&["tools", "list"]);
    assert_eq!((listed.code, &*listed.stderr), (0, ""));
    let line = |name: &str| {
        let mut lines = listed.stdout.lines().filter(|line| line.split_whitespace().next() == Some(name));
        lines.next().unwrap().split_whitespace().skip(1).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(line("read_file"), "on changes nothing, reads src/main.rs");
    assert_eq!(line("write_file"), "on changes something, writes notes.txt");
    assert_eq!(line("search_files"), "on changes nothing, reads the workspace");
    assert_eq!(line("run_command"), "on changes something, writes the workspace, asks first");
    assert_eq!(line("run_tests"), "off tools.run_tests names no command");
    assert_eq!(line("calculate"), "off tools.disabled names it");
    assert_eq!(place.sessions(), Vec::<String>::new());

    place.settings("tools:\n  run_tests: cargo test\n");
    let listed = place.petasos_does(&["tools", "list", "--json"]);
    let lines: Vec<Value> = listed.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().all(|line| line["on"] == true && line["why_not"].is_null()), "{listed:?}");
    let calculate = lines.iter().find(|line| line["name"] == "calculate").unwrap();
    assert_eq!(calculate["claims"], json!({ "rerun": "free", "alone": false }));
    assert_eq!(calculate["example"], json!({ "expression": "(2+3)*4^2" }));
    let tests = lines.iter().find(|line| line["name"] == "run_tests").unwrap();
    assert_eq!((&tests["claims"]["alone"], &tests["claims"]["rerun"]), (&json!(true), &json!("free")));
}

#[test]
fn t10_a_tool_is_shown_as_a_model_sees_it() {
    let place = Place::new();
    let shown = place.petasos_does(&["tools", "show", "current_time"]);
    assert_eq!((shown.code, &*shown.stderr), (0, ""));
    let lines: Vec<&str> = shown.stdout.lines().collect();
    assert_eq!(lines[0], "current_time (on)");
    assert!(lines[1].starts_with("The date, weekday and time now"), "{shown:?}");
    assert!(lines[3].starts_with("arguments  {\"additionalProperties\":false"), "{shown:?}");
    assert_eq!(lines[4..], ["example    {}", "which      changes nothing"]);
}

#[test]
fn t10_descriptions_are_judged_and_findings_are_an_exit_code() {
    let place = Place::new();
    let own = place.petasos_does(&["tools", "lint"]);
    assert_eq!((own.code, &*own.stdout), (0, ""), "{own:?}");
    place.write(
        "tools.json",
        r#"{"tools":[{"name":"read_log","description":"Reads a log. Use it when a service hangs, not for files.","inputSchema":{"type":"object","properties":{"unit":{"type":"string","description":"The unit"}}}}]}"#,
    );
    let found = place.petasos_does(&["tools", "lint", "tools.json"]);
    let wanted =
        "read_log: unit: is a text without format or example; for example \"…, such as src/main.rs\"\n";
    assert_eq!((found.code, &*found.stdout, &*found.stderr), (1, wanted, "petasos: 1 tool, 1 found\n"));
    let piped = place.with_stdin(&["tools", "lint", "-"], br#"[{"name":"a"},{"name":"a"}]"#);
    assert_eq!(piped.code, 1, "{piped:?}");
    assert_eq!(piped.stdout.lines().count(), 3, "{piped:?}");
}
