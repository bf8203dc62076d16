//! `search_files` at its edges: line ends, globs, ignore files, names, encodings, limits.

use std::time::Duration;

use petasos_core::tool::Outcome;
use petasos_tools::{Encoding, Options};

use crate::say::{Room, arguments, trouble};

/// The lines that a search gives, without the last one that counts them.
async fn lines(room: &Room, arguments: &str) -> Vec<String> {
    let output = room.call("search_files", arguments).await;
    let text = output.for_model.text().to_string();
    match output.outcome {
        Outcome::Ok => text.lines().filter(|line| !line.starts_with('[')).map(str::to_owned).collect(),
        Outcome::Empty => Vec::new(),
        other => panic!("{other:?} {text}"),
    }
}

#[track_caller]
fn pattern(pattern: &str) -> String {
    arguments(&[("pattern", pattern)])
}

#[tokio::test]
async fn t02_an_end_of_line_is_found_before_either_kind() {
    let room = Room::holding("a.txt", "one;\r\ntwo; \r\n");
    room.put("b.txt", "three;\nfour;");
    let both = ["a.txt:1: one;", "b.txt:1: three;", "b.txt:2: four;"];
    assert_eq!(lines(&room, &pattern(";$")).await, both);
    assert_eq!(
        lines(&room, &pattern(r"^\w+;\s*$")).await,
        ["a.txt:1: one;", "a.txt:2: two; ", both[1], both[2]]
    );
    // Who looks for a CR means it.
    assert_eq!(lines(&room, &pattern(r";\r$")).await, ["a.txt:1: one;"]);
    assert_eq!(lines(&room, &pattern("\\r")).await.len(), 2);
}

#[tokio::test]
async fn t02_a_pattern_of_more_than_one_line_is_told() {
    let room = Room::holding("a.txt", "a\nb\n");
    let wanted = r#"{"error":"the pattern has more than one line","cause":"\"a\\\\nb\" reaches over the end of a line, and lines are searched one by one","hint":"search for one of its lines; context shows the lines around each match"}"#;
    room.check("search_files", &pattern(r"a\nb"), Outcome::Error, wanted).await;
    room.refused("search_files", &pattern("a\nb"), "more than one line").await;
    // A class that has a line end among others is no such pattern.
    assert_eq!(lines(&room, &pattern(r"a\s*")).await, ["a.txt:1: a"]);
}

#[tokio::test]
async fn t02_a_pattern_that_found_nothing_says_what_may_be_meant_as_it_stands() {
    let room = Room::holding("a.txt", "f(x)\n");
    let text = r#"nothing matches "f(x)" in 1 files of the workspace. That is normal if it is not there; a wider pattern, (?i), another path or no glob may find more; where ( ) is meant as it stands, a backslash goes before it"#;
    room.check("search_files", &pattern("f(x)"), Outcome::Empty, text).await;
    let text = room.text("search_files", &pattern("(?i)nowhere")).await;
    assert!(text.ends_with("may find more"), "{text}");
}

