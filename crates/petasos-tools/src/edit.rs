//! Replacing pieces of a text, where line ends alone may differ.
//!
//! The text is searched as if every line ended with LF, and changed in its bytes: what is not replaced keeps them,
//! whatever the encoding, and what is put in is written as the rest of the file is, with the line ends of what it
//! replaces. What may be half a letter is never touched.

use std::borrow::Cow;
use std::ops::Range;

use crate::edit_file::Edit;
use crate::encoding::{Decoded, Encoding, NoForm};
use crate::kind::binary;
use crate::mask::Mask;
use crate::near::{nearest, without_numbers};
use crate::output::Problem;
use crate::signs;

/// Places told of in an error.
const MOST_TOLD: usize = 20;
/// Places whose lines are told of when all is done.
const MOST_PLACES: usize = 1_000;
/// Bytes of what comes out: a short piece that is there often, and is replaced by a long one, could fill the memory.
const LARGEST: usize = 64 * 1024 * 1024;

/// Flaws of a file that is still edited: a long text in the letters of another time has many, and each takes memory.
const MOST_FLAWS: usize = 1_000_000;

/// What is shown for a byte that is no letter.
pub(crate) const LOST: char = '\u{fffd}';

/// A text after its edits.
#[derive(Debug)]
pub(crate) struct Edited {
    /// All of it.
    pub(crate) content: Vec<u8>,
    /// How it is written.
    pub(crate) encoding: Encoding,
    /// The lines where edits were made, each as it was counted when that edit was made. The first ones, if
    /// there are very many.
    pub(crate) places: Vec<u64>,
    /// How many there are.
    pub(crate) count: usize,
    /// Places that were left as they are, beside bytes that are no letter.
    pub(crate) left: usize,
    /// What became of its last line.
    pub(crate) end: End,
}

/// What became of the end of the last line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It is as it was.
    Same,
    /// It had one and has none.
    Lost,
}

/// Makes edits in their order. What is told of the text when one fails is hidden by `mask`.
pub(crate) fn apply(content: Vec<u8>, edits: &[Edit], mask: Option<&Mask>) -> Result<Edited, Problem> {
    if edits.is_empty() {
        let hint = "give at least one edit with old and new";
        return Err(Problem::new("no edits", "the list of edits is empty", hint));
    }
    // Told once: what is put in must not make it another.
    let encoding = Encoding::of(&content);
    is_text(&content, encoding)?;
    let before = content.clone();
    let mut edited = Edited { content, encoding, places: Vec::new(), count: 0, left: 0, end: End::Same };
    for (number, edit) in (1..).zip(edits) {
        one(&mut edited, edit, &format!("edit {number} of {}", edits.len()), mask)?;
    }
    if edited.content == before {
        let cause = "with all edits made the file is as it was";
        let hint = "line ends are kept as they are; leave the edits out, or give another new text";
        return Err(Problem::new("no change", cause, hint));
    }
    let newline = encoding.encode("\n").unwrap_or_default();
    if before.ends_with(&newline) && !edited.content.is_empty() && !edited.content.ends_with(&newline) {
        edited.end = End::Lost;
    }
    Ok(edited)
}

/// A problem if it is no text: a program of which a piece is replaced is broken.
fn is_text(content: &[u8], encoding: Encoding) -> Result<(), Problem> {
    let flaws = || content.utf8_chunks().filter(|chunk| !chunk.invalid().is_empty());
    let cause = if let Some(kind) = binary(content, encoding) {
        format!("it is {kind}, {} bytes", content.len())
    } else if matches!(encoding, Encoding::Utf8(_) | Encoding::Bytes) && flaws().nth(MOST_FLAWS).is_some() {
        format!("at more than {MOST_FLAWS} places it is no text")
    } else {
        return Ok(());
    };
    let hint = "use a program for its kind by run_command (python3, xxd); nothing was changed";
    Err(Problem::new("not edited", cause, hint))
}

