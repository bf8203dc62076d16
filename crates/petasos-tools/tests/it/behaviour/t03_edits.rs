//! Row T03: edits change what they name and no other byte, and say where they nearly fitted.

use petasos_core::tool::Outcome;
use petasos_tools::{Bom, Encoding, Order};
use proptest::prelude::*;

use crate::say::{Room, arguments, edit, trouble, wait};

const UTF16: [Encoding; 4] = [
    Encoding::Utf16(Order::Little, Bom::There),
    Encoding::Utf16(Order::Big, Bom::There),
    Encoding::Utf16(Order::Little, Bom::None),
    Encoding::Utf16(Order::Big, Bom::None),
];

/// A file in an encoding, with its byte-order mark.
fn in_bytes(encoding: Encoding, text: &str) -> Vec<u8> {
    [encoding.bom(), &encoding.encode(text).unwrap()].concat()
}

/// An edit is refused with this cause, and the file stays.
async fn nearly(file: &str, old: &str, cause: &str) {
    let room = Room::holding("a.txt", file);
    let output = room.call("edit_file", &edit("a.txt", old, "something else")).await;
    assert_eq!(trouble(output.for_model.text())["cause"], cause, "{old}");
    assert_eq!(room.get("a.txt"), file.as_bytes());
}

#[tokio::test]
async fn case_f10_new_lines_take_the_ends_of_what_they_replace() {
    for (before, old, new, after) in [
        ("one\ntwo\nthree\n", "one\r\ntwo", "1\r\n2", "1\n2\nthree\n"),
        ("one\ntwo\n", "two", "2\r\n3", "one\n2\n3\n"),
        ("one\r\ntwo\r\n", "two", "2\n3", "one\r\n2\r\n3\r\n"),
        ("one\r\ntwo\r\n", "two", "2\r\n3", "one\r\n2\r\n3\r\n"),
        ("a\r\nb\nc\nd\ne\n", "a\nb", "A\nx\nB", "A\r\nx\r\nB\nc\nd\ne\n"),
        // A file without line ends shows none to keep, and a CR alone is meant.
        ("one", "one", "1\r\n2", "1\r\n2"),
        ("one\ntwo\n", "two", "2\r3", "one\n2\r3\n"),
    ] {
        let room = Room::holding("a.txt", before);
        room.call("edit_file", &edit("a.txt", old, new)).await;
        assert_eq!(String::from_utf8(room.get("a.txt")).unwrap(), after, "{before:?} {old:?} {new:?}");
    }
}

#[tokio::test]
async fn case_f14_edits_that_leave_the_file_as_it_is_are_no_success() {
    let room = Room::holding("crlf.txt", "one\r\ntwo\r\n");
    room.refused("edit_file", &edit("crlf.txt", "one\ntwo", "one\r\ntwo"), "no change").await;
    let edits = r#"{"path":"crlf.txt","edits":[{"old":"one","new":"1"},{"old":"1","new":"one"}]}"#;
    room.refused("edit_file", edits, "with all edits made the file is as it was").await;
    assert_eq!(room.get("crlf.txt"), b"one\r\ntwo\r\n");
}

#[tokio::test]
async fn t03_a_newline_that_is_lost_at_the_end_is_told() {
    let room = Room::holding("a.txt", "one\ntwo\n");
    let text = "edited 1 place in a.txt (line 2); the last line has no newline any more";
    room.check("edit_file", &edit("a.txt", "two\n", "2"), Outcome::Ok, text).await;
    assert_eq!(room.get("a.txt"), b"one\n2");
    room.check("edit_file", &edit("a.txt", "2", "3"), Outcome::Ok, "edited 1 place in a.txt (line 2)").await;
    assert_eq!(room.get("a.txt"), b"one\n3");
}

