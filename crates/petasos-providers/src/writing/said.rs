//! What was said and noted, as the text of a user message. The wire has one role for a person, a job and
//! the program, so whoever is not the person is named in words.

use petasos_core::entry::{Content, Note, Said, Speaker, When};
use petasos_core::text::Text;

use crate::writing::{Rule, Rules};

/// Stands before an answer that nothing stands before.
pub(crate) const NOT_SHOWN: &str = "[from the program, not the user] What was said before this is not shown.";

/// Stands behind an answer that nothing of the user's stands behind: many servers want the last word to be the
/// user's, and strict ones no two answers in a row.
pub(crate) const CONTINUE: &str = "Continue.";

/// What somebody said.
pub(crate) fn said(said: &Said, rules: Rules) -> String {
    let mut paragraphs: Vec<String> = said.content.iter().map(content).collect();
    paragraphs.extend(said.notes.iter().map(Text::to_string));
    paragraphs.retain(|paragraph| !paragraph.trim().is_empty());
    if paragraphs.is_empty() && rules.hold(Rule::UsersSaySomething) {
        paragraphs.push(String::from("(an empty message)"));
    }
    let text = paragraphs.join("\n\n");
    match mark(said) {
        Some(mark) => format!("[{mark}] {text}"),
        None => text,
    }
}

/// What the program added.
pub(crate) fn note(note: &Note) -> String {
    let text = if note.text.is_blank() { "(an empty note)" } else { &note.text };
    format!("[from the program, not the user] {text}")
}

fn mark(said: &Said) -> Option<&'static str> {
    match (said.when, said.from) {
        (When::Now | When::AfterTurn, Speaker::Person) => None,
        (When::Now | When::AfterTurn, Speaker::Job) => Some("from a scheduled job"),
        (When::Now | When::AfterTurn, Speaker::Parent) => Some("from the agent that you work for"),
        (When::Now | When::AfterTurn, Speaker::Program) => Some("from another program"),
        (When::NextStep, Speaker::Person) => Some("said while you were working"),
        (When::NextStep, Speaker::Job) => Some("said while you were working, by a scheduled job"),
        (When::NextStep, Speaker::Parent) => {
            Some("said while you were working, by the agent that you work for")
        }
        (When::NextStep, Speaker::Program) => Some("said while you were working, by another program"),
    }
}

fn content(content: &Content) -> String {
    match content {
        Content::Text(text) => text.to_string(),
        Content::Blob { hash, bytes, media } => {
            let name: String = hash.to_string().chars().take(8).collect();
            format!("[a file of type {media}, {bytes} bytes, kept as blob:{name}]")
        }
    }
}
