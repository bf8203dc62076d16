//! What stands for a key is never written in its place: the key would be lost.

use std::ops::Range;

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

/// A text that is to be replaced as the file has it: with the key for each placeholder that the file does not hold as it
/// stands, so that a key can be taken out. `hidden` is what is hidden in the text of the file.
///
/// # Errors
/// A placeholder that stands for nothing there, or for several keys.
pub(crate) fn with_keys(old: &str, now: &str, hidden: &[(Range<usize>, String)]) -> Result<String, Problem> {
    let mut with_keys = old.to_owned();
    for placeholder in Placeholders(old) {
        if now.contains(placeholder) || !with_keys.contains(placeholder) {
            continue;
        }
        // What stands for a key of many lines has their ends, too.
        let mut keys = hidden.iter().filter(|(_, stands)| stands.starts_with(placeholder));
        let key = |(range, stands): &(Range<usize>, String)| {
            Some((stands.clone(), now.get(range.clone())?.to_owned()))
        };
        let first = keys.next().and_then(key);
        let is_one = keys.all(|one| key(one) == first);
        match first.filter(|(stands, _)| is_one && with_keys.contains(&**stands)) {
            Some((stands, key)) => with_keys = with_keys.replace(&stands, &key),
            None => {
                let cause = format!(
                    "{placeholder} stands for a key that is hidden from you, and not for one key here"
                );
                let hint = "give old without it: only the text before or after it";
                return Err(Problem::new("hidden text cannot be matched", cause, hint));
            }
        }
    }
    Ok(with_keys)
}

/// Refuses a command that holds a placeholder.
pub(crate) fn check_command(command: &str) -> Result<(), Problem> {
    let Some(placeholder) = placeholder_in(command) else { return Ok(()) };
    let cause = format!(
        "{placeholder} stands for a key that is hidden from you; the command would get these letters"
    );
    let hint = "name the variable or the file that holds the key; to take a key out of a file use edit_file";
    Err(Problem::new("not run", cause, hint))
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
