//! Rules of Messages.

use super::Findings;
use super::body::{Keys, Place, check_count, check_keys, check_range, check_truths, listed};
use super::content::{check_content, check_text, is_address, is_base64, is_picture, says, texts};
use super::json::{Members, Node, find, number, text, truth};
use super::pairs::Pairs;
use super::tools::{check_tools, check_without_tools};

const BODY: Keys = Keys {
    content: "messages",
    all: &[
        ("model", Place::First),
        ("stream", Place::Before),
        // Where they stand otherwise is looked at below.
        ("tools", Place::Either),
        ("system", Place::Before),
        ("messages", Place::Content),
        ("max_tokens", Place::After),
        ("tool_choice", Place::After),
        ("thinking", Place::After),
        ("temperature", Place::After),
        ("top_p", Place::Either),
        ("top_k", Place::Either),
        ("stop_sequences", Place::Either),
    ],
};

const TOOL: &[&str] = &["type", "name", "description", "input_schema", "strict", "cache_control"];
const TEXT: &[&str] = &["type", "text", "cache_control"];
const IMAGE: &[&str] = &["type", "source", "cache_control"];
const CALL: &[&str] = &["type", "id", "name", "input", "cache_control"];
const RESULT: &[&str] = &["type", "tool_use_id", "content", "is_error", "cache_control"];
const THINKING: &[&str] = &["type", "thinking", "signature"];
const REDACTED: &[&str] = &["type", "data"];

/// Cache marks that the vendor takes in a request.
const MOST_MARKS: usize = 4;

/// The smallest budget of thinking that the vendor takes.
const LEAST_BUDGET: f64 = 1_024.0;

pub fn check(body: &Members, found: &mut Findings) {
    check_keys(body, BODY, found);
    tools(body, found);
    match find(body, "system") {
        None => {}
        system => {
            let mut part = |place: &str, part: &Members, found: &mut Findings| {
                if text(part, "type") != Some("text") {
                    found.add(format!("{place}: its type is not text"));
                }
                found.keys(place, part, TEXT);
                check_text(place, part, found);
            };
            check_content("system", system, &mut part, found);
        }
    }
    check_marks(body, found);
    check_count(body, "max_tokens", 1.0, found);
    if find(body, "max_tokens").is_none() {
        found.add("body: no max_tokens");
    }
    check_range(body, "temperature", 0.0..=1.0, found);
    check_range(body, "top_p", 0.0..=1.0, found);
    check_count(body, "top_k", 0.0, found);
    check_truths(body, &["stream"], found);
    let says_something = |one: &Node| one.text().is_some_and(|text| !text.trim().is_empty());
    if find(body, "stop_sequences").is_some()
        && !listed(body, "stop_sequences").is_some_and(|all| all.iter().all(says_something))
    {
        found.add("body: stop_sequences are no list of texts with something in them");
    }
    let thinking = thinking(body, found);
    let Some(messages) = listed(body, "messages") else {
        found.add("messages: no list with something in it");
        return;
    };
    let pairs = Conversation::default().check(messages, found);
    if pairs.any() && find(body, "tools").is_none() {
        found.add("body: calls without tools");
    }
    match thinking {
        Thinking::Budgeted => begins_with_thinking(messages, found),
        // A model that thinks by itself may skip it, and takes its own calls back as they were.
        Thinking::Untold | Thinking::Off | Thinking::Adaptive => {}
    }
}

fn tools(body: &Members, found: &mut Findings) {
    let face = |place: &str, tool, found: &mut Findings| {
        found.keys(place, tool, TOOL);
        if find(tool, "type").is_some() && text(tool, "type") != Some("custom") {
            found.add(format!("{place}: its type is not custom"));
        }
        let schema = find(tool, "input_schema").and_then(Node::object);
        for (key, value) in schema.into_iter().flatten() {
            let names = value.object().filter(|_| key == "properties").into_iter().flatten();
            for (name, _) in names.filter(|(name, _)| !is_property(name)) {
                found.add(format!("{place}: the property {name:?} is not 1 to 64 of [a-zA-Z0-9_.-]"));
            }
        }
        Some(tool)
    };
    let names = check_tools(body, "input_schema", face, found);
    check_without_tools(body, &["tool_choice"], found);
    let place = |key: &str| body.iter().position(|(name, _)| name == key);
    let choice = find(body, "tool_choice").and_then(Node::object).and_then(|choice| text(choice, "type"));
    // Those that are there only because calls need some may not be called, and change as calls come.
    if place("tools") > place("messages") && choice != Some("none") {
        found.add("body: tools that may be called do not stand before the messages");
    }
    let Some(choice) = find(body, "tool_choice") else { return };
    let choice = choice.object().map(|choice| (text(choice, "type"), text(choice, "name"), choice));
    match choice {
        Some((Some("auto" | "any" | "none"), None, choice)) => {
            found.keys("tool_choice", choice, &["type", "disable_parallel_tool_use"]);
        }
        Some((Some("tool"), Some(name), choice)) if names.contains(name) => {
            found.keys("tool_choice", choice, &["type", "name", "disable_parallel_tool_use"]);
        }
        _ => found.add("body: tool_choice is neither a word for it nor a tool that is there"),
    }
}

