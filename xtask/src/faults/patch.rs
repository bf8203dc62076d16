//! A planted fault as a file: two lines that say what it is, then a unified diff.
//!
//! ```text
//! fault: a denied call is run all the same
//! caught-by: I2
//! --- a/crates/petasos-core/src/turn.rs
//! +++ b/crates/petasos-core/src/turn.rs
//! @@ -10,3 +10,3 @@
//! ```
//!
//! The diff may sit at other lines than it says, as code above it grows; its lines must be there letter by
//! letter, and fit at one place only. The crate `diffy` would do the same with two crates below it.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail, ensure};

/// A fault and what it must be caught by.
#[derive(Debug)]
pub struct Patch {
    pub fault: String,
    pub caught_by: BTreeSet<String>,
    pub files: Vec<FileDiff>,
}

#[derive(Debug)]
pub struct FileDiff {
    /// From the root of the tree.
    pub path: String,
    pub hunks: Vec<Hunk>,
}

/// Lines that are there and the lines that come instead, context included.
#[derive(Debug, PartialEq, Eq)]
pub struct Hunk {
    /// Where the diff says that it is, from 0.
    start: usize,
    old: Vec<String>,
    new: Vec<String>,
}

impl Patch {
    pub fn parse(text: &str) -> Result<Self> {
        let mut lines = text.lines();
        let mut field = |name: &str| {
            let line = lines.next().unwrap_or_default();
            let value = line.strip_prefix(name).and_then(|rest| rest.strip_prefix(": "));
            value.map(str::to_owned).with_context(|| format!("wanted `{name}: …`, met `{line}`"))
        };
        let fault = field("fault")?;
        let caught_by = names(&field("caught-by")?);
        ensure!(!caught_by.is_empty(), "`caught-by:` names no invariant; what nothing catches is not tested");
        let mut files = Vec::new();
        let mut lines = lines.peekable();
        while let Some(line) = lines.next() {
            let Some(old) = line.strip_prefix("--- ") else {
                ensure!(!line.starts_with("@@"), "a hunk stands before its `---` and `+++`");
                continue;
            };
            let new =
                lines.next().and_then(|line| line.strip_prefix("+++ ")).context("no `+++` after `---`")?;
            let mut hunks = Vec::new();
            while let Some(head) = lines.next_if(|line| line.starts_with("@@ ")) {
                hunks.push(hunk(head, &mut lines)?);
            }
            files.push(FileDiff { path: changed_path(old, new)?, hunks });
        }
        ensure!(files.iter().any(|file| !file.hunks.is_empty()), "there is no diff in it");
        Ok(Self { fault, caught_by, files })
    }
}

/// `I3, I4` or `I3 I4`.
pub fn names(text: &str) -> BTreeSet<String> {
    text.split([',', ' ']).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn changed_path(old: &str, new: &str) -> Result<String> {
    // Some tools put a tab and a time after the name.
    let name = |text: &str, prefix| {
        text.split('\t').next().and_then(|name| name.trim_end().strip_prefix(prefix)).map(str::to_owned)
    };
    match (name(old, "a/"), name(new, "b/")) {
        (Some(old), Some(new)) if old == new => Ok(new),
        _ => bail!("wanted one file changed in place as a/… and b/…, met `{old}` and `{new}`"),
    }
}

fn hunk<'a>(head: &str, lines: &mut impl Iterator<Item = &'a str>) -> Result<Hunk> {
    let (start, mut old_left, mut new_left) =
        ranges(head).with_context(|| format!("wanted `@@ -a,b +c,d @@`, met `{head}`"))?;
    let mut hunk = Hunk { start: start.saturating_sub(1), old: Vec::new(), new: Vec::new() };
    while old_left > 0 || new_left > 0 {
        let line = lines.next().with_context(|| format!("the hunk `{head}` is shorter than it says"))?;
        let (sign, rest) = line.split_at_checked(1).unwrap_or((" ", ""));
        let (in_old, in_new) = match sign {
            " " => (true, true),
            "-" => (true, false),
            "+" => (false, true),
            "\\" => continue,
            _ => bail!("the hunk `{head}` has the line `{line}`, which has no sign"),
        };
        let short = || format!("the hunk `{head}` is longer than it says");
        if in_old {
            old_left = old_left.checked_sub(1).with_context(short)?;
            hunk.old.push(rest.to_owned());
        }
        if in_new {
            new_left = new_left.checked_sub(1).with_context(short)?;
            hunk.new.push(rest.to_owned());
        }
    }
    ensure!(!hunk.old.is_empty(), "the hunk `{head}` has no line that is there already");
    ensure!(hunk.old != hunk.new, "the hunk `{head}` changes nothing");
    Ok(hunk)
}

