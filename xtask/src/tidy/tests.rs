//! Each rule of tidy, with a text that breaks it and one that does not.

use super::rust_files::BLOCK;
use super::{File, findings};

/// The pages without which tidy complains, so that a check sees only what it is about.
fn with_pages(mut files: Vec<File>) -> Vec<File> {
    for page in ["ARCHITECTURE.md", "AGENTS.md"] {
        if files.iter().all(|file| file.path != page) {
            files.push(file(page, "text\n"));
        }
    }
    files
}

fn file(path: &str, text: &str) -> File {
    File { path: path.to_owned(), text: text.to_owned() }
}

#[track_caller]
fn check_files(files: Vec<File>, wanted: &[&str]) {
    let found = findings(&with_pages(files));
    let told: Vec<String> =
        found.iter().map(|finding| format!("{}: {}", finding.place, finding.what)).collect();
    assert_eq!(told, wanted);
}

#[track_caller]
fn check(path: &str, text: &str, wanted: &[&str]) {
    check_files(vec![file(path, text)], wanted);
}

#[test]
fn a_rust_file_opens_with_its_doc() {
    check("crates/a/src/b.rs", "//! Doc.\nfn a() {}\n", &[]);
    check("crates/a/src/b.rs", "fn a() {}\n", &["crates/a/src/b.rs:1: no module doc on the first line"]);
}

#[test]
fn a_file_has_at_most_500_lines_outside_of_tests() {
    let long = format!("//! Doc.\n{}", "// one\n".repeat(500));
    check("crates/a/src/b.rs", &long, &["crates/a/src/b.rs: 501 lines, at most 500"]);
    check("crates/a/tests/it/b.rs", &long, &[]);
    check("crates/a/src/b.rs", &format!("//! Doc.\n{}", "// one\n".repeat(499)), &[]);
}

#[test]
fn a_function_has_at_most_80_lines_with_its_comments() {
    let function = |lines| format!("//! Doc.\nfn a() {{\n{}}}\n", "    // one\n".repeat(lines));
    check("xtask/src/b.rs", &function(78), &[]);
    check("xtask/src/b.rs", &function(79), &["xtask/src/b.rs:2: fn a has 81 lines, at most 80"]);
    check("crates/a/tests/it/b.rs", &function(79), &[]);
}

#[test]
fn no_lint_is_waved_away() {
    let told = |word: &str| format!("crates/a/src/b.rs:2: `{word}` waves a lint away");
    let path = "crates/a/src/b.rs";
    check(path, "//! Doc.\n#[allow(dead_code)]\nfn a() {}\n", &[&told("allow")]);
    check(path, "//! Doc.\n#![allow(dead_code)]\n", &[&told("allow")]);
    check(path, "//! Doc.\n# [ expect (dead_code) ]\nfn a() {}\n", &[&told("expect")]);
    check(path, "//! Doc.\n#[cfg_attr(test, allow(dead_code))]\nfn a() {}\n", &[&told("allow")]);
    check(path, "//! Doc.\n// #[allow(x)]\nfn a() { b.expect(\"#[allow(x)]\") }\n", &[]);
    check(path, &format!("//! Doc.\n{BLOCK}"), &["crates/a/src/b.rs:3: `allow` waves a lint away"]);
}

#[test]
fn tests_testkit_and_xtask_open_with_the_one_block() {
    for path in ["crates/a/tests/it/main.rs", "crates/petasos-testkit/src/lib.rs", "xtask/src/main.rs"] {
        check(path, &format!("//! Doc.\n{BLOCK}\nmod a;\n"), &[]);
        let missing = format!("{path}:1: the fixed block of allowances is missing or changed");
        check(path, "//! Doc.\n", &[&missing]);
        let again = format!("{path}:15: `allow` waves a lint away");
        check(path, &format!("//! Doc.\n{BLOCK}\n#![allow(dead_code)]\n"), &[&again]);
        let changed = BLOCK.replace("    clippy::panic,\n", "    clippy::panic,\n    dead_code,\n");
        let waved = format!("{path}:3: `allow` waves a lint away");
        check(path, &format!("//! Doc.\n{changed}"), &[&missing, &waved]);
    }
    check("crates/petasos-testkit/examples/a.rs", &format!("//! Doc.\n{BLOCK}"), &[]);
    check("crates/petasos-testkit/examples/a.rs", "//! Doc.\n", &[]);
}

