//! How an object begins that is a call, or the answer: `{"name": "read_file", "arguments": {`.

use super::Asked;

/// An object that has not told what it is by then is none of ours: longer than any name of a tool.
pub(super) const LONGEST: usize = 512;

/// What an object is, as far as its beginning tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// A call of this tool, whose arguments begin with the last letter.
    Call(String),
    /// The answer, whose text begins behind the last letter.
    Answer,
    /// Nobody knows yet.
    More,
    /// Neither.
    Neither,
}

/// Why reading stops.
enum Stop {
    /// The text ends here.
    End,
    /// Something else stands there.
    Other,
}

struct Cursor<'a> {
    rest: &'a str,
}

impl Opening {
    /// Of this text, of which nothing less was told to be either.
    pub(super) fn of(text: &str, asked: &Asked) -> Self {
        match read(&mut Cursor { rest: text }, asked) {
            Ok(opening) => opening,
            Err(Stop::End) if text.len() <= LONGEST => Self::More,
            Err(Stop::End | Stop::Other) => Self::Neither,
        }
    }
}

fn read(cursor: &mut Cursor<'_>, asked: &Asked) -> Result<Opening, Stop> {
    cursor.sign('{')?;
    cursor.key(&["name"])?;
    let name = cursor.string()?;
    let is_answer = *name == *asked.answer;
    if !is_answer && !asked.has_tool(&name) {
        return Err(Stop::Other);
    }
    cursor.sign(',')?;
    // What models of the Llama family write.
    cursor.key(&["arguments", "parameters"])?;
    cursor.sign('{')?;
    if !is_answer {
        return Ok(Opening::Call(name));
    }
    cursor.key(&["text"])?;
    cursor.sign('"')?;
    Ok(Opening::Answer)
}

impl Cursor<'_> {
    fn sign(&mut self, wanted: char) -> Result<(), Stop> {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(wanted) {
            Some(rest) => self.rest = rest,
            None if self.rest.is_empty() => return Err(Stop::End),
            None => return Err(Stop::Other),
        }
        Ok(())
    }

    fn string(&mut self) -> Result<String, Stop> {
        self.sign('"')?;
        let mut escaped = false;
        for (at, letter) in self.rest.char_indices() {
            match letter {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => {
                    let (inside, rest) = self.rest.split_at_checked(at).ok_or(Stop::Other)?;
                    let read = serde_json::from_str(&format!("\"{inside}\"")).map_err(|_| Stop::Other)?;
                    self.rest = rest.strip_prefix('"').unwrap_or_default();
                    return Ok(read);
                }
                _ => {}
            }
        }
        Err(Stop::End)
    }

    /// One of these names, and the colon behind it.
    fn key(&mut self, wanted: &[&str]) -> Result<(), Stop> {
        let key = self.string()?;
        if !wanted.contains(&key.as_str()) {
            return Err(Stop::Other);
        }
        self.sign(':')
    }
}
