//! The known name that is meant by one that is not known.

/// The name nearest to `wanted`, if one is near enough to be meant.
pub(crate) fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = plain(wanted);
    let scored = known.into_iter().map(|name| {
        let letters = plain(name);
        let steps = if is_short_for(&wanted, &letters) { 0 } else { distance(&wanted, &letters) };
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

/// Letters to add, take away, change, or swap with the next one.
fn distance(one: &[char], other: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    let mut above = row.clone();
    let mut letter_above = None;
    for (at, letter) in (1..).zip(one) {
        let mut next = vec![at];
        for (place, wanted) in other.iter().enumerate() {
            let step = |row: &[usize], place: usize| row.get(place).copied().unwrap_or(usize::MAX - 1);
            let changed = step(&row, place) + usize::from(letter != wanted);
            let mut least = changed.min(step(&row, place + 1) + 1).min(step(&next, place) + 1);
            let before = place.checked_sub(1).and_then(|place| Some((place, other.get(place)?)));
            if let Some((place, before)) = before
                && before == letter
                && letter_above == Some(wanted)
            {
                least = least.min(step(&above, place) + 1);
            }
            next.push(least);
        }
        above = std::mem::replace(&mut row, next);
        letter_above = Some(letter);
    }
    row.last().copied().unwrap_or_default()
}
