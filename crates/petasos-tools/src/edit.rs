//! Replacing pieces of a text byte for byte, where line ends alone may differ.
//!
//! The text is searched as if every line ended with LF, and changed as it is: what is not replaced keeps its
//! bytes, whatever its encoding, and what is put in gets the line ends of what it replaces.

use crate::edit_file::Edit;
use crate::output::Problem;

/// Places told of in an error.
const MOST_TOLD: usize = 20;
/// Places whose lines are told of when all is done.
const MOST_PLACES: usize = 1_000;
/// Bytes of what comes out: a short piece that is there often, and is replaced by a long one, could fill the memory.
const LARGEST: usize = 64 * 1024 * 1024;
/// Lines looked at for one that is like what was not found.
const MOST_COMPARED: usize = 50_000;

/// A text after its edits.
#[derive(Debug)]
pub(crate) struct Edited {
    /// All of it.
    pub(crate) content: Vec<u8>,
    /// The lines where edits were made, each as it was counted when that edit was made. The first ones, if
    /// there are very many.
    pub(crate) places: Vec<u64>,
    /// How many there are.
    pub(crate) count: usize,
}

/// Makes edits in their order.
pub(crate) fn apply(content: Vec<u8>, edits: &[Edit]) -> Result<Edited, Problem> {
    if edits.is_empty() {
        let hint = "give at least one edit with old and new";
        return Err(Problem::new("no edits", "the list of edits is empty", hint));
    }
    let mut edited = Edited { content, places: Vec::new(), count: 0 };
    for (number, edit) in (1..).zip(edits) {
        one(&mut edited, edit, &format!("edit {number} of {}", edits.len()))?;
    }
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
    // One place is enough to go on if all are meant; a second one is looked for if not.
    let few = find(&plain.text, &old).take(2).count();
    match (few, edit.all.unwrap_or(false)) {
        (0, _) => Err(not_found(&plain.text, &old, which)),
        (1, _) | (_, true) => replace(edited, &plain, (&old, &edit.new), which),
        (_, false) => Err(ambiguous(&plain.text, &old, which)),
    }
}

/// Replaces every place of the first text by the second.
fn replace(
    edited: &mut Edited,
    plain: &ShortEnds,
    (old, new): (&str, &str),
    which: &str,
) -> Result<(), Problem> {
    let whole = ends_of(&edited.content);
    let mut content = Vec::with_capacity(edited.content.len());
    let (mut kept_to, mut lines) = (0, Lines::new(&plain.text));
    for start in find(&plain.text, old) {
        let (from, to) = (plain.original(start), plain.original(start + old.len()));
        content.extend_from_slice(edited.content.get(kept_to..from).unwrap_or_default());
        let replaced = edited.content.get(from..to).unwrap_or_default();
        let ends = if replaced.contains(&b'\n') { ends_of(replaced) } else { whole };
        content.extend_from_slice(&with_ends(new, ends));
        if content.len() > LARGEST {
            let cause = format!("with {which} the file would have more than {LARGEST} bytes");
            let hint = "replace less at once, or use run_command (sed, python3); nothing was changed";
            return Err(Problem::new("the file would be too large", cause, hint));
        }
        kept_to = to;
        edited.count += 1;
        if edited.places.len() < MOST_PLACES {
            edited.places.push(lines.of(start));
        }
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
fn find<'a>(text: &'a [u8], piece: &'a str) -> impl Iterator<Item = usize> + 'a {
    let chunks = text.utf8_chunks().scan(0, |from, chunk| {
        let begins = *from;
        *from += chunk.valid().len() + chunk.invalid().len();
        Some((begins, chunk.valid()))
    });
    chunks.flat_map(move |(begins, valid)| valid.match_indices(piece).map(move |(place, _)| begins + place))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    Short,
    Long,
}

/// The line ends that most lines of a text have.
fn ends_of(text: &[u8]) -> Ends {
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

/// Counts lines onwards, so that many places cost no more than one.
struct Lines<'a> {
    text: &'a [u8],
    counted_to: usize,
    line: u64,
}

impl<'a> Lines<'a> {
    fn new(text: &'a [u8]) -> Self {
        Self { text, counted_to: 0, line: 1 }
    }

    /// The line of a place, which lies no further back than the one before.
    fn of(&mut self, place: usize) -> u64 {
        let between = self.text.get(self.counted_to..place).unwrap_or_default();
        self.line += between.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.counted_to = place;
        self.line
    }
}

fn ambiguous(text: &[u8], old: &str, which: &str) -> Problem {
    let many = find(text, old).count();
    let mut counted = Lines::new(text);
    let lines: Vec<String> =
        find(text, old).take(MOST_TOLD).map(|place| counted.of(place).to_string()).collect();
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
