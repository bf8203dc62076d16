//! How texts are written as bytes: told, read, found again in the bytes, and written.

use std::io::Read as _;

use petasos_tools::{Bom, Encoding, Later, NoForm, Order};
use proptest::prelude::*;

const UTF8: Encoding = Encoding::Utf8(Bom::None);
const UTF16LE: Encoding = Encoding::Utf16(Order::Little, Bom::None);
const UTF16BE: Encoding = Encoding::Utf16(Order::Big, Bom::None);
const ALL: [Encoding; 6] = [UTF8, UTF16LE, UTF16BE, Encoding::Gbk, Encoding::Gb18030, Encoding::Bytes];

/// Bytes of a text in an encoding of the web, which test texts never lack a letter of.
fn in_web(name: &str, text: &str) -> Vec<u8> {
    let encoding = encoding_rs::Encoding::for_label(name.as_bytes()).unwrap();
    let (bytes, used, lacking) = encoding.encode(text);
    assert_eq!((used, lacking), (encoding, false), "{text} in {name}");
    bytes.into_owned()
}

fn in_utf16(order: Order, text: &str) -> Vec<u8> {
    Encoding::Utf16(order, Bom::None).encode(text).unwrap()
}

#[track_caller]
fn is(bytes: &[u8], encoding: Encoding) {
    assert_eq!(Encoding::of(bytes), encoding, "{}", bytes.escape_ascii());
}

#[test]
fn t02_an_encoding_is_told_by_its_mark() {
    is(b"\xef\xbb\xbfkey=1\n", Encoding::Utf8(Bom::There));
    is(b"\xef\xbb\xbf", Encoding::Utf8(Bom::There));
    is(b"\xff\xfe", Encoding::Utf16(Order::Little, Bom::There));
    is(b"\xff\xfea\0\n\0", Encoding::Utf16(Order::Little, Bom::There));
    is(b"\xfe\xff\0a\0\n", Encoding::Utf16(Order::Big, Bom::There));
    is(
        &[b"\xff\xfe".to_vec(), in_utf16(Order::Little, "中文\n")].concat(),
        Encoding::Utf16(Order::Little, Bom::There),
    );
    // UTF-32, and what begins by chance as a text of UTF-16 would.
    is(b"\xff\xfe\0\0a\0\0\0b\0\0\0", Encoding::Bytes);
    is(b"\xff\xfe\x01\0\x02\0\x03\0\x04\0", Encoding::Bytes);
}

#[test]
fn t02_utf16_without_a_mark_is_told_by_its_nuls() {
    for (order, encoding) in [(Order::Little, UTF16LE), (Order::Big, UTF16BE)] {
        let texts = [
            "ab",
            "int x = 1;\n",
            "caf\u{e9} au lait\r\n",
            "注释：计算总和\nint x;\n第二行，还有更多\n",
            "日本語のテキストです。\nこれはテストです。\n",
            "Ошибка: файл не найден\nint x = 1;\n",
        ];
        for text in texts {
            is(&in_utf16(order, text), encoding);
        }
    }
    let no_text: [&[u8]; 9] = [
        b"a\0b\n",
        b"needle\0\x01\x02",
        b"needle\0x",
        b"PATH=/usr/bin\0HOME=/root\0LANG=C.UTF-8\0SHELL=/bin/bash\0TERM=xterm\0",
        b"src/main.rs\0src/lib.rs\0tests/it.rs\0readme\0",
        b"\x01\0\x02\0\x03\0\x04\0",
        b"\0\0\0\0",
        b"A\0",
        b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0\x01\0\0\0",
    ];
    for bytes in no_text {
        assert!(!matches!(Encoding::of(bytes), Encoding::Utf16(..)), "{}", bytes.escape_ascii());
    }
}

