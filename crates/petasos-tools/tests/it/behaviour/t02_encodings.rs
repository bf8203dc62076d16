//! Files that are not UTF-8, and those that are no text, as tools read and write them.

use petasos_core::tool::Outcome;
use petasos_tools::{Bom, Encoding, Order};

use crate::say::{Room, arguments};
use petasos_core::bounded::Cap;

const ALL: [Encoding; 6] = [
    Encoding::Utf16(Order::Little, Bom::There),
    Encoding::Utf16(Order::Big, Bom::There),
    Encoding::Utf16(Order::Little, Bom::None),
    Encoding::Utf16(Order::Big, Bom::None),
    Encoding::Gbk,
    Encoding::Gb18030,
];

const TEXT: &str = "// 这是一个用来测试的文件，里面有很多汉字。\nint 数量 = 1;\n";

/// A text that shows which encoding it is in.
fn text(encoding: Encoding) -> String {
    if encoding == Encoding::Gb18030 { format!("{TEXT}// 😀\n") } else { TEXT.to_owned() }
}

fn in_bytes(encoding: Encoding, text: &str) -> Vec<u8> {
    [encoding.bom(), &encoding.encode(text).unwrap()].concat()
}

fn write(content: &str) -> String {
    arguments(&[("path", "a.txt"), ("content", content)])
}

