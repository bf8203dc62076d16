//! Rules of Responses.

use std::collections::BTreeSet;

use super::body::{Keys, Place, check_count, check_keys, check_range, check_truths, listed};
use super::content::{check_content, check_text, says, shows, texts};
use super::json::{Members, Node, find, text, truth};
use super::pairs::Pairs;
use super::tools::{check_format, check_tools, check_without_tools};
use super::{Findings, fits};

const BODY: Keys = Keys {
    content: "input",
    all: &[
        ("model", Place::First),
        ("stream", Place::Before),
        ("store", Place::Before),
        ("include", Place::Before),
        ("tools", Place::Before),
        ("instructions", Place::Before),
        ("prompt_cache_key", Place::Before),
        ("reasoning", Place::Before),
        ("parallel_tool_calls", Place::Before),
        ("input", Place::Content),
        ("tool_choice", Place::After),
        ("max_output_tokens", Place::After),
        ("temperature", Place::Either),
        ("top_p", Place::Either),
        ("text", Place::Either),
    ],
};

const TOOL: &[&str] = &["type", "name", "description", "parameters", "strict"];
const CALL: &[&str] = &["type", "id", "call_id", "name", "arguments", "status"];
const RESULT: &[&str] = &["type", "id", "call_id", "output", "status"];
const REASONING: &[&str] = &["type", "id", "summary", "content", "encrypted_content", "status"];
const SAID_BY_USER: &[&str] = &["type", "role", "content"];
const SAID_BY_ASSISTANT: &[&str] = &["type", "id", "role", "status", "phase", "content"];

const SEALED: &str = "reasoning.encrypted_content";

/// The longest id of an item but one of reasoning.
const LONGEST_ITEM_ID: usize = 64;

pub fn check(body: &Members, found: &mut Findings) {
    check_keys(body, BODY, found);
    let face = |place: &str, tool, found: &mut Findings| {
        found.keys(place, tool, TOOL);
        if text(tool, "type") != Some("function") {
            found.add(format!("{place}: its type is not function"));
        }
        // Left out it means true, and the schema is rewritten.
        if truth(tool, "strict").is_none() {
            found.add(format!("{place}: strict is neither true nor false"));
        }
        Some(tool)
    };
    let names = check_tools(body, "parameters", face, found);
    check_without_tools(body, &["tool_choice", "parallel_tool_calls"], found);
    match find(body, "tool_choice") {
        None => {}
        Some(Node::Text(choice)) if matches!(choice.as_str(), "auto" | "none" | "required") => {}
        Some(Node::Object(choice)) if text(choice, "name").is_some_and(|name| names.contains(name)) => {}
        Some(_) => found.add("body: tool_choice is neither a word for it nor a tool that is there"),
    }
    match find(body, "text").map(Node::object) {
        None => {}
        Some(Some(words)) => {
            found.keys("text", words, &["format"]);
            match find(words, "format") {
                Some(format) => check_format("text.format", format, None, found),
                None => found.add("text: no format; leave the key out"),
            }
        }
        Some(None) => found.add("text: no object"),
    }
    if find(body, "instructions").is_some() && !says(body, "instructions") {
        found.add("body: empty instructions; leave the key out");
    }
    let includes = |names: &[Node]| names.iter().all(|name| name.text() == Some(SEALED));
    if find(body, "include").is_some() && !listed(body, "include").is_some_and(includes) {
        found.add(format!("body: include is no list of {SEALED:?} alone"));
    }
    check_range(body, "temperature", 0.0..=2.0, found);
    check_range(body, "top_p", 0.0..=1.0, found);
    check_count(body, "max_output_tokens", 16.0, found);
    check_truths(body, &["stream", "store", "parallel_tool_calls"], found);
    let Some(items) = listed(body, "input") else {
        found.add("input: no list with something in it");
        return;
    };
    let kept = if truth(body, "store") == Some(false) { Kept::Nowhere } else { Kept::ByTheServer };
    Conversation { kept, ids: BTreeSet::new(), pairs: Pairs::default(), last: Last::Nothing }
        .check(items, found);
}

/// Whether the server keeps the items of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    Nowhere,
    ByTheServer,
}

/// What stands before an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    Nothing,
    User,
    /// A message of the assistant's.
    Assistant,
    Reasoning,
    Call,
    Result,
}

/// What has been said so far.
#[derive(Debug)]
struct Conversation<'a> {
    kept: Kept,
    ids: BTreeSet<&'a str>,
    pairs: Pairs,
    last: Last,
}

impl<'a> Conversation<'a> {
    fn check(mut self, items: &'a [Node], found: &mut Findings) {
        for (at, item) in items.iter().enumerate() {
            let place = format!("input[{at}]");
            match item.object() {
                None => found.add(format!("{place}: no object")),
                Some(item) => self.item(&place, item, items.get(at + 1).and_then(Node::object), found),
            }
        }
        self.pairs.close("the end", found);
        if !matches!(self.last, Last::User | Last::Result) {
            found.add("input: the last one is neither the user's nor a result");
        }
    }