#[tokio::test]
async fn t03_what_nearly_matched_is_told_with_the_line_that_differs_and_how() {
    let file = "fn a() {\n  x = 1;\n}\n\n\n\nfn a() {\n  y = 1; \n}\n";
    let cause = "the old text of edit 1 of 1 is not there; line 8 differs: at character 9 it has a blank, the old text \
                 has its end; only blanks at its end differ; the nearest is at line 7: fn a() {\n  y = 1; \n}";
    nearly(file, "fn a() {\n  y = 1;\n}", cause).await;
    let cause = "the old text of edit 1 of 1 is not there; line 2 differs: at character 1 it has a blank, the old text \
                 has a tab; only its indent differs; the nearest is at line 1: fn a() {\n  x = 1;";
    nearly(file, "fn a() {\n\tx = 1;", cause).await;
    let cause = "the old text of edit 1 of 1 is not there; line 1 differs: at character 5 it has “ (U+201C), the old \
                 text has '\"'; only blanks, or signs that look alike, differ; the nearest is at line 1: x = “Alice”";
    nearly("x = “Alice”\n", "x = \"Alice\"", cause).await;
    let cause = "the old text of edit 1 of 1 is not there; line 1 differs: at character 6 it has U+00A0, the old text \
                 has a blank; only blanks, or signs that look alike, differ; the nearest is at line 1: hello\u{a0}world";
    nearly("hello\u{a0}world\n", "hello world", cause).await;
    let cause = "the old text of edit 1 of 1 is not there; line 1 differs: at character 5 it has 'V', the old text has \
                 'v'; only upper and lower case differ; the nearest is at line 1: let Value = 1;";
    nearly("let Value = 1;\n", "let value = 1;", cause).await;
    // Inside of a longer line.
    let cause = "the old text of edit 1 of 1 is not there; line 2 differs: at character 21 it has 'b', the old text has \
                 'c'; the nearest is at line 2: let sum = plus(one, b);";
    nearly("other\nlet sum = plus(one, b);\n", "sum = plus(one, c)", cause).await;
    let cause = "the old text of edit 1 of 1 is not there; its lines are there, but the text has no newline where one \
                 was given; the nearest is at line 2: let last = 2;";
    nearly("let first = 1;\nlet last = 2;", "let last = 2;\n", cause).await;
    nearly(
        "a\nb\n",
        "something wholly different",
        "the old text of edit 1 of 1 is not there, nor any line like it",
    )
    .await;
}

#[tokio::test]
async fn t03_line_numbers_in_old_are_told_as_such() {
    let file = "fn main() {\n    let x = 1;\n}\n";
    let cause = "the lines of the old text of edit 1 of 1 begin with numbers, which are not in the file";
    for old in
        ["1\tfn main() {\n2\t    let x = 1;", "  1→fn main() {\n  2→    let x = 1;\n", "2:    let x = 1;"]
    {
        nearly(file, old, cause).await;
    }
    // Numbers that are in the file are its text.
    let room = Room::holding("a.txt", "1\tone\n2\ttwo\n");
    room.check(
        "edit_file",
        &edit("a.txt", "1\tone", "1\t1"),
        Outcome::Ok,
        "edited 1 place in a.txt (line 1)",
    )
    .await;
}

/// The second half of a letter of GBK is often a byte of ASCII.
#[tokio::test]
async fn case_f13_a_trail_byte_is_no_letter() {
    for bytes in [&b"\xc1\x61=1\n"[..], b"caf\xe9 \xc1\x61=1 \xff\n", b"\xff\xff\x81a=1"] {
        let room = Room::holding("a.txt", bytes);
        room.refused("edit_file", &edit("a.txt", "a=1", "b=2"), "nothing was changed").await;
        assert_eq!(room.get("a.txt"), bytes);
        let all = r#"{"path":"a.txt","edits":[{"old":"a=1","new":"b=2","all":true}]}"#;
        room.refused("edit_file", all, "nothing was changed").await;
        assert_eq!(room.get("a.txt"), bytes);
    }
    // Nor may a sign come to stand where it would become one.
    let room = Room::holding("a.txt", b"caf\xe9 x\xc1 y\n");
    room.refused("edit_file", &edit("a.txt", " y", "y"), "not safe").await;
    assert_eq!(room.get("a.txt"), b"caf\xe9 x\xc1 y\n");
    room.check("edit_file", &edit("a.txt", " y", " z"), Outcome::Ok, "edited 1 place in a.txt (line 1)")
        .await;
    assert_eq!(room.get("a.txt"), b"caf\xe9 x\xc1 z\n");
}

