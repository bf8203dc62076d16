//! Signs that stand on a page for characters that cannot be seen: written back as they are read, they would be
//! put into the file in the place of those.

use std::borrow::Cow;

use crate::output::Problem;
use crate::visible::visible;

/// What a NUL is shown as on a page.
const NUL: char = '\u{2400}';

/// A problem if a new text has a sign that stands for a character of the file, and the file has that sign nowhere.
pub(crate) fn check(new: &str, file: &str, which: &str) -> Result<(), Problem> {
    let for_nul = new.contains(NUL) && file.contains('\0') && !file.contains(NUL);
    let sign = if for_nul { Some(("\u{2400}", '\0')) } else { signs(new).find(|sign| stands(*sign, file)) };
    let Some((sign, letter)) = sign else { return Ok(()) };
    let cause = format!("{which} has {sign} in it, which only shows U+{:04X} of the file", u32::from(letter));
    let hint = "written so, the sign would be put in the place of the character: change other parts with edit_file, or \
                give the character itself (in JSON \\u and four digits); nothing was changed";
    Err(Problem::new("a sign is not the character", cause, hint))
}

/// A text with the characters that its signs stand for.
pub(crate) fn unshown(text: &str) -> Cow<'_, str> {
    let mut plain = Cow::Borrowed(text);
    for (sign, letter) in signs(text) {
        plain = Cow::Owned(plain.replace(sign, letter.encode_utf8(&mut [0; 4])));
    }
    if plain.contains(NUL) { Cow::Owned(plain.replace(NUL, "\0")) } else { plain }
}

/// Signs in a text for characters that are shown so, each with its character.
fn signs(text: &str) -> impl Iterator<Item = (&str, char)> {
    text.match_indices("\\u{").filter_map(|(at, opening)| {
        let rest = text.get(at..)?;
        let digits = rest.get(opening.len()..)?.split_once('}')?.0;
        let letter = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)?;
        let is_shown_so = visible(letter.encode_utf8(&mut [0; 4])).starts_with("\\u{");
        let sign = rest.get(..opening.len() + digits.len() + 1)?;
        is_shown_so.then_some((sign, letter))
    })
}

fn stands((sign, letter): (&str, char), file: &str) -> bool {
    file.contains(letter) && !file.contains(sign)
}
