//! The text of a page as it is written, token by token.

use url::Url;

use super::Page;
use super::element::{Cell, Kind, Order};

/// Bytes after which no more is written: more than a page has of text, and a bound for what links and indents add.
const MOST: usize = 8 * 1024 * 1024;
/// Lists and quotes that are shown inside each other; those within are as deep as the last.
const DEPTH: usize = 12;
/// The longest address that is written behind a link.
const LONGEST_LINK: usize = 2_000;

/// Writes the text of a page.
#[derive(Debug)]
pub(super) struct Writer<'a> {
    at: &'a Url,
    out: String,
    title: String,
    /// Line ends owed before the next word.
    lines: usize,
    /// Whether a blank is owed before the next word.
    blank: bool,
    is_title: bool,
    /// What stands before the next word of an item or a heading. An empty one shows nothing.
    mark: Option<Mark>,
    /// Whether nothing was written since the begin of the preformatted text.
    is_fence_new: bool,
    /// Open lists: how they are marked, and the items they had.
    lists: Vec<(Order, usize)>,
    quotes: usize,
    /// Open elements whose blanks and line ends count.
    preformatted: usize,
    link: Link,
    /// Cells of the row, of each table that is open.
    rows: Vec<Row>,
}

/// A mark that waits for its first word.
#[derive(Debug)]
struct Mark {
    /// Lists around it.
    depth: usize,
    text: String,
}

/// A link, until it ends.
#[derive(Debug, Default)]
enum Link {
    #[default]
    None,
    /// It had no word yet.
    Begun(String),
    /// Its bracket is open.
    Open(String),
}

#[derive(Debug, Default)]
struct Row {
    cells: usize,
    heads: usize,
    /// Whether a row came before.
    is_later: bool,
    /// Whether the cell had no word yet.
    is_cell_empty: bool,
}

impl<'a> Writer<'a> {
    pub(super) fn new(at: &'a Url) -> Self {
        Self {
            at,
            out: String::new(),
            title: String::new(),
            lines: 0,
            blank: false,
            is_title: false,
            mark: None,
            is_fence_new: false,
            lists: Vec::new(),
            quotes: 0,
            preformatted: 0,
            link: Link::None,
            rows: Vec::new(),
        }
    }

    /// An element begins.
    pub(super) fn start(&mut self, kind: Kind, attribute: impl Fn(&str) -> Option<String>) {
        match kind {
            Kind::Code | Kind::Drawing | Kind::Around | Kind::Void | Kind::Inline => {}
            Kind::Title => self.is_title = self.title.is_empty(),
            Kind::Break => self.line(),
            Kind::Image => {
                let words = attribute("alt").unwrap_or_default();
                let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
                if !words.is_empty() {
                    self.word(&format!("[image: {words}]"));
                }
            }
            Kind::Block => self.owe(1),
            Kind::Paragraph => self.owe(2),
            Kind::Heading(level) => {
                self.owe(2);
                self.end_link();
                let mark =
                    self.mark.get_or_insert_with(|| Mark { depth: self.lists.len(), text: String::new() });
                mark.text.push_str(&format!("{} ", "#".repeat(level)));
            }
            Kind::List(order) => {
                self.owe(if self.lists.is_empty() { 2 } else { 1 });
                self.lists.push((order, 0));
            }
            Kind::Item => self.item(),
            Kind::Quote => {
                self.owe(2);
                self.quotes += 1;
            }
            Kind::Preformatted => self.fence(),
            Kind::Letters => self.tick(),
            Kind::Link => {
                self.end_link();
                let target = attribute("href").and_then(|href| self.target(&href));
                self.link = target.map_or(Link::None, Link::Begun);
            }
            Kind::Table => {
                self.owe(2);
                if self.rows.len() < DEPTH {
                    self.rows.push(Row::default());
                }
            }
            Kind::Row => self.row(),
            Kind::Cell(cell) => self.cell(cell),
        }
    }

    /// An element ends; its name may be one that never began.
    pub(super) fn end(&mut self, kind: Kind) {
        match kind {
            Kind::Code | Kind::Drawing | Kind::Around | Kind::Void | Kind::Inline | Kind::Image => {}
            Kind::Title => self.is_title = false,
            Kind::Break => self.line(),
            Kind::Block => self.owe(1),
            Kind::Paragraph => self.owe(2),
            Kind::Item => {
                self.mark = None;
                self.owe(1);
            }
            Kind::Heading(_) => {
                self.mark = None;
                self.owe(2);
            }
            Kind::List(_) => {
                self.lists.pop();
                self.owe(if self.lists.is_empty() { 2 } else { 1 });
            }
            Kind::Quote => {
                self.quotes = self.quotes.saturating_sub(1);
                self.owe(2);
            }
            Kind::Preformatted => self.end_fence(),
            Kind::Letters => self.end_tick(),
            Kind::Link => self.end_link(),
            Kind::Table => {
                self.row();
                self.rows.pop();
                self.owe(2);
            }
            Kind::Row => self.row(),
            Kind::Cell(_) => {}
        }
    }

    /// Text, with blanks and line ends as they stand in the page.
    pub(super) fn text(&mut self, text: &str) {
        if self.is_title {
            self.title.push_str(text);
        } else if self.preformatted > 0 {
            self.verbatim(text);
        } else {
            let is_blank = |letter: char| letter.is_ascii_whitespace();
            for part in text.split_inclusive(is_blank) {
                let word = part.trim_end_matches(is_blank);
                if !word.is_empty() {
                    self.word(word);
                }
                self.blank |= word.len() < part.len();
            }
        }
    }