fn one(edited: &mut Edited, edit: &Edit, which: &str, mask: Option<&Mask>) -> Result<(), Problem> {
    let old = edit.old.replace("\r\n", "\n");
    if old.is_empty() {
        let hint = "give the text to replace; to write the whole file use write_file";
        return Err(Problem::new("old is empty", format!("{which} names no text"), hint));
    }
    if edit.old == edit.new {
        let hint = "leave the edit out, or give another new text";
        return Err(Problem::new("no change", format!("{which} has the same old and new text"), hint));
    }
    let read = edited.encoding.decode(&edited.content);
    if read.is_flawed() && edit.new.contains(LOST) {
        return Err(would_lose(&format!("the new text of {which}")));
    }
    signs::check(&edit.new, read.text(), &format!("the new text of {which}"))?;
    if mostly_flawed(&read) && !edit.new.is_ascii() {
        return Err(of_no_encoding(which));
    }
    let plain = Plain::new(&read);
    let Some(first) = plain.next(&old, 0) else { return Err(not_found(&plain, &old, which, mask)) };
    // A second place may begin inside of the first.
    let is_unique = || plain.next(&old, first + first_letter(&old)).is_none();
    if !edit.all.unwrap_or(false) && !is_unique() {
        return Err(ambiguous(&plain, &old, which));
    }
    let replaced = replace(edited, &plain, (&old, &edit.new), which)?;
    edited.content = replaced.content;
    edited.count += replaced.count;
    edited.left += replaced.left;
    let room = MOST_PLACES.saturating_sub(edited.places.len());
    edited.places.extend(replaced.places.into_iter().take(room));
    Ok(())
}

/// True if less of what is no ASCII can be read than not.
fn mostly_flawed(read: &Decoded<'_>) -> bool {
    let flaws = || read.text().matches(LOST).count();
    read.is_flawed() && read.text().chars().filter(|letter| !letter.is_ascii()).count() < flaws() * 2
}

/// Bytes of the first letter of a text.
fn first_letter(text: &str) -> usize {
    text.chars().next().map_or(0, char::len_utf8)
}

/// What one edit made of the content.
struct Made {
    content: Vec<u8>,
    places: Vec<u64>,
    count: usize,
    left: usize,
}

/// Replaces every place of the first text by the second.
fn replace(
    edited: &Edited,
    plain: &Plain<'_>,
    (old, new): (&str, &str),
    which: &str,
) -> Result<Made, Problem> {
    let (from_whole, text) = (&edited.content, plain.read.text());
    let whole = Ends::of(text);
    let mut made =
        Made { content: Vec::with_capacity(from_whole.len()), places: Vec::new(), count: 0, left: 0 };
    let (mut kept_to, mut lines) = (0, Lines::new(&plain.text));
    for start in plain.find(old) {
        let (begins, ends) = (plain.original(start), plain.original(start + old.len()));
        let (from, to) = (plain.read.byte_of(begins), plain.read.byte_of(ends));
        made.content.extend_from_slice(from_whole.get(kept_to..from).unwrap_or_default());
        let replaced = text.get(begins..ends).unwrap_or_default();
        let line_ends = if replaced.contains('\n') { Ends::of(replaced) } else { whole };
        let written = edited.encoding.encode(&line_ends.give(new));
        let written = written.map_err(|error| no_form(&error, which))?;
        if plain.begins_beside_a_flaw(start) {
            stays_whole(from_whole, from..to, &written, edited.encoding, which)?;
        }
        made.content.extend_from_slice(&written);
        if made.content.len() > LARGEST {
            let cause = format!("with {which} the file would have more than {LARGEST} bytes");
            let hint = "replace less at once, or use run_command (sed, python3); nothing was changed";
            return Err(Problem::new("the file would be too large", cause, hint));
        }
        kept_to = to;
        made.count += 1;
        if made.places.len() < MOST_PLACES {
            made.places.push(lines.of(start));
        }
    }
    made.content.extend_from_slice(from_whole.get(kept_to..).unwrap_or_default());
    if plain.sure.len() > 1 {
        made.left = plain.text.matches(old).count().saturating_sub(made.count);
    }
    Ok(made)
}

/// A byte that is no letter would take what follows it for its second half.
fn stays_whole(
    content: &[u8],
    place: Range<usize>,
    written: &[u8],
    encoding: Encoding,
    which: &str,
) -> Result<(), Problem> {
    let before = place.start.checked_sub(1).and_then(|at| content.get(at));
    let followed = content.get(place.start);
    let follows = written.first().or_else(|| content.get(place.end));
    let would_join = follows.is_some_and(|byte| matches!(byte, b'0'..=b'9' | b'@'..=b'~' | 0x80..));
    let is_other = followed != follows && !matches!(encoding, Encoding::Utf16(..));
    if before.is_some_and(|byte| *byte >= 0x80) && would_join && is_other {
        let cause =
            format!("before the old text of {which} are bytes that are no letter of {}", encoding.name());
        let hint = "they could take what comes after them for their second half: let old and new begin with the same \
                    sign, or use run_command (sed, python3); nothing was changed";
        return Err(Problem::new("not safe", cause, hint));
    }
    Ok(())
}

