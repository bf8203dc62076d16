//! What a description says, as far as its words tell.

/// Words of a sentence that says when something is used.
const USE: [&str; 14] = [
    "use", "used", "useful", "call", "when", "whenever", "before", "after", "if", "where", "用于", "当",
    "需要", "适用",
];
/// Words at the beginning of such a sentence.
const USE_AT_FIRST: [&str; 3] = ["to", "for", "如果"];
/// Words of a sentence that says when it is not.
const LIMIT: [&str; 21] = [
    "not",
    "never",
    "instead",
    "rather",
    "prefer",
    "only",
    "except",
    "unless",
    "cannot",
    "don't",
    "doesn't",
    "can't",
    "without",
    "不",
    "勿",
    "而不是",
    "改用",
    "除非",
    "仅",
    "只",
    "别",
];
/// Words by which a text says its format, or that it has none.
const FORMAT: [&str; 34] = [
    "text",
    "url",
    "uri",
    "json",
    "yaml",
    "xml",
    "markdown",
    "html",
    "regex",
    "expression",
    "glob",
    "iana",
    "iso",
    "rfc",
    "base64",
    "uuid",
    "sql",
    "shell",
    "utc",
    "email",
    "date",
    "such",
    "like",
    "example",
    "e.g",
    "eg",
    "locale",
    "文本",
    "格式",
    "例如",
    "比如",
    "如",
    "正则",
    "网址",
];
/// Words by which a number says of what it is.
const UNIT: [&str; 37] = [
    "lines",
    "line",
    "seconds",
    "second",
    "minutes",
    "hours",
    "days",
    "milliseconds",
    "ms",
    "bytes",
    "characters",
    "tokens",
    "levels",
    "level",
    "number",
    "count",
    "percent",
    "degrees",
    "pixels",
    "items",
    "results",
    "entries",
    "pages",
    "page",
    "index",
    "id",
    "tries",
    "times",
    "个",
    "行",
    "秒",
    "分钟",
    "字节",
    "页",
    "次",
    "数",
    "度",
];

/// True if it is said when to use the tool. That another is to be used says nothing of it.
pub(super) fn tells_use(description: &str, name: &str, others: &[&str]) -> bool {
    sentences(description).any(|sentence| {
        !names_another(sentence, name, others)
            && (has_one_of(sentence, &USE)
                || words(sentence).next().is_some_and(|first| is_one_of(first, &USE_AT_FIRST)))
    })
}

/// True if it is said when not to use the tool.
pub(super) fn tells_limit(description: &str, name: &str, others: &[&str]) -> bool {
    sentences(description)
        .any(|sentence| names_another(sentence, name, others) || has_one_of(sentence, &LIMIT))
}

/// True if a text has a format or an example in what is said of it.
pub(super) fn tells_format(description: &str) -> bool {
    // Signs that stand in examples and hardly elsewhere: src/main.rs, "3:2001", `ls`, a@b, 2026-11-30.
    let is_example = |word: &str| {
        let inside = word.trim_matches(|letter: char| letter.is_ascii_punctuation() && letter != '*');
        word.contains(['"', '`', '“', '=', '{', '['])
            || inside.contains(['/', '.', ':', '*', '@', '_'])
            || word.contains(|letter: char| letter.is_ascii_digit())
    };
    description.split_whitespace().any(is_example) || has_one_of(description, &FORMAT)
}

/// True if a number has a unit, or a bound, in what is said of it.
pub(super) fn tells_unit(description: &str) -> bool {
    description.contains(|letter: char| letter.is_ascii_digit()) || has_one_of(description, &UNIT)
}

/// True if enough is said to mean something: two words, or as much in Chinese.
pub(super) fn says_something(description: &str) -> bool {
    words(description).count() >= 2 || description.chars().filter(|letter| is_hanzi(*letter)).count() >= 2
}

fn names_another(sentence: &str, name: &str, others: &[&str]) -> bool {
    words(sentence).any(|word| word != name && (others.contains(&word) || looks_like_a_tool(word)))
}

/// Names with an underscore inside are tools, or arguments of them; few other words are.
fn looks_like_a_tool(word: &str) -> bool {
    word.trim_matches('_').contains('_')
        && word.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split(['。', '；', '！', '\n']).flat_map(|part| part.split(". ")).flat_map(|part| part.split("; "))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_letter = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '\'');
    text.split(move |letter: char| !is_letter(letter)).filter(|word| !word.is_empty())
}

fn has_one_of(text: &str, wanted: &[&str]) -> bool {
    // Chinese has no spaces between words.
    let has_chinese = || wanted.iter().filter(|word| !word.is_ascii()).any(|word| text.contains(word));
    words(text).any(|word| is_one_of(word, wanted)) || has_chinese()
}

fn is_one_of(word: &str, wanted: &[&str]) -> bool {
    wanted.iter().any(|wanted| word.eq_ignore_ascii_case(wanted))
}

fn is_hanzi(letter: char) -> bool {
    matches!(letter, '\u{3400}'..='\u{9fff}')
}