#[test]
fn no_test_is_ignored() {
    let told = "crates/a/src/b.rs:3: an ignored test is no test";
    check("crates/a/src/b.rs", "//! Doc.\n#[test]\n#[ignore]\nfn a() {}\n", &[told]);
    check("crates/a/src/b.rs", "//! Doc.\n#[test]\n#[ignore = \"slow\"]\nfn a() {}\n", &[told]);
    check("crates/a/src/b.rs", "//! Doc.\nfn ignore() {}\n", &[]);
}

#[test]
fn testkit_is_used_from_tests_only() {
    let text = "//! Doc.\n#[cfg(test)]\nmod tests { use petasos_testkit::say; }\n";
    check("crates/a/src/b.rs", text, &["crates/a/src/b.rs:3: petasos_testkit is used from src/"]);
    check("crates/a/tests/it/b.rs", text, &[]);
    check("crates/a/src/b.rs", "//! Doc.\n// See petasos_testkit.\n", &[]);
}

#[test]
fn a_crate_has_one_test_binary_and_no_mod_rs() {
    let second = |path: &str| format!("{path}: a second test binary; each one is linked on its own");
    check("crates/a/tests/b.rs", "//! Doc.\n", &[&second("crates/a/tests/b.rs")]);
    check("crates/a/tests/b/main.rs", "//! Doc.\n", &[&second("crates/a/tests/b/main.rs")]);
    check("crates/a/tests/it/b/main.rs", "//! Doc.\n", &[]);
    check(
        "crates/a/src/b/mod.rs",
        "//! Doc.\n",
        &["crates/a/src/b/mod.rs: a mod.rs, whose name says nothing in a list of files"],
    );
}

#[test]
fn lines_end_clean() {
    check("a.md", "b \n", &["a.md:1: whitespace at the end of the line"]);
    check("a.md", "b", &["a.md:1: no newline at the end of the file"]);
    check("a.md", "\tb\n", &[]);
    check("a.patch", " \n", &[]);
    check("crates/a/src/b.rs", "//! Doc.\n\tfn\n", &["crates/a/src/b.rs:2: a tab"]);
}

#[test]
fn no_text_names_a_registry() {
    let host = ["static.crates", ".io"].concat();
    let told = format!("a.md:1: names the package registry {}", ["crates", ".io"].concat());
    check("a.md", &format!("from {host}\n"), &[&told]);
    check("Cargo.lock", &format!("from {host}\n"), &[]);
    check("a.md", "my crates, iou\n", &[]);
}

#[test]
fn no_text_names_a_folder_of_one_machine() {
    let told = |pieces: [&str; 2]| format!("a.md:1: names {}, a folder of one machine", pieces.concat());
    for pieces in [["/wo", "rk/"], ["/ro", "ot/"]] {
        let folder = pieces.concat();
        check("a.md", &format!("in `{folder}x`\n"), &[&told(pieces)]);
        check("a.md", &format!("{folder}x\n"), &[&told(pieces)]);
        check("a.md", &format!("in a{folder}x, $HOME{folder}x, ${{A}}{folder}x, ~{folder}x\n"), &[]);
    }
    check("a.md", &format!("{}ann\n", ["/ho", "me/"].concat()), &[&told(["/ho", "me/"])]);
    check("a.md", &format!("{}<name>\n", ["/ho", "me/"].concat()), &[]);
}

#[test]
fn pages_stay_short_and_are_there() {
    let lines = |count: usize| "one\n".repeat(count);
    check("AGENTS.md", &lines(41), &["AGENTS.md: 41 lines, at most 40"]);
    check("AGENTS.md", &lines(40), &[]);
    check("ARCHITECTURE.md", &lines(200), &["ARCHITECTURE.md: 200 lines, at most 199"]);
    check("ARCHITECTURE.md", &lines(199), &[]);
    let told: Vec<String> = findings(&[]).iter().map(|finding| finding.place.clone()).collect();
    assert_eq!(told, ["ARCHITECTURE.md", "AGENTS.md"]);
}

