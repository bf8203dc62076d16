//! Times and sizes as people write them.

use petasos_core::time::Span;

/// A time such as `30d`.
pub(super) fn age(text: &str) -> Result<Span, String> {
    const UNITS: [(&str, u64); 5] =
        [("w", 7 * 24 * 3600), ("d", 24 * 3600), ("h", 3600), ("m", 60), ("s", 1)];
    let seconds = amount(text, &UNITS);
    let span = seconds.and_then(|seconds| seconds.checked_mul(1000)).map(Span);
    span.ok_or_else(|| "a time is a number above 0 and w, d, h, m or s, such as 30d".to_owned())
}

/// A size such as `100MB`, in bytes.
pub(super) fn size(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u64); 7] = [
        ("kib", 1 << 10),
        ("mib", 1 << 20),
        ("gib", 1 << 30),
        ("kb", 1_000),
        ("mb", 1_000_000),
        ("gb", 1_000_000_000),
        ("b", 1),
    ];
    amount(&text.to_ascii_lowercase(), &UNITS)
        .ok_or_else(|| "a size is a number above 0 and B, KB, MB or GB, such as 100MB".to_owned())
}

fn amount(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let (number, unit) = units.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, *unit)))?;
    let number: u64 = number.trim_end().parse().ok()?;
    number.checked_mul(unit).filter(|amount| *amount > 0)
}