/// A text in which every line ends with LF alone.
struct Plain<'a> {
    read: &'a Decoded<'a>,
    text: Cow<'a, str>,
    /// Places in `text` before which a CR was left out.
    left_out: Vec<usize>,
    /// Where it may be changed.
    sure: Vec<Range<usize>>,
}

impl<'a> Plain<'a> {
    fn new(read: &'a Decoded<'a>) -> Self {
        let (text, left_out) = short_ends(read.text());
        let mut plain = Self { read, text, left_out, sure: Vec::new() };
        let pieces = read.sure().map(|(from, piece)| plain.short(from)..plain.short(from + piece.len()));
        let sure: Vec<Range<usize>> = pieces.collect();
        plain.sure = sure;
        plain
    }

    /// Where a place of it is in the text as it was read.
    fn original(&self, place: usize) -> usize {
        place + self.left_out.partition_point(|left_out| *left_out < place)
    }

    /// Where a place of the text as it was read is in it.
    fn short(&self, place: usize) -> usize {
        let (mut low, mut high) = (0, self.left_out.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            // Where that CR was.
            let at = self.left_out.get(middle).map_or(usize::MAX, |left_out| left_out + middle);
            if at < place {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        place - low
    }

    /// Places of a piece that do not overlap, where it may be changed.
    fn find<'b>(&'b self, piece: &'b str) -> impl Iterator<Item = usize> + 'b {
        self.sure.iter().flat_map(move |sure| {
            let part = self.text.get(sure.clone()).unwrap_or_default();
            part.match_indices(piece).map(move |(place, _)| sure.start + place)
        })
    }

    /// The next place of a piece, also one that begins inside of another.
    fn next(&self, piece: &str, from: usize) -> Option<usize> {
        let passed = self.sure.partition_point(|sure| sure.end <= from);
        self.sure.iter().skip(passed).find_map(|sure| {
            let start = sure.start.max(from);
            let part = self.text.get(start..sure.end).unwrap_or_default();
            part.find(piece).map(|place| start + place)
        })
    }

    /// True if what stands before a place may not be changed.
    fn begins_beside_a_flaw(&self, place: usize) -> bool {
        place > 0 && self.sure.binary_search_by_key(&place, |sure| sure.start).is_ok()
    }
}

/// A text with LF for CRLF, and the places before which a CR was left out.
fn short_ends(text: &str) -> (Cow<'_, str>, Vec<usize>) {
    if !text.contains("\r\n") {
        return (Cow::Borrowed(text), Vec::new());
    }
    let (mut short, mut left_out) = (String::with_capacity(text.len()), Vec::new());
    let mut lines = text.split("\r\n").peekable();
    while let Some(line) = lines.next() {
        short.push_str(line);
        if lines.peek().is_some() {
            left_out.push(short.len());
            short.push('\n');
        }
    }
    (Cow::Owned(short), left_out)
}

/// Whether all lines of a text end alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Uniform {
    /// They do.
    Yes,
    /// Some end with CRLF and some with LF.
    No,
}

/// The line ends that most lines of a text have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    /// LF.
    Short,
    /// CRLF.
    Long,
    /// It has one line.
    None,
}

impl Ends {
    /// Of a text.
    pub(crate) fn of(text: &str) -> Self {
        Self::count(text.as_bytes()).0
    }

    /// Of the bytes of a text, in which a newline is a byte, and whether all lines end so.
    pub(crate) fn count(bytes: &[u8]) -> (Self, Uniform) {
        let all = bytes.iter().filter(|byte| **byte == b'\n').count();
        let long = bytes.windows(2).filter(|pair| pair == b"\r\n").count();
        let uniform = if long == 0 || long == all { Uniform::Yes } else { Uniform::No };
        match (all, long * 2 > all) {
            (0, _) => (Self::None, uniform),
            (_, true) => (Self::Long, uniform),
            (_, false) => (Self::Short, uniform),
        }
    }

    /// A text with these ends. A CR alone is meant.
    fn give(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::None => Cow::Borrowed(text),
            Self::Short => short_ends(text).0,
            Self::Long => Cow::Owned(short_ends(text).0.replace('\n', "\r\n")),
        }
    }
}

