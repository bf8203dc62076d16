//! Paths into JSON, as jq writes them: `.name`, `."any name"`, `[0]`, `[-1]`, `[2:5]`, `[]`.

/// The most steps of a path.
const MOST: usize = 32;

/// A path, read once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Path {
    written: String,
    steps: Vec<Step>,
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A field.
    Field(String),
    /// An item, counted from 0, or from the end if it is below.
    Item(i64),
    /// Items from one on up to before another.
    Items(Option<i64>, Option<i64>),
    /// All items, or all fields.
    All,
}

/// What is no path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PathError(String);

impl PathError {
    pub(super) fn none() -> Self {
        Self("`pick` has no path; write one such as .name or .items[].id".to_owned())
    }
}

impl Path {
    /// Reads a path.
    ///
    /// # Errors
    /// Where it is none, and what would be one.
    pub(super) fn read(written: &str) -> Result<Self, PathError> {
        let mut reader = Reader { text: written.trim(), rest: written.trim() };
        let mut steps = Vec::new();
        if !reader.rest.starts_with('.') {
            return Err(reader.wrong("a path begins with a dot, such as .name or .items[].id"));
        }
        while !reader.rest.is_empty() {
            reader.step(&mut steps)?;
            if steps.len() > MOST {
                return Err(reader.wrong("it has more than 32 steps"));
            }
        }
        if steps.is_empty() {
            return Err(reader.wrong("it is all of the result; name a field, such as .name"));
        }
        Ok(Self { written: reader.text.to_owned(), steps })
    }

    /// As it was written.
    pub(super) fn as_str(&self) -> &str {
        &self.written
    }

    /// Its steps, from the outermost on.
    pub(super) fn steps(&self) -> &[Step] {
        &self.steps
    }
}

struct Reader<'a> {
    text: &'a str,
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn step(&mut self, steps: &mut Vec<Step>) -> Result<(), PathError> {
        if self.take('?') {
            // It says that a missing field is no error, and here it never is.
            return if steps.is_empty() { Err(self.unknown()) } else { Ok(()) };
        }
        let has_dot = self.take('.');
        if self.take('[') {
            steps.push(self.bracket()?);
            return Ok(());
        }
        if !has_dot {
            return Err(self.unknown());
        }
        if self.rest.starts_with('"') {
            steps.push(Step::Field(self.text()?));
            return Ok(());
        }
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let end = self.rest.find(|letter| !is_name(letter)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at_checked(end).unwrap_or_default();
        if name.is_empty() && rest.is_empty() && steps.is_empty() {
            // The dot alone: told by who asked.
            return Ok(());
        }
        if name.is_empty() || name.starts_with(|letter: char| letter.is_ascii_digit()) {
            return Err(self.unknown());
        }
        self.rest = rest;
        steps.push(Step::Field(name.to_owned()));
        Ok(())
    }

    /// What stands in brackets, with the one that ends them.
    fn bracket(&mut self) -> Result<Step, PathError> {
        if self.take(']') {
            return Ok(Step::All);
        }
        if self.rest.starts_with('"') {
            let name = self.text()?;
            return if self.take(']') { Ok(Step::Field(name)) } else { Err(self.unknown()) };
        }
        let from = self.number();
        let step = if self.take(':') {
            Step::Items(from, self.number())
        } else {
            from.map_or(Step::All, Step::Item)
        };
        let is_all = matches!(step, Step::All | Step::Items(None, None));
        if is_all || !self.take(']') { Err(self.unknown()) } else { Ok(step) }
    }

    /// A name in quotes, as JSON has it.
    fn text(&mut self) -> Result<String, PathError> {
        let mut stream = serde_json::Deserializer::from_str(self.rest).into_iter::<String>();
        match stream.next() {
            Some(Ok(text)) => {
                self.rest = self.rest.get(stream.byte_offset()..).unwrap_or_default();
                Ok(text)
            }
            Some(Err(_)) | None => Err(self.wrong("the quotes have no end")),
        }
    }

    fn number(&mut self) -> Option<i64> {
        let digits = self.rest.strip_prefix('-').unwrap_or(self.rest);
        let length = digits.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(digits.len());
        let end = length + (self.rest.len() - digits.len());
        let (number, rest) = self.rest.split_at_checked(end)?;
        let number = number.parse().ok()?;
        self.rest = rest;
        Some(number)
    }

    fn take(&mut self, letter: char) -> bool {
        match self.rest.strip_prefix(letter) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn unknown(&self) -> PathError {
        self.wrong(
            "only .name, .\"any name\", [0], [-1], [2:5] and [] may stand in a path, and each path by itself",
        )
    }

    fn wrong(&self, what: &str) -> PathError {
        let read = self.text.len().saturating_sub(self.rest.len());
        let at = self.text.get(..read).unwrap_or_default().chars().count() + 1;
        PathError(format!("the path {:?} is wrong at character {at}: {what}", self.text))
    }
}
