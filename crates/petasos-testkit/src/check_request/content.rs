//! What is said in a message or a result: a text, or a list of parts.

use super::Findings;
use super::json::{Members, Node, find, text};

/// A content with something in it; its parts are looked at by `each`.
pub fn check_content<'a>(
    place: &str,
    content: Option<&'a Node>,
    each: &mut dyn FnMut(&str, &'a Members, &mut Findings),
    found: &mut Findings,
) {
    match content {
        None | Some(Node::Null) => found.add(format!("{place}: no content")),
        Some(Node::Text(text)) if text.trim().is_empty() => found.add(format!("{place}: an empty content")),
        Some(Node::Text(_)) => {}
        Some(Node::List(parts)) if parts.is_empty() => found.add(format!("{place}: an empty content")),
        Some(Node::List(parts)) => {
            for (at, part) in parts.iter().enumerate() {
                let place = format!("{place}.content[{at}]");
                match part.object() {
                    Some(part) => each(&place, part, found),
                    None => found.add(format!("{place}: no object")),
                }
            }
        }
        Some(Node::Truth(_) | Node::Number(_) | Node::Object(_)) => {
            found.add(format!("{place}: its content is neither text nor list"));
        }
    }
}

/// A part that is a text: one with something in it.
pub fn check_text(place: &str, part: &Members, found: &mut Findings) {
    if text(part, "text").is_none_or(|text| text.trim().is_empty()) {
        found.add(format!("{place}: an empty text"));
    }
}

/// All texts of a content.
pub fn texts(content: Option<&Node>) -> Vec<&str> {
    match content {
        Some(Node::Text(text)) => vec![text],
        Some(Node::List(parts)) => {
            parts.iter().filter_map(Node::object).filter_map(|part| text(part, "text")).collect()
        }
        None | Some(Node::Null | Node::Truth(_) | Node::Number(_) | Node::Object(_)) => Vec::new(),
    }
}

/// True if a text stands under a key, and something in it.
pub fn says(members: &Members, key: &str) -> bool {
    find(members, key).and_then(Node::text).is_some_and(|text| !text.trim().is_empty())
}
