//! Objects by chance, and the ways in which models write them other than as strict JSON.

use petasos_testkit::random::dice::Dice;

/// A JSON value. Numbers by their digits.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    Word(&'static str),
    Number(&'static str),
    Text(String),
    Array(Vec<Tree>),
    Object(Vec<(String, Tree)>),
}

/// A way of writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Strict,
    Comments,
    TrailingCommas,
    CommentsAndCommas,
    Python,
    RawControls,
    Backslashes,
    Fence,
    Words,
    FenceAndWords,
    InText,
    InTextTwice,
    EmptyFirst,
    Twice,
}

impl Way {
    pub const ALL: &[Self] = &[
        Self::Strict,
        Self::Comments,
        Self::TrailingCommas,
        Self::CommentsAndCommas,
        Self::Python,
        Self::RawControls,
        Self::Backslashes,
        Self::Fence,
        Self::Words,
        Self::FenceAndWords,
        Self::InText,
        Self::InTextTwice,
        Self::EmptyFirst,
        Self::Twice,
    ];

    fn is_one_of(self, ways: &[Self]) -> bool {
        ways.contains(&self)
    }
}

/// What breaks who looks at texts without reading them.
pub const PIECES: &[&str] = &[
    "a", "b", " ", "\n", "\t", "\r", "\u{1}", "\"", "'", "\\", "/", "//", "/*", "*/", "#", ",", ":", ",}",
    "{", "}", "[", "]", "```", "`", "None", "True", "null", "\\n", "\\d", "\\u", "北", "𝄞", "é", "{}", "}{",
    "1.50", "it's", "\u{7f}", "\u{2028}", "\u{feff}",
];

/// A text by chance.
pub fn text(dice: &mut Dice) -> String {
    (0..dice.below(7)).map(|_| *dice.pick(PIECES)).collect()
}

/// A value by chance.
pub fn value(dice: &mut Dice, depth: u64) -> Tree {
    match dice.below(if depth == 0 { 7 } else { 10 }) {
        0 => Tree::Word(dice.pick::<&str>(&["null", "true", "false"])),
        1 | 2 => Tree::Number(dice.pick::<&str>(&[
            "0",
            "-7",
            "1.50",
            "2e3",
            "123456789012345678901234567890",
            "-0.0",
        ])),
        3..=6 => Tree::Text(text(dice)),
        7 => Tree::Array((0..dice.below(4)).map(|_| value(dice, depth - 1)).collect()),
        _ => object(dice, depth - 1),
    }
}

/// An object by chance.
pub fn object(dice: &mut Dice, depth: u64) -> Tree {
    let mut members: Vec<(String, Tree)> = Vec::new();
    for _ in 0..dice.below(4) {
        let key = text(dice);
        if members.iter().all(|(other, _)| *other != key) {
            members.push((key, value(dice, depth)));
        }
    }
    Tree::Object(members)
}

/// Writes an object this way.
pub fn write(tree: &Tree, way: Way, dice: &mut Dice) -> String {
    let mut out = String::new();
    put(tree, way, dice, &mut out);
    let fenced = |text: &str| format!("```json\n{text}\n```");
    let quoted = |text: &str| serde_json::to_string(text).unwrap();
    match way {
        Way::Fence => fenced(&out),
        Way::Words => format!("I call it with:\n{out}\nLet's see what \"it\" says."),
        Way::FenceAndWords => format!("Reading the file now.\n{}\nI will read it.", fenced(&out)),
        Way::InText => quoted(&out),
        Way::InTextTwice => quoted(&quoted(&out)),
        Way::EmptyFirst => format!("{{}}{out}"),
        Way::Twice => format!("{out}\n{out}"),
        Way::Strict
        | Way::Comments
        | Way::TrailingCommas
        | Way::CommentsAndCommas
        | Way::Python
        | Way::RawControls
        | Way::Backslashes => out,
    }
}

fn put(tree: &Tree, way: Way, dice: &mut Dice, out: &mut String) {
    match tree {
        Tree::Word(word) if way == Way::Python => {
            out.push_str(match *word {
                "null" => "None",
                "true" => "True",
                _ => "False",
            });
        }
        Tree::Word(word) => out.push_str(word),
        Tree::Number(digits) => out.push_str(digits),
        Tree::Text(text) => quote(text, way, dice, out),
        Tree::Array(items) => {
            out.push('[');
            for (place, item) in items.iter().enumerate() {
                between(place, way, dice, out);
                put(item, way, dice, out);
            }
            close(items.len(), way, dice, out);
            out.push(']');
        }
        Tree::Object(members) => {
            out.push('{');
            for (place, (key, value)) in members.iter().enumerate() {
                between(place, way, dice, out);
                quote(key, way, dice, out);
                blank(way, dice, out);
                out.push(':');
                blank(way, dice, out);
                put(value, way, dice, out);
            }
            close(members.len(), way, dice, out);
            out.push('}');
        }
    }
}

fn between(place: usize, way: Way, dice: &mut Dice, out: &mut String) {
    blank(way, dice, out);
    if place > 0 {
        out.push(',');
        blank(way, dice, out);
    }
}

fn close(length: usize, way: Way, dice: &mut Dice, out: &mut String) {
    blank(way, dice, out);
    if length > 0
        && way.is_one_of(&[Way::TrailingCommas, Way::CommentsAndCommas, Way::Python])
        && dice.permille(500)
    {
        out.push(',');
        blank(way, dice, out);
    }
}

fn blank(way: Way, dice: &mut Dice, out: &mut String) {
    if dice.permille(200) {
        out.push_str(dice.pick::<&str>(&[" ", "\n", "\t", "\r\n"]));
    }
    if way.is_one_of(&[Way::Comments, Way::CommentsAndCommas]) && dice.permille(200) {
        out.push_str(dice.pick::<&str>(&["// why } ]\n", "/* , { */", "# and: so\n", "/**/", "//\n"]));
    }
}

fn quote(text: &str, way: Way, dice: &mut Dice, out: &mut String) {
    // As Python does it: single quotes, but where the text has some and no double ones.
    let is_single = way == Way::Python && (text.contains('"') || !text.contains('\''));
    let quote = if is_single { '\'' } else { '"' };
    out.push(quote);
    // Beside a path of Windows, `\n` has two readings.
    let is_path = text.contains(":\\") || text.starts_with('\\');
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\\' => {
                let next = chars.peek().copied();
                let begins_none = next
                    .is_some_and(|next| !next.is_control() && next != '𝄞' && !"\"\\/'bfnrtu".contains(next));
                out.push_str(if way == Way::Backslashes && begins_none && !is_path { "\\" } else { "\\\\" });
            }
            char if char == quote => out.extend(['\\', char]),
            '\0'..='\u{1f}' if way == Way::RawControls && dice.permille(700) => out.push(char),
            '\n' => out.push_str("\\n"),
            '\0'..='\u{1f}' => out.push_str(&format!("\\u{:04x}", u32::from(char))),
            '/' if way == Way::Strict && dice.permille(300) => out.push_str("\\/"),
            '𝄞' if way != Way::Python && dice.permille(300) => out.push_str("\\ud834\\udd1e"),
            char => out.push(char),
        }
    }
    out.push(quote);
}