#[test]
fn t02_chinese_is_told_from_other_encodings_of_the_same_bytes() {
    let chinese = [
        "中文",
        "注释：计算总和",
        "// 计算总和\nint x = 1;\n",
        "第一行\r\n第二行\r\n",
        "配置文件 name=测试",
        "请把用户的姓名和地址写入数据库，如果失败就返回错误。",
        "他说：“今天天气很好”，我们去公园吧！",
        "汉字测试，繁體字也可以",
        "错误：文件不存在",
        "name=张三\nage=3\n",
        "\u{1b}[31m错误\u{1b}[0m：文件不存在\n",
    ];
    for text in chinese {
        is(&in_web("gbk", text), Encoding::Gbk);
    }
    is(&in_web("gb18030", "错误：文件不存在 😀\n"), Encoding::Gb18030);
    let others = [
        ("euc-jp", "これはテストです。"),
        ("euc-jp", "東京都渋谷区"),
        ("shift_jis", "設定ファイルを読み込む"),
        ("euc-kr", "파일을 찾을 수 없습니다"),
        ("euc-kr", "// 합계를 계산한다\nint x;\n"),
        ("big5", "請把使用者的姓名寫入資料庫"),
        ("big5", "錯誤：檔案不存在"),
        ("windows-1251", "Ошибка: файл не найден"),
        ("windows-1251", "Привет"),
        ("koi8-u", "Ошибка: файл не найден"),
        ("windows-1252", "café"),
        ("windows-1252", "caf\u{e9} \u{d6}\u{d0}"),
        ("windows-1252", "naïve façade"),
        ("windows-1252", "Größe: äöüß, Straße, Übergröße"),
        ("windows-1252", "Öl"),
        ("windows-1252", "“quoted” – dash"),
        ("windows-1252", "10 °C ± 2 µm"),
        ("windows-1252", "smörgåsbord ÅÄÖ åäö"),
        ("windows-1252", "$from = 'ÁÉÍÓÚáéíóúñÑ';\n"),
        ("windows-1252", "ÄÖÜäöü"),
        ("windows-1252", "ÖÖÖÖÖÖÖÖ"),
        ("windows-1252", "ÄÄ=1\nÖÖ=2\n"),
        ("windows-1252", "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝàáâãäåæçèéêëìíîïñòóôõöøùúûüýÿ"),
        ("euc-jp", "設定"),
        ("euc-jp", "東京"),
        ("euc-kr", "한글"),
        ("euc-kr", "서울"),
        ("ibm866", "████▓▓▒▒░░"),
        ("shift_jis", "ﾃｽﾄ"),
    ];
    for (name, text) in others {
        is(&in_web(name, text), Encoding::Bytes);
        // Much of the same says no more than a little.
        is(&in_web(name, text).repeat(20), Encoding::Bytes);
    }
}

#[test]
fn case_f13_bytes_of_no_known_encoding_are_bytes() {
    is(b"x = 1;\n// caf\xe9 \xd6\xd0\n", Encoding::Bytes);
    is(b"caf\xe9", Encoding::Bytes);
    is(b"\x80", Encoding::Bytes);
    // One hanzi is too little to tell: it could as well be two letters of a western text.
    is(b"a\n\xd6\xd0\n", Encoding::Bytes);
}

#[test]
fn t02_utf8_stays_utf8_where_few_bytes_are_wrong_and_where_it_is_cut() {
    is(b"", UTF8);
    is("中文 text\n".as_bytes(), UTF8);
    is(b"a\0b", UTF8);
    let with_a_flaw = ["注释：计算总和与平均值\n".as_bytes(), b"\xff\n"].concat();
    is(&with_a_flaw, UTF8);
    for cut in 0..3 {
        let text = "中".repeat(Encoding::BEGINNING);
        is(&text.as_bytes()[..Encoding::BEGINNING - cut + 2], UTF8);
        let chinese = in_web("gbk", &format!("{}{}", "x".repeat(cut), "错误：文件不存在\n".repeat(9_000)));
        is(&chinese[..Encoding::BEGINNING], Encoding::Gbk);
    }
}