    fn item(&mut self, place: &str, item: &'a Members, next: Option<&Members>, found: &mut Findings) {
        let of = text(item, "type").unwrap_or_default();
        let (keys, prefix) = match (of, text(item, "role")) {
            ("message", Some("user")) => (SAID_BY_USER, ""),
            ("message", Some("assistant")) => (SAID_BY_ASSISTANT, "msg"),
            ("message", role) => {
                found.add(format!("{place}: the role {:?} is not on the list", role.unwrap_or_default()));
                return;
            }
            ("function_call", _) => (CALL, "fc"),
            ("function_call_output", _) => (RESULT, ""),
            ("reasoning", _) => (REASONING, "rs"),
            _ => {
                found.add(format!("{place}: the type {of:?} is not on the list"));
                return;
            }
        };
        found.keys(place, item, keys);
        for (key, _) in item.iter().filter(|(_, value)| *value == Node::Null) {
            found.add(format!("{place}: {key} is null; leave it out"));
        }
        self.id(place, item, prefix, found);
        let of = match (of, keys == SAID_BY_USER) {
            ("function_call", _) => Last::Call,
            ("function_call_output", _) => Last::Result,
            ("reasoning", _) => Last::Reasoning,
            (_, true) => Last::User,
            (_, false) => Last::Assistant,
        };
        self.place(place, of, found);
        match of {
            Last::User => check_content(place, find(item, "content"), &mut said_by_user, found),
            Last::Reasoning => self.reasoning(place, item, next, found),
            Last::Assistant => check_content(place, find(item, "content"), &mut said_by_assistant, found),
            Last::Call => {
                self.pairs.made(place, text(item, "call_id").unwrap_or_default(), found);
                found.name(place, text(item, "name").unwrap_or_default());
                found.arguments(place, text(item, "arguments"));
            }
            Last::Result => {
                let output = find(item, "output");
                check_content(place, output, &mut said_by_user, found);
                let id = text(item, "call_id").unwrap_or_default();
                self.pairs.answered(place, id, &texts(output), found);
            }
            Last::Nothing => {}
        }
    }

    /// An id of the wire's own: items may come without.
    fn id(&mut self, place: &str, item: &'a Members, prefix: &str, found: &mut Findings) {
        let Some(id) = text(item, "id") else {
            if find(item, "id").is_some() {
                found.add(format!("{place}: its id is no text"));
            }
            return;
        };
        let most = if prefix == "rs" { usize::MAX } else { LONGEST_ITEM_ID };
        if !fits(id, most) {
            found.add(format!("{place}: the item's id {id:?} has other characters, or too many"));
        }
        if !id.starts_with(prefix) {
            found.add(format!("{place}: the item's id {id:?} does not begin with {prefix:?}"));
        }
        if !self.ids.insert(id) {
            found.add(format!("{place}: the item's id {id:?} stands twice"));
        }
    }

    /// Whether such an item may stand here.
    fn place(&mut self, place: &str, of: Last, found: &mut Findings) {
        match (self.last, of) {
            (Last::Nothing, Last::Assistant | Last::Reasoning | Last::Call | Last::Result) => {
                found.add(format!("{place}: nothing of the user's stands before it"));
            }
            (Last::User, Last::User) => found.add(format!("{place}: two messages of the user's in a row")),
            (Last::Assistant, Last::Assistant) => {
                found.add(format!("{place}: two messages of the assistant's in a row"));
            }
            _ => {}
        }
        // Words and reasoning may stand between calls, as the model said them, but not between their results.
        if of == Last::User || (self.last == Last::Result && of != Last::Result) {
            self.pairs.close(place, found);
        }
        self.last = of;
    }

    fn reasoning(&self, place: &str, item: &Members, next: Option<&Members>, found: &mut Findings) {
        if find(item, "id").is_none() {
            found.add(format!("{place}: reasoning without its id"));
        }
        match find(item, "summary") {
            Some(Node::List(parts)) => parts.iter().for_each(|part| match part.object() {
                Some(part) if text(part, "type") == Some("summary_text") => {
                    found.keys(place, part, &["type", "text"]);
                }
                _ => found.add(format!("{place}: a part of its summary is no summary_text")),
            }),
            _ => found.add(format!("{place}: its summary is no list")),
        }
        if self.kept == Kept::Nowhere && !says(item, "encrypted_content") {
            found.add(format!("{place}: reasoning that is kept nowhere has no encrypted_content"));
        }
        let follows = next.is_some_and(|next| match text(next, "type") {
            Some("function_call" | "reasoning") => true,
            Some("message") => text(next, "role") == Some("assistant"),
            _ => false,
        });
        if !follows {
            found.add(format!("{place}: reasoning without what followed it"));
        } else if self.kept == Kept::ByTheServer && next.is_some_and(|next| find(next, "id").is_none()) {
            found.add(format!("{place}: what follows reasoning that the server keeps has no id"));
        }
    }
}

fn said_by_user(place: &str, part: &Members, found: &mut Findings) {
    match text(part, "type") {
        Some("input_text") => {
            found.keys(place, part, &["type", "text"]);
            check_text(place, part, found);
        }
        Some("input_image") => {
            found.keys(place, part, &["type", "image_url", "detail"]);
            if !shows(part, "image_url") {
                found.add(format!("{place}: an image without its URL"));
            }
            if !says(part, "detail") {
                found.add(format!("{place}: an image without its detail"));
            }
        }
        _ => found.add(format!("{place}: neither input_text nor input_image")),
    }
}

fn said_by_assistant(place: &str, part: &Members, found: &mut Findings) {
    match text(part, "type") {
        Some("output_text") => {
            found.keys(place, part, &["type", "text", "annotations", "logprobs"]);
            check_text(place, part, found);
            if !matches!(find(part, "annotations"), Some(Node::List(_))) {
                found.add(format!("{place}: its annotations are no list"));
            }
        }
        Some("refusal") => {
            found.keys(place, part, &["type", "refusal"]);
            if !says(part, "refusal") {
                found.add(format!("{place}: an empty refusal"));
            }
        }
        _ => found.add(format!("{place}: neither output_text nor refusal")),
    }
}
