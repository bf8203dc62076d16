//! Characters that cannot be seen, made visible, in one place for all tools: what a person does not see in a file or on a
//! page, a model is not to be told by it either.
//!
//! What belongs to a script or a picture stays: joiners between letters and pictures, selectors behind what they
//! select, marks of direction beside letters, flags made of tags.

use std::borrow::Cow;

/// Characters of a run that are shown one by one.
const LONGEST_RUN: usize = 16;

/// What is said below a text in which something was made visible.
pub(crate) const NOTE: &str = "[characters that cannot be seen are shown as \\u{…}; a file holds them as they are, and \
                               so old and new of edit_file have to]";

/// A text in which every character can be seen, but for what belongs to its letters and pictures.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    // Most texts have nothing but plain characters.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) || !text.chars().any(is_unseen) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text.chars();
    let (mut before, mut run) = (None, 0_usize);
    while let Some(letter) = rest.next() {
        if letter == FLAG
            && let Some(length) = flag(rest.as_str())
        {
            end_run(&mut run, &mut shown);
            shown.push(letter);
            shown.extend(rest.by_ref().take(length));
            before = Some(letter);
        } else if !is_unseen(letter) || belongs(before, letter, rest.clone().next()) {
            end_run(&mut run, &mut shown);
            shown.push(letter);
            before = Some(letter);
        } else {
            run += 1;
            if run <= LONGEST_RUN {
                shown.push_str(&format!("\\u{{{:x}}}", u32::from(letter)));
            }
            before = None;
        }
    }
    end_run(&mut run, &mut shown);
    if shown == text { Cow::Borrowed(text) } else { Cow::Owned(shown) }
}

/// Tells how many of a long run were not shown one by one.
fn end_run(run: &mut usize, shown: &mut String) {
    if let Some(more @ 1..) = run.checked_sub(LONGEST_RUN) {
        shown.push_str(&format!("\\u{{… and {more} more}}"));
    }
    *run = 0;
}

/// A flag of a part of a country goes on in tags.
const FLAG: char = '\u{1f3f4}';
const TAGS_END: char = '\u{e007f}';

/// How many tags make a flag of what comes before them.
fn flag(rest: &str) -> Option<usize> {
    let is_tag = |letter: &char| matches!(letter, '\u{e0030}'..='\u{e0039}' | '\u{e0061}'..='\u{e007a}');
    let tags = rest.chars().take_while(is_tag).count();
    let is_flag = (1..=6).contains(&tags) && rest.chars().nth(tags) == Some(TAGS_END);
    is_flag.then_some(tags + 1)
}

/// True for what has no picture of its own.
fn is_unseen(letter: char) -> bool {
    match letter {
        '\n' | '\t' => false,
        // Controls.
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => true,
        _ if is_joiner(letter) || is_selector(letter) => true,
        // Embeddings and overrides of direction, separators, fillers, invisible signs, notes, tags.
        '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}' => true,
        '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
        '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' => true,
        '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}' => true,
        _ => false,
    }
}

/// What joins or parts letters, or tells their direction.
fn is_joiner(letter: char) -> bool {
    matches!(letter, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}')
}

/// What selects a form of the character before it.
fn is_selector(letter: char) -> bool {
    matches!(letter, '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// True if an unseen character belongs to those beside it. `before` is none where nothing is seen.
fn belongs(before: Option<char>, letter: char, after: Option<char>) -> bool {
    let Some(before) = before else { return false };
    if is_selector(letter) {
        return match letter {
            '\u{e0100}'..='\u{e01ef}' => is_ideograph(before),
            '\u{fe0e}' | '\u{fe0f}' if matches!(before, '0'..='9' | '#' | '*') => true,
            _ => !before.is_ascii() && !is_selector(before),
        };
    }
    if !is_joiner(letter) || is_joiner(before) {
        return false;
    }
    let is_of_words = |beside: char| !beside.is_ascii() && !is_joiner(beside);
    let follows = after.is_some_and(|after| !is_unseen(after));
    follows && (is_of_words(before) || after.is_some_and(is_of_words))
}

/// Han characters have many written forms.
fn is_ideograph(letter: char) -> bool {
    matches!(letter, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}
