//! The readable text of an HTML page, with light marks for headings, lists, links, code and tables.
//!
//! It goes by tokens and makes no tree: a page of hostile nesting costs what its bytes cost, and no stack. What a
//! browser does not show is left out, and so is what leads elsewhere on the site (`nav`, `footer`), unless nothing
//! else is there. No letter is escaped: names in code and URLs stay as they are.

mod element;
mod writer;

use html5gum::emitters::default::DefaultEmitter;
use html5gum::{Token, Tokenizer};
use url::Url;

use element::{Kind, kind};
use writer::Writer;

/// What is read of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Page {
    /// Its title; empty if it has none.
    pub(crate) title: String,
    /// Its text.
    pub(crate) text: String,
}

/// Which elements are left out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leaving {
    /// What is not shown, and what leads elsewhere.
    Around,
    /// What is never text.
    Code,
}

/// Reads a page that was found at this address.
pub(crate) fn read(html: &str, at: &Url) -> Page {
    match written(html, at, Leaving::Around) {
        Ok(page) if !page.text.is_empty() => page,
        // All of it is navigation, or something that is left out has no end.
        Ok(page) | Err(Unended(page)) => match written(html, at, Leaving::Code) {
            Ok(all) | Err(Unended(all)) => {
                if all.text.len() > page.text.len() {
                    all
                } else {
                    page
                }
            }
        },
    }
}

/// What was read of a page that ends inside of what is left out.
struct Unended(Page);

/// An element that is left out.
struct Left {
    name: Vec<u8>,
    /// Elements of its name that are open, itself among them.
    open: usize,
}

impl Left {
    /// True if an element that begins ends this one, which needs no end tag of its own.
    fn ends_before(&self, name: &[u8], begins: Kind) -> bool {
        match kind(&self.name) {
            Kind::Paragraph => begins.is_line_of_its_own(),
            Kind::Item | Kind::Row | Kind::Cell(_) => *name == *self.name,
            Kind::Code
            | Kind::Drawing
            | Kind::Around
            | Kind::Title
            | Kind::Void
            | Kind::Break
            | Kind::Image => false,
            Kind::Inline | Kind::Block | Kind::Heading(_) | Kind::List(_) | Kind::Quote => false,
            Kind::Preformatted | Kind::Letters | Kind::Link | Kind::Table => false,
        }
    }
}

fn written(html: &str, at: &Url, leaving: Leaving) -> Result<Page, Unended> {
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let mut writer = Writer::new(at);
    let mut left: Option<Left> = None;
    for Ok(token) in Tokenizer::new_with_emitter(html, emitter) {
        match token {
            Token::StartTag(tag) => {
                let kind = kind(&tag.name);
                if let Some(around) = &mut left {
                    if !around.ends_before(&tag.name, kind) {
                        around.open += usize::from(*tag.name == *around.name);
                        continue;
                    }
                    left = None;
                }
                let attribute = |name: &str| {
                    let value = tag.attributes.get(name.as_bytes())?;
                    Some(String::from_utf8_lossy(value).into_owned())
                };
                if is_left_out(kind, leaving, tag.self_closing, attribute) {
                    left = Some(Left { name: tag.name.0, open: 1 });
                } else {
                    writer.start(kind, attribute);
                }
            }
            Token::EndTag(tag) => match &mut left {
                None => writer.end(kind(&tag.name)),
                Some(around) if *around.name == *tag.name => {
                    around.open = around.open.saturating_sub(1);
                    left = left.filter(|around| around.open > 0);
                }
                Some(_) => {}
            },
            Token::String(text) if left.is_none() => writer.text(&String::from_utf8_lossy(&text)),
            Token::String(_) | Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
    }
    let page = writer.finish();
    if left.is_some() { Err(Unended(page)) } else { Ok(page) }
}

fn is_left_out(
    kind: Kind,
    leaving: Leaving,
    is_closed: bool,
    attribute: impl Fn(&str) -> Option<String>,
) -> bool {
    match kind {
        Kind::Code => true,
        // Drawings are the elements that may close themselves.
        Kind::Drawing => !is_closed,
        Kind::Around => leaving == Leaving::Around,
        // They hold nothing, so no end tag would come.
        Kind::Void | Kind::Break | Kind::Image => false,
        Kind::Title
        | Kind::Inline
        | Kind::Block
        | Kind::Paragraph
        | Kind::Heading(_)
        | Kind::List(_)
        | Kind::Item
        | Kind::Quote
        | Kind::Preformatted
        | Kind::Letters
        | Kind::Link
        | Kind::Table
        | Kind::Row
        | Kind::Cell(_) => leaving == Leaving::Around && is_hidden(attribute),
    }
}

/// True if the page says that it does not show an element. Texts for machines are hidden so.
fn is_hidden(attribute: impl Fn(&str) -> Option<String>) -> bool {
    let styled = || {
        let style = attribute("style").unwrap_or_default();
        let style: String = style.split_whitespace().collect::<String>().to_ascii_lowercase();
        style.contains("display:none") || style.contains("visibility:hidden")
    };
    attribute("hidden").is_some() || styled()
}
