//! Rust source as words and marks, without comments and with literals kept whole.
//!
//! Enough of a lexer for rules that must not be fooled by a brace in a string or a word in a comment; it
//! never fails, since rustc has the last word on what is Rust.

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Word,
    Mark,
    Literal,
    Lifetime,
}

/// One token and the line it begins on, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    pub kind: Kind,
    pub text: &'a str,
    pub line: usize,
}

impl Token<'_> {
    /// Whether this is the word or mark `text`; a literal of the same letters is not.
    pub fn is(&self, text: &str) -> bool {
        matches!(self.kind, Kind::Word | Kind::Mark) && self.text == text
    }
}

/// All tokens of a file.
pub fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut reader = Reader { text, at: 0, line: 1 };
    std::iter::from_fn(|| reader.next_token()).collect()
}

/// A function with a body.
#[derive(Debug, PartialEq, Eq)]
pub struct Function<'a> {
    pub name: &'a str,
    /// The line of its `fn`.
    pub line: usize,
    /// Physical lines from its `fn` to the brace that closes it.
    pub lines: usize,
}

/// The functions with a body, those inside of others included.
pub fn functions<'a>(tokens: &[Token<'a>]) -> Vec<Function<'a>> {
    let mut found = Vec::new();
    for (at, pair) in tokens.windows(2).enumerate() {
        // `fn(u8)` is a type.
        if !pair[0].is("fn") || pair[1].is("(") {
            continue;
        }
        let Some(body) = body_of(&tokens[at..]) else { continue };
        let Some(end) = closing_brace(&tokens[at + body..]) else { continue };
        let lines = tokens[at + body + end].line - pair[0].line + 1;
        found.push(Function { name: pair[1].text, line: pair[0].line, lines });
    }
    found
}

