//! Cases of group C: arguments and names that broke other agents.

use crate::bench::{propose, refused, runs, tools};
use crate::say::trouble;

const C01: &str = include_str!("../../cases/c01.args");
const C02: &str = include_str!("../../cases/c02.args");
const C03: &str = include_str!("../../cases/c03.args");
const C04: &str = include_str!("../../cases/c04.args");
const C05: &str = include_str!("../../cases/c05.args");
const C06: &str = include_str!("../../cases/c06.args");
const C07: &str = include_str!("../../cases/c07.args");
const C08: &str = include_str!("../../cases/c08.args");
const C09: &str = include_str!("../../cases/c09.args");
const C10: &str = include_str!("../../cases/c10.args");
const C11: &str = include_str!("../../cases/c11.args");
const C14: &str = include_str!("../../cases/c14.json");
const C15: &str = include_str!("../../cases/c15.args");

/// The input of a case; its file ends with a line break of its own.
fn input(file: &'static str) -> &'static str {
    file.strip_suffix('\n').unwrap()
}

#[test]
fn case_c01_a_trailing_comma_goes_and_one_in_a_text_stays() {
    runs("write_file", input(C01), r#"{"path":"a.json","content":"[1,2,]  {x,}"}"#, &["trailing comma"]);
}

#[test]
fn case_c02_python_is_read_and_none_for_an_optional_field_is_left_out() {
    let repairs = ["python word", "single quotes", "null left out"];
    runs("view", input(C02), r#"{"path":"it's, here.txt","wrap":true}"#, &repairs);
    let in_text = r#"{'path': 'None, True and False'}"#;
    runs("view", in_text, r#"{"path":"None, True and False"}"#, &["single quotes"]);
}

#[test]
fn case_c03_line_breaks_and_tabs_in_a_text_stay_what_they_are() {
    let wanted = r#"{"path":"m.py","content":"def f():\n\treturn 1\n"}"#;
    runs("write_file", input(C03), wanted, &["raw control character"]);
}

#[test]
fn case_c04_a_fence_and_a_sentence_around_the_object_are_no_content() {
    runs("read_file", input(C04), r#"{"path":"a.txt"}"#, &["words around"]);
}

#[test]
fn case_c05_an_object_in_a_text_is_read_through_two_layers_and_no_more() {
    let wanted = r#"{"path":"docs/x.md"}"#;
    runs("read_file", input(C05), wanted, &["encoded twice"]);
    let twice = serde_json::to_string(input(C05)).unwrap();
    runs("read_file", &twice, wanted, &["encoded twice"]);
    let thrice = serde_json::to_string(&twice).unwrap();
    let text = propose(&tools(), "read_file", &thrice).unwrap_err();
    assert!(trouble(&text)["cause"].contains("expected an object {path: string}"), "{text}");
}

#[test]
fn case_c06_an_empty_object_before_the_object_is_left_out() {
    runs("read_file", input(C06), r#"{"path":"a.txt"}"#, &["empty object first"]);
    runs("view", "{}", "{}", &[]);
}

#[test]
fn case_c07_the_same_object_twice_is_one_and_two_objects_are_none() {
    runs("write_file", input(C07), r#"{"path":"a","content":"x}{y"}"#, &["sent twice"]);
    refused(
        "read_file",
        r#"{"path":"a"}{"path":"b"}"#,
        "the arguments can be read in two ways",
        "at line 1, column 13 (between `{\"path\":\"a\"}` and `{\"path\":\"b\"}`): \
         a second object follows the first and is not the same",
        "send one object; make a call of its own for each; call read_file(path: string) again",
    );
}

/// The text is said to be whole, and is not: nothing closes it here. What a reply that was cut at its limit
/// is told stands in core.
#[test]
fn case_c08_what_is_open_at_the_end_is_never_closed() {
    refused(
        "tags",
        input(C08),
        "the arguments are no JSON",
        "at line 1, column 21 (between `{\"tags\": [\"a\", \"b\", ` and `\"c`): \
         the text in quotes that begins here does not end",
        "send the whole object; if it is long, do it in smaller parts; \
         call tags(meta?: {}, tags: [string]) again",
    );
    let text = r#"{"tags": ["a", "b", {"c": 1}]}"#;
    for length in (1..text.len()).filter(|length| text.is_char_boundary(*length)) {
        assert!(propose(&tools(), "tags", &text[..length]).is_err(), "{}", &text[..length]);
    }
}

#[test]
fn case_c09_values_in_texts_are_read_by_the_schema() {
    let wanted = r#"{"path":"a","range":[1,50],"limit":200,"wrap":true}"#;
    runs("view", input(C09), wanted, &["text of a value"]);
    refused(
        "view",
        r#"{"path":"a","range":"1 to 50"}"#,
        "an argument does not fit",
        "range: invalid type: string \"1 to 50\", expected an array [integer, integer]; \
         read as JSON, at line 1, column 3 (between `1 ` and `to 50`): the end is wanted here",
        "call view(limit?: integer, path: string, range?: [integer, integer], wrap?: boolean) again",
    );
    // A path that looks like a number is a path.
    runs("view", r#"{"path":"200"}"#, r#"{"path":"200"}"#, &[]);
}

#[test]
fn case_c10_a_backslash_that_begins_no_escape_stands_for_itself() {
    let wanted = r#"{"path":"C:\\proj\\d.txt","content":"re: \\d+\\. and \n end"}"#;
    runs("write_file", input(C10), wanted, &["backslash"]);
}

#[test]
fn case_c11_quotes_in_a_text_are_not_guessed() {
    refused(
        "write_file",
        input(C11),
        "the arguments are no JSON",
        "at line 1, column 36 (between `py\",\"content\":\"env.get(\"` and `KEY\", \"default\")\"}`): \
         a comma or } is wanted here",
        "a quote inside a text is written \\\"; call write_file(content: string, path: string) again",
    );
}

#[test]
fn case_c14_names_written_in_other_ways_are_the_one_tool_that_is_meant() {
    let names: Vec<String> = serde_json::from_str(input(C14)).unwrap();
    assert_eq!(names.len(), 5);
    let others = [
        "read-file",
        "ReadFile",
        "Functions::read_file",
        "`read_file`",
        "default_api.read_file",
        "tool:read_file",
    ];
    for name in names.iter().map(String::as_str).chain(others) {
        let proposal = propose(&tools(), name, r#"{"path":"a"}"#).expect(name);
        assert_eq!(
            (&*proposal.tool, &*proposal.changed_by),
            ("read_file", &["repair: name".into()][..]),
            "{name}"
        );
        let plain = propose(&tools(), "read_file", r#"{"path":"a"}"#).unwrap();
        assert_eq!(
            (proposal.shown, proposal.arguments),
            (plain.shown, plain.arguments),
            "what is judged is what runs"
        );
    }
}

/// A letter more or less is another name: nearness never decides what runs, least of all what writes.
#[test]
fn case_c14_a_name_that_is_only_near_is_told_and_not_taken() {
    let registry = crate::bench::registry(&[("write_file", "{}"), ("Write-File", "{}"), ("read_file", "{}")]);
    for name in
        ["read_files", "write_fil", "write-file", "functions", "", "read_file.txt", "tools/", "reаd_file"]
    {
        let text = propose(&registry, name, "{}").expect_err(name);
        assert!(trouble(&text)["hint"].contains("one of: write_file, Write-File, read_file"), "{text}");
    }
    for name in ["write_file", "Write-File"] {
        assert_eq!(&*propose(&registry, name, "{}").unwrap().tool, name);
    }
}

#[test]
fn case_c15_a_comment_goes_and_what_looks_like_one_in_a_text_stays() {
    let wanted = r#"{"path":"a.txt","content":"see https://ex.test//x /* keep */"}"#;
    runs("write_file", input(C15), wanted, &["comment"]);
}
