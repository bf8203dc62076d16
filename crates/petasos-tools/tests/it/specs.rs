//! What every request carries of the tools.

use expect_test::expect_file;
use petasos_tools::Options;

use crate::say::Room;

#[test]
fn t02_the_specs_are_these_bytes() {
    let room = Room::with(Options { run_tests: Some("cargo test".to_owned()), ..Options::default() });
    let head = room.registry.head().unwrap();
    let lines = head.as_str().replace("},{\"name\"", "},\n{\"name\"") + "\n";
    expect_file!["../samples/specs.json"].assert_eq(&lines);
}

#[test]
fn t02_the_tools_come_in_the_order_of_the_page() {
    let room = Room::with(Options { run_tests: Some("cargo test".to_owned()), ..Options::default() });
    let names: Vec<String> = room.registry.tools().iter().map(|tool| tool.spec().name.to_string()).collect();
    let wanted = [
        "read_file",
        "write_file",
        "edit_file",
        "list_files",
        "search_files",
        "run_command",
        "job",
        "run_tests",
        "fetch_url",
        "current_time",
        "calculate",
    ];
    assert_eq!(names, wanted);
    let without = Room::new();
    assert!(without.registry.get("run_tests").is_none());
}

/// The first request is to stay under 8 KB with a system prompt, which takes less than 1 KB.
#[test]
fn t02_all_specs_together_are_small() {
    let room = Room::with(Options { run_tests: Some("cargo test".to_owned()), ..Options::default() });
    let bytes = room.registry.head().unwrap().as_str().len();
    assert!(bytes <= 6 * 1024, "{bytes}");
}

#[test]
fn j06_every_schema_is_an_object_with_properties_and_without_metadata() {
    let room = Room::with(Options { run_tests: Some("cargo test".to_owned()), ..Options::default() });
    for tool in room.registry.tools() {
        let schema = tool.spec().parameters.as_str();
        let read: serde_json::Value = serde_json::from_str(schema).unwrap();
        assert_eq!(read["type"], "object", "{schema}");
        assert!(read["properties"].is_object(), "{schema}");
        for word in ["$schema", "$ref", "\"title\"", "anyOf", "\"format\"", "null"] {
            assert!(!schema.contains(word), "{word} in {schema}");
        }
    }
}