/// Start and length of the old lines, and length of the new.
fn ranges(head: &str) -> Option<(usize, usize, usize)> {
    let mut words = head.strip_prefix("@@ ")?.split(' ');
    let range = |word: &str, sign| {
        let word = word.strip_prefix(sign)?;
        let (start, length) = word.split_once(',').unwrap_or((word, "1"));
        Some((start.parse::<usize>().ok()?, length.parse::<usize>().ok()?))
    };
    let (start, old) = range(words.next()?, '-')?;
    let (_, new) = range(words.next()?, '+')?;
    Some((start, old, new))
}

/// The text with all hunks applied. A hunk goes where it says if it fits there, else to the one place
/// where it fits.
pub fn apply(text: &str, hunks: &[Hunk]) -> Result<String> {
    let lines: Vec<&str> = text.lines().collect();
    let mut result: Vec<&str> = Vec::new();
    let mut done = 0;
    for hunk in hunks {
        let fits = |at: &usize| {
            let there = lines.get(*at..*at + hunk.old.len());
            *at >= done && there.is_some_and(|there| there.iter().eq(hunk.old.iter()))
        };
        let places: Vec<usize> =
            if fits(&hunk.start) { vec![hunk.start] } else { (done..lines.len()).filter(fits).collect() };
        let said = hunk.start + 1;
        let at = match places.as_slice() {
            [at] => *at,
            [] => bail!("the hunk of line {said} fits nowhere; make the patch anew"),
            many => bail!("the hunk of line {said} fits at {} places; give it more context", many.len()),
        };
        result.extend(&lines[done..at]);
        result.extend(hunk.new.iter().map(String::as_str));
        done = at + hunk.old.len();
    }
    result.extend(&lines[done..]);
    Ok(result.join("\n") + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "fault: b is c\ncaught-by: I3, I4\n--- a/x.rs\n+++ b/x.rs\n";

    fn parse(hunks: &str) -> Result<Patch> {
        Patch::parse(&format!("{HEAD}{hunks}"))
    }

    #[track_caller]
    fn check_applied(text: &str, hunks: &str, wanted: &str) {
        let patch = parse(hunks).unwrap();
        assert_eq!(apply(text, &patch.files[0].hunks).unwrap(), wanted);
    }

    #[track_caller]
    fn check_refused(text: &str, hunks: &str, wanted: &str) {
        let patch = parse(hunks).unwrap();
        let error = apply(text, &patch.files[0].hunks).unwrap_err().to_string();
        assert_eq!(error, wanted);
    }

    #[test]
    fn a_patch_says_what_it_is() {
        let patch = parse("@@ -1,3 +1,3 @@ fn x\n a\n-b\n+c\n d\n").unwrap();
        assert_eq!(patch.fault, "b is c");
        assert_eq!(patch.caught_by, names("I4 I3"));
        assert_eq!(patch.files[0].path, "x.rs");
    }

    #[test]
    fn a_hunk_goes_where_it_fits() {
        let hunk = "@@ -1,3 +1,3 @@\n a\n-b\n+c\n d\n";
        check_applied("a\nb\nd\n", hunk, "a\nc\nd\n");
        check_applied("new\na\nb\nd\nend\n", hunk, "new\na\nc\nd\nend\n");
        check_applied("a\nb\nd\na\nb\nd\n", hunk, "a\nc\nd\na\nb\nd\n");
        check_applied("a\n\nd\n", "@@ -1,3 +1,2 @@\n a\n\n-d\n", "a\n\n");
        check_applied("a\nb\nc\n", "@@ -1 +1 @@\n-a\n+x\n@@ -3 +3,2 @@\n-c\n+y\n+z\n", "x\nb\ny\nz\n");
    }

    #[test]
    fn a_hunk_that_does_not_fit_exactly_is_refused() {
        let hunk = "@@ -1,3 +1,3 @@\n a\n-b\n+c\n d\n";
        check_refused("a\nB\nd\n", hunk, "the hunk of line 1 fits nowhere; make the patch anew");
        check_refused(
            "x\na\nb\nd\na\nb\nd\n",
            hunk,
            "the hunk of line 1 fits at 2 places; give it more context",
        );
    }

    #[test]
    fn what_is_no_patch_is_told() {
        for text in [
            "",
            "fault: a\n",
            "fault: a\ncaught-by: \n",
            "fault: a\ncaught-by: I3\n",
            "fault: a\ncaught-by: I3\n--- a/x.rs\n+++ b/y.rs\n@@ -1 +1 @@\n-a\n+b\n",
            "fault: a\ncaught-by: I3\n--- /dev/null\n+++ b/y.rs\n@@ -0,0 +1 @@\n+b\n",
        ] {
            assert!(Patch::parse(text).is_err(), "{text}");
        }
        for hunks in ["@@ -1,2 +1 @@\n-a\n", "@@ -1 +1 @@\n a\n", "@@ 1 @@\n-a\n", "@@ -1 +1 @@\n-a\n=b\n"] {
            assert!(parse(hunks).is_err(), "{hunks}");
        }
    }
}