#[test]
fn t02_utf8_with_a_wrong_byte_is_never_chinese() {
    let cut = |text: &str| text.as_bytes()[..text.len() - 1].to_vec();
    let with_a_flaw = [
        cut("한글 테스트"),
        cut("错误：文件不存在"),
        ["Ошибка\n20 ".as_bytes(), b"\xb0C\n"].concat(),
        ["日本語テスト20 ".as_bytes(), b"\xb0C"].concat(),
        ["ok 😀 fine 🎉\n20 ".as_bytes(), b"\xb0C"].concat(),
    ];
    for bytes in with_a_flaw {
        is(&bytes, UTF8);
    }
    // As much of the one as of the other.
    let mixed = [
        ["café ".as_bytes(), b"caf\xe9\n"].concat(),
        ["错误 日志 ".as_bytes(), b"\xed\xa0\xbd\xed\xb8\x80"].concat(),
    ];
    for bytes in mixed {
        assert!(
            !matches!(Encoding::of(&bytes), Encoding::Gbk | Encoding::Gb18030),
            "{}",
            bytes.escape_ascii()
        );
    }
}

#[test]
fn t02_utf16_may_hold_colours_and_the_end_of_an_old_file() {
    let marked = |text: &str| [&b"\xff\xfe"[..], &in_utf16(Order::Little, text)].concat();
    for text in ["\u{1b}[32mok\u{1b}[0m done\r\n", "a\u{1a}", "a\u{fffd}b", "x\u{8}y"] {
        is(&marked(&text.repeat(10)), Encoding::Utf16(Order::Little, Bom::There));
    }
    for text in ["مرحبا بالعالم\nكيف الحال\n", "สวัสดี ชาวโลก\nข้อความ\n", "नमस्ते दुनिया\nयह पाठ है\n"]
    {
        is(&in_utf16(Order::Little, text), UTF16LE);
        is(&in_utf16(Order::Big, text), UTF16BE);
    }
}

/// What follows is of a file whose beginning is plain ASCII.
#[test]
fn t02_an_encoding_is_told_by_its_first_letters_however_late_they_are() {
    let ascii = "int a;\n".repeat(9_500);
    let late = |rest: &[u8]| [ascii.as_bytes(), rest].concat();
    let chinese = in_web("gbk", "// 请把用户的姓名和地址写入数据库\n");
    is(&late(&chinese), Encoding::Gbk);
    is(&late("// 请把用户的姓名和地址写入数据库\n".as_bytes()), UTF8);
    is(&late(b"// caf\xe9\n"), Encoding::Bytes);
    // What comes behind so much is no mark.
    is(&late(b"\xff\xfea\0b\0"), Encoding::Bytes);
    is(&late(b""), UTF8);
    for rest in [&chinese[..], "请😀".as_bytes(), b"\xe9", b""] {
        let (whole, mut read) = (late(rest), String::new());
        Later::new(&*whole).read_to_string(&mut read).ok();
        let known = Encoding::of(&whole);
        if known != Encoding::Bytes {
            assert_eq!(read, known.decode(&whole).text());
        }
    }
}

#[test]
fn t02_what_has_no_form_is_named() {
    let said = |encoding: Encoding, text| encoding.encode(text).map_err(|error| error.to_string());
    assert_eq!(Encoding::Gbk.encode("中€"), Ok(b"\xd6\xd0\xa2\xe3".to_vec()));
    assert_eq!(Encoding::Gbk.encode("中😀"), Err(NoForm { letter: '😀', encoding: Encoding::Gbk }));
    assert_eq!(said(Encoding::Gbk, "a😀"), Err("'😀' (U+1F600) has no form in GBK".to_owned()));
    assert_eq!(Encoding::Gb18030.encode("中😀"), Ok(b"\xd6\xd0\x94\x39\xfc\x36".to_vec()));
    assert_eq!(
        said(Encoding::Gb18030, "中\u{e5e5}"),
        Err("'\\u{e5e5}' (U+E5E5) has no form in GB18030".to_owned())
    );
    // What would be read as another letter is not written.
    assert_eq!(Encoding::Gb18030.encode("\u{e81e}").map_err(|error| error.letter), Err('\u{e81e}'));
    assert_eq!(Encoding::Bytes.encode("a = 1;\n"), Ok(b"a = 1;\n".to_vec()));
    assert_eq!(
        said(Encoding::Bytes, "caf\u{e9}"),
        Err("'é' (U+00E9) has no form in an unknown encoding".to_owned())
    );
}