fn is_property(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    (1..=64).contains(&name.len()) && name.bytes().all(plain)
}

/// Cache marks, wherever they stand: all alike, so that they can be taken out again, and no more than are taken.
fn check_marks(body: &Members, found: &mut Findings) {
    let usual = Node::Object(vec![("type".into(), Node::Text("ephemeral".into()))]);
    let mut marks = Vec::new();
    add_marks(body, &mut marks);
    for _ in marks.iter().filter(|mark| ***mark != usual) {
        found.add("body: a cache mark that is not {\"type\":\"ephemeral\"}");
    }
    if marks.len() > MOST_MARKS {
        found.add(format!("body: {} cache marks, at most {MOST_MARKS}", marks.len()));
    }
}

fn add_marks<'a>(members: &'a Members, marks: &mut Vec<&'a Node>) {
    for (key, value) in members {
        match (key.as_str(), value) {
            ("cache_control", mark) => marks.push(mark),
            // What a model or a schema says is its own affair.
            ("input" | "input_schema", _) => {}
            (_, Node::Object(members)) => add_marks(members, marks),
            (_, Node::List(items)) => {
                items.iter().filter_map(Node::object).for_each(|members| add_marks(members, marks));
            }
            (_, Node::Null | Node::Truth(_) | Node::Number(_) | Node::Text(_)) => {}
        }
    }
}

/// How the model is asked to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Thinking {
    Untold,
    Off,
    /// It has to, and so do the turns before.
    Budgeted,
    Adaptive,
}

fn thinking(body: &Members, found: &mut Findings) -> Thinking {
    let Some(asked) = find(body, "thinking") else { return Thinking::Untold };
    let (thinking, keys): (_, &[&str]) = match asked.object().map(|asked| text(asked, "type")) {
        Some(Some("disabled")) => (Thinking::Off, &["type"]),
        Some(Some("enabled")) => (Thinking::Budgeted, &["type", "budget_tokens", "display"]),
        Some(Some("adaptive")) => (Thinking::Adaptive, &["type", "display"]),
        _ => {
            found.add("thinking: it is neither enabled nor disabled nor adaptive");
            return Thinking::Off;
        }
    };
    if let Some(asked) = asked.object() {
        found.keys("thinking", asked, keys);
        let budget = number(asked, "budget_tokens");
        if thinking == Thinking::Budgeted && budget.is_none_or(|budget| budget < LEAST_BUDGET) {
            found.add(format!("thinking: its budget_tokens are not at least {LEAST_BUDGET}"));
        }
        if budget.zip(number(body, "max_tokens")).is_some_and(|(budget, most)| budget >= most) {
            found.add("thinking: max_tokens is not more than its budget_tokens");
        }
    }
    if matches!(thinking, Thinking::Budgeted | Thinking::Adaptive) {
        if number(body, "temperature").is_some_and(|temperature| temperature < 1.0) {
            found.add("body: a temperature beside thinking");
        }
        if find(body, "top_k").is_some() {
            found.add("body: top_k beside thinking");
        }
        if number(body, "top_p").is_some_and(|top_p| top_p < 0.95) {
            found.add("body: top_p of less than 0.95 beside thinking");
        }
        let choice = find(body, "tool_choice").and_then(Node::object).and_then(|choice| text(choice, "type"));
        if matches!(choice, Some("any" | "tool")) {
            found.add("body: a call is forced beside thinking");
        }
    }
    thinking
}

/// The turn that is gone on with has to begin with its thinking, where the model thinks.
fn begins_with_thinking(messages: &[Node], found: &mut Findings) {
    let Some(at) = messages.len().checked_sub(2) else { return };
    let Some(answer) = messages.get(at) else { return };
    let calls = blocks(answer).any(|block| text(block, "type") == Some("tool_use"));
    if calls && !blocks(answer).next().is_some_and(is_thinking) {
        found
            .add(format!("messages[{at}]: calls that do not begin with thinking, which is not switched off"));
    }
}

fn blocks(message: &Node) -> impl Iterator<Item = &Members> {
    let blocks = message.object().and_then(|message| listed(message, "content")).unwrap_or_default();
    blocks.iter().filter_map(Node::object)
}

fn is_thinking(block: &Members) -> bool {
    matches!(text(block, "type"), Some("thinking" | "redacted_thinking"))
}

/// What has been said so far.
#[derive(Debug, Default)]
struct Conversation {
    pairs: Pairs,
    last: Option<Role>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    User,
    Assistant,
}

