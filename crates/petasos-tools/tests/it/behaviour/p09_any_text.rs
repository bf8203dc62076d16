//! Row P09 for any text: strict JSON stays as it is, each way of writing gives the same value, nothing that is cut
//! or unsure is taken, nothing panics and nothing takes forever.

use petasos_testkit::random::dice::Dice;
use petasos_tools::Registry;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::bench::{registry, taken};
use crate::mangle::{PIECES, Tree, Way, object, text, write};
use crate::say::trouble;

const SEEDS: u64 = 1_000;
const MIB: usize = 1024 * 1024;

/// A tool that takes any object.
fn any() -> Registry {
    registry(&[("any", r#"{"type":"object"}"#)])
}

/// The value that a text stands for; numbers by value, which is enough for those that are made here.
fn value(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"))
}

fn strict(tree: &Tree) -> String {
    write(tree, Way::Strict, &mut Dice::new(0))
}

#[test]
fn p09_strict_json_is_never_changed() {
    for seed in 0..SEEDS {
        let dice = &mut Dice::new(seed);
        let tree = object(dice, 3);
        let written = write(&tree, Way::Strict, dice);
        assert_eq!(taken(&any(), "any", &written), Ok((written.clone(), Vec::new())), "{seed}");
    }
}

#[test]
fn p09_each_way_of_writing_an_object_gives_that_object() {
    for way in Way::ALL {
        let mut changed = 0;
        for seed in 0..SEEDS {
            let dice = &mut Dice::new(seed);
            let tree = object(dice, 3);
            let written = write(&tree, *way, dice);
            let (json, repairs) = taken(&any(), "any", &written)
                .unwrap_or_else(|error| panic!("{way:?} {seed}: {written}\n{error}"));
            assert_eq!(value(&json), value(&strict(&tree)), "{way:?} {seed}: {written}");
            assert_eq!(
                repairs.is_empty(),
                serde_json::from_str::<Value>(&written).is_ok_and(|json| json.is_object())
            );
            changed += usize::from(!repairs.is_empty());
        }
        assert!(*way == Way::Strict || changed > 100, "{way:?}: {changed}");
    }
}

/// Numbers keep their digits and members their order, whatever is repaired beside them.
#[test]
fn p09_a_repair_changes_nothing_beside_it() {
    let written = r#"{"b":1.50,"a":[123456789012345678901234567890,-0.0,2e3],"c":"é\u00e9\/",}"#;
    let wanted = r#"{"b":1.50,"a":[123456789012345678901234567890,-0.0,2e3],"c":"éé/"}"#;
    assert_eq!(taken(&any(), "any", written), Ok((wanted.to_owned(), vec!["trailing comma".to_owned()])));
}

#[test]
fn p09_a_beginning_of_an_object_is_never_taken() {
    let ways = [
        Way::Strict,
        Way::Comments,
        Way::CommentsAndCommas,
        Way::Python,
        Way::RawControls,
        Way::Backslashes,
        Way::InText,
    ];
    for way in ways {
        for seed in 0..SEEDS / 10 {
            let dice = &mut Dice::new(seed);
            let tree = object(dice, 3);
            let written = write(&tree, way, dice);
            for (cut, _) in written.char_indices().skip(1) {
                let cut = &written[..cut];
                assert!(taken(&any(), "any", cut).is_err(), "{way:?} {seed}: {cut}");
            }
        }
    }
}

/// A quote that was not escaped makes a text that looks like JSON with a comment, a second text or words behind it.
/// Without commas, colons and brackets in it there is no strict reading either.
#[test]
fn p09_quotes_in_a_text_that_are_not_escaped_are_never_read_as_something_else() {
    let pieces: Vec<&str> =
        PIECES.iter().copied().filter(|piece| !piece.contains([',', ':', '{', '}', '[', ']'])).collect();
    for seed in 0..SEEDS * 5 {
        let dice = &mut Dice::new(seed);
        let mut inside = |most: u64| (0..dice.below(most)).map(|_| *dice.pick(&pieces)).collect::<String>();
        let (before, after) = (inside(5).replace(['"', '\\'], ""), inside(7));
        let written = format!("{{\"path\":\"a\",\"content\":\"{before}\"{after}\"}}");
        assert!(taken(&any(), "any", &written).is_err(), "{seed}: {written}");
    }
}

#[test]
fn p09_any_text_is_taken_as_an_object_or_told_as_an_error() {
    let marks = [
        "{", "}", "[", "]", "\"", "'", ":", ",", "\\", "{\"a\":", "\\ud800", "\\u12", "-", "1e9", "0x1",
        "NaN", "\"}",
    ];
    let (mut took, mut refused) = (0, 0);
    for seed in 0..SEEDS * 10 {
        let dice = &mut Dice::new(seed);
        let mut soup: String = if dice.permille(500) {
            (0..dice.below(20))
                .map(|_| if dice.permille(600) { *dice.pick(&marks) } else { *dice.pick(PIECES) })
                .collect()
        } else {
            let (tree, way) = (object(dice, 3), *dice.pick(Way::ALL));
            write(&tree, way, dice)
        };
        for _ in 0..dice.below(4) {
            let places: Vec<usize> =
                soup.char_indices().map(|(place, _)| place).chain([soup.len()]).collect();
            let (from, to) = (*dice.pick(&places), *dice.pick(&places));
            let piece = if dice.permille(500) { *dice.pick(&marks) } else { "" };
            let to = if dice.permille(700) { from } else { to };
            soup.replace_range(from.min(to)..from.max(to), piece);
        }
        match taken(&any(), "any", &soup) {
            Ok((json, _)) => {
                let again = taken(&any(), "any", &json);
                assert_eq!(
                    again.unwrap(),
                    (json.clone(), Vec::new()),
                    "what was repaired needs no repair: {soup}"
                );
                // A number may be larger than any reader holds; it is still a number.
                let is_json = serde_json::from_str::<&RawValue>(&json).is_ok();
                assert!(json.trim_start().starts_with('{') && is_json, "{soup}");
                took += 1;
            }
            Err(error) => {
                trouble(&error);
                refused += 1;
            }
        }
    }
    assert!(took > 1_000 && refused > 1_000, "{took} {refused}");
}

#[test]
fn p09_a_mebibyte_of_anything_is_answered() {
    let object = |inside: String| format!("{{\"a\":{inside}}}");
    let keys = (0..60_000).map(|key| format!("\"key {key}\":0")).collect::<Vec<_>>().join(",");
    let taken_whole = [
        object(format!("\"{}\"", "x".repeat(MIB))),
        object(format!("\"{}\"", "\\n\\\"".repeat(MIB / 4))),
        object(format!("'{}'", "\\'".repeat(MIB / 2))),
        object(format!("\"{}\"", "\n\\d".repeat(MIB / 3))),
        object(format!("[{}]", "0,".repeat(200_000))),
        object(format!("[{}]", "\"\",".repeat(200_000))),
        format!("{{{keys}}}"),
        format!("{{{}\"a\":1}}", "//\n".repeat(MIB / 3)),
        "{}".repeat(200_000),
        format!("{}{{\"a\":1}}", "word ".repeat(MIB / 5)),
        format!("{{\"a\":1}}{}", "word ".repeat(MIB / 5)),
        object(" ".repeat(MIB) + "1"),
        serde_json::to_string(
            &serde_json::to_string(&object(format!("\"{}\"", "\\n".repeat(MIB / 8)))).unwrap(),
        )
        .unwrap(),
    ];
    for written in &taken_whole {
        let (json, _) = taken(&any(), "any", written).unwrap();
        assert!(value(&json).is_object());
    }
    let refused = [
        "[".repeat(MIB),
        "{\"a\":".repeat(MIB / 5),
        object("[".repeat(MIB / 2) + &"]".repeat(MIB / 2)),
        object(format!("[{}]", "0,".repeat(MIB / 2))),
        format!("{{{keys},{keys}}}"),
        "\"".repeat(MIB),
        "'".repeat(MIB),
        "\\".repeat(MIB),
        "/*".repeat(MIB / 2),
        "//".repeat(MIB / 2),
        "```\n".repeat(MIB / 4) + "{}",
        "{".repeat(MIB),
        "1".repeat(MIB),
        "{\"a\":1}{\"a\":2}".repeat(MIB / 14),
        object(format!("\"{}", "\\u".repeat(MIB / 2))),
        "x".repeat(MIB),
        String::from_utf8(vec![0; MIB]).unwrap(),
        "北".repeat(MIB / 3),
    ];
    for written in &refused {
        let error = taken(&any(), "any", written).unwrap_err();
        trouble(&error);
        assert!(error.chars().count() < 1_500, "{error}");
        assert!(taken(&any(), written, "{}").is_err(), "as a name");
    }
}

#[test]
fn p09_only_nothing_stands_for_an_empty_object() {
    for nothing in ["", " ", "\n\t ", "\u{2003}"] {
        assert_eq!(taken(&any(), "any", nothing), Ok(("{}".to_owned(), Vec::new())));
    }
    for something in ["null", "[]", "\"\"", "None", "-", "{", "// none", "\u{feff}", "no arguments"] {
        assert!(taken(&any(), "any", something).is_err(), "{something:?}");
    }
}

/// The limit of levels is one that is told, and reached.
#[test]
fn p09_a_hundred_levels_are_taken_and_one_more_is_not() {
    let deep = |levels: usize| "{\"a\":".repeat(levels) + "1" + &"}".repeat(levels);
    assert_eq!(taken(&any(), "any", &deep(100)), Ok((deep(100), Vec::new())));
    let parts = trouble(&taken(&any(), "any", &deep(101)).unwrap_err());
    assert!(parts["cause"].ends_with("more than 100 levels"), "{parts:?}");
    assert_eq!(parts["error"], "the arguments are too much");
}

/// What can be read in two ways is told with its place, and read in none.
#[test]
fn p09_what_has_two_readings_has_none() {
    let table = [
        (r#"{"a":1,"a":2}"#, "line 1, column 8", "\"a\" comes twice"),
        (r#"{"a":"it\'s"}"#, "line 1, column 9", "a backslash before a single quote"),
        ("{\"a\":\n'\\x41'}", "line 2, column 2", "an escape that JSON and Python read differently"),
        ("{\"a\":\"x \"// y\"\n}", "line 1, column 10", "a comment, or a text with a quote in it"),
        ("{\"a\":\"x\\\ny\"}", "line 1, column 8", "a backslash before a line break"),
        (r#"{"a":"b"} and {c}"#, "line 1, column 11", "more stands behind the object"),
        (r#"path: {"a":1}"#, "line 1, column 1", "what stands before the object may be a part of it"),
        (r#"read_file({"a":1})"#, "line 1, column 1", "what stands before the object may be a part of it"),
        (r#""{\"a\":\"\d\"}""#, "line 1, column 1", "a backslash in arguments that are encoded twice"),
        (r#"{"a":"\ud83d"}"#, "line 1, column 7", "half of a pair of surrogates"),
        (r#"{"a":"\u12"}"#, "line 1, column 7", "a backslash and u without four digits"),
        (r#"{a:1}"#, "line 1, column 2", "a name in double quotes is wanted here"),
        (r#"{"a":1 "b":2}"#, "line 1, column 8", "a comma or } is wanted here"),
        (r#"{"a":01}"#, "line 1, column 6", "\"01\" is no JSON number"),
        (r#"{"a":NaN}"#, "line 1, column 6", "a value is wanted here"),
        (r#"{"a":1}}"#, "line 1, column 8", "more stands behind the object"),
    ];
    for (written, place, cause) in table {
        let parts = trouble(&taken(&any(), "any", written).expect_err(written));
        assert!(parts["cause"].contains(place) && parts["cause"].contains(cause), "{written}: {parts:?}");
        assert!(parts["hint"].ends_with("call any() again"), "{parts:?}");
    }
}

#[test]
fn p09_a_comment_that_may_be_reckoned_with_is_not_left_out() {
    let refused = [
        ("{\"n\": 10 // 2\n}", 10),
        ("{\"n\": 10//2\n}", 9),
        ("{\"n\": 10 # 5 of them\n}", 10),
        ("{\"n\": [10 // (a + b)\n]}", 11),
        ("{\"n\": 10 /// 2\n}", 10),
        ("{\"n\": 10 //\t-2\r\n}", 10),
        ("{\"n\": 10 /* / 2 */}", 10),
        ("{\"n\": 10 /* lines */ // 2\n}", 22),
    ];
    for (written, column) in refused {
        let parts = trouble(&taken(&any(), "any", written).expect_err(written));
        assert!(parts["cause"].starts_with(&format!("at line 1, column {column} ")), "{written}: {parts:?}");
        assert!(parts["cause"].ends_with("a comment, or something to reckon"), "{written}: {parts:?}");
    }
    let comments = [
        "{\"n\": 10 // lines\n}",
        "{\"n\": 10 # or 20\n}",
        "{\"n\": 10\n// 2 are too few\n}",
        "{\"n\": /* 2 */ 10}",
        "{\"n\": 10, // 2\n}",
        "{\"n\": 10 //\n}",
    ];
    for written in comments {
        let (json, repairs) = taken(&any(), "any", written).expect(written);
        assert_eq!(value(&json), serde_json::json!({"n": 10}), "{written}");
        assert!(repairs.contains(&"comment".to_owned()), "{written}: {repairs:?}");
    }
}

/// If the object was closed too early, or a quote was taken for the end of its text, what is behind it belongs to it.
#[test]
fn p09_what_may_go_on_with_the_object_is_not_left_out() {
    let object = r#"{"a":"b"}"#;
    let more = [
        r#", "dry_run": true"#,
        r#"["b"]"#,
        r#"[0]"#,
        "]",
        ": 1",
        r#""c": 1"#,
        "'c': 1",
        "\n, dry_run: true",
        "\n```\n, dry_run: true",
        "</args>, dry_run: true",
        "</a b=\"c>",
        r#" and "c": true"#,
        r#" and "c" : true"#,
        r#" words", "c": true"#,
        r#" words" and more"#,
        r#" it is" here "so"#,
        " and [c]",
        " and 'c': true",
        "\nIt is \"open",
    ];
    for more in more {
        let written = format!("{object}{more}");
        let parts = trouble(&taken(&any(), "any", &written).expect_err(&written));
        assert!(parts["cause"].ends_with("more stands behind the object"), "{written}: {parts:?}");
    }
    let words = [
        "\n```\nI will read it (all of it).",
        "</arguments></tool_call>",
        "<|call|>",
        " That's what \"I think\", it's 'good' (\"or 'so'\").",
        "\n```\n\n- first; second: third, fourth",
    ];
    for words in words {
        let written = format!("{object}{words}");
        let wanted = Ok((object.to_owned(), vec!["words around".to_owned()]));
        assert_eq!(taken(&any(), "any", &written), wanted, "{written}");
    }
}

/// Where one backslash of a text stands for itself, the next may too.
#[test]
fn p09_a_backslash_beside_one_that_stands_for_itself_is_not_guessed() {
    let refused = [
        (r#"{"pattern":"\bfoo\d+"}"#, 13),
        (r#"{"pattern":"\d+\f"}"#, 16),
        (r#"{"path":"C:\work\new\test.txt"}"#, 17),
        (r#"{"path":"c:\temp\docs"}"#, 12),
        (r#"{"path":"C:\users\u0041"}"#, 18),
        (r#"{"path":"\\server\docs\reports"}"#, 23),
        (r#"{"command":"cd C:\work\new"}"#, 23),
        (r#"{'path': 'C:\work\new'}"#, 18),
    ];
    for (written, column) in refused {
        let parts = trouble(&taken(&any(), "any", written).expect_err(written));
        let place = format!("at line 1, column {column} ");
        let cause = "a backslash that may stand for itself, as another here does";
        assert!(
            parts["cause"].starts_with(&place) && parts["cause"].ends_with(cause),
            "{written}: {parts:?}"
        );
        assert!(parts["hint"].starts_with(r"write a backslash as \\ "), "{parts:?}");
    }
    let read = [
        (r#"{"a":"re: \d+\. and \n end"}"#, r#"{"a":"re: \\d+\\. and \n end"}"#),
        (r#"{"a":"\d\\b","b":"\b"}"#, r#"{"a":"\\d\\b","b":"\b"}"#),
        (r#"{"a":"C:\work\\new","b":"x\ty"}"#, r#"{"a":"C:\\work\\new","b":"x\ty"}"#),
        (r#"{"a":"C:\users\me"}"#, r#"{"a":"C:\\users\\me"}"#),
    ];
    for (written, wanted) in read {
        let (json, repairs) = taken(&any(), "any", written).expect(written);
        assert_eq!((value(&json), repairs), (value(wanted), vec!["backslash".to_owned()]), "{written}");
    }
}

/// A text never changes where text is taken, whatever it looks like.
#[test]
fn p09_a_text_that_is_wanted_is_never_changed() {
    let schema = r#"{"type":"object","properties":{"t":{"type":"string"},"either":{"type":["integer","string"]},
        "list":{"type":"array","items":{"type":"string"}},"free":{}}}"#;
    let registry = registry(&[("t", schema)]);
    for seed in 0..SEEDS {
        let dice = &mut Dice::new(seed);
        let mut looks = || {
            let looks = ["null", "None", "1", "3.0", "true", "[1]", "{}", " {\"a\":1} ", "\"x\""];
            if dice.permille(500) { (*dice.pick(&looks)).to_owned() } else { text(dice) }
        };
        let [t, either, item, free] = [looks(), looks(), looks(), looks()];
        let members = [("t", &t), ("either", &either), ("free", &free)];
        let members =
            members.map(|(name, text)| format!("\"{name}\":{}", serde_json::to_string(text).unwrap()));
        let list = serde_json::to_string(&[item]).unwrap();
        let written = format!("{{{},\"list\":{list}}}", members.join(","));
        assert_eq!(taken(&registry, "t", &written), Ok((written.clone(), Vec::new())), "{seed}");
    }
}
