//! What a model must be told of a tool.

use petasos_core::text::{Json, Text};
use petasos_tools::{NoSpecs, Options, ToolSpec, lint, lint_all, specs};

use crate::say::Room;

fn spec(description: &str, parameters: &str) -> ToolSpec {
    ToolSpec {
        name: Text::from("read_log"),
        description: Text::from(description),
        parameters: Json::try_from(parameters).unwrap(),
    }
}

fn found(spec: &ToolSpec) -> Vec<String> {
    lint(spec, &["grep"]).iter().map(ToString::to_string).collect()
}

const GOOD: &str =
    "Read the log of a service. Use it when a service does not answer. For files use read_file.";

/// What is found of a description.
#[track_caller]
fn says(description: &str, wanted: &[&str]) {
    let found: Vec<String> = found(&spec(description, "{}"));
    let starts: Vec<&str> = found.iter().map(|line| line.split(';').next().unwrap()).collect();
    assert_eq!(starts, wanted, "{description}");
}

#[test]
fn t10_a_description_says_when_to_use_the_tool_and_when_not() {
    let no_use = "read_log: description: does not say when to use it";
    let no_limit = "read_log: description: does not say when not to use it";
    says(GOOD, &[]);
    says("", &["read_log: description: is missing"]);
    says("  \n", &["read_log: description: is missing"]);
    says("Reads a log", &[no_use, no_limit]);
    says("read_log reads a log", &[no_use, no_limit]);
    says("Reads a log. Use it when a service hangs.", &[no_limit]);
    says("Reads a log. To see why a service hangs.", &[no_limit]);
    // That another tool is to be used says nothing of when this one is.
    says("Reads a log. To search in one use grep.", &[no_use]);
    says("Reads a log. For files call read_file.", &[no_use]);
    says("Reads a log. Not for files.", &[no_use]);
    says("Reads a log. Use it before restarting a service, never after.", &[]);
    says("读取服务的日志。当服务没有响应时使用；不用于读取普通文件。", &[]);
    says("读取服务的日志。", &[no_use, no_limit]);
    says("读取日志，用于排查问题。", &[no_limit]);
    says(
        &format!("{GOOD}{}", " And so on.".repeat(100)),
        &["read_log: description: is longer than 1024 characters"],
    );
}

