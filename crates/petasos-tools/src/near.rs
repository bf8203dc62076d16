//! What in a text is most like a piece that is not there, and where the two part.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

/// Lines of the text that are looked at.
const MOST_LINES: usize = 50_000;
/// Lines of the piece that are compared.
const MOST_WANTED: usize = 200;
/// Places that are compared line by line.
const MOST_PLACES: usize = 20;
/// Equal lines of the piece that vote for a place each.
const MOST_ALIKE: usize = 50;
/// Letters of a line that are compared.
const MOST_LETTERS: usize = 300;
/// Of 1000, which is all: half of the pairs of letters.
const LIKE: usize = 500;
/// Letters of a line in which the beginning of another is looked for.
const MOST_OF_A_LINE: usize = 20_000;
/// Lines and characters of it that are told.
const TOLD: (usize, usize) = (10, 400);

/// The place in a text that is most like a piece.
#[derive(Debug)]
pub(crate) struct Near {
    /// The line where it begins, from 1.
    pub(crate) line: usize,
    /// What stands there.
    pub(crate) text: String,
    /// The first line that is not as it was given, and how.
    pub(crate) parts: String,
}

/// Finds it; none if nothing is much alike.
pub(crate) fn nearest(text: &str, piece: &str) -> Option<Near> {
    let lines: Vec<&str> = text.lines().take(MOST_LINES).collect();
    let wanted: Vec<&str> = piece.lines().take(MOST_WANTED).collect();
    let scored = places(&lines, &wanted).into_iter().map(|place| (score(&lines, &wanted, place), place));
    let best = scored.max_by_key(|(score, place)| (*score, Reverse(*place)));
    let (_, first) = best.filter(|(score, _)| *score >= LIKE)?;
    let (most_lines, most_letters) = TOLD;
    let near: Vec<&str> = lines.iter().skip(first).take(wanted.len().min(most_lines)).copied().collect();
    let text = near.join("\n").chars().take(most_letters).collect();
    let rest = piece.lines().skip(wanted.len()).count();
    Some(Near { line: first + 1, text, parts: parting(&lines, &wanted, rest, first) })
}

/// The piece without the numbers that every line of it begins with, if they count up as those of a listing do.
pub(crate) fn without_numbers(piece: &str) -> Option<String> {
    let mut text = String::new();
    let mut before: Option<u64> = None;
    for line in piece.split_inclusive('\n') {
        let digits = line.trim_start_matches(' ');
        let rest = digits.trim_start_matches(|letter: char| letter.is_ascii_digit());
        let number: u64 = digits.strip_suffix(rest)?.parse().ok()?;
        if before.is_some_and(|before| before.checked_add(1) != Some(number)) {
            return None;
        }
        before = Some(number);
        let sign = rest.chars().next().filter(|sign| matches!(sign, '\t' | ':' | '|' | '→'))?;
        text.push_str(rest.strip_prefix(sign)?);
    }
    before.map(|_| text)
}

/// Where the piece may be meant to begin: where lines are equal but for blanks and signs that look alike, and where
/// the longest line has its like.
fn places(lines: &[&str], wanted: &[&str]) -> Vec<usize> {
    let mut alike: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, line) in wanted.iter().enumerate() {
        let same = alike.entry(folded(line)).or_default();
        if same.len() < MOST_ALIKE {
            same.push(at);
        }
    }
    let mut votes: BTreeMap<usize, usize> = BTreeMap::new();
    let longest = wanted.iter().enumerate().max_by_key(|(at, line)| (line.trim().len(), Reverse(*at)));
    let Some((anchor, longest)) = longest else { return Vec::new() };
    let longest = pairs(longest);
    let mut like: Vec<(usize, usize)> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let plain = folded(line);
        for before in alike.get(&plain).into_iter().flatten().filter(|_| !plain.is_empty()) {
            if let Some(place) = at.checked_sub(*before) {
                *votes.entry(place).or_default() += plain.len();
            }
        }
        if let Some(place) = at.checked_sub(anchor) {
            like.push((similar(&pairs(line), &longest), place));
        }
    }
    let best = |mut all: Vec<(usize, usize)>| {
        all.sort_by_key(|(score, place)| (Reverse(*score), *place));
        all.into_iter().take(MOST_PLACES).map(|(_, place)| place)
    };
    let voted = votes.into_iter().map(|(place, votes)| (votes, place)).collect();
    best(voted).chain(best(like)).collect()
}

/// How like the piece the lines from a place on are; 1000 is equal, but for blanks.
fn score(lines: &[&str], wanted: &[&str], place: usize) -> usize {
    let mut met = lines.iter().skip(place);
    let (mut sum, mut weights) = (0, 0);
    for line in wanted {
        let letters = pairs(line);
        let weight = letters.len() + 1;
        sum += met.next().map_or(0, |met| similar(&pairs(met), &letters)) * weight;
        weights += weight;
    }
    sum / weights.max(1)
}

