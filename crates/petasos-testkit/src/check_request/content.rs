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

/// True if an address of a picture stands under a key, or the picture itself.
pub fn shows(members: &Members, key: &str) -> bool {
    let Some(url) = text(members, key) else { return false };
    match url.strip_prefix("data:").and_then(|data| data.split_once(";base64,")) {
        Some((of, data)) => is_picture(of) && is_base64(data),
        None => is_address(url),
    }
}

/// True for a place in the web.
pub fn is_address(url: &str) -> bool {
    let place = url.strip_prefix("https://").or(url.strip_prefix("http://"));
    place.is_some_and(|place| !place.is_empty() && !place.contains(char::is_whitespace))
}

/// True for the types of pictures that all vendors take.
pub fn is_picture(of: &str) -> bool {
    matches!(of, "image/jpeg" | "image/png" | "image/gif" | "image/webp")
}

/// True for something in base64 with its padding.
pub fn is_base64(text: &str) -> bool {
    let digits = text.trim_end_matches('=');
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    !digits.is_empty()
        && text.len().is_multiple_of(4)
        && text.len() - digits.len() < 3
        && digits.bytes().all(plain)
}
