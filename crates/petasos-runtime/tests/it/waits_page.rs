//! The page on waits, and the constants that it names.

use std::path::Path;

const PAGE: &str = include_str!("../../../../docs/guide/waits.md");

/// What a constant is, as the page writes it: `2 s` or `300 ms`.
fn held(file: &str, name: &str) -> String {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let source = std::fs::read_to_string(crates.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    let after =
        source.split(&format!("const {name}: ")).nth(1).unwrap_or_else(|| panic!("{file} has no {name}"));
    let value = after.split(';').next().unwrap().split_once('=').unwrap().1;
    // That of the waits of a provider is several; the one that this page names is the last.
    let value = value.rsplit("idle:").next().unwrap();
    let number: String = value.chars().skip_while(|letter| !letter.is_ascii_digit()).collect();
    let number: String =
        number.chars().take_while(|letter| letter.is_ascii_digit() || *letter == '_').collect();
    let unit = if value.contains("millis") || value.contains("Span(") { "ms" } else { "s" };
    format!("{} {unit}", number.replace('_', ""))
}

#[test]
fn p05_the_page_has_the_numbers_that_hold() {
    let rows = PAGE.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| wait"));
    let mut compared = 0;
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        assert_eq!(cells.len(), 6, "{row}");
        let Some((file, name)) = cells[3].trim_matches('`').split_once(' ') else {
            assert_eq!(cells[3], "", "{row}");
            continue;
        };
        let held = held(file, name);
        assert!(
            cells[1].strip_prefix(&held).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric)),
            "{name} is {held}: {row}"
        );
        compared += 1;
    }
    assert!(compared > 15, "{compared}");
}