/// Counts lines onwards, so that many places cost no more than one.
struct Lines<'a> {
    text: &'a str,
    counted_to: usize,
    line: u64,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, counted_to: 0, line: 1 }
    }

    /// The line of a place, which lies no further back than the one before.
    fn of(&mut self, place: usize) -> u64 {
        let between = self.text.get(self.counted_to..place).unwrap_or_default();
        self.line += between.bytes().filter(|byte| *byte == b'\n').count() as u64;
        self.counted_to = place;
        self.line
    }
}

fn ambiguous(plain: &Plain<'_>, old: &str, which: &str) -> Problem {
    let many = plain.find(old).count();
    let mut counted = Lines::new(&plain.text);
    let mut line = |place| counted.of(place).to_string();
    let (how, lines): (String, Vec<String>) = if many > 1 {
        (format!("{many} places"), plain.find(old).take(MOST_TOLD).map(&mut line).collect())
    } else {
        let next = |place: &usize| plain.next(old, place + first_letter(old));
        let places = std::iter::successors(plain.next(old, 0), next).take(2);
        ("places that overlap".to_owned(), places.map(&mut line).collect())
    };
    let dots = if many > MOST_TOLD { ", …" } else { "" };
    let cause = format!("the old text of {which} is at {how}: lines {}{dots}", lines.join(", "));
    Problem::new("not unique", cause, "give more of the text around it, or all: true; nothing was changed")
}

fn not_found(plain: &Plain<'_>, old: &str, which: &str, mask: Option<&Mask>) -> Problem {
    if let Some(place) = plain.text.find(old) {
        let line = Lines::new(&plain.text).of(place);
        let cause = format!("the old text of {which} is at line {line}, beside bytes that are no letter");
        let hint = "it may be half of a letter there; give another piece, or use run_command (sed, python3); nothing was \
                    changed";
        return Problem::new("not safe", cause, hint);
    }
    let unshown = signs::unshown(old);
    if unshown != old && plain.text.contains(&*unshown) {
        let cause = format!(
            "the old text of {which} has signs in it (\\u{{…}}, \u{2400}) that only show what the file has"
        );
        let hint = "give the character itself there (in JSON \\u and four digits), or a piece without it; nothing was \
                    changed";
        return Problem::new("no match", cause, hint);
    }
    if without_numbers(old).is_some_and(|old| plain.text.contains(&*old)) {
        let cause =
            format!("the lines of the old text of {which} begin with numbers, which are not in the file");
        let hint = "give the same text without the line numbers; nothing was changed";
        return Problem::new("no match", cause, hint);
    }
    // Before it is cut: half of a key would be known to nobody.
    let hide = |text| mask.map_or(Cow::Borrowed(text), |mask| mask.hide(text));
    let cause = match nearest(&hide(&plain.text), &hide(old)) {
        Some(near) => format!(
            "the old text of {which} is not there; {}; the nearest is at line {}: {}",
            near.parts, near.line, near.text
        ),
        None => format!("the old text of {which} is not there, nor any line like it"),
    };
    let hint = "read the file again and give the old text exactly as it stands there; nothing was changed";
    Problem::new("no match", cause, hint)
}

/// A sign that only shows that there is something else would be written for it.
pub(crate) fn would_lose(what: &str) -> Problem {
    let cause =
        format!("the file has bytes that are no letter, shown as \u{fffd}, and {what} has \u{fffd} in it");
    let hint = "written so, those bytes would be lost: change other parts with edit_file, which keeps them, or use \
                run_command; nothing was changed";
    Problem::new("bytes would be lost", cause, hint)
}

/// Nobody knows how a letter is to be written in a file that is mostly no UTF-8.
fn of_no_encoding(which: &str) -> Problem {
    let cause = format!(
        "the new text of {which} has letters beyond ASCII, and most of those in the file are not UTF-8"
    );
    let hint = "use ASCII, or write the file as UTF-8 with run_command first (iconv); nothing was changed";
    Problem::new("a letter cannot be written", cause, hint)
}

/// What is to be put in cannot be written as the rest of the file is.
fn no_form(error: &NoForm, which: &str) -> Problem {
    let cause = format!("the new text of {which}: {error}, which the file is written in");
    let hint =
        "use other letters, or write the file as UTF-8 with run_command first (iconv); nothing was changed";
    Problem::new("a letter cannot be written", cause, hint)
}
