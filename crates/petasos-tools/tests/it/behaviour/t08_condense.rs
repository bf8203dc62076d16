//! Row T08: rules that pick fields of JSON results.

use petasos_core::bounded::Cap;
use petasos_core::tool::Outcome;
use petasos_testkit::page_server::{Page, PageServer};
use petasos_tools::{CondenseRule, FetchOptions, Options};

use crate::say::{Room, arguments, wait};

fn rule(tool: &str, only: Option<&str>, paths: &[&str]) -> Result<CondenseRule, String> {
    let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
    CondenseRule::new(tool.to_owned(), only.map(str::to_owned), &paths).map_err(|error| error.to_string())
}

/// A room with this file and rules.
fn room(content: &str, rules: &[CondenseRule]) -> Room {
    let room = Room::with(Options { condense: rules.to_vec(), ..Options::default() });
    room.put("a.json", content);
    room
}

/// What a model reads of a command that prints a file.
fn printed(content: &str, paths: &[&str]) -> String {
    let room = room(content, &[rule("run_command", None, paths).unwrap()]);
    wait(room.text("run_command", r#"{"command":"cat a.json"}"#))
}

/// What was picked, without the lines around it.
fn picked(content: &str, paths: &[&str]) -> String {
    let told = printed(content, paths);
    let inner = told.strip_prefix("exit code 0\n").unwrap_or_else(|| panic!("{told}"));
    match inner.split_once("\n[fields picked by tools.condense; the whole is in blob:") {
        Some((picked, _)) => picked.to_owned(),
        None => panic!("{told}"),
    }
}

#[test]
fn t08_condense_picks_what_paths_lead_to_as_it_stands() {
    let json = r#"{"z": 1.50, "a": {"b": [10, {"c": "中\u4e2d", "d": null}, -0, 1e400], "x y": true},
        "n": 123456789012345678901234567890, "é": "\ud83d\ude00", "none": [], "k": {"p": {"id": 1, "q": 2}, "r": {"id": 3}}}"#;
    for (paths, wanted) in [
        (&[".z"][..], r#"{"z":1.50}"#),
        (&[".n", ".z"], r#"{"z":1.50,"n":123456789012345678901234567890}"#),
        (&[".a.b[0]"], r#"{"a":{"b":[10]}}"#),
        (&[".a.b[-1]", ".a.b[-2]"], r#"{"a":{"b":[-0,1e400]}}"#),
        (&[".a.b[1].c"], r#"{"a":{"b":[{"c":"中\u4e2d"}]}}"#),
        (&[".a.b[].d"], r#"{"a":{"b":[{"d":null}]}}"#),
        (&[".a.b[1:3]"], r#"{"a":{"b":[{"c": "中\u4e2d", "d": null},-0]}}"#),
        (&[".a.b[:1]"], r#"{"a":{"b":[10]}}"#),
        (&[".a.b[-1:]"], r#"{"a":{"b":[1e400]}}"#),
        (&[".a[\"x y\"]"], r#"{"a":{"x y":true}}"#),
        (&[".a.\"x y\"?"], r#"{"a":{"x y":true}}"#),
        (&[".\"é\""], r#"{"é":"\ud83d\ude00"}"#),
        (&[".none[].id"], r#"{"none":[]}"#),
        (&[".k[].id"], r#"{"k":{"p":{"id":1},"r":{"id":3}}}"#),
        (&[".k.p", ".k.p.id", ".missing", ".z.deeper"], r#"{"k":{"p":{"id": 1, "q": 2}}}"#),
        (&[".a.b.[0]"], r#"{"a":{"b":[10]}}"#),
    ] {
        assert_eq!(picked(json, paths), wanted, "{paths:?}");
    }
    assert_eq!(picked("[{\"id\":1,\"x\":0},{\"id\":2}]", &[".[].id"]), "[{\"id\":1},{\"id\":2}]");
    assert_eq!(picked("{\"a\":{\"\\u0062\":1}}", &[".a.b"]), "{\"a\":{\"\\u0062\":1}}");
    assert_eq!(picked("{\"a\":1}\n{\"b\":2}\n{\"a\":3}\n", &[".a"]), "{\"a\":1}\n{\"a\":3}", "JSON lines");
    assert_eq!(picked("\n{\"a\":1}\nand more\n", &[".a"]), "\n{\"a\":1}\nand more", "text behind stays");
    let deep = format!("{}1{}", "{\"a\":".repeat(100), "}".repeat(100));
    assert_eq!(picked(&deep, &[".a.a"]), deep);
}

#[test]
fn t08_condense_that_finds_nothing_shows_all_and_says_so() {
    let told = printed("{\"a\": 1}", &[".b", ".c[].d"]);
    assert_eq!(told, "[tools.condense: nothing in the result is at .b, .c[].d]\nexit code 0\n{\"a\": 1}");
    let told = printed("{\"a\": 1, ", &[".a"]);
    assert!(told.starts_with("[tools.condense: the result is no whole JSON (EOF"), "{told}");
    assert!(told.ends_with("]\nexit code 0\n{\"a\": 1, "), "{told}");
    // Text, a line in brackets, a plain value: no JSON that fields could be picked of.
    for other in ["all is well\n", "[INFO] built\n", "17\n", "\"a\"\n"] {
        assert_eq!(printed(other, &[".a"]), format!("exit code 0\n{other}"), "{other}");
    }
    let room = room("{\"a\":1,\"b\":2}", &[rule("run_command", None, &[".a"]).unwrap()]);
    let output = wait(room.call("run_command", r#"{"command":"cat a.json; exit 3"}"#));
    assert_eq!(
        &**output.for_model.text(),
        "exit code 3 (failed)\n{\"a\":1,\"b\":2}",
        "one that failed stays whole"
    );
    assert!(room.blobs.is_empty());
}

#[test]
fn t08_condense_goes_by_tool_and_by_what_the_call_says() {
    let rules = [
        rule("read_file", Some("b.json"), &[".b"]).unwrap(),
        rule("read_file", Some("a.json"), &[".a"]).unwrap(),
        rule("read_file", None, &[".c"]).unwrap(),
    ];
    let room = room("{\"a\":1,\"b\":2,\"c\":3}", &rules);
    room.put("c.json", "{\"a\":1,\"b\":2,\"c\":3}");
    let text = |tool: &str, call: &str| wait(room.text(tool, call));
    assert!(text("read_file", r#"{"path":"a.json"}"#).starts_with("{\"a\":1}\n["));
    assert!(
        text("read_file", r#"{"path":"\u0061.json"}"#).starts_with("{\"a\":1}\n["),
        "as the text is meant"
    );
    assert!(text("read_file", r#"{"path":"c.json"}"#).starts_with("{\"c\":3}\n["));
    assert!(text("run_command", r#"{"command":"cat a.json"}"#).ends_with("{\"a\":1,\"b\":2,\"c\":3}"));
}

/// What the model reads is small, and the whole can be paged through.
#[test]
fn t08_condense_picks_fields_of_80_kb() {
    let items: Vec<String> =
        (0..1_000).map(|at| format!("{{\"id\": {at}, \"note\": \"{}\"}}", "x".repeat(60))).collect();
    let json = format!("{{\"total\": 1000, \"items\": [{}]}}", items.join(",\n"));
    assert!(json.len() > 80_000);
    let server = PageServer::start([("/items", Page::of("application/json", &json))]);
    let fetch = FetchOptions { private: vec![server.address()], ..FetchOptions::default() };
    let rules = vec![rule("fetch_url", Some("/items"), &[".total", ".items[].id"]).unwrap()];
    let room = Room::with(Options { fetch, condense: rules, ..Options::default() });
    let output = wait(room.call("fetch_url", &arguments(&[("url", &server.url("/items"))])));
    let told = output.for_model.text();
    let ids: Vec<String> = (0..1_000).map(|at| format!("{{\"id\":{at}}}")).collect();
    let wanted = format!("{{\"total\":1000,\"items\":[{}]}}", ids.join(","));
    assert!(told.contains(&wanted), "{told}");
    assert!(told.contains("application/json") && told.chars().count() < 13_000, "{}", told.chars().count());
    assert!(told.contains("[fields picked by tools.condense; the whole is in blob:"));
    assert_eq!((output.outcome, output.bytes), (Outcome::Ok, json.len() as u64));
    let kept = String::from_utf8(room.blobs.only()).unwrap();
    assert!(kept.ends_with(&json), "the whole is kept as it came");
    assert_eq!(output.blob.unwrap().bytes, kept.len() as u64);
}

/// Where nothing is picked, or much, a result has the length of any other and its whole is kept.
#[test]
fn t08_condense_keeps_the_cap() {
    let json = format!("{{\"a\":[{}]}}", vec!["123456"; 2_000].join(","));
    for paths in [&[".missing"][..], &[".a"]] {
        let mut room = room(&json, &[rule("run_command", None, paths).unwrap()]);
        room.cap = Cap(3_000);
        let output = wait(room.call("run_command", r#"{"command":"cat a.json"}"#));
        let told = output.for_model.text();
        assert!(told.chars().count() <= 3_000 && told.contains("the whole is in blob:"), "{told}");
        assert!(String::from_utf8(room.blobs.only()).unwrap().ends_with(&json));
    }
}

#[test]
fn t08_condense_says_where_a_path_is_wrong() {
    let mut differs = Vec::new();
    for (path, at, why) in [
        ("", 1, "a path begins with a dot"),
        ("a", 1, "a path begins with a dot"),
        (".", 2, "it is all of the result"),
        ("..", 2, "only .name"),
        (".a..b", 4, "only .name"),
        (".a.", 4, "only .name"),
        (".a b", 3, "only .name"),
        (".a-b", 3, "only .name"),
        (".1a", 2, "only .name"),
        (".größe", 4, "only .name"),
        (".a | .b", 3, "only .name"),
        (".a, .b", 3, "only .name"),
        (".a[", 4, "only .name"),
        (".a[1", 5, "only .name"),
        (".a[1:2:3]", 7, "only .name"),
        (".a[:]", 5, "only .name"),
        (".a[1.5]", 5, "only .name"),
        (".a[99999999999999999999]", 4, "only .name"),
        (".a[\"b]", 4, "the quotes have no end"),
        (".\"b", 2, "the quotes have no end"),
        (".a[] | select(.b)", 5, "only .name"),
        ("repeat(.)", 1, "a path begins with a dot"),
    ] {
        let told = rule("fetch_url", None, &[path]).unwrap_err();
        if !told.starts_with(&format!("the path {path:?} is wrong at character {at}: {why}")) {
            differs.push((path, at, told));
        }
    }
    assert!(differs.is_empty(), "{differs:#?}");
    let long = ".a".repeat(33);
    assert!(rule("fetch_url", None, &[&long]).unwrap_err().contains("more than 32 steps"));
    assert_eq!(
        rule("fetch_url", None, &[]).unwrap_err(),
        "`pick` has no path; write one such as .name or .items[].id"
    );
}
