//! The known name that is meant by one that is not known.

/// The name nearest to `wanted`, if one is near enough to be meant.
pub(crate) fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = plain(wanted);
    let scored = known.into_iter().map(|name| (distance(&wanted, &plain(name)), name));
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

/// Letters to add, take away or change.
fn distance(one: &[char], other: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.iter().enumerate() {
        let mut diagonal = at;
        let mut left = at + 1;
        let mut next = vec![left];
        for (above, wanted) in row.iter().skip(1).zip(other) {
            let changed = diagonal + usize::from(letter != wanted);
            left = changed.min(above + 1).min(left + 1);
            diagonal = *above;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}
