//! Reasoning that stands in the content, between `<think>` and `</think>`: servers without a reasoning
//! parser send it so (DeepSeek R1, Qwen). The tag counts only at the very start of the content, so a
//! model that writes about it later is not misread. It may be cut anywhere.

use super::chunk::Words;

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";
/// So many blanks before a tag are held back; with more there is none.
const BLANKS: usize = 64;

/// Tells reasoning from the answer in content that comes in pieces.
#[derive(Clone, Debug)]
pub(super) enum Think {
    /// Nothing but what may become the opening tag.
    Start(String),
    /// Between the tags, with what may become the closing one.
    Inside(String),
    /// In the answer.
    Answer,
}

impl Think {
    /// Takes in more content.
    pub(super) fn take(&mut self, text: String) -> Vec<Words> {
        match std::mem::replace(self, Self::Answer) {
            Self::Answer => vec![Words::Text(text)],
            Self::Start(held) => self.start(held + &text),
            Self::Inside(held) => self.inside(&(held + &text)),
        }
    }

    /// What is held back, as what it is now: no more of it comes before something else.
    pub(super) fn give_back(&mut self) -> Option<Words> {
        let words = match self {
            Self::Start(held) => Words::Text(std::mem::take(held)),
            Self::Inside(held) => Words::Reasoning(std::mem::take(held)),
            Self::Answer => return None,
        };
        let is_empty = match &words {
            Words::Text(text) | Words::Reasoning(text) | Words::Refusal(text) => text.is_empty(),
        };
        (!is_empty).then_some(words)
    }

    fn start(&mut self, text: String) -> Vec<Words> {
        let begun = text.trim_start();
        if let Some(rest) = begun.strip_prefix(OPEN) {
            return self.inside(rest);
        }
        if OPEN.starts_with(begun) && text.len() <= BLANKS {
            *self = Self::Start(text);
            return Vec::new();
        }
        vec![Words::Text(text)]
    }

    fn inside(&mut self, text: &str) -> Vec<Words> {
        if let Some((thought, answer)) = text.split_once(CLOSE) {
            return vec![Words::Reasoning(thought.to_owned()), Words::Text(answer.to_owned())];
        }
        // Only what may be the start of the closing tag is looked at again.
        let held =
            (1..CLOSE.len()).rev().filter_map(|length| CLOSE.get(..length)).find(|tag| text.ends_with(tag));
        let held = held.unwrap_or_default();
        let thought = text.strip_suffix(held).unwrap_or(text);
        *self = Self::Inside(held.to_owned());
        vec![Words::Reasoning(thought.to_owned())]
    }
}