#[tokio::test]
async fn t02_utf16_and_gbk_are_read_with_a_note() {
    for encoding in ALL {
        let (text, name) = (text(encoding), encoding.name());
        let room = Room::holding("a.txt", in_bytes(encoding, &text));
        let read = format!("{text}[{name}; edit_file and write_file keep that]");
        room.check("read_file", r#"{"path":"a.txt"}"#, Outcome::Ok, &read).await;
        let page = format!(
            "int 数量 = 1;\n[lines 2–2 of {}; go on with from=3; {name}; edit_file and write_file keep that]",
            text.lines().count()
        );
        if encoding == Encoding::Gb18030 {
            room.check("read_file", r#"{"path":"a.txt","from":2,"lines":1}"#, Outcome::Ok, &page).await;
        }
        room.put("a.txt", in_bytes(encoding, &text.replace('\n', "\r\n")));
        let read = format!(
            "{text}[lines end with CRLF; edit_file and write_file keep that; {name}; edit_file and write_file keep that]"
        );
        room.check("read_file", r#"{"path":"a.txt"}"#, Outcome::Ok, &read).await;
    }
}

/// Pages are counted in characters of the text, and joined they are all of it.
#[tokio::test]
async fn t08_pages_of_any_encoding_together_are_the_whole() {
    for encoding in ALL {
        let mut room = Room::new();
        // A letter lies across the pieces in which it is read, wherever they end.
        let text = format!("{}x{}", text(encoding), "数量和总和\n中文".repeat(9_000));
        room.put("a.txt", in_bytes(encoding, &text));
        room.cap = Cap(20_000);
        let (mut whole, mut from) = (String::new(), "1".to_owned());
        loop {
            let page = room.text("read_file", &arguments(&[("path", "a.txt"), ("from", &from)])).await;
            let (shown, footer) = page.rsplit_once("\n[").unwrap();
            whole.push_str(shown);
            let Some((_, next)) = footer.split_once("from=") else { break };
            from = next.chars().take_while(char::is_ascii_digit).collect();
            whole.push('\n');
        }
        assert!(whole == text, "{encoding:?}");
    }
}

/// What is made visible takes more room than it has, and so do many notes: a page is then smaller, and never cut in the
/// middle, or a model would go on behind what it did not see.
#[tokio::test]
async fn t08_a_page_is_never_cut_whatever_is_in_it() {
    let unseen = "a\u{202e}\u{2060}\u{feff}b\n".repeat(300);
    let noted =
        [in_bytes(Encoding::Gbk, &TEXT.replace('\n', "\r\n").repeat(1_200)), b"a\xff b".to_vec()].concat();
    for (bytes, lines) in [(unseen.into_bytes(), 300_u64), (noted, 2_401)] {
        let mut room = Room::holding("a.txt", bytes);
        room.cap = Cap(700);
        room.call("read_file", r#"{"path":"a.txt","lines":1}"#).await;
        // The whole of it was changed, so that each page has one note more.
        let mut from = if lines > 1_000 { 2_300 } else { 1 };
        while from <= lines {
            room.sh("printf '!' >> a.txt");
            let page = room.text("read_file", &format!(r#"{{"path":"a.txt","from":{from}}}"#)).await;
            assert!(page.chars().count() <= 700 && !page.contains("left out"), "{page}");
            let (_, told) = page.rsplit_once(&format!("[lines {from}–")).unwrap();
            let to: u64 = told.split(' ').next().unwrap().parse().unwrap();
            assert!(to >= from, "{page}");
            from = to + 1;
        }
    }
}

#[tokio::test]
async fn t02_what_is_flawed_in_a_known_encoding_is_told() {
    // The encoding is told by the beginning, where all is well.
    let bytes = [&*in_bytes(Encoding::Gbk, &TEXT.repeat(2_000)), b"a\xff b\n"].concat();
    let room = Room::holding("a.txt", bytes);
    let read = "a\u{fffd} b\n[lines 4001–4001 of 4001; this is the end; GBK; edit_file and write_file keep that; not all \
                of it is GBK: other bytes are shown as \u{fffd}, edit_file keeps them]";
    room.check("read_file", r#"{"path":"a.txt","from":4001}"#, Outcome::Ok, read).await;
}

#[tokio::test]
async fn t02_a_file_that_is_only_a_mark_is_empty() {
    for (mark, bytes) in [(&b"\xef\xbb\xbf"[..], 3), (b"\xff\xfe", 2), (b"\xfe\xff", 2)] {
        let room = Room::holding("a.txt", mark);
        let text = format!(
            "a.txt is empty but for a byte-order mark ({bytes} bytes): there is nothing in it to read"
        );
        room.check("read_file", r#"{"path":"a.txt"}"#, Outcome::Empty, &text).await;
    }
}

#[tokio::test]
async fn t02_a_page_tells_that_the_last_line_has_no_newline() {
    let room = Room::holding("a.txt", "one\ntwo");
    let page = "two\n[lines 2–2 of 2; this is the end; the last line has no newline]";
    room.check("read_file", r#"{"path":"a.txt","from":2}"#, Outcome::Ok, page).await;
    room.put("a.txt", "one\r\ntwo");
    let page =
        "one\ntwo\n[lines end with CRLF; edit_file and write_file keep that; the last line has no newline]";
    room.check("read_file", r#"{"path":"a.txt"}"#, Outcome::Ok, page).await;
}

#[tokio::test]
async fn t02_a_file_is_written_in_the_encoding_that_it_has() {
    for encoding in ALL {
        let (before, name) = (text(encoding), encoding.name());
        let room = Room::holding("a.txt", in_bytes(encoding, &before.replace('\n', "\r\n")));
        let after = in_bytes(encoding, "int 总和 = 2;\r\n");
        let told = format!(
            "wrote {} bytes, 1 lines to a.txt (replaced, CRLF line ends kept, {name} kept)",
            after.len()
        );
        room.check("write_file", &write("int 总和 = 2;\n"), Outcome::Ok, &told).await;
        assert_eq!(room.get("a.txt"), after);
    }
    let before = in_bytes(Encoding::Gbk, TEXT);
    let room = Room::holding("a.txt", &before);
    room.refused("write_file", &write("好😀"), "'😀' (U+1F600) has no form in GBK").await;
    assert_eq!(room.get("a.txt"), before);
    // What nobody could read is not kept.
    room.put("a.txt", b"caf\xe9 \xd6\xd0\n");
    let told = "wrote 7 bytes, 1 lines to a.txt (replaced, UTF-8 now: its encoding was unknown)";
    room.check("write_file", &write("咖啡\n"), Outcome::Ok, told).await;
    assert_eq!(room.get("a.txt"), "咖啡\n".as_bytes());
}

#[tokio::test]
async fn case_e09_the_kind_of_a_binary_file_is_told() {
    let tar = [&b"a.txt"[..], &[0; 252], b"ustar\x0000"].concat();
    for (bytes, kind) in [
        (&tar[..], "a tar archive"),
        (b"\xfd7zXZ\0\0\x04", "xz data"),
        (b"\x28\xb5\x2f\xfd\x24\x05", "zstd data"),
        (b"BZh91AY&SY\x94", "bzip2 data"),
        (b"7z\xbc\xaf\x27\x1c\0\x04", "a 7z archive"),
        (b"\0asm\x01\0\0\0", "a WebAssembly module"),
        (b"\xcf\xfa\xed\xfe\x07\0\0\x01", "a Mach-O program"),
        (b"MZ\x90\0\x03\0\0\0", "a Windows program"),
        (b"\xca\xfe\xba\xbe\0\0\0\x3d", "a Java class or a Mach-O program"),
        (b"wOF2\0\x01\0\0", "a WOFF font"),
        (b"ID3\x04\0\0\0", "MP3 audio"),
        (b"\0\0\0\x20ftypisom", "an MP4 video"),
        (b"OggS\0\x02\0\0", "Ogg audio or video"),
        (b"RIFF\x24\0\0\0WAVEfmt ", "WAVE audio"),
        (b"\xa7\x0d\x0d\x0a\0\0\0\0", "compiled Python"),
        // Without a NUL.
        (&[0xfe, 0x01, 0x80, 0x1f, 0x91, 0x05, 0xc3, 0x28].repeat(20), "a binary file"),
        // UTF-32.
        (b"a\0\0\0b\0\0\0c\0\0\0", "a binary file"),
    ] {
        let room = Room::holding("a.bin", bytes);
        let words = format!("a.bin is {kind}, {} bytes", bytes.len());
        room.refused("read_file", r#"{"path":"a.bin"}"#, &words).await;
    }
    // Texts that begin alike.
    for text in ["MZ is a name\n", "ID3 tags\n", "BMW\n", "x\r\r\ny\n", "\u{1b}[31mred\u{1b}[0m\n", "OggS\n"]
    {
        let room = Room::holding("a.txt", text);
        let output = room.call("read_file", r#"{"path":"a.txt"}"#).await;
        assert_eq!(output.outcome, Outcome::Ok, "{text:?}");
    }
}

#[tokio::test]
async fn t02_letters_behind_much_ascii_are_read_found_edited_and_kept() {
    let ascii = "int a;\n".repeat(9_500);
    let comment = "// 请把用户的姓名和地址写入数据库\n";
    let in_gbk = |text: &str| encoding_rs::GBK.encode(text).0.into_owned();
    let whole = |rest: &str| [ascii.as_bytes(), &in_gbk(rest)].concat();
    let room = Room::holding("a.c", whole(&format!("{comment}int x = 1;\n")));
    let read = room.text("read_file", r#"{"path":"a.c","from":9501}"#).await;
    assert!(read.starts_with(&format!("{comment}int x = 1;\n[lines 9501–9502 of 9502")), "{read}");
    assert!(read.contains("GBK; edit_file and write_file keep that"), "{read}");
    let found = room.text("search_files", r#"{"pattern":"姓名"}"#).await;
    assert!(found.contains("a.c:9501: // 请把用户的姓名"), "{found}");
    let edit = r#"{"path":"a.c","edits":[{"old":"int x = 1;","new":"int x = 1; // 数量"}]}"#;
    let text = "edited 1 place in a.c (line 9502); GBK kept";
    room.check("edit_file", edit, Outcome::Ok, text).await;
    assert!(room.get("a.c") == whole(&format!("{comment}int x = 1; // 数量\n")), "the rest is as it was");
    // A file that begins with other letters is told by those.
    let content = arguments(&[("path", "a.c"), ("content", "// 数量\n")]);
    let text = "wrote 8 bytes, 1 lines to a.c (replaced, GBK kept)";
    room.check("write_file", &content, Outcome::Ok, text).await;
    assert_eq!(room.get("a.c"), in_gbk("// 数量\n"));
}