#[tokio::test]
async fn t02_a_glob_is_read_as_it_is_meant() {
    let room = Room::holding("src/a.rs", "needle\n");
    for path in ["src/deep/b.rs", "src/c.txt", "d.rs", "other/e.rs"] {
        room.put(path, "needle\n");
    }
    let root = room.path("").canonicalize().unwrap();
    let root = root.to_str().unwrap().trim_end_matches('/').to_owned();
    let whole = format!("{root}/src/*.rs");
    let table: [(&str, &[&str]); 13] = [
        ("*.txt", &["src/c.txt"]),
        ("./*.rs", &["d.rs"]),
        ("/*.rs", &["d.rs"]),
        ("./src/*.rs", &["src/a.rs"]),
        (&whole, &["src/a.rs"]),
        ("src/**/*.rs", &["src/a.rs", "src/deep/b.rs"]),
        ("src/", &["src/a.rs", "src/c.txt", "src/deep/b.rs"]),
        ("src/deep/", &["src/deep/b.rs"]),
        ("deep/", &["src/deep/b.rs"]),
        ("*.{txt,md}", &["src/c.txt"]),
        ("!*.rs", &["src/c.txt"]),
        ("!src/**", &["d.rs", "other/e.rs"]),
        ("", &["d.rs", "other/e.rs", "src/a.rs", "src/c.txt", "src/deep/b.rs"]),
    ];
    for (glob, wanted) in table {
        let wanted: Vec<String> = wanted.iter().map(|path| format!("{path}:1: needle")).collect();
        assert_eq!(
            lines(&room, &arguments(&[("pattern", "needle"), ("glob", glob)])).await,
            wanted,
            "{glob}"
        );
    }
    let below = arguments(&[("pattern", "needle"), ("glob", "deep/*.rs"), ("path", "src")]);
    assert_eq!(lines(&room, &below).await, ["src/deep/b.rs:1: needle"]);
    let text = "the glob \"*.py\" fits none of 5 files of the workspace, so nothing was searched. It counts from the \
                workspace or from path: *.rs, src/**/*.ts";
    let none = arguments(&[("pattern", "needle"), ("glob", "*.py")]);
    room.check("search_files", &none, Outcome::Empty, text).await;
}

#[tokio::test]
async fn t02_ignore_files_are_heard_in_their_order() {
    let room = Room::new();
    for name in ["a.log", "b.log", "c.log", "d.log", "deep/a.log", "deep/e.log", "f.txt"] {
        room.put(name, "needle\n");
    }
    room.put(".gitignore", "*.log\n");
    room.put(".ignore", "!b.log\r\nf.txt\n");
    room.put(".rgignore", "\u{feff}!a.log\n/deep/a.log\n!f.txt\n");
    room.put(".git/info/exclude", "d.log\n!c.log\n");
    room.put("deep/.gitignore", "!e.log\n");
    let found = ["a.log", "b.log", "deep/e.log", "f.txt"].map(|path| format!("{path}:1: needle"));
    assert_eq!(lines(&room, &pattern("needle")).await, found);
    // What lies deeper hears the same, and a file that is named is looked into all the same.
    let deep = arguments(&[("pattern", "needle"), ("path", "deep")]);
    assert_eq!(lines(&room, &deep).await, ["deep/e.log:1: needle"]);
    let named = arguments(&[("pattern", "needle"), ("path", "d.log")]);
    assert_eq!(lines(&room, &named).await, ["d.log:1: needle"]);
}

#[tokio::test]
async fn t02_what_git_excludes_without_telling_others_is_left_out() {
    let room = Room::holding("a.txt", "needle\n");
    room.put("notes/b.txt", "needle\n");
    room.put(".git/info/exclude", "notes/\n");
    assert_eq!(lines(&room, &pattern("needle")).await, ["a.txt:1: needle"]);
}

#[tokio::test]
async fn t02_another_repository_has_its_own_rules() {
    let room = Room::new();
    for name in ["lib/x.log", "lib/y.txt", "lib/sub/x.log", "work/x.log", "own/x.log"] {
        room.put(name, "needle\n");
    }
    room.put(".gitignore", "*.log\n");
    room.put("lib/.git/HEAD", "ref: refs/heads/main\n");
    room.put("lib/.gitignore", "*.txt\n");
    // That of a submodule or a worktree is a file.
    room.put("work/.git", "gitdir: ../.git/modules/work\n");
    let found = ["lib/sub/x.log", "lib/x.log", "work/x.log"].map(|path| format!("{path}:1: needle"));
    assert_eq!(lines(&room, &pattern("needle")).await, found);
    // What belongs to who searches holds in it too.
    room.put(".ignore", "sub/\n");
    assert_eq!(lines(&room, &pattern("needle")).await, found[1..]);
    let inside = arguments(&[("pattern", "needle"), ("path", "lib/sub")]);
    assert_eq!(lines(&room, &inside).await, [&*found[0]]);
}

