//! What stands for a key is never written in its place: the key would be lost.

use super::placeholder_in;
use crate::output::Problem;

/// Refuses texts that are to be written and hold a placeholder which the file does not hold; `now` is what it holds.
pub(crate) fn check_new<'a>(new: impl IntoIterator<Item = &'a str>, now: &[u8]) -> Result<(), Problem> {
    let Some(placeholder) = not_in_file(new, now) else { return Ok(()) };
    let cause =
        format!("{placeholder} stands for a key that is hidden from you, and would be written in its place");
    let hint = "change the parts around it with edit_file and leave the key as it is in the file; where a key is to be \
                put in, name a variable";
    Err(Problem::new("not written", cause, hint))
}

/// Refuses texts that are to be replaced and hold a placeholder which the file does not hold.
pub(crate) fn check_old<'a>(old: impl IntoIterator<Item = &'a str>, now: &[u8]) -> Result<(), Problem> {
    let Some(placeholder) = not_in_file(old, now) else { return Ok(()) };
    let cause =
        format!("{placeholder} stands for a key that is hidden from you; the file has the key itself there");
    Err(Problem::new(
        "hidden text cannot be matched",
        cause,
        "give old without it: only the text before or after it",
    ))
}

/// The first placeholder that the file does not hold as it stands.
fn not_in_file<'a>(texts: impl IntoIterator<Item = &'a str>, now: &[u8]) -> Option<&'a str> {
    let mut met = texts.into_iter().flat_map(Placeholders);
    met.find(|placeholder| !now.windows(placeholder.len()).any(|part| part == placeholder.as_bytes()))
}

/// The placeholders in what is left of a text.
struct Placeholders<'a>(&'a str);

impl<'a> Iterator for Placeholders<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let met = placeholder_in(self.0)?;
        let (_, after) = self.0.split_once(met)?;
        self.0 = after;
        Some(met)
    }
}
