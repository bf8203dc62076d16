//! Replacing pieces of a text byte for byte, where line ends alone may differ.
//!
//! The text is searched as if every line ended with LF, and changed as it is: what is not replaced keeps its
//! bytes, whatever its encoding, and what is put in gets the line ends of what it replaces.

use crate::edit_file::Edit;
use crate::output::Problem;

/// Places told of in one result.
const MOST_TOLD: usize = 20;
/// Lines looked at for one that is like what was not found.
const MOST_COMPARED: usize = 50_000;

/// A text after its edits.
#[derive(Debug)]
pub(crate) struct Edited {
    /// All of it.
    pub(crate) content: Vec<u8>,
    /// The lines where edits were made, each as it was counted when that edit was made.
    pub(crate) places: Vec<u64>,
}

/// Makes edits in their order.
pub(crate) fn apply(content: Vec<u8>, edits: &[Edit]) -> Result<Edited, Problem> {
    if edits.is_empty() {
        let hint = "give at least one edit with old and new";
        return Err(Problem::new("no edits", "the list of edits is empty", hint));
    }
    let mut edited = Edited { content, places: Vec::new() };
    for (number, edit) in (1..).zip(edits) {
        one(&mut edited, edit, &format!("edit {number} of {}", edits.len()))?;
    }
    edited.places.truncate(1_000);
    Ok(edited)
}

fn one(edited: &mut Edited, edit: &Edit, which: &str) -> Result<(), Problem> {
    let old = edit.old.replace("\r\n", "\n");
    if old.is_empty() {
        let hint = "give the text to replace; to write the whole file use write_file";
        return Err(Problem::new("old is empty", format!("{which} names no text"), hint));
    }
    if edit.old == edit.new {
        let hint = "leave the edit out, or give another new text";
        return Err(Problem::new("no change", format!("{which} has the same old and new text"), hint));
    }
    let plain = short_ends(&edited.content);
    let found = find(&plain.text, &old);
    match (found.len(), edit.all.unwrap_or(false)) {
        (0, _) => return Err(not_found(&plain.text, &old, which)),
        (1, _) | (_, true) => {}
        (many, false) => return Err(ambiguous(&plain.text, &found, many, which)),
    }
    let mut content = Vec::with_capacity(edited.content.len());
    let mut kept_to = 0;
    for start in found {
        let (from, to) = (plain.original(start), plain.original(start + old.len()));
        content.extend_from_slice(edited.content.get(kept_to..from).unwrap_or_default());
        let replaced = edited.content.get(from..to).unwrap_or_default();
        content.extend_from_slice(&with_ends(&edit.new, ends_of(replaced, &edited.content)));
        kept_to = to;
        edited.places.push(line_of(&plain.text, start));
    }
    content.extend_from_slice(edited.content.get(kept_to..).unwrap_or_default());
    edited.content = content;
    Ok(())
}

/// A text in which every line ends with LF alone.
struct ShortEnds {
    text: Vec<u8>,
    /// Places in `text` before which a CR was left out.
    left_out: Vec<usize>,
}

impl ShortEnds {
    /// Where a place of the text is in the original.
    fn original(&self, place: usize) -> usize {
        place + self.left_out.partition_point(|left_out| *left_out < place)
    }
}

fn short_ends(original: &[u8]) -> ShortEnds {
    let mut short = ShortEnds { text: Vec::with_capacity(original.len()), left_out: Vec::new() };
    let mut rest = original.iter().peekable();
    while let Some(byte) = rest.next() {
        if *byte == b'\r' && rest.peek() == Some(&&b'\n') {
            short.left_out.push(short.text.len());
        } else {
            short.text.push(*byte);
        }
    }
    short
}