impl Conversation {
    fn check(mut self, messages: &[Node], found: &mut Findings) -> Pairs {
        for (at, message) in messages.iter().enumerate() {
            let place = format!("messages[{at}]");
            match message.object() {
                None => found.add(format!("{place}: no object")),
                Some(message) => self.message(&place, message, found),
            }
        }
        self.pairs.close("the end", found);
        if self.last != Some(Role::User) {
            found.add("messages: the last one is not the user's");
        }
        self.pairs
    }

    fn message(&mut self, place: &str, message: &Members, found: &mut Findings) {
        let role = match text(message, "role") {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            role => {
                let role = role.unwrap_or_default();
                found.add(format!("{place}: the role {role:?} is not on the list"));
                return;
            }
        };
        found.keys(place, message, &["role", "content"]);
        match (self.last, role) {
            (None, Role::Assistant) => {
                found.add(format!("{place}: nothing of the user's stands before it"));
            }
            (Some(Role::User), Role::User) => {
                found.add(format!("{place}: two messages of the user's in a row"));
            }
            (Some(Role::Assistant), Role::Assistant) => {
                found.add(format!("{place}: two messages of the assistant's in a row"));
            }
            (None | Some(Role::Assistant), Role::User) | (Some(Role::User), Role::Assistant) => {}
        }
        self.last = Some(role);
        let content = find(message, "content");
        match role {
            Role::User => {
                let mut others = false;
                let mut block = |place: &str, block: &Members, found: &mut Findings| {
                    if text(block, "type") != Some("tool_result") {
                        others = true;
                        self.pairs.close(place, found);
                        return said_by_user(place, block, found);
                    }
                    if others {
                        found.add(format!("{place}: a result that does not stand first"));
                    }
                    self.result(place, block, found);
                };
                check_content(place, content, &mut block, found);
                self.pairs.close(&format!("the end of {place}"), found);
            }
            Role::Assistant => {
                let mut block = |place: &str, block: &Members, found: &mut Findings| {
                    self.said_by_assistant(place, block, found);
                };
                check_content(place, content, &mut block, found);
                let last = listed(message, "content").and_then(<[Node]>::last).and_then(Node::object);
                if matches!(last.and_then(|last| text(last, "type")), Some("thinking" | "redacted_thinking"))
                {
                    found.add(format!("{place}: its last block is thinking"));
                }
            }
        }
    }

    fn result(&mut self, place: &str, block: &Members, found: &mut Findings) {
        found.keys(place, block, RESULT);
        if find(block, "is_error").is_some() && truth(block, "is_error").is_none() {
            found.add(format!("{place}: is_error is neither true nor false"));
        }
        let content = find(block, "content");
        check_content(place, content, &mut said_by_user, found);
        let id = text(block, "tool_use_id").unwrap_or_default();
        self.pairs.answered(place, id, &texts(content), found);
    }

    fn said_by_assistant(&mut self, place: &str, block: &Members, found: &mut Findings) {
        match text(block, "type") {
            Some("text") => {
                found.keys(place, block, TEXT);
                check_text(place, block, found);
            }
            Some("tool_use") => {
                found.keys(place, block, CALL);
                self.pairs.made(place, text(block, "id").unwrap_or_default(), found);
                found.name(place, text(block, "name").unwrap_or_default());
                if find(block, "input").and_then(Node::object).is_none() {
                    found.add(format!("{place}: its input is no object"));
                }
            }
            Some("thinking") => {
                found.keys(place, block, THINKING);
                if text(block, "thinking").is_none() {
                    found.add(format!("{place}: its thinking is no text"));
                }
                if !says(block, "signature") {
                    found.add(format!("{place}: thinking without its signature"));
                }
            }
            Some("redacted_thinking") => {
                found.keys(place, block, REDACTED);
                if !says(block, "data") {
                    found.add(format!("{place}: redacted_thinking without its data"));
                }
            }
            of => found.add(format!(
                "{place}: the type {:?} is not on the list of the assistant's",
                of.unwrap_or_default()
            )),
        }
    }
}

fn said_by_user(place: &str, block: &Members, found: &mut Findings) {
    match text(block, "type") {
        Some("text") => {
            found.keys(place, block, TEXT);
            check_text(place, block, found);
        }
        Some("image") => {
            found.keys(place, block, IMAGE);
            let source = find(block, "source").and_then(Node::object);
            let whole = source.is_some_and(|source| match text(source, "type") {
                Some("base64") => {
                    text(source, "media_type").is_some_and(is_picture)
                        && text(source, "data").is_some_and(is_base64)
                }
                Some("url") => text(source, "url").is_some_and(is_address),
                _ => false,
            });
            if !whole {
                found.add(format!("{place}: an image without its source"));
            }
        }
        of => found
            .add(format!("{place}: the type {:?} is not on the list of the user's", of.unwrap_or_default())),
    }
}
