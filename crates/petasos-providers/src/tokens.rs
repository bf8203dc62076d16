//! How many tokens a text has, estimated from its bytes alone: no table of a model is loaded.
//!
//! Each class of characters has a weight that lies on the high side of what common tokenizers make of
//! it; a request that is a little smaller than thought does no harm. Where a provider reported usage, that
//! is the truth and not this.

/// Parts of a token: the smallest number that the weights below divide into.
const TOKEN: u64 = 12;

/// Tokens of a text, estimated, rounded up.
///
/// Four ASCII bytes are a token (words, code, JSON); Chinese, Japanese and Korean have one in 1.5
/// characters; other letters of two bytes (Cyrillic, Greek, Arabic, accents) one in two characters; other
/// characters of three bytes one each; those of four (emoji) two each.
pub fn estimate(text: &str) -> u64 {
    let parts: u64 = text.chars().map(weight).sum();
    parts.div_ceil(TOKEN)
}

fn weight(char: char) -> u64 {
    match char {
        '\0'..='\u{7f}' => TOKEN / 4,
        '\u{80}'..='\u{7ff}' => TOKEN / 2,
        '\u{2e80}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}'
        | '\u{ff00}'..='\u{ffef}' => TOKEN * 2 / 3,
        '\u{800}'..='\u{ffff}' => TOKEN,
        '\u{10000}'.. => TOKEN * 2,
    }
}