/// Where the body of a function begins; none if its head ends with a semicolon.
fn body_of(head: &[Token<'_>]) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, token) in head.iter().enumerate().filter(|(_, token)| token.kind == Kind::Mark) {
        match token.text {
            "(" | "[" => depth += 1,
            ")" | "]" => depth = depth.checked_sub(1)?,
            "{" if depth == 0 => return Some(at),
            ";" if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

fn closing_brace(body: &[Token<'_>]) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, token) in body.iter().enumerate() {
        if token.is("{") {
            depth += 1;
        } else if token.is("}") {
            depth = depth.checked_sub(1)?;
            if depth == 0 {
                return Some(at);
            }
        }
    }
    None
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn bump(&mut self) -> Option<char> {
        let next = self.rest().chars().next()?;
        self.at += next.len_utf8();
        self.line += usize::from(next == '\n');
        Some(next)
    }

    fn bump_while(&mut self, wanted: impl Fn(char) -> bool) {
        while self.rest().chars().next().is_some_and(&wanted) {
            self.bump();
        }
    }

    fn bump_past(&mut self, end: &str) {
        while !self.rest().starts_with(end) && self.bump().is_some() {}
        end.chars().for_each(|_| {
            self.bump();
        });
    }

    fn next_token(&mut self) -> Option<Token<'a>> {
        self.skip_blanks_and_comments();
        let (start, line) = (self.at, self.line);
        let first = self.rest().chars().next()?;
        let kind = match first {
            '"' => self.string(),
            '\'' => self.quote(),
            _ if is_word(first) => self.word(),
            _ => {
                self.bump();
                Kind::Mark
            }
        };
        Some(Token { kind, text: &self.text[start..self.at], line })
    }

    fn skip_blanks_and_comments(&mut self) {
        loop {
            self.bump_while(char::is_whitespace);
            if self.rest().starts_with("//") {
                self.bump_while(|next| next != '\n');
            } else if self.rest().starts_with("/*") {
                self.block_comment();
            } else {
                return;
            }
        }
    }

    /// Block comments nest in Rust.
    fn block_comment(&mut self) {
        let mut depth = 0_usize;
        loop {
            let step = if self.rest().starts_with("/*") {
                depth += 1;
                2
            } else if self.rest().starts_with("*/") {
                depth -= 1;
                2
            } else {
                1
            };
            for _ in 0..step {
                if self.bump().is_none() {
                    return;
                }
            }
            if depth == 0 {
                return;
            }
        }
    }

    fn string(&mut self) -> Kind {
        self.bump();
        while let Some(next) = self.bump() {
            match next {
                '\\' => drop(self.bump()),
                '"' => break,
                _ => {}
            }
        }
        Kind::Literal
    }

    /// `'a'` and `'\n'` are characters, `'a` is a lifetime or a label.
    fn quote(&mut self) -> Kind {
        self.bump();
        let mut ahead = self.rest().chars();
        let (first, second) = (ahead.next(), ahead.next());
        if first == Some('\\') {
            self.bump();
            self.bump();
            self.bump_past("'");
            Kind::Literal
        } else if second == Some('\'') {
            self.bump();
            self.bump();
            Kind::Literal
        } else {
            self.bump_while(is_word);
            Kind::Lifetime
        }
    }

    /// A word, or the literal that it is the prefix of: `r"…"`, `b'…'`, `br#"…"#`, `c"…"`.
    fn word(&mut self) -> Kind {
        let start = self.at;
        self.bump_while(is_word);
        let word = &self.text[start..self.at];
        let rest = self.rest();
        match word {
            "b" | "c" if rest.starts_with('"') => self.string(),
            "b" if rest.starts_with('\'') => self.quote(),
            "r" | "br" | "cr" if rest.trim_start_matches('#').starts_with('"') => {
                let fence = rest.len() - rest.trim_start_matches('#').len();
                for _ in 0..=fence {
                    self.bump();
                }
                self.bump_past(&format!("\"{}", "#".repeat(fence)));
                Kind::Literal
            }
            "r" if rest.starts_with('#') => {
                self.bump();
                self.bump_while(is_word);
                Kind::Word
            }
            _ => Kind::Word,
        }
    }
}

fn is_word(next: char) -> bool {
    next == '_' || next.is_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, wanted: &[&str]) {
        assert_eq!(tokens(text).iter().map(|token| token.text).collect::<Vec<_>>(), wanted);
    }

    #[track_caller]
    fn check_lines(text: &str, wanted: &[(&str, usize)]) {
        let tokens = tokens(text);
        let found: Vec<_> =
            functions(&tokens).iter().map(|function| (function.name, function.lines)).collect();
        assert_eq!(found, wanted);
    }

    #[test]
    fn comments_are_no_tokens() {
        check("a // b\nc /* d /* e */ f */ g", &["a", "c", "g"]);
        check("//! doc\n/// doc\nx", &["x"]);
    }

    #[test]
    fn literals_are_whole() {
        check(r#"a "b \" {" c"#, &["a", r#""b \" {""#, "c"]);
        check("r#\"a \" {\"# b", &["r#\"a \" {\"#", "b"]);
        check(
            "br##\"\"# \"## b\"x\" c\"y\" r\"\\\" z",
            &["br##\"\"# \"##", "b\"x\"", "c\"y\"", "r\"\\\"", "z"],
        );
        check("r#type", &["r#type"]);
    }

    #[test]
    fn a_quote_opens_a_character_or_a_lifetime() {
        check(r"'{' '\'' '\u{7d}' b'}' 'ä'", &["'{'", r"'\''", r"'\u{7d}'", "b'}'", "'ä'"]);
        check("&'a str, 'outer: loop", &["&", "'a", "str", ",", "'outer", ":", "loop"]);
    }

    #[test]
    fn a_function_counts_from_its_head_to_its_last_brace() {
        check_lines("fn a() {\n    // {\n    \"}\";\n}\n", &[("a", 4)]);
        check_lines("fn a(\n    b: [u8; 4],\n) -> u8\nwhere\n    u8: Copy,\n{\n    b[0]\n}", &[("a", 8)]);
        check_lines("trait T { fn a(); fn b() {} }\ntype F = fn(u8) -> u8;", &[("b", 1)]);
        check_lines("fn a() {\n    fn b() {\n    }\n}", &[("a", 4), ("b", 2)]);
    }
}
