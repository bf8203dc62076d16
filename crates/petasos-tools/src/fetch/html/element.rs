//! What the elements of HTML are to their text.

/// What an element is to the text around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Its content is no text.
    Code,
    /// A drawing or a formula in another language.
    Drawing,
    /// It leads elsewhere, or is for the hand.
    Around,
    /// The name of the page.
    Title,
    /// It holds nothing.
    Void,
    Break,
    Image,
    /// Part of a line.
    Inline,
    /// Lines of its own.
    Block,
    /// Lines of its own, with an empty one around.
    Paragraph,
    Heading(usize),
    List(Order),
    Item,
    Quote,
    Preformatted,
    /// Letters for code in a line.
    Letters,
    Link,
    Table,
    Row,
    Cell(Cell),
}

impl Kind {
    /// True for what ends a paragraph where it begins.
    pub(super) fn is_line_of_its_own(self) -> bool {
        match self {
            Self::Block | Self::Paragraph | Self::Heading(_) | Self::List(_) | Self::Item | Self::Quote => {
                true
            }
            Self::Preformatted | Self::Table | Self::Row | Self::Cell(_) => true,
            Self::Code | Self::Drawing | Self::Around | Self::Title | Self::Void | Self::Break => false,
            Self::Image | Self::Inline | Self::Letters | Self::Link => false,
        }
    }
}

/// How the items of a list are marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Bullets,
    Numbers,
}

/// What a cell of a table holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    Head,
    Body,
}

/// What an element of this name is (html.spec.whatwg.org, 4 and 15.3: which are blocks).
pub(super) fn kind(name: &[u8]) -> Kind {
    match name {
        b"script" | b"style" | b"template" | b"iframe" | b"noembed" | b"noframes" | b"noscript" => Kind::Code,
        b"svg" | b"math" => Kind::Drawing,
        b"nav" | b"footer" | b"button" | b"select" | b"textarea" | b"datalist" | b"object" | b"audio"
        | b"video" | b"canvas" | b"dialog" => Kind::Around,
        b"title" => Kind::Title,
        b"area" | b"base" | b"col" | b"embed" | b"input" | b"link" | b"meta" | b"param" | b"source"
        | b"track" | b"wbr" => Kind::Void,
        b"br" | b"hr" => Kind::Break,
        b"img" => Kind::Image,
        b"p" => Kind::Paragraph,
        b"h1" => Kind::Heading(1),
        b"h2" => Kind::Heading(2),
        b"h3" => Kind::Heading(3),
        b"h4" => Kind::Heading(4),
        b"h5" => Kind::Heading(5),
        b"h6" => Kind::Heading(6),
        b"ul" | b"menu" | b"dir" => Kind::List(Order::Bullets),
        b"ol" => Kind::List(Order::Numbers),
        b"li" => Kind::Item,
        b"blockquote" => Kind::Quote,
        b"pre" | b"listing" | b"xmp" | b"plaintext" => Kind::Preformatted,
        b"code" | b"kbd" | b"samp" | b"tt" => Kind::Letters,
        b"a" => Kind::Link,
        b"table" => Kind::Table,
        b"tr" => Kind::Row,
        b"th" => Kind::Cell(Cell::Head),
        b"td" => Kind::Cell(Cell::Body),
        b"address" | b"article" | b"aside" | b"body" | b"caption" | b"center" | b"dd" | b"details"
        | b"div" | b"dl" | b"dt" | b"fieldset" | b"figcaption" | b"figure" | b"form" | b"head"
        | b"header" | b"hgroup" | b"html" | b"legend" | b"main" | b"option" | b"optgroup" | b"search"
        | b"section" | b"summary" | b"tbody" | b"tfoot" | b"thead" => Kind::Block,
        _ => Kind::Inline,
    }
}