/// The text, and those pieces of it that may be changed.
#[track_caller]
fn reads(encoding: Encoding, bytes: &[u8], text: &str, sure: &[&str]) {
    let read = encoding.decode(bytes);
    let pieces: Vec<&str> = read.sure().map(|(_, piece)| piece).collect();
    assert_eq!((read.text(), pieces.as_slice()), (text, sure), "{}", bytes.escape_ascii());
}

#[test]
fn case_f13_only_what_is_sure_may_be_changed() {
    reads(UTF8, "中文=1\n".as_bytes(), "中文=1\n", &["中文=1\n"]);
    reads(UTF8, b"a=1\n\xff\nb=1\n", "a=1\n\u{fffd}\nb=1\n", &["a=1\n", "\nb=1\n"]);
    reads(Encoding::Utf8(Bom::There), b"\xef\xbb\xbfkey=1\n", "key=1\n", &["key=1\n"]);
    // `a` and `@` may be the second half of a letter.
    reads(UTF8, b"x\xc1a=1", "x\u{fffd}a=1", &["x", "=1"]);
    reads(Encoding::Bytes, b"caf\xe9 \xd6\xd0\n", "caf\u{fffd} \u{fffd}\u{fffd}\n", &["caf", " ", "\n"]);
    reads(Encoding::Bytes, b"\xc1a=1 \xe9@b", "\u{fffd}a=1 \u{fffd}@b", &["=1 ", "b"]);
    reads(Encoding::Bytes, "é1x".as_bytes(), "é1x", &["x"]);
    reads(Encoding::Gbk, b"\xc1\x61=1\n", "羇=1\n", &["羇=1\n"]);
    reads(Encoding::Gbk, b"\xd6\xd0\xff=1\xd6", "中\u{fffd}=1\u{fffd}", &["中", "=1"]);
    reads(UTF16LE, b"a\0\0\xd8b\0c", "a\u{fffd}b\u{fffd}", &["a", "b"]);
}

/// Each letter of a text stands in the bytes where the text says.
#[track_caller]
fn stands_where_it_says(encoding: Encoding, bytes: &[u8]) {
    let read = encoding.decode(bytes);
    let ends = |place: usize, letter: char| read.byte_of(place + letter.len_utf8());
    let mut byte = encoding.bom().len().min(bytes.len());
    for (place, letter) in read.text().char_indices() {
        assert_eq!(read.byte_of(place), byte, "{place} of {:?}", read.text());
        let written = &bytes[byte..ends(place, letter)];
        if letter != char::REPLACEMENT_CHARACTER {
            assert_eq!(encoding.decode(&[encoding.bom(), written].concat()).text(), letter.to_string());
        }
        byte = ends(place, letter);
    }
    assert_eq!(read.byte_of(read.text().len()), bytes.len());
    // Sure pieces are in order and part of the text.
    let mut after = 0;
    for (place, piece) in read.sure() {
        assert!(place >= after && read.text()[place..].starts_with(piece));
        after = place + piece.len();
    }
}

/// What comes in pieces is what comes at once.
#[track_caller]
fn comes_in_pieces(encoding: Encoding, bytes: &[u8], cuts: &[usize]) {
    let whole = encoding.decode(bytes);
    let mut decoder = encoding.decoder();
    let (mut text, mut rest) = (String::new(), bytes);
    for cut in cuts {
        let (piece, after) = rest.split_at((*cut).min(rest.len()));
        decoder.push(piece, &mut text);
        rest = after;
    }
    decoder.push(rest, &mut text);
    decoder.end(&mut text);
    assert_eq!((&*text, decoder.is_flawed()), (whole.text(), whole.is_flawed()));
    let mut read = String::new();
    encoding.reader(bytes).read_to_string(&mut read).unwrap();
    assert_eq!(read, whole.text());
}