/// Places of a piece that do not overlap. Text is searched between the bytes that are none: a piece that is text
/// cannot reach over them.
fn find(text: &[u8], piece: &str) -> Vec<usize> {
    let mut places = Vec::new();
    let mut from = 0;
    for chunk in text.utf8_chunks() {
        places.extend(chunk.valid().match_indices(piece).map(|(place, _)| from + place));
        from += chunk.valid().len() + chunk.invalid().len();
    }
    places
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    Short,
    Long,
}

/// The line ends of a piece, or those of the whole if it has none.
fn ends_of(piece: &[u8], whole: &[u8]) -> Ends {
    let text = if piece.contains(&b'\n') { piece } else { whole };
    let all = text.iter().filter(|byte| **byte == b'\n').count();
    let long = text.windows(2).filter(|pair| pair == b"\r\n").count();
    if long * 2 > all { Ends::Long } else { Ends::Short }
}

fn with_ends(new: &str, ends: Ends) -> Vec<u8> {
    match ends {
        // A CR that is given for a text without them is meant.
        Ends::Short => new.as_bytes().to_vec(),
        Ends::Long => {
            let short = short_ends(new.as_bytes()).text;
            let lines: Vec<&[u8]> = short.split(|byte| *byte == b'\n').collect();
            lines.join(&b"\r\n"[..])
        }
    }
}

fn line_of(text: &[u8], place: usize) -> u64 {
    let before = text.get(..place).unwrap_or_default();
    before.iter().filter(|byte| **byte == b'\n').count() as u64 + 1
}

fn ambiguous(text: &[u8], found: &[usize], many: usize, which: &str) -> Problem {
    let lines: Vec<String> =
        found.iter().take(MOST_TOLD).map(|place| line_of(text, *place).to_string()).collect();
    let dots = if many > MOST_TOLD { ", …" } else { "" };
    let cause = format!("the old text of {which} is at {many} places: lines {}{dots}", lines.join(", "));
    Problem::new("not unique", cause, "give more of the text around it, or all: true; nothing was changed")
}

fn not_found(text: &[u8], old: &str, which: &str) -> Problem {
    let cause = match nearest_lines(&String::from_utf8_lossy(text), old) {
        Some((line, near)) => {
            format!("the old text of {which} is not there; the nearest is at line {line}: {near}")
        }
        None => format!("the old text of {which} is not there, nor any line like it"),
    };
    let hint = "read the file again and give the old text exactly as it stands there; nothing was changed";
    Problem::new("no match", cause, hint)
}

/// The lines that are most like the first line of `old` that says anything, as many as `old` has.
fn nearest_lines(text: &str, old: &str) -> Option<(usize, String)> {
    let blank_before = old.lines().take_while(|line| line.trim().is_empty()).count();
    let wanted = pairs(old.lines().nth(blank_before)?);
    let scored = text.lines().take(MOST_COMPARED).enumerate().map(|(at, line)| {
        let met = pairs(line);
        let shared = met.iter().filter(|pair| wanted.binary_search(pair).is_ok()).count();
        (shared * 2_000 / (met.len() + wanted.len()).max(1), at)
    });
    let best = scored.max_by_key(|(score, at)| (*score, usize::MAX - at));
    // Half of its pairs of letters; 1000 is all of them.
    let (_, at) = best.filter(|(score, _)| *score >= 500)?;
    let first = at.saturating_sub(blank_before);
    let count = old.lines().count().min(10);
    let near: Vec<&str> = text.lines().skip(first).take(count).collect();
    Some((first + 1, near.join("\n").chars().take(500).collect()))
}

/// Pairs of letters that stand beside each other, without white space; sorted.
fn pairs(line: &str) -> Vec<(char, char)> {
    let letters: Vec<char> = line.chars().filter(|letter| !letter.is_whitespace()).take(300).collect();
    let mut pairs: Vec<(char, char)> = letters.iter().copied().zip(letters.iter().copied().skip(1)).collect();
    if let ([only], true) = (letters.as_slice(), pairs.is_empty()) {
        pairs.push((*only, *only));
    }
    pairs.sort_unstable();
    pairs
}