fn similar(one: &[(char, char)], other: &[(char, char)]) -> usize {
    if one.is_empty() && other.is_empty() {
        return 1000;
    }
    let shared = one.iter().filter(|pair| other.binary_search(pair).is_ok()).count();
    (shared * 2_000 / (one.len() + other.len()).max(1)).min(1000)
}

/// Pairs of letters that stand beside each other, without white space; sorted.
fn pairs(line: &str) -> Vec<(char, char)> {
    let letters = line.chars().filter(|letter| !letter.is_whitespace()).map(look).take(MOST_LETTERS);
    let letters: Vec<char> = letters.collect();
    let mut pairs: Vec<(char, char)> = letters.iter().copied().zip(letters.iter().copied().skip(1)).collect();
    if let ([only], true) = (letters.as_slice(), pairs.is_empty()) {
        pairs.push((*only, *only));
    }
    pairs.sort_unstable();
    pairs
}

/// A line without its white space, and with signs that look alike as one.
fn folded(line: &str) -> String {
    line.chars().filter(|letter| !letter.is_whitespace() && !is_unseen(*letter)).map(look).collect()
}

fn look(letter: char) -> char {
    match letter {
        '‘' | '’' | '‚' | '′' | '＇' => '\'',
        '“' | '”' | '„' | '″' | '＂' => '"',
        '‐' | '‑' | '‒' | '–' | '—' | '−' | '－' => '-',
        '，' => ',',
        '：' => ':',
        '；' => ';',
        '（' => '(',
        '）' => ')',
        other => other,
    }
}

fn is_unseen(letter: char) -> bool {
    matches!(letter, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}')
}

/// The first line that is not as it was given, and how it differs.
fn parting(lines: &[&str], wanted: &[&str], rest: usize, first: usize) -> String {
    let last = (wanted.len() + rest).saturating_sub(1);
    for (at, given) in wanted.iter().enumerate() {
        let number = first + at + 1;
        let Some(line) = lines.get(first + at) else {
            return format!("the text ends before line {number}");
        };
        // The piece may begin and end inside of a line.
        let begins_inside = at == 0 && (line.ends_with(given) || (last == 0 && line.contains(given)));
        let is_same = line == given || begins_inside || (at == last && line.starts_with(given));
        if !is_same {
            return format!("line {number} differs: {}", how(line, given));
        }
    }
    if rest > 0 {
        return format!(
            "its first {} lines are there, the {rest} after them were not compared",
            wanted.len()
        );
    }
    "its lines are there, but the text has no newline where one was given".to_owned()
}

/// How a line differs from the one that was given for it.
fn how(line: &str, given: &str) -> String {
    let (begins, same) = begin_alike(line, given);
    let of = |text: &str, place: usize| text.chars().nth(place);
    let (met, wanted) = (of(line, begins + same), of(given, same));
    let place = begins + same + 1;
    let what = if line.trim_end() == given.trim_end() {
        "; only blanks at its end differ"
    } else if line.trim() == given.trim() {
        "; only its indent differs"
    } else if folded(line) == folded(given) {
        "; only blanks, or signs that look alike, differ"
    } else if line.to_lowercase() == given.to_lowercase() {
        "; only upper and lower case differ"
    } else {
        ""
    };
    format!("at character {place} it has {}, the old text has {}{what}", named(met), named(wanted))
}

/// Where in a line the longest beginning of the other stands, and how long that is, both in characters. It is the
/// beginning of the line if that is as good.
fn begin_alike(line: &str, given: &str) -> (usize, usize) {
    // What is far behind in a long line is not found, and costs no time.
    let line =
        line.char_indices().nth(MOST_OF_A_LINE).map_or(line, |(end, _)| line.get(..end).unwrap_or(line));
    let from_start = line.chars().zip(given.chars()).take_while(|(one, other)| one == other).count();
    let (mut begins, mut same) = (0, from_start);
    for (end, letter) in given.char_indices().take(MOST_LETTERS) {
        let beginning = given.get(..end + letter.len_utf8()).unwrap_or_default();
        let Some(place) = line.find(beginning) else { break };
        let length = beginning.chars().count();
        if length > same {
            begins = line.get(..place).unwrap_or_default().chars().count();
            same = length;
        }
    }
    (begins, same)
}

fn named(letter: Option<char>) -> String {
    match letter {
        None => "its end".to_owned(),
        Some(' ') => "a blank".to_owned(),
        Some('\t') => "a tab".to_owned(),
        Some(letter) if letter.is_ascii_graphic() => format!("{letter:?}"),
        Some(letter) if letter.is_whitespace() || letter.is_control() || is_unseen(letter) => {
            format!("U+{:04X}", u32::from(letter))
        }
        Some(letter) => format!("{letter} (U+{:04X})", u32::from(letter)),
    }
}