#[test]
fn t02_a_long_text_is_read_and_found_again() {
    let line = "第一行 int x = 1; 😀 中文\r\n";
    for encoding in [UTF8, UTF16LE, UTF16BE, Encoding::Gb18030, Encoding::Utf16(Order::Big, Bom::There)] {
        let text = line.repeat(120);
        let mut bytes = [encoding.bom(), &encoding.encode(&text).unwrap()].concat();
        assert_eq!(encoding.decode(&bytes).text(), text);
        stands_where_it_says(encoding, &bytes);
        // With a flaw in its middle, too.
        bytes.insert(bytes.len() / 2 / 2 * 2, 0xff);
        comes_in_pieces(encoding, &bytes, &[1, 1, 3, 64, 1001]);
        stands_where_it_says(encoding, &bytes);
    }
}

fn is_rare(letter: char) -> bool {
    !letter.is_ascii() && !matches!(letter, '一'..='龥')
}

fn encoding() -> impl Strategy<Value = Encoding> {
    prop_oneof![
        proptest::sample::select(ALL.to_vec()),
        Just(Encoding::Utf8(Bom::There)),
        Just(Encoding::Utf16(Order::Little, Bom::There)),
        Just(Encoding::Utf16(Order::Big, Bom::There)),
    ]
}

/// Bytes as files have them, where nothing is sure: halves of letters, marks, NULs, line ends.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        any::<u8>().prop_map(|byte| vec![byte]),
        any::<u16>().prop_map(|unit| unit.to_le_bytes().to_vec()),
        any::<char>().prop_map(|letter| letter.to_string().into_bytes()),
        Just(b"\x81\x30\x81\x30".to_vec()),
        Just(b"\x81\x30a".to_vec()),
        Just(b"\x00\xd8".to_vec()),
        Just(b"\xd8\x00\xdc\x00".to_vec()),
        "[ -~\r\n]{1,4}".prop_map(String::into_bytes),
        "[一-龥]{1,4}".prop_map(|text| encoding_rs::GBK.encode(&text).0.into_owned()),
    ];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn t02_what_is_written_is_read_as_it_was_given(encoding in encoding(), text in "\\PC*") {
        if let Ok(written) = encoding.encode(&text) {
            let whole = [encoding.bom(), &written].concat();
            let read = encoding.decode(&whole);
            prop_assert_eq!((read.text(), read.is_flawed()), (&*text, false));
        } else {
            prop_assert!(matches!(encoding, Encoding::Gbk | Encoding::Gb18030 | Encoding::Bytes));
        }
    }

    #[test]
    fn t02_any_bytes_are_read_and_found_again(encoding in encoding(), bytes in bytes(), cuts in proptest::collection::vec(0..9_usize, 0..6)) {
        let marked = [encoding.bom(), &bytes].concat();
        stands_where_it_says(encoding, &marked);
        comes_in_pieces(encoding, &marked, &cuts);
    }

    /// What is sure, written again where it stood, gives the same bytes: nothing that is not changed is lost.
    #[test]
    fn t02_what_is_sure_is_written_with_the_same_bytes(encoding in encoding(), text in "[ -~一-龥\r\n]{0,40}", flaws in bytes()) {
        let Ok(written) = encoding.encode(&text) else { return Ok(()) };
        let whole = [encoding.bom(), &written, &flaws, &written].concat();
        let read = encoding.decode(&whole);
        for (place, piece) in read.sure() {
            let stood = &whole[read.byte_of(place)..read.byte_of(place + piece.len())];
            if let Ok(again) = encoding.encode(piece) && encoding.decode(&again).text() == piece {
                // Letters of GB 18030 that the standard gives two forms, and the euro sign of the web, have another.
                let has_two_forms = matches!(encoding, Encoding::Gbk | Encoding::Gb18030) && piece.chars().any(is_rare);
                if !has_two_forms {
                    prop_assert_eq!(stood.escape_ascii().to_string(), again.escape_ascii().to_string());
                }
            }
        }
    }

    /// Telling never fails, and what is told reads it.
    #[test]
    fn t02_any_bytes_have_an_encoding(bytes in bytes()) {
        let encoding = Encoding::of(&bytes);
        stands_where_it_says(encoding, &bytes);
        comes_in_pieces(encoding, &bytes, &[1, 2]);
    }
}
