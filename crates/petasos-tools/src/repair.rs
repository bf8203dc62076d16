//! Arguments that are not strict JSON, read for the one thing that they can mean.
//!
//! Only a whole text is read: what is open at its end is never closed here. No text in quotes changes its value.
//! What can be read in two ways is no reading: the model is told where, and sends it again.
//! Time and memory are linear in the text, and bounded: [`DEEPEST`](reader::DEEPEST), [`MOST`](reader::MOST).

mod behind;
mod reader;
mod strings;

use std::collections::BTreeSet;

use crate::node::Node;
use reader::{Fault, Reader};

/// How often a text in quotes is read again as arguments.
const LAYERS: usize = 2;

/// What made the arguments of a call, or its name, differ from what the model wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Repair {
    /// The name was that of a tool, written another way.
    Name,
    /// Words or a fence stood around the object.
    Around,
    /// A comment was left out.
    Comment,
    /// A comma stood before a closing bracket.
    TrailingComma,
    /// `True`, `False` or `None`.
    PythonWord,
    /// Text in single quotes.
    SingleQuotes,
    /// A line break, a tab or the like stood in a text as it is.
    RawControl,
    /// A backslash that begins no escape stands for itself.
    Escape,
    /// The object was itself a text in quotes.
    EncodedTwice,
    /// An empty object stood before the object.
    EmptyFirst,
    /// The same object came again.
    SentTwice,
    /// A value was a text that holds it, where the tool takes no text.
    TextOfValue,
    /// A whole number was written with a point or an exponent.
    WholeNumber,
    /// `null` stood for an argument that may be left out.
    NullLeftOut,
    /// One object stood where the tool takes an array of such objects.
    OneOfArray,
}

/// The repairs that were made, each once.
pub(crate) type Repairs = BTreeSet<Repair>;

impl Repair {
    /// How the log names it, in `changed_by`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Name => "repair: name",
            Self::Around => "repair: words around",
            Self::Comment => "repair: comment",
            Self::TrailingComma => "repair: trailing comma",
            Self::PythonWord => "repair: python word",
            Self::SingleQuotes => "repair: single quotes",
            Self::RawControl => "repair: raw control character",
            Self::Escape => "repair: backslash",
            Self::EncodedTwice => "repair: encoded twice",
            Self::EmptyFirst => "repair: empty object first",
            Self::SentTwice => "repair: sent twice",
            Self::TextOfValue => "repair: text of a value",
            Self::WholeNumber => "repair: whole number",
            Self::NullLeftOut => "repair: null left out",
            Self::OneOfArray => "repair: one of an array",
        }
    }
}

/// Why a text cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unreadable {
    /// What is wrong, in a few words.
    pub(crate) error: &'static str,
    /// What stands where.
    pub(crate) cause: String,
    /// What to do about it.
    pub(crate) hint: &'static str,
}

/// Reads the whole text of arguments. Without repairs the text is strict JSON.
///
/// # Errors
/// What stands where, if it has no reading or more than one.
pub(crate) fn arguments(text: &str) -> Result<(Node, Repairs), Unreadable> {
    let (node, mut repairs) = read(text, "")?;
    let Some((object, more)) = encoded(&node, LAYERS)? else { return Ok((node, repairs)) };
    if repairs.contains(&Repair::Escape) {
        // Which of the two layers the backslash belongs to cannot be known.
        let fault = Fault::unsure(0, "a backslash in arguments that are encoded twice", "");
        return Err(fault.told(text, ""));
    }
    repairs.extend(more);
    repairs.insert(Repair::EncodedTwice);
    Ok((object, repairs))
}

/// The object that stands as text in a text.
fn encoded(node: &Node, layers: usize) -> Result<Option<(Node, Repairs)>, Unreadable> {
    let Node::String(inner) = node else { return Ok(None) };
    match inner.trim_start().bytes().next().filter(|_| layers > 0) {
        // What begins like an object was meant as one; any other text is left to who validates it.
        Some(b'{') => read(inner, "in the text that holds them, ").map(Some),
        Some(b'"') => {
            let Ok((node, repairs)) = read(inner, "") else { return Ok(None) };
            let object = encoded(&node, layers - 1)?;
            Ok(object.map(|(object, more)| (object, repairs.into_iter().chain(more).collect())))
        }
        Some(_) | None => Ok(None),
    }
}

/// Reads a value that stands in a text where none is wanted.
///
/// # Errors
/// What stands where.
pub(crate) fn value(text: &str) -> Result<(Node, Repairs), Unreadable> {
    let mut reader = Reader::new(text);
    let read = reader.blanks().and_then(|()| reader.value(0)).and_then(|node| {
        reader.blanks()?;
        if reader.is_at_end() { Ok(node) } else { Err(reader.unexpected("the end")) }
    });
    read.and_then(|node| Ok((node, reader.finish()?))).map_err(|fault| fault.told(text, ""))
}

fn read(text: &str, inside: &str) -> Result<(Node, Repairs), Unreadable> {
    let mut reader = Reader::new(text);
    let read = around(&mut reader, text);
    read.and_then(|node| Ok((node, reader.finish()?))).map_err(|fault| fault.told(text, inside))
}

/// Reads an object with words around it, or any value without.
fn around(reader: &mut Reader<'_>, text: &str) -> Result<Node, Fault> {
    reader.skip_mark_of_order();
    reader.blanks()?;
    let begins_as_value = reader.peek().is_none_or(|byte| b"{[\"'-0123456789".contains(&byte));
    if let Some(brace) = text.find('{').filter(|_| !begins_as_value) {
        lead_in(text.get(..brace).unwrap_or_default())?;
        reader.go_to(brace);
        reader.mark(Repair::Around);
    }
    let mut node = reader.value(0)?;
    loop {
        reader.blanks()?;
        if reader.is_at_end() {
            return Ok(node);
        }
        if !matches!(node, Node::Object(_)) {
            return Err(reader.unexpected("the end"));
        }
        if reader.peek() != Some(b'{') {
            break;
        }
        let again = reader.here();
        let next = reader.value(0)?;
        if node == next {
            reader.mark(Repair::SentTwice);
        } else if matches!(&node, Node::Object(members) if members.is_empty()) {
            reader.mark(Repair::EmptyFirst);
            node = next;
        } else {
            let hint = "send one object; make a call of its own for each";
            return Err(Fault::unsure(again, "a second object follows the first and is not the same", hint));
        }
    }
    if !behind::is_prose(reader.rest()) {
        let hint = "send one JSON object and nothing else; a quote inside a text is written \\\"";
        return Err(Fault::unsure(reader.here(), "more stands behind the object", hint));
    }
    reader.mark(Repair::Around);
    Ok(node)
}

/// Sees that what stands before an object is a fence, or words that say nothing of its content.
fn lead_in(lead: &str) -> Result<(), Fault> {
    let lead = lead.trim_start_matches('\u{feff}');
    let line = lead.rsplit('\n').next().unwrap_or_default();
    let (words, is_apart) = match lead.rsplit_once("```") {
        Some((words, tag)) => (words, tag.trim().chars().all(char::is_alphanumeric)),
        // A single word before a brace may be a key.
        None => (lead, line.trim().is_empty() || line.split_whitespace().nth(1).is_some()),
    };
    let says = |char: char| matches!(char, '"' | '}' | '[' | ']' | '(' | ')' | '=' | '<' | '>' | '\\' | '`');
    if is_apart && !words.contains(says) {
        return Ok(());
    }
    Err(Fault::unsure(0, "what stands before the object may be a part of it", "send the object alone"))
}
