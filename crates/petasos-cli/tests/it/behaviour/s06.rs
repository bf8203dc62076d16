//! Row S06: a structured log, a line a step, also of a session that another process works in.

use petasos_testkit::model_server::ModelServer;
use serde_json::{Value, json};

use crate::program::{Place, model};
use crate::running::Running;

const PAGE: &str = include_str!("../../../../../docs/format/log.md");

const SCRIPT: &str = r#"{"calls":[{"name":"read_file","arguments":{"path":"a.txt"}},{"name":"read_file","arguments":{"path":"none.txt"}}],"usage":{"prompt_tokens":100,"completion_tokens":20}}
{"fault":{"status":503,"body":"busy"}}
{"text":"done","usage":{"prompt_tokens":150,"completion_tokens":5}}
{"text":"more"}"#;

/// The names and types in a table of the page.
fn table(title: &str) -> Vec<(String, String)> {
    let section = PAGE.split(&format!("### {title}\n")).nth(1).unwrap().split("\n#").next().unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    let mut fields: Vec<_> = rows
        .map(|row| {
            let (name, rest) = row.split_once("` | ").unwrap();
            (name.to_owned(), rest.split(" |").next().unwrap().to_owned())
        })
        .collect();
    fields.sort();
    fields
}

/// Every field stands on the page, with a value of its type, and none of the page is missing.
fn check(title: &str, object: &Value) {
    let table = table(title);
    let mut names: Vec<&String> = object.as_object().unwrap().keys().collect();
    names.sort();
    assert_eq!(names, table.iter().map(|(name, _)| name).collect::<Vec<_>>(), "{title}: {object}");
    for (name, of) in &table {
        let value = &object[name];
        let is_right = match of.trim_end_matches(" or null") {
            _ if value.is_null() => of.ends_with(" or null"),
            "text" | "call" => value.is_string(),
            "hash" => value.as_str().is_some_and(|hash| hash.len() == 64),
            "count" | "seq" | "time" | "span" => value.is_u64(),
            "usage" => {
                check("usage", value);
                true
            }
            "[tool]" => {
                value.as_array().unwrap().iter().for_each(|tool| check("tool", tool));
                true
            }
            other => panic!("{other} is no type of this page"),
        };
        assert!(is_right, "{title}.{name} is no {of}: {value}");
    }
}

fn line(text: &str) -> Value {
    let line: Value = serde_json::from_str(text).unwrap();
    check(line["type"].as_str().unwrap(), &line);
    line
}

fn lines(stdout: &str) -> Vec<Value> {
    stdout.lines().map(line).collect()
}

#[test]
fn s06_each_step_has_its_line_with_tools_tokens_times_and_its_end() {
    let place = Place::new();
    place.write("a.txt", "one");
    let server = ModelServer::start(SCRIPT).with_breaks();
    assert_eq!(place.run(&server, &["do it"]).code, 0);
    let told = place.petasos_does(&["log", "--json"]);
    let lines = lines(&told.stdout);
    assert_eq!((told.code, told.stderr.as_str(), lines.len()), (0, "", 4));
    let kinds: Vec<_> = lines
        .iter()
        .map(|line| {
            json!([
                line["type"],
                line["step"],
                line["attempt"],
                line["finish"],
                line["failure"],
                line["status"]
            ])
        })
        .collect();
    let wanted = [
        json!(["step", 1, 1, "tool_use", null, null]),
        json!(["step", 2, 1, null, "overloaded", null]),
        json!(["step", 2, 2, "stop", null, null]),
        json!(["turn", null, null, null, null, "completed"]),
    ];
    assert_eq!(kinds, wanted);
    let tools = lines[0]["tools"].as_array().unwrap();
    let named: Vec<_> = tools.iter().map(|tool| json!([tool["tool"], tool["outcome"]])).collect();
    assert_eq!(named, [json!(["read_file", "ok"]), json!(["read_file", "error"])]);
    assert_ne!(tools[0]["arguments"], tools[1]["arguments"]);
    // The deltas add up to what the turn used.
    let sum = |of: &str| lines[..3].iter().map(|line| line["usage"][of].as_u64().unwrap_or(0)).sum::<u64>();
    assert_eq!(
        json!([sum("input"), sum("output")]),
        json!([lines[3]["usage"]["input"], lines[3]["usage"]["output"]])
    );

    let told = place.petasos_does(&["log"]);
    let text: Vec<&str> = told.stdout.lines().collect();
    assert_eq!((told.code, text.len()), (0, 4));
    assert!(text[0].contains("step 1: read_file#") && text[0].ends_with("| tool_use"), "{text:?}");
    assert!(
        text[1].ends_with("| failed: overloaded") && text[3].contains("ends: completed after 2 steps"),
        "{text:?}"
    );
    assert_eq!(place.petasos_does(&["log", "zzz"]).code, 2);
}

#[test]
fn s06_a_session_that_another_process_works_in_is_followed_until_it_is_left() {
    let place = Place::new();
    let server = ModelServer::start("{\"text\":\"one\"}\n{\"text\":\"two\"}").with_breaks();
    assert_eq!(place.run(&server, &["do it"]).code, 0);
    let id = &place.sessions()[0];
    let mut following = Running::begin(place.petasos().args(["log", "-f", "--json", id])).hush();
    let next =
        |following: &mut Running| line(&following.line().unwrap())["type"].as_str().unwrap().to_owned();
    assert_eq!([next(&mut following), next(&mut following)], ["step", "turn"]);
    let args: Vec<String> =
        ["resume", id, "-m", "and on"].map(str::to_owned).into_iter().chain(model(&server)).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    assert_eq!(place.petasos_does(&args).code, 0);
    assert_eq!([next(&mut following), next(&mut following)], ["step", "turn"]);
    following.signal("INT");
    let ended = following.end_by_itself();
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));

    let ended = place.petasos_does(&["log", "-f", "--until-end", "--json", id]);
    assert_eq!((ended.code, lines(&ended.stdout).len()), (0, 4));
}