    /// The page is over.
    pub(super) fn finish(mut self) -> Page {
        self.end_link();
        if self.preformatted > 0 {
            self.preformatted = 1;
            self.end_fence();
        }
        let title = self.title.split_whitespace().collect::<Vec<_>>().join(" ");
        Page { title, text: self.out }
    }

    fn is_full(&self) -> bool {
        self.out.len() >= MOST
    }

    fn owe(&mut self, lines: usize) {
        self.blank = false;
        // What stands between a mark or the begin of a cell and the first words is no line end.
        if self.mark.is_none() && !self.rows.last().is_some_and(|row| row.is_cell_empty) {
            self.lines = self.lines.max(lines);
        }
    }

    fn line(&mut self) {
        if self.preformatted > 0 {
            self.verbatim("\n");
        } else {
            self.owe(1);
        }
    }

    /// Writes what is owed, so that a word may follow.
    fn settle(&mut self) {
        if self.lines > 0 {
            if !self.out.is_empty() {
                let blanks = self.out.trim_end_matches(' ').len();
                self.out.truncate(blanks);
                self.out.push_str(if self.lines > 1 { "\n\n" } else { "\n" });
            }
            let depth = self.mark.as_ref().map_or(self.lists.len(), |mark| mark.depth);
            self.out.push_str(&"> ".repeat(self.quotes.min(DEPTH)));
            self.out.push_str(&"  ".repeat(depth.min(DEPTH)));
        } else if self.blank && !self.out.is_empty() && !self.out.ends_with([' ', '\n']) {
            self.out.push(' ');
        }
        if let Some(mark) = self.mark.take() {
            self.out.push_str(&mark.text);
        }
        self.lines = 0;
        self.blank = false;
        self.rows.iter_mut().for_each(|row| row.is_cell_empty = false);
    }

    /// Writes what is no word of the page.
    fn sign(&mut self, sign: &str) {
        if !self.is_full() {
            self.settle();
            self.out.push_str(sign);
        }
    }

    fn word(&mut self, word: &str) {
        if self.is_full() {
            return;
        }
        self.settle();
        if let Link::Begun(target) = &mut self.link {
            self.out.push('[');
            self.link = Link::Open(std::mem::take(target));
        }
        self.out.push_str(word);
    }

    fn verbatim(&mut self, text: &str) {
        if self.is_full() {
            return;
        }
        // The line end behind the tag is no part of the text; elements in it may be lines of their own.
        let text = if self.is_fence_new { text.strip_prefix('\n').unwrap_or(text) } else { text };
        if self.lines > 0 && !self.out.ends_with('\n') {
            self.out.push('\n');
        }
        self.out.push_str(text);
        self.is_fence_new = false;
        self.lines = 0;
    }

    fn fence(&mut self) {
        self.end_link();
        if self.preformatted == 0 {
            self.owe(2);
            self.sign("```\n");
            self.is_fence_new = true;
        }
        self.preformatted += 1;
    }

    fn end_fence(&mut self) {
        let was_open = self.preformatted > 0;
        self.preformatted = self.preformatted.saturating_sub(1);
        if was_open && self.preformatted == 0 && !self.is_full() {
            self.is_fence_new = false;
            if !self.out.ends_with('\n') {
                self.out.push('\n');
            }
            self.out.push_str("```");
            self.owe(2);
        }
    }

    fn tick(&mut self) {
        if self.preformatted == 0 {
            self.word("`");
        }
    }

    fn end_tick(&mut self) {
        if self.preformatted == 0 && !self.is_full() {
            self.out.push('`');
        }
    }

    fn item(&mut self) {
        self.mark = None;
        self.owe(1);
        let text = match self.lists.last_mut() {
            Some((Order::Numbers, items)) => {
                *items += 1;
                format!("{items}. ")
            }
            Some((Order::Bullets, _)) | None => "- ".to_owned(),
        };
        // It stands in the indent of what is around its list.
        self.mark = Some(Mark { depth: self.lists.len().saturating_sub(1), text });
    }

    fn end_link(&mut self) {
        if let Link::Open(target) = std::mem::take(&mut self.link) {
            self.out.push_str("](");
            self.out.push_str(&target);
            self.out.push(')');
        }
    }

    /// Where a link leads; none if it is not to another page.
    fn target(&self, href: &str) -> Option<String> {
        let href = href.trim();
        if href.is_empty() || href.starts_with('#') || self.is_full() {
            return None;
        }
        let target = self.at.join(href).ok()?;
        let is_page = matches!(target.scheme(), "http" | "https") && target.as_str().len() <= LONGEST_LINK;
        is_page.then(|| target.into())
    }

    fn row(&mut self) {
        let Some(row) = self.rows.last_mut() else { return };
        row.is_cell_empty = false;
        let is_head = !row.is_later && row.heads > 0 && row.heads == row.cells;
        let rule = vec!["---"; row.cells].join(" | ");
        let had_cells = row.cells > 0;
        row.is_later |= had_cells;
        (row.cells, row.heads) = (0, 0);
        self.owe(1);
        if had_cells {
            // What the last cell ended with is within its row.
            self.lines = 1;
        }
        if is_head {
            self.sign(&rule);
            self.owe(1);
        }
    }

    fn cell(&mut self, cell: Cell) {
        self.end_link();
        let Some(row) = self.rows.last_mut() else { return };
        row.cells += 1;
        row.heads += usize::from(cell == Cell::Head);
        let (is_first, was_empty) = (row.cells == 1, row.is_cell_empty);
        if !is_first && !self.is_full() {
            if was_empty {
                // The row has not begun yet.
                self.settle();
            }
            (self.lines, self.blank, self.mark) = (0, false, None);
            self.out.push_str(" | ");
        }
        if let Some(row) = self.rows.last_mut() {
            row.is_cell_empty = true;
        }
    }
}