#[test]
fn decisions_are_numbered_without_gaps() {
    let named =
        |names: &[&str]| names.iter().map(|name| file(&format!("docs/decisions/{name}"), "a\n")).collect();
    check_files(named(&["0001-a.md", "0002-b.md"]), &[]);
    let told = |name: &str, wanted: &str| {
        format!("docs/decisions/{name}: the next decision's name starts with {wanted}-, this one does not")
    };
    check_files(named(&["0001-a.md", "0003-b.md"]), &[&told("0003-b.md", "0002")]);
    check_files(named(&["0001-a.md", "0001-b.md"]), &[&told("0001-b.md", "0002")]);
    check_files(named(&["a.md"]), &[&told("a.md", "0001")]);
}

#[test]
fn a_row_of_what_users_get_wrong_has_its_test_and_a_test_its_row() {
    let table = |rows: &str| {
        let text = format!(
            "## When something is wrong\n\n| what | says |\n|---|---|\n{rows}\n## After\n\n| a | b |\n"
        );
        file("README.md", &text)
    };
    let tests = |names: &[&str]| {
        let tests = names.iter().map(|name| format!("#[test]\nfn {name}() {{}}\n"));
        file("crates/petasos-cli/tests/it/bad_input.rs", &format!("//! Doc.\n{}", tests.collect::<String>()))
    };
    let one = "| A line of `.env` is no UTF-8 | it is told |\n";
    let test = "bad_input_a_line_of_env_is_no_utf_8";
    check_files(vec![table(one), tests(&[test, "another"])], &[]);
    check_files(vec![table(one), tests(&[])], &[&format!("README.md:5: the row has no test {test}")]);
    let untold = "crates/petasos-cli/tests/it/bad_input.rs:3: bad_input_b has no row in README.md";
    check_files(vec![table(""), tests(&["bad_input_b"])], &[untold]);
    let doubled = format!("README.md:6: a second row of {test}");
    check_files(vec![table(&format!("{one}{one}")), tests(&[test])], &[&doubled]);
}

#[test]
fn a_case_has_its_test_and_a_test_of_a_case_its_row() {
    let page = |rows: &str| file("docs/cases.md", &format!("| id | situation |\n|---|---|\n{rows}"));
    let tests = |names: &[&str]| {
        let tests = names.iter().map(|name| format!("#[test]\nfn {name}() {{}}\n"));
        file("crates/a/tests/it/cases.rs", &format!("//! Doc.\n{}", tests.collect::<String>()))
    };
    let rows = "| A-04 | x |\n| D-10 | x |\n| D-11 | x |\n";
    check_files(vec![page(rows), tests(&["case_a04_one", "case_a04_two", "case_d10_d11_three"])], &[]);
    let missing = "docs/cases.md:3: no test's name begins with case_a04_";
    check_files(vec![page("| A-04 | x |\n"), tests(&["case_a4_one", "a_case_a04_two"])], &[missing]);
    let untold = "crates/a/tests/it/cases.rs:3: case b01 has no row in docs/cases.md";
    check_files(vec![page(""), tests(&["case_b01_one"])], &[untold]);
    let doubled = "docs/cases.md:4: a second row of a04";
    check_files(vec![page("| A-04 | x |\n| A-04 | y |\n"), tests(&["case_a04_one"])], &[doubled]);
}

#[test]
fn a_helper_by_the_name_of_a_case_is_no_test_of_it() {
    let page = file("docs/cases.md", "| id | situation |\n|---|---|\n| A-04 | x |\n");
    let helper = file("crates/a/tests/it/cases.rs", "//! Doc.\nfn case_a04_one() {}\n");
    let missing = "docs/cases.md:3: no test's name begins with case_a04_";
    check_files(vec![page, helper], &[missing]);
}
