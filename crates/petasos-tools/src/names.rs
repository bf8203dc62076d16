//! Names of tools as models write them.

/// What stands before a name in the ways of other programs.
const PREFIXES: &[&str] = &["functions", "function", "tools", "tool", "default_api"];
/// What stands between such a word and the name.
const JOINTS: &[&str] = &["::", ".", "/", ":"];
/// The longest name that is looked at: no tool has more than 64 characters, and what is around it is short.
const LONGEST: usize = 128;

/// The one known name that is written so: but for blanks and quotes around, words before and a number behind,
/// case, and what joins its words. `None` if there is none, or more than one. What differs in a letter is another
/// name: a guess could write where reading was meant.
pub(crate) fn meant<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if written.len() > LONGEST {
        return None;
    }
    let forms = forms(written);
    let mut fits = known.into_iter().filter(|name| forms.contains(&plain(name)));
    let (one, other) = (fits.next(), fits.next());
    one.filter(|_| other.is_none())
}

/// What a name may be when less and less of what is around it counts.
fn forms(written: &str) -> Vec<String> {
    let mut name =
        written.trim_matches(|char: char| char.is_whitespace() || matches!(char, '"' | '\'' | '`'));
    if let Some((before, number)) = name.rsplit_once(':')
        && !number.is_empty()
        && number.bytes().all(|digit| digit.is_ascii_digit())
    {
        name = before;
    }
    let mut forms = vec![plain(name)];
    while let Some(rest) = without_prefix(name) {
        name = rest.trim();
        forms.push(plain(name));
    }
    forms
}

fn without_prefix(name: &str) -> Option<&str> {
    PREFIXES.iter().find_map(|prefix| {
        let (before, rest) = name.split_at_checked(prefix.len())?;
        let rest = before.eq_ignore_ascii_case(prefix).then_some(rest)?;
        JOINTS.iter().find_map(|joint| rest.strip_prefix(joint))
    })
}

/// A name without case and without what joins its words.
fn plain(name: &str) -> String {
    let letters = name.chars().filter(|char| !matches!(char, '_' | '-' | ' '));
    letters.map(|char| char.to_ascii_lowercase()).collect()
}
