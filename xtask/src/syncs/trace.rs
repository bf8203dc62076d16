//! Reads what `strace -f -y -o` wrote.
//!
//! A call that another thread's line came in between is written in two parts, `<unfinished ...>` and
//! `<... name resumed>`; it is put together here and keeps both places.

use std::collections::HashMap;

/// A system call that came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub name: String,
    /// Number of its first descriptor, if it has one.
    pub descriptor: Option<u32>,
    /// Path beside that descriptor.
    pub path: String,
    /// All its quoted strings, put together as they were before strace escaped them.
    pub text: String,
    pub succeeded: bool,
    /// Lines of the trace on which it was begun and on which it came back.
    pub begun: usize,
    pub ended: usize,
}

/// The calls in the order in which they came back.
pub fn parse(trace: &str) -> Vec<Call> {
    let mut open = HashMap::<String, (usize, String)>::new();
    let mut calls = Vec::new();
    for (line, text) in trace.lines().enumerate() {
        let (process, text) = split_process(text);
        if let Some(begun) = text.strip_suffix("<unfinished ...>") {
            open.insert(process.to_owned(), (line, begun.trim_end().to_owned()));
        } else if text.starts_with("<... ") {
            let Some((begun, head)) = open.remove(process) else { continue };
            let Some((_, tail)) = text.split_once("resumed>") else { continue };
            calls.extend(call(&format!("{head}{tail}"), begun, line));
        } else {
            calls.extend(call(text, line, line));
        }
    }
    calls
}

/// With `-f` each line begins with the id of its thread, with or without `[pid …]`.
fn split_process(line: &str) -> (&str, &str) {
    let line = line.trim_start();
    let bare = line.strip_prefix("[pid").map_or(line, str::trim_start);
    let digits = bare.len() - bare.trim_start_matches(|char: char| char.is_ascii_digit()).len();
    let (process, rest) = bare.split_at(digits);
    (process, rest.trim_start_matches(']').trim_start())
}

/// `name(arguments) = result`; signals and exits are no calls.
fn call(text: &str, begun: usize, ended: usize) -> Option<Call> {
    let (name, rest) = text.split_once('(')?;
    if !name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_') || name.is_empty() {
        return None;
    }
    let (arguments, result) = rest.rsplit_once(") ").and_then(|(arguments, end)| {
        let result = end.trim_start().strip_prefix("= ")?;
        Some((arguments, result))
    })?;
    let digits = arguments.len() - arguments.trim_start_matches(|char: char| char.is_ascii_digit()).len();
    let path = arguments[digits..].strip_prefix('<').and_then(|rest| rest.split_once('>'));
    Some(Call {
        name: name.to_owned(),
        descriptor: arguments[..digits].parse().ok(),
        path: path.map_or(String::new(), |(path, _)| path.to_owned()),
        text: quoted(path.map_or(arguments, |(_, rest)| rest)),
        succeeded: !result.starts_with('-') && !result.starts_with('?'),
        begun,
        ended,
    })
}

/// The bytes between quotes, as text.
fn quoted(arguments: &str) -> String {
    let mut bytes = Vec::new();
    let mut inside = false;
    let mut rest = arguments.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match (first, inside) {
            (b'"', _) => inside = !inside,
            (b'\\', true) => {
                let (byte, length) = escaped(rest);
                bytes.push(byte);
                rest = rest.get(length..).unwrap_or_default();
            }
            (byte, true) => bytes.push(*byte),
            _ => {}
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// One escape after its backslash: the byte it stands for and how many bytes it takes.
fn escaped(rest: &[u8]) -> (u8, usize) {
    let octal = rest.iter().take(3).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
    match rest.first() {
        Some(_) if octal > 0 => {
            let value = rest[..octal].iter().fold(0_u32, |sum, digit| sum * 8 + u32::from(digit - b'0'));
            (u8::try_from(value).unwrap_or(b'?'), octal)
        }
        Some(b'n') => (b'\n', 1),
        Some(b't') => (b'\t', 1),
        Some(b'r') => (b'\r', 1),
        Some(b'v') => (0x0b, 1),
        Some(b'f') => (0x0c, 1),
        Some(b'x') => {
            let digits = rest.get(1..3).and_then(|digits| std::str::from_utf8(digits).ok());
            (digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).unwrap_or(b'?'), 3)
        }
        Some(other) => (*other, 1),
        None => (b'\\', 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str, descriptor: u32, path: &str, text: &str) -> Call {
        Call {
            name: name.into(),
            descriptor: Some(descriptor),
            path: path.into(),
            text: text.into(),
            succeeded: true,
            begun: 0,
            ended: 0,
        }
    }

    #[track_caller]
    fn check(trace: &str, wanted: &[Call]) {
        assert_eq!(parse(trace), wanted);
    }

    #[test]
    fn a_call_has_its_path_and_its_text() {
        check(
            r#"3076  write(3</a/log.jsonl>, "{\"k\":\"\303\244\\n\"}\n", 33) = 33"#,
            &[one("write", 3, "/a/log.jsonl", "{\"k\":\"ä\\n\"}\n")],
        );
        check("fdatasync(3</a/log.jsonl>)               = 0", &[one("fdatasync", 3, "/a/log.jsonl", "")]);
        check(
            r#"[pid  12] writev(4</b>, [{iov_base="a", iov_len=1}, {iov_base="b) = 1\n", iov_len=2}], 2) = 3"#,
            &[one("writev", 4, "/b", "ab) = 1\n")],
        );
    }

    #[test]
    fn a_call_in_two_parts_is_put_together() {
        let trace = "\
1 fdatasync(3</a/log.jsonl> <unfinished ...>
2 write(2<pipe:[7]>, \"MARK\\n\", 5 <unfinished ...>
1 <... fdatasync resumed>)          = 0
2 <... write resumed>)              = 5
";
        check(
            trace,
            &[
                Call { ended: 2, ..one("fdatasync", 3, "/a/log.jsonl", "") },
                Call { begun: 1, ended: 3, ..one("write", 2, "pipe:[7]", "MARK\n") },
            ],
        );
    }

    #[test]
    fn what_failed_is_told_and_what_is_no_call_is_left_out() {
        let failed = Call { succeeded: false, ..one("fdatasync", 3, "/a", "") };
        check("1 fdatasync(3</a>) = -1 EIO (Input/output error)", &[failed]);
        check(
            "1 --- SIGCHLD {si_signo=SIGCHLD} ---\n1 +++ exited with 0 +++\n1 <... write resumed>) = 1",
            &[],
        );
        let parsed = parse(r#"1 openat(AT_FDCWD</b>, "/a", O_RDONLY) = 3</a>"#);
        assert_eq!(parsed[0].descriptor, None);
        assert_eq!(parsed[0].text, "/a");
    }
}
