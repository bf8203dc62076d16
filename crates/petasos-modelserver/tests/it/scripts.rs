//! What is wrong with a script is said with its place.

use petasos_modelserver::Script;

#[track_caller]
fn check(script: &str, wanted: &str) {
    assert_eq!(Script::parse(script).unwrap_err().to_string(), wanted);
}

#[test]
fn an_error_names_line_column_and_the_nearest_key() {
    let reply = "known keys: text, reasoning, calls, finish, usage, fault, when";
    check(
        "{\"text\":\"世\"}\n\n{\"text\":\"世界\",\"fnish\":1}",
        &format!(
            "line 3, column 15 of the script: a reply has no key \"fnish\"; the nearest is \"finish\"; {reply}"
        ),
    );
    check(
        "{\"zzzzzz\":1}",
        &format!("line 1, column 3 of the script: a reply has no key \"zzzzzz\"; {reply}"),
    );
    check(
        r#"{"calls":[{"name":"a"},{"name":"b","args":{}}]}"#,
        "line 1, column 37 of the script: a call has no key \"args\"; known keys: name, arguments, id",
    );
    check(
        r#"{"usage":{"inptu":1}}"#,
        "line 1, column 12 of the script: usage has no key \"inptu\"; the nearest is \"input\"; known keys: input, output, cached, reasoning",
    );
    check(
        r#"{"fault":{"cut_after":1}}"#,
        "line 1, column 12 of the script: a fault has no key \"cut_after\"; known keys: status, headers, body, cut_after_bytes, trickle_ms",
    );
    check(
        r#"{"fault":"stal"}"#,
        "line 1, column 10 of the script: no fault \"stal\"; the nearest is \"stall\"; known words: stall, garbage",
    );
    check(
        r#"{"text":"a","text":"b"}"#,
        "line 1, column 14 of the script: a reply has the key \"text\" twice; keep one",
    );
}

#[test]
fn a_value_of_another_kind_is_named_with_what_is_wanted() {
    let check = |line: &str, column: usize, wanted: &str| {
        check(line, &format!("line 1, column {column} of the script: {wanted}"));
    };
    check("[]", 1, "a reply is an object, not a list");
    check("{\"text\":", 8, "no JSON: EOF while parsing a value");
    check("{\"世界\":}", 7, "no JSON: expected value");
    check("{\"text\":1}", 9, "text is a text, not a number");
    check("{\"text\":\"\\ud800\"}", 9, "text: unexpected end of hex escape");
    check("{\"calls\":{}}", 10, "calls is a list, not an object");
    check("{\"calls\":[{}]}", 11, "a call has no \"name\"; say which tool it calls");
    check(
        "{\"calls\":[{\"name\":\"a\",\"arguments\":[]}]}",
        35,
        "arguments are an object, or a text that is sent as it is",
    );
    check("{\"usage\":{\"input\":-1}}", 19, "input is a whole number from 0, not a number");
    check("{\"when\":{}}", 9, "when has no \"results\"; say how many");
    check("{\"fault\":{\"status\":100}}", 20, "status is 200 to 599, not 100");
    check(
        "{\"fault\":{\"status\":500,\"trickle_ms\":1}}",
        10,
        "a fault is a status (with headers and body if you like), cut_after_bytes or trickle_ms: one of them",
    );
    check(
        "{\"fault\":{\"status\":500,\"headers\":{\"Content-Length\":1}}}",
        52,
        "content-length is set by the server; use cut_after_bytes for a body too short",
    );
    check(
        "{\"fault\":{\"status\":500,\"headers\":{\"a\":\"b\\nc\"}}}",
        39,
        "a: a header's value is one line of visible ASCII",
    );
}

#[test]
fn any_text_is_read_or_refused() {
    let line = r#"{"text":"世","calls":[{"name":"a","arguments":{"a":1}}],"fault":{"status":200,"body":{}},"when":{"results":1}}"#;
    for end in (0..line.len()).filter(|end| line.is_char_boundary(*end)) {
        let cut = &line[..end];
        assert_eq!(Script::parse(cut).is_ok(), cut.trim().is_empty(), "{cut}");
    }
    let deep = format!(
        "{{\"calls\":[{{\"name\":\"a\",\"arguments\":{}1{}}}]}}",
        "{\"a\":".repeat(9_999),
        "}".repeat(9_999)
    );
    assert_eq!(Script::parse(&deep).unwrap().replies().len(), 1);
    assert_eq!(Script::parse("\u{feff}{}\r\n \n").unwrap().replies().len(), 1);
}