/// A model gives back what it was shown for bytes that are no letter.
#[tokio::test]
async fn case_f13_what_stands_for_other_bytes_is_never_written_for_them() {
    for bytes in [&b"x = 1;\n// caf\xe9 \xd6\xd0\n"[..], "好的，这是中文。\u{fffd}\n".as_bytes()] {
        let room = Room::holding("a.txt", bytes);
        let whole = room.text("read_file", r#"{"path":"a.txt"}"#).await.replace("x = 1", "x = 2");
        let write = arguments(&[("path", "a.txt"), ("content", &whole)]);
        if std::str::from_utf8(bytes).is_ok() {
            // That sign itself is in the file, and stays.
            assert_eq!(room.call("write_file", &write).await.outcome, Outcome::Ok);
            continue;
        }
        room.refused("write_file", &write, "bytes would be lost").await;
        room.refused("edit_file", &edit("a.txt", "x = 1;", "x = 2; // caf\u{fffd}"), "bytes would be lost")
            .await;
        assert_eq!(room.get("a.txt"), bytes);
    }
}

const CHINESE: &str = "// 这是一个用来测试的文件，里面有很多汉字。\nint 数量 = 1; // 数量\n";

#[tokio::test]
async fn case_f13_gbk_is_edited_in_its_encoding() {
    for (encoding, text) in
        [(Encoding::Gbk, CHINESE.to_owned()), (Encoding::Gb18030, format!("{CHINESE}// 😀\n"))]
    {
        let room = Room::holding("a.c", in_bytes(encoding, &text));
        let told = format!("edited 1 place in a.c (line 2); {} kept", encoding.name());
        room.check("edit_file", &edit("a.c", "int 数量 = 1;", "int 总和 = 22;"), Outcome::Ok, &told).await;
        let after = text.replace("int 数量 = 1;", "int 总和 = 22;");
        assert_eq!(room.get("a.c"), in_bytes(encoding, &after));
    }
    let before = in_bytes(Encoding::Gbk, CHINESE);
    let room = Room::holding("a.c", &before);
    room.refused("edit_file", &edit("a.c", "数量 = 1", "😀"), "'😀' (U+1F600) has no form in GBK").await;
    assert_eq!(room.get("a.c"), before);
}

#[tokio::test]
async fn t03_utf16_is_edited_in_its_encoding() {
    for encoding in UTF16 {
        let room = Room::holding("a.txt", in_bytes(encoding, "key=1\r\nother=值\r\n"));
        let told = format!("edited 1 place in a.txt (line 1); {} kept", encoding.name());
        room.check("edit_file", &edit("a.txt", "key=1\nother", "key=9\nmore=😀\nother"), Outcome::Ok, &told)
            .await;
        assert_eq!(room.get("a.txt"), in_bytes(encoding, "key=9\r\nmore=😀\r\nother=值\r\n"), "{encoding:?}");
    }
}

/// What is put between the pieces that must stay.
#[derive(Clone, Debug)]
struct Around {
    encoding: Encoding,
    before: Vec<u8>,
    after: Vec<u8>,
}

fn around() -> impl Strategy<Value = Around> {
    let utf8 = ("[a-c0-9 \r\n“é中😀]{0,12}", "[a-c0-9 \r\n“é中😀]{0,12}").prop_map(|(before, after)| {
        Around { encoding: Encoding::Utf8(Bom::None), before: before.into_bytes(), after: after.into_bytes() }
    });
    let others = (
        prop::sample::select(vec![UTF16[0], UTF16[1], Encoding::Gbk]),
        "[a-c0-9 \r\n中文字汉]{0,12}",
        "[a-c0-9 \r\n中文字汉]{0,12}",
    );
    let others = others.prop_map(|(encoding, before, after)| {
        // Enough of it that the encoding is told.
        let before = format!("{CHINESE}{before}");
        Around { encoding, before: in_bytes(encoding, &before), after: encoding.encode(&after).unwrap() }
    });
    let byte = || prop_oneof![Just(0xc1), Just(0x81), Just(b'0'), Just(b'a'), Just(b' '), any::<u8>()];
    let bytes = (prop::collection::vec(byte(), 0..12), prop::collection::vec(byte(), 0..12));
    let bytes = bytes.prop_map(|(before, after)| Around { encoding: Encoding::Bytes, before, after });
    prop_oneof![utf8, others, bytes]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// In every encoding: the bytes that are not replaced are the same, or nothing is changed and that is said.
    #[test]
    fn t03_bytes_outside_of_what_is_replaced_are_equal(
        around in around(),
        (old, new) in prop_oneof![
            Just(("needle", "pin")), Just((" needle", "x")), Just(("needle", "")), Just((" needle\n", "\n针"))
        ]
    ) {
        let Around { encoding, before, after } = around;
        let room = Room::new();
        let needle = encoding.encode(old).unwrap();
        let whole = [&*before, &needle, &*after].concat();
        room.put("a.txt", &whole);
        let output = wait(room.call("edit_file", &edit("a.txt", old, new)));
        let now = room.get("a.txt");
        if output.outcome == Outcome::Ok {
            let told = Encoding::of(&whole);
            // A CR before what begins with a newline is a part of that line end.
            prop_assert!(now.starts_with(&before) && now.ends_with(&after), "{:?} {:?}", output, now);
            let middle = &now[before.len()..now.len() - after.len()];
            let long = new.replace('\n', "\r\n");
            let written = [new, &long].map(|new| told.encode(new).unwrap_or_default());
            prop_assert!(written.iter().any(|written| written == middle), "{:?} {:?}", told, middle);
        } else {
            prop_assert_eq!(now, whole);
        }
    }
}

#[tokio::test]
async fn t03_what_is_no_text_is_not_edited() {
    let elf = [&b"\x7fELF\x02\x01\x01\0"[..], b"version 1\0"].concat();
    let room = Room::holding("a.out", &elf);
    room.refused("edit_file", &edit("a.out", "version 1", "version 2"), "it is an ELF program, 18 bytes")
        .await;
    assert_eq!(room.get("a.out"), elf);
    room.put("b", [&b"x = 1\n"[..], &b"\xff ".repeat(1_000_001)].concat());
    let words = "at more than 1000000 places it is no text";
    room.refused("edit_file", &edit("b", "x = 1", "x = 2"), words).await;
    assert!(room.propose("edit_file", &edit("b", "x = 1", "x = 2")).unwrap().claims.probe.is_none());
}

#[tokio::test]
async fn t03_places_that_overlap_are_not_unique() {
    let room = Room::holding("a.txt", "0,\n0,\n0,\n");
    let words = "the old text of edit 1 of 1 is at places that overlap: lines 1, 2";
    room.refused("edit_file", &edit("a.txt", "0,\n0,\n", "1,\n0,\n"), words).await;
    room.put("b.txt", "xaaay\n");
    room.refused("edit_file", &edit("b.txt", "aa", "b"), "at places that overlap: lines 1, 1").await;
    assert_eq!(room.get("b.txt"), b"xaaay\n");
    // One letter before is enough to tell them apart.
    let text = "edited 1 place in b.txt (line 1)";
    room.check("edit_file", &edit("b.txt", "xaa", "xb"), Outcome::Ok, text).await;
}

#[tokio::test]
async fn t03_places_beside_bytes_that_are_no_letter_are_told() {
    let room = Room::holding("a.txt", b"caf\xe9abc=1\nabc=2\nabc=3\n");
    let all = r#"{"path":"a.txt","edits":[{"old":"abc","new":"xyz","all":true}]}"#;
    let text =
        "edited 2 places in a.txt (line 2, 3); 1 more beside bytes that are no letter left as they are";
    room.check("edit_file", all, Outcome::Ok, text).await;
    assert_eq!(room.get("a.txt"), b"caf\xe9abc=1\nxyz=2\nxyz=3\n");
}

#[tokio::test]
async fn t03_letters_are_not_put_beside_those_of_another_encoding() {
    let room = Room::holding(
        "a.txt",
        [&"中".repeat(22_000).into_bytes(), &b"\nx = 1\n"[..], &b"\xe9 ".repeat(30_000)].concat(),
    );
    room.refused("edit_file", &edit("a.txt", "x = 1", "x = é"), "most of those in the file are not UTF-8")
        .await;
    room.check(
        "edit_file",
        &edit("a.txt", "x = 1", "x = 2"),
        Outcome::Ok,
        "edited 1 place in a.txt (line 2)",
    )
    .await;
}

#[tokio::test]
async fn t03_a_long_piece_is_not_given_a_false_cause() {
    let lines = |last: &str| (0..260).map(|at| format!("line {at}\n")).collect::<String>() + last;
    let room = Room::holding("a.txt", lines("end\n"));
    let words = "its first 200 lines are there, the 61 after them were not compared";
    room.refused("edit_file", &edit("a.txt", &lines("other\n"), "x"), words).await;
}

#[tokio::test]
async fn t03_signs_for_what_cannot_be_seen_are_not_written_for_it() {
    let room = Room::holding("a.txt", "a\u{200b}b\nother\n");
    let whole = arguments(&[("path", "a.txt"), ("content", "a\\u{200b}b\nOTHER\n")]);
    room.refused("write_file", &whole, "which only shows U+200B of the file").await;
    room.refused("edit_file", &edit("a.txt", "other", "\\u{200b}"), "which only shows U+200B of the file")
        .await;
    room.refused("edit_file", &edit("a.txt", "a\\u{200b}b", "x"), "that only show what the file has").await;
    // The character itself is meant.
    let text = "edited 1 place in a.txt (line 1)";
    room.check("edit_file", &edit("a.txt", "a\u{200b}b", "ab"), Outcome::Ok, text).await;
    // The file has none any more, or has the text of the sign too.
    room.check("edit_file", &edit("a.txt", "ab", "\\u{200b}"), Outcome::Ok, text).await;
    let late = ["line\n".repeat(2_000).as_bytes(), b"x\0y\n"].concat();
    room.put("b.txt", late);
    room.refused("edit_file", &edit("b.txt", "x\u{2400}y", "z"), "that only show what the file has").await;
    room.refused("edit_file", &edit("b.txt", "line\nx", "\u{2400}"), "which only shows U+0000 of the file")
        .await;
}
