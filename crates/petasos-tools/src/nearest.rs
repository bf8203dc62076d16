//! The known name that is meant by one that is not known.

use strsim::generic_damerau_levenshtein;

/// The name nearest to `wanted`, if one is near enough to be meant.
pub(crate) fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = plain(wanted);
    let scored = known.into_iter().map(|name| {
        let letters = plain(name);
        let steps =
            if is_short_for(&wanted, &letters) { 0 } else { generic_damerau_levenshtein(&wanted, &letters) };
        (steps, name)
    });
    let (steps, name) = scored.min_by_key(|(steps, _)| *steps)?;
    // A third of the letters may differ; more is another word.
    (steps.saturating_mul(3) <= plain(name).len().max(wanted.len())).then_some(name)
}

/// Names differ in case and in what joins their words more often than in their letters.
fn plain(name: &str) -> Vec<char> {
    const LONGEST: usize = 64;
    let letters = name.chars().filter(|letter| letter.is_alphanumeric());
    letters.flat_map(char::to_lowercase).take(LONGEST).collect()
}

/// True for `cmd` and `command`: the same first letter, and the others in their order.
fn is_short_for(short: &[char], long: &[char]) -> bool {
    let mut rest = long.iter();
    short.len() >= 3
        && short.first() == long.first()
        && short.iter().all(|letter| rest.any(|met| met == letter))
}
