//! Rules of chat completions.

use super::Findings;
use super::body::{Keys, Place, check_count, check_keys, check_range, check_truths, listed};
use super::content::{check_content, check_text, shows, texts};
use super::json::{Members, Node, find, text, truth};
use super::pairs::Pairs;
use super::tools::{check_format, check_tools, check_without_tools};

const BODY: Keys = Keys {
    content: "messages",
    all: &[
        ("model", Place::First),
        ("reasoning_effort", Place::Before),
        ("reasoning", Place::Before),
        ("thinking", Place::Before),
        ("enable_thinking", Place::Before),
        ("chat_template_kwargs", Place::Before),
        ("parallel_tool_calls", Place::Before),
        ("prompt_cache_key", Place::Before),
        ("tools", Place::Before),
        ("messages", Place::Content),
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
    ],
};

const TOOL: &[&str] = &["type", "function"];
const TOOL_FUNCTION: &[&str] = &["name", "description", "parameters", "strict"];
const CALL: &[&str] = &["id", "type", "function"];
const CALL_FUNCTION: &[&str] = &["name", "arguments"];

pub fn check(body: &Members, found: &mut Findings) {
    check_keys(body, BODY, found);
    let face = |place: &str, tool, found: &mut Findings| {
        found.keys(place, tool, TOOL);
        let function = function(place, tool, found)?;
        found.keys(place, function, TOOL_FUNCTION);
        Some(function)
    };
    let names = check_tools(body, "parameters", face, found);
    check_without_tools(body, &["tool_choice", "parallel_tool_calls"], found);
    let named = |choice| find(choice, "function").and_then(Node::object).and_then(|tool| text(tool, "name"));
    match find(body, "tool_choice") {
        None => {}
        Some(Node::Text(choice)) if matches!(choice.as_str(), "auto" | "none" | "required") => {}
        Some(Node::Object(choice)) if named(choice).is_some_and(|name| names.contains(name)) => {}
        Some(_) => found.add("body: tool_choice is neither a word for it nor a tool that is there"),
    }
    check_truths(body, &["stream", "parallel_tool_calls", "enable_thinking"], found);
    check_range(body, "temperature", 0.0..=2.0, found);
    check_range(body, "top_p", 0.0..=1.0, found);
    for key in ["max_tokens", "max_completion_tokens"] {
        check_count(body, key, 1.0, found);
    }
    if find(body, "max_tokens").is_some() && find(body, "max_completion_tokens").is_some() {
        found.add("body: max_tokens and max_completion_tokens");
    }
    if find(body, "stream_options").is_some() && truth(body, "stream") != Some(true) {
        found.add("body: stream_options without stream");
    }
    if let Some(format) = find(body, "response_format") {
        check_format("response_format", format, Some("json_schema"), found);
    }
    match listed(body, "messages") {
        Some(messages) => Conversation::default().check(messages, found),
        None => found.add("messages: no list with something in it"),
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
    pairs: Pairs,
    began: bool,
    /// Whose message stands before.
    last: Option<Role>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    User,
    Assistant,
    Other,
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
        self.pairs.close("the end", found);
        let last = messages.last().and_then(Node::object).and_then(|message| text(message, "role"));
        if !matches!(last, Some("user" | "tool")) {
            found.add("messages: the last one is neither the user's nor a tool's");
        }
    }

    fn message(&mut self, at: usize, place: &str, message: &Members, found: &mut Findings) {
        let role = text(message, "role").unwrap_or_default();
        if role != "tool" {
            self.pairs.close(place, found);
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
        let of = match role {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            _ => Role::Other,
        };
        match (self.last.replace(of), of) {
            (Some(Role::User), Role::User) => {
                found.add(format!("{place}: two messages of the user's in a row"));
            }
            (Some(Role::Assistant), Role::Assistant) => {
                found.add(format!("{place}: two messages of the assistant's in a row"));
            }
            _ => {}
        }
        let calls = find(message, "tool_calls");
        match find(message, "content") {
            None | Some(Node::Null) if calls.is_some() => {}
            None | Some(Node::Null) => found.add(format!("{place}: no content and no calls")),
            content => check_content(place, content, &mut content_part, found),
        }
        match calls {
            None => {}
            Some(Node::List(calls)) if !calls.is_empty() => self.calls(place, calls, found),
            Some(_) => found.add(format!("{place}: its tool_calls are no list with something in it")),
        }
        if role == "tool" {
            let id = text(message, "tool_call_id").unwrap_or_default();
            self.pairs.answered(place, id, &texts(find(message, "content")), found);
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
            self.pairs.made(&place, id, found);
            let Some(function) = function(&place, call, found) else { continue };
            found.keys(&place, function, CALL_FUNCTION);
            found.name(&place, text(function, "name").unwrap_or_default());
            found.arguments(&place, text(function, "arguments"));
        }
    }
}

fn content_part(place: &str, part: &Members, found: &mut Findings) {
    match text(part, "type") {
        Some("text") => {
            found.keys(place, part, &["type", "text"]);
            check_text(place, part, found);
        }
        Some("image_url") => {
            found.keys(place, part, &["type", "image_url"]);
            let image = find(part, "image_url").and_then(Node::object);
            if !image.is_some_and(|image| shows(image, "url")) {
                found.add(format!("{place}: an image without its URL"));
            }
        }
        _ => found.add(format!("{place}: neither text nor image_url")),
    }
}
