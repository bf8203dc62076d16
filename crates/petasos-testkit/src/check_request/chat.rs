//! Rules of chat completions.

use std::collections::{BTreeSet, VecDeque};

use petasos_core::bounded::Cap;

use super::json::{Members, Node, find, text};
use super::{Findings, fits};

/// Where a key of a body stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    First,
    Before,
    Messages,
    After,
    Either,
}

/// The keys of a body. What changes from request to request stands behind the messages, else it would break the
/// prefix; what a provider caches on stands before them.
const BODY: &[(&str, Place)] = &[
    ("model", Place::First),
    ("reasoning_effort", Place::Before),
    ("reasoning", Place::Before),
    ("thinking", Place::Before),
    ("enable_thinking", Place::Before),
    ("chat_template_kwargs", Place::Before),
    ("parallel_tool_calls", Place::Before),
    ("prompt_cache_key", Place::Before),
    ("tools", Place::Before),
    ("messages", Place::Messages),
    ("tool_choice", Place::After),
    ("max_tokens", Place::After),
    ("max_completion_tokens", Place::After),
    ("temperature", Place::Either),
    ("top_p", Place::Either),
    ("seed", Place::Either),
    ("stop", Place::Either),
    ("stream", Place::Either),
    ("stream_options", Place::Either),
    ("response_format", Place::Either),
];

const TOOL: &[&str] = &["type", "function"];
const TOOL_FUNCTION: &[&str] = &["name", "description", "parameters", "strict"];
const CALL: &[&str] = &["id", "type", "function"];
const CALL_FUNCTION: &[&str] = &["name", "arguments"];

/// Room for the line that says what was left out of a result.
const MARK: usize = 200;

/// The longest id that all providers take.
const LONGEST_ID: usize = 40;

pub fn check(body: &Members, found: &mut Findings) {
    let allowed: Vec<&str> = BODY.iter().map(|(key, _)| *key).collect();
    found.keys("body", body, &allowed);
    order(body, found);
    if text(body, "model").is_none_or(str::is_empty) {
        found.add("body: no model is named");
    }
    match find(body, "tools") {
        None => {}
        Some(Node::List(tools)) if !tools.is_empty() => check_tools(tools, found),
        Some(_) => found.add("tools: no list with something in it; leave the key out"),
    }
    if find(body, "tools").is_none() {
        for key in ["tool_choice", "parallel_tool_calls"].into_iter().filter(|key| find(body, key).is_some())
        {
            found.add(format!("body: {key} without tools"));
        }
    }
    match find(body, "messages") {
        Some(Node::List(messages)) if !messages.is_empty() => Conversation::default().check(messages, found),
        _ => found.add("messages: no list with something in it"),
    }
}

fn order(body: &Members, found: &mut Findings) {
    let place =
        |key: &str| BODY.iter().find(|(name, _)| *name == key).map_or(Place::Either, |(_, place)| *place);
    let messages = body.iter().position(|(key, _)| key == "messages").unwrap_or(body.len());
    for (at, (key, _)) in body.iter().enumerate() {
        let right = match place(key) {
            Place::First => at == 0,
            Place::Before => at < messages,
            Place::After => at > messages,
            Place::Messages | Place::Either => true,
        };
        if !right {
            let wanted = match place(key) {
                Place::First => "first",
                Place::Before => "before the messages",
                Place::After | Place::Messages | Place::Either => "behind the messages",
            };
            found.add(format!("body: {key} does not stand {wanted}"));
        }
    }
}

fn check_tools(tools: &[Node], found: &mut Findings) {
    let mut names = BTreeSet::new();
    for (at, tool) in tools.iter().enumerate() {
        let place = format!("tools[{at}]");
        let Some(tool) = tool.object() else {
            found.add(format!("{place}: no object"));
            continue;
        };
        found.keys(&place, tool, TOOL);
        let Some(function) = function(&place, tool, found) else { continue };
        found.keys(&place, function, TOOL_FUNCTION);
        let name = text(function, "name").unwrap_or_default();
        found.name(&place, name);
        if !names.insert(name) {
            found.add(format!("{place}: the name {name:?} stands twice"));
        }
        if text(function, "description").is_none_or(|text| text.trim().is_empty()) {
            found.add(format!("{place}: no description"));
        }
        let schema = find(function, "parameters").and_then(Node::object);
        if schema.and_then(|schema| text(schema, "type")) != Some("object") {
            found.add(format!("{place}: its parameters are no schema of an object"));
        }
    }
}

/// What stands under `function` beside `"type":"function"`.
fn function<'a>(place: &str, members: &'a Members, found: &mut Findings) -> Option<&'a Members> {
    if text(members, "type") != Some("function") {
        found.add(format!("{place}: its type is not function"));
    }
    let function = find(members, "function").and_then(Node::object);
    if function.is_none() {
        found.add(format!("{place}: no function"));
    }
    function
}

/// What has been said so far.
#[derive(Debug, Default)]
struct Conversation {
    ids: BTreeSet<String>,
    open: VecDeque<String>,
    began: bool,
}

impl Conversation {
    fn check(mut self, messages: &[Node], found: &mut Findings) {
        for (at, message) in messages.iter().enumerate() {
            let place = format!("messages[{at}]");
            match message.object() {
                None => found.add(format!("{place}: no object")),
                Some(message) => self.message(at, &place, message, found),
            }
        }
        self.close("the end", found);
        let last = messages.last().and_then(Node::object).and_then(|message| text(message, "role"));
        if !matches!(last, Some("user" | "tool")) {
            found.add("messages: the last one is neither the user's nor a tool's");
        }
    }