/// What is found of one parameter that is called `x`.
#[track_caller]
fn parameter(schema: &str, wanted: &[&str]) {
    let schema = format!(r#"{{"type":"object","properties":{{"x":{schema}}}}}"#);
    let found = found(&spec(GOOD, &schema));
    let starts: Vec<&str> = found
        .iter()
        .map(|line| line.split(';').next().unwrap().strip_prefix("read_log: ").unwrap())
        .collect();
    assert_eq!(starts, wanted, "{schema}");
}

#[test]
fn t10_a_parameter_has_meaning_type_format_or_example() {
    let no_meaning = "x: does not say what it means";
    let no_format = "x: is a text without format or example";
    let no_unit = "x: is a number without unit or bounds";
    let no_type = "x: has no type";
    parameter(r#"{"type":"string"}"#, &[no_meaning, no_format]);
    parameter(r#"{"type":"string","description":"path"}"#, &[no_meaning, no_format]);
    parameter(r#"{"type":"string","description":"The name of the service"}"#, &[no_format]);
    parameter(r#"{"type":"string","description":"The service, such as nginx"}"#, &[]);
    parameter(r#"{"type":"string","description":"The service (sshd.service)"}"#, &[]);
    parameter(r#"{"type":"string","description":"要读取的服务，例如 nginx"}"#, &[]);
    parameter(r#"{"type":"string","description":"要读取的服务"}"#, &[no_format]);
    parameter(r#"{"type":"string","description":"Which of them","enum":["a","b"]}"#, &[]);
    parameter(r#"{"enum":["a","b"],"description":"Which of them"}"#, &[]);
    parameter(r#"{"type":["string","null"],"description":"When it began","format":"date-time"}"#, &[]);
    parameter(r#"{"type":"integer","description":"How much is shown"}"#, &[no_unit]);
    parameter(r#"{"type":"integer","description":"How much is shown","minimum":1}"#, &[]);
    parameter(r#"{"type":"number","description":"Seconds to wait"}"#, &[]);
    parameter(r#"{"type":"integer","description":"最多显示的行数"}"#, &[]);
    parameter(r#"{"type":"boolean","description":"Newest first"}"#, &[]);
    parameter(r#"{"type":"boolean"}"#, &[no_meaning]);
    parameter(r#"{"description":"Anything at all"}"#, &[no_type]);
    parameter("true", &[no_type]);
    parameter(r##"{"$ref":"#/$defs/x","description":"As it is defined"}"##, &[]);
    parameter(r#"{"type":"array","description":"Names of services"}"#, &["x[]: has no type"]);
    parameter(r#"{"type":"array","description":"Names of services","items":{"type":"string"}}"#, &[]);
    let inner = r#"{"type":"array","description":"The changes to make","items":{"type":"object","properties":{"old":{"type":"string"}},"required":["old","new"]}}"#;
    let wanted = [
        "x[].new: is required and not among the properties",
        "x[].old: does not say what it means",
        "x[].old: is a text without format or example",
    ];
    parameter(inner, &wanted);
    let long = format!(r#"{{"type":"boolean","description":"{}"}}"#, "so much ".repeat(40));
    parameter(&long, &["x: is longer than 300 characters"]);
}

#[test]
fn t10_the_arguments_are_an_object() {
    let no_object =
        "read_log: parameters: are no object with properties; give {\"type\":\"object\",\"properties\":{…}}";
    for schema in [r#"{"type":"string"}"#, "[]", "7", r#"{"properties":{}}"#] {
        assert_eq!(found(&spec(GOOD, schema)), [no_object], "{schema}");
    }
    let lacking = spec(GOOD, r#"{"type":"object","required":["path"]}"#);
    let wanted =
        "read_log: path: is required and not among the properties; describe it, or require it no more";
    assert_eq!(found(&lacking), [wanted]);
}

#[test]
fn t10_a_name_is_one_and_the_only_one() {
    let named = |name: &str| ToolSpec { name: Text::from(name), ..spec(GOOD, "{}") };
    let wanted = "is no name that every service takes; letters, digits, _ and -, 64 at most";
    for name in ["", "read log", "日志", "a.b", &"a".repeat(65)] {
        assert_eq!(found(&named(name)), [format!("{name}: name: {wanted}")]);
    }
    let twice = lint_all(&[named("read_log"), named("grep"), named("read_log")]);
    let twice: Vec<String> = twice.iter().map(ToString::to_string).collect();
    assert_eq!(
        twice,
        ["read_log: name: a tool before it has the same name; a model could call only one of them"]
    );
}

#[test]
fn t10_every_built_in_tool_passes() {
    let room = Room::with(Options { run_tests: Some("cargo test".to_owned()), ..Options::default() });
    let specs: Vec<ToolSpec> = room.registry.tools().iter().map(|tool| tool.spec().clone()).collect();
    let found: Vec<String> = lint_all(&specs).iter().map(ToString::to_string).collect();
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn t10_specs_are_read_in_every_shape_that_people_have_them_in() {
    let schema = r#"{"properties":{"x":{"type":"integer"}},"type":"object"}"#;
    let shapes = [
        format!(r#"{{"name":"read_log","description":"d","parameters":{schema}}}"#),
        format!(r#"[{{"name":"read_log","description":"d","parameters":{schema}}}]"#),
        format!(
            r#"[{{"type":"function","function":{{"name":"read_log","description":"d","parameters":{schema}}}}}]"#
        ),
        format!(
            r#"[{{"type":"function","name":"read_log","description":"d","parameters":{schema},"strict":true}}]"#
        ),
        format!(
            r#"{{"model":"m","tools":[{{"name":"read_log","description":"d","input_schema":{schema}}}]}}"#
        ),
        format!(r#"{{"tools":[{{"name":"read_log","description":"d","inputSchema":{schema}}}]}}"#),
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{{"name":"read_log","description":"d","inputSchema":{schema}}}]}}}}"#
        ),
        format!(r#"{{"functions":[{{"name":"read_log","description":"d","parameters":{schema}}}]}}"#),
        format!(
            r#"{{"tools":[{{"functionDeclarations":[{{"name":"read_log","description":"d","parametersJsonSchema":{schema}}}]}}]}}"#
        ),
        format!("\u{feff}[{{\"name\":\"read_log\",\"description\":\"d\",\"parameters\":{schema}}}]\r\n"),
    ];
    for shape in shapes {
        assert_eq!(
            specs(&shape).unwrap(),
            [ToolSpec { description: Text::from("d"), ..spec("", schema) }],
            "{shape}"
        );
    }
    // Nothing is said of it, and it takes nothing.
    assert_eq!(specs(r#"{"name":"read_log"}"#).unwrap(), [spec("", "{}")]);
    assert_eq!(
        specs(r#"{"name":"read_log","description":null,"parameters":null}"#).unwrap(),
        [spec("", "{}")]
    );
}

#[test]
fn t10_what_is_no_spec_is_told_with_its_place() {
    #[track_caller]
    fn refused(text: &str, wanted: &str) {
        let error: NoSpecs = specs(text).unwrap_err();
        assert_eq!(error.to_string(), wanted, "{text}");
    }
    let shape = "; a tool is {\"name\":…,\"description\":…,\"parameters\":{…}}";
    refused("", "it is no JSON: EOF while parsing a value at line 1 column 0");
    refused("[{]", "it is no JSON: key must be a string at line 1 column 3");
    refused("[]", "there is no tool in it");
    refused(r#"{"tools":[]}"#, "there is no tool in it");
    refused("7", &format!("the file is no tool: it is no object{shape}"));
    refused("{}", &format!("the file is no tool: it has no name{shape}"));
    refused(
        r#"{"tools":[{"name":"a"},{"name":7}]}"#,
        &format!("tools[1] is no tool: its name is no text{shape}"),
    );
    refused(
        r#"[{"function":{"description":"d"}}]"#,
        &format!("[0].function is no tool: it has no name{shape}"),
    );
    refused(
        r#"[{"name":"a","description":[]}]"#,
        &format!("[0] is no tool: its description is no text{shape}"),
    );
    refused(
        "[[[[[[[[]]]]]]]]",
        &format!("[0][0][0][0][0][0] is no tool: it stands too deep in lists{shape}"),
    );
}