#[tokio::test]
async fn t02_lines_around_a_match_are_shown_once() {
    let text: String = (1..=30)
        .map(|line| if [3, 5, 20].contains(&line) { format!("needle {line}\n") } else { format!("{line}\n") })
        .collect();
    let room = Room::holding("a.txt", text);
    let wanted = "a.txt-2- 2\na.txt:3: needle 3\na.txt-4- 4\na.txt:5: needle 5\na.txt-6- 6\n--\na.txt-19- 19\na.txt:20: \
                  needle 20\na.txt-21- 21\n[3 matches in 1 files]\n";
    room.check("search_files", r#"{"pattern":"needle","context":1}"#, Outcome::Ok, wanted).await;
    let many = room.text("search_files", r#"{"pattern":"needle 5","context":1000}"#).await;
    assert_eq!(many.lines().count(), 4 + 1 + 20 + 1, "{many}");
}

#[tokio::test]
async fn t02_a_large_folder_hides_nothing_beside_it() {
    let room = Room::holding("src/main.rs", "");
    room.sh("mkdir -p src/many; cd src/many; seq 1 1500 | xargs touch");
    room.put("zebra/a.txt", "");
    room.put("zoo.txt", "");
    let listed = room.text("list_files", r#"{"depth":9}"#).await;
    let end = "zebra/\nzoo.txt (0 bytes)\n… and 504 more; list a folder below, or less depth\n";
    assert!(
        listed.starts_with("src/\nsrc/main.rs (0 bytes)\nsrc/many/\n") && listed.ends_with(end),
        "{listed}"
    );
    let below = room.text("list_files", r#"{"path":"src"}"#).await;
    assert!(below.ends_with("… and 502 more; list a folder below, or less depth\n"), "{below}");
}

/// A name that is no text can be given back as it was shown.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn t02_a_name_that_is_no_text_leads_to_its_file() {
    let room = Room::new();
    room.sh(r"mkdir $'d\xe9'; echo needle > $'d\xe9/caf\xe9.txt'; echo needle > $'two\nlines.txt'; echo needle > 'back\nslash.txt'");
    let found = [r"back\nslash.txt", r"d\xe9/caf\xe9.txt", r"two\nlines.txt"];
    let wanted = found.map(|path| format!("{path}:1: needle"));
    assert_eq!(lines(&room, &pattern("needle")).await, wanted);
    let listed =
        "back\\nslash.txt (7 bytes)\nd\\xe9/\nd\\xe9/caf\\xe9.txt (7 bytes)\ntwo\\nlines.txt (7 bytes)\n";
    room.check("list_files", "{}", Outcome::Ok, listed).await;
    for path in found {
        room.check("read_file", &arguments(&[("path", path)]), Outcome::Ok, "needle\n").await;
    }
    room.call("write_file", &arguments(&[("path", r"d\xe9/new.txt"), ("content", "x")])).await;
    room.sh(r"test -f $'d\xe9/new.txt'");
    // What is not there stays what was given.
    room.call("write_file", &arguments(&[("path", r"a\nb.txt"), ("content", "x")])).await;
    assert_eq!(room.get(r"a\nb.txt"), b"x");
    let names = r#"{"pattern":"caf","names":true}"#;
    assert_eq!(lines(&room, names).await, [r"d\xe9/caf\xe9.txt"]);
}

#[tokio::test]
async fn t02_chinese_is_found_in_utf8_utf16_and_gbk() {
    use petasos_tools::{Bom, Order};
    let room = Room::new();
    let encodings = [
        ("gb18030.txt", Encoding::Gb18030),
        ("gbk.txt", Encoding::Gbk),
        ("utf16be-bom.txt", Encoding::Utf16(Order::Big, Bom::There)),
        ("utf16le-bom.txt", Encoding::Utf16(Order::Little, Bom::There)),
        ("utf16le.txt", Encoding::Utf16(Order::Little, Bom::None)),
        ("utf8-bom.txt", Encoding::Utf8(Bom::There)),
        ("utf8.txt", Encoding::Utf8(Bom::None)),
    ];
    let filler = "配置文件在这里，第二行还有很多别的文字\r\n";
    for lines_before in [1, 3_000] {
        for (path, encoding) in encodings {
            let last = if encoding == Encoding::Gb18030 { "😀" } else { "" };
            // What tells GB18030 from GBK stands at the beginning, as far as that is looked at.
            let text = format!("注意{last}\r\n{}计算总和：完成\r\n", filler.repeat(lines_before));
            room.put(path, [encoding.bom(), &encoding.encode(&text).unwrap()].concat());
        }
        let number = lines_before + 2;
        let wanted: Vec<String> =
            encodings.iter().map(|(path, _)| format!("{path}:{number}: 计算总和：完成")).collect();
        assert_eq!(lines(&room, &pattern("计算.和")).await, wanted);
        assert_eq!(lines(&room, &pattern("完成$")).await, wanted);
        assert_eq!(lines(&room, &pattern("^注意")).await.len(), encodings.len());
    }
}

/// A byte of ASCII that ends a letter of GBK is no letter itself.
#[tokio::test]
async fn case_f13_half_a_letter_is_not_found() {
    let room = Room::holding(
        "a.txt",
        b"\xb4\xed\xce\xf3\xa3\xba\xce\xc4\xbc\xfe\xb2\xbb\xb4\xe6\xd4\xda \xc1\x61=1\n",
    );
    assert_eq!(lines(&room, &pattern("a=1")).await, Vec::<String>::new());
    assert_eq!(lines(&room, &pattern("羇=1")).await, ["a.txt:1: 错误：文件不存在 羇=1"]);
}

#[tokio::test]
async fn t02_a_search_that_takes_too_long_says_that_not_all_was_searched() {
    let room = Room::with(Options { limit: Duration::ZERO, ..Options::default() });
    room.put("a.txt", "needle\n");
    let output = room.call("search_files", &pattern("needle")).await;
    assert_eq!(output.outcome, Outcome::TimedOut);
    let wanted = r#"{"error":"not all was searched","cause":"it took 0 s before all of the workspace was searched; nothing was found until then","hint":"search a folder below (path), or fewer files (glob)"}"#;
    assert_eq!(&**output.for_model.text(), wanted);
}

#[tokio::test]
async fn t02_a_search_that_reads_too_much_says_that_not_all_was_searched() {
    let room = Room::with(Options { most_searched: 100_000, ..Options::default() });
    for name in ["a.txt", "b.txt", "c.txt"] {
        room.put(name, format!("{name} needle\n{}", "x\n".repeat(20_000)));
    }
    let output = room.call("search_files", &pattern("needle")).await;
    let wanted = "a.txt:1: a.txt needle\nb.txt:1: b.txt needle\n[2 matches in 2 files; it read 100000 bytes before all was \
                  searched]\n";
    assert_eq!((output.outcome, &**output.for_model.text()), (Outcome::CutShort, wanted));
    let output = room.call("search_files", &pattern("nowhere")).await;
    assert_eq!(output.outcome, Outcome::CutShort);
    assert!(
        output.for_model.text().contains("it read 100000 bytes before all of the workspace was searched")
    );
}

/// A pattern that goes through all its states with each letter of a line that ends nowhere: it takes seconds and more, and
/// nothing of it is waited for.
#[test]
fn t02_a_search_that_is_in_a_long_line_ends_with_its_time() {
    let room = Room::with(Options { limit: Duration::from_millis(100), ..Options::default() });
    let mut dice: u32 = 7;
    let line: Vec<u8> = (0..100_000)
        .map(|_| {
            dice = dice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if dice >> 31 == 0 { b'a' } else { b'b' }
        })
        .collect();
    room.put("long.txt", line);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let output = runtime.block_on(room.call("search_files", &arguments(&[("pattern", "a[ab]{2000}c")])));
    runtime.shutdown_background();
    assert_eq!(output.outcome, Outcome::TimedOut, "{output:?}");
    assert_eq!(trouble(output.for_model.text())["error"], "too slow");
}