    fn message(&mut self, at: usize, place: &str, message: &Members, found: &mut Findings) {
        let role = text(message, "role").unwrap_or_default();
        if role != "tool" {
            self.close(place, found);
        }
        let keys: &[&str] = match role {
            "system" | "user" => &["role", "content"],
            "assistant" => &["role", "content", "reasoning_content", "tool_calls"],
            "tool" => &["role", "tool_call_id", "content"],
            _ => {
                found.add(format!("{place}: the role {role:?} is not on the list"));
                return;
            }
        };
        found.keys(place, message, keys);
        if role == "system" && at > 0 {
            found.add(format!("{place}: a system message that is not the first"));
        }
        if !self.began && matches!(role, "assistant" | "tool") {
            found.add(format!("{place}: nothing of the user's stands before it"));
        }
        self.began |= role != "system";
        let calls = find(message, "tool_calls");
        content(place, find(message, "content"), calls.is_some(), found);
        match calls {
            None => {}
            Some(Node::List(calls)) if !calls.is_empty() => self.calls(place, calls, found),
            Some(_) => found.add(format!("{place}: its tool_calls are no list with something in it")),
        }
        if role == "tool" {
            self.result(place, message, found);
        }
    }

    fn calls(&mut self, place: &str, calls: &[Node], found: &mut Findings) {
        for (at, call) in calls.iter().enumerate() {
            let place = format!("{place}.tool_calls[{at}]");
            let Some(call) = call.object() else {
                found.add(format!("{place}: no object"));
                continue;
            };
            found.keys(&place, call, CALL);
            let id = text(call, "id").unwrap_or_default();
            if !fits(id, LONGEST_ID) {
                found.add(format!("{place}: the id {id:?} is not 1 to {LONGEST_ID} of [a-zA-Z0-9_-]"));
            }
            if !self.ids.insert(id.to_owned()) {
                found.add(format!("{place}: the id {id:?} stands twice"));
            }
            self.open.push_back(id.to_owned());
            let Some(function) = function(&place, call, found) else { continue };
            found.keys(&place, function, CALL_FUNCTION);
            found.name(&place, text(function, "name").unwrap_or_default());
            let arguments =
                text(function, "arguments").and_then(|text| serde_json::from_str::<Node>(text).ok());
            if !matches!(arguments, Some(Node::Object(_))) {
                found.add(format!("{place}: its arguments are no text that holds a JSON object"));
            }
        }
    }

    fn result(&mut self, place: &str, message: &Members, found: &mut Findings) {
        let id = text(message, "tool_call_id").unwrap_or_default();
        match self.open.pop_front() {
            Some(open) if open == id => {}
            Some(open) => found.add(format!("{place}: the result of {id:?} where that of {open:?} is next")),
            None => found.add(format!("{place}: the result of {id:?}, which no call before it waits for")),
        }
        let length: usize = texts(find(message, "content")).iter().map(|text| text.chars().count()).sum();
        if length > Cap::RESULT.0 + MARK {
            found.add(format!("{place}: a result of {length} characters, at most {}", Cap::RESULT.0));
        }
    }

    /// Whatever is not a result ends the wait for results.
    fn close(&mut self, place: &str, found: &mut Findings) {
        for id in self.open.drain(..) {
            found.add(format!("{place}: no result of {id:?} before it"));
        }
    }
}

fn content(place: &str, content: Option<&Node>, has_calls: bool, found: &mut Findings) {
    match content {
        None | Some(Node::Null) if has_calls => {}
        None | Some(Node::Null) => found.add(format!("{place}: no content and no calls")),
        Some(Node::Text(text)) if text.trim().is_empty() => found.add(format!("{place}: an empty content")),
        Some(Node::Text(_)) => {}
        Some(Node::List(parts)) if parts.is_empty() => found.add(format!("{place}: an empty content")),
        Some(Node::List(parts)) => parts.iter().for_each(|part| content_part(place, part, found)),
        Some(Node::Scalar | Node::Object(_)) => {
            found.add(format!("{place}: its content is neither text nor list"))
        }
    }
}

fn content_part(place: &str, part: &Node, found: &mut Findings) {
    let Some(part) = part.object() else {
        found.add(format!("{place}: a part of its content is no object"));
        return;
    };
    match text(part, "type") {
        Some("text") => {
            found.keys(place, part, &["type", "text"]);
            if text(part, "text").is_none_or(|text| text.trim().is_empty()) {
                found.add(format!("{place}: an empty part of its content"));
            }
        }
        Some("image_url") => {
            found.keys(place, part, &["type", "image_url"]);
            let url = find(part, "image_url").and_then(Node::object).and_then(|image| text(image, "url"));
            if url.is_none_or(str::is_empty) {
                found.add(format!("{place}: an image without its URL"));
            }
        }
        _ => found.add(format!("{place}: a part of its content is neither text nor image_url")),
    }
}

fn texts(content: Option<&Node>) -> Vec<&str> {
    match content {
        Some(Node::Text(text)) => vec![text],
        Some(Node::List(parts)) => {
            parts.iter().filter_map(Node::object).filter_map(|part| text(part, "text")).collect()
        }
        None | Some(Node::Null | Node::Scalar | Node::Object(_)) => Vec::new(),
    }
}
