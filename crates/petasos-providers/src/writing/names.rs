//! Names of tools as they are sent: what every server takes, and no two alike.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use petasos_core::entry::Head;
use sha2::{Digest as _, Sha256};

use crate::writing::{Rule, Rules, tool_specs};

/// The longest name of a tool that every server takes.
const NAME_LENGTH: usize = 64;
/// How many letters tell two names apart that would be sent as one.
const MARK_LENGTH: usize = 6;

/// The names of a head's tools as they are sent. Those that fit are sent as they are; of the others what fits, with
/// letters of a digest behind it where that is another's name already. Which it is depends on the names alone and
/// not on their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WireNames {
    rules: Rules,
    /// By the tool's own name.
    sent: BTreeMap<String, String>,
}

impl WireNames {
    /// Those of this head's tools.
    pub fn of(head: &Head) -> Self {
        let specs = tool_specs(head);
        Self::new(specs.iter().map(|spec| &*spec.name), Rules::ALL)
    }

    pub(crate) fn new<'a>(names: impl Iterator<Item = &'a str>, rules: Rules) -> Self {
        // Sorted, so that their order in the head tells nothing.
        let names: BTreeSet<&str> = names.collect();
        let mut often: BTreeMap<Cow<'_, str>, u32> = BTreeMap::new();
        names.iter().for_each(|name| *often.entry(fit(name)).or_default() += 1);
        let mut taken: BTreeSet<String> = often.keys().map(|name| name.clone().into_owned()).collect();
        let mut sent = BTreeMap::new();
        for name in names {
            let is_alone = often.get(&fit(name)) == Some(&1) || !rules.hold(Rule::NamesDiffer);
            let name_sent = if fits(name) || is_alone {
                fit(name).into_owned()
            } else {
                let made = marked(name, &taken);
                taken.insert(made.clone());
                made
            };
            sent.insert(name.to_owned(), name_sent);
        }
        Self { rules, sent }
    }

    /// What a name is sent as: that of a tool of the head, or one that a model made up.
    pub(crate) fn sent<'a>(&'a self, name: &'a str) -> Cow<'a, str> {
        if !self.rules.hold(Rule::NamesFit) {
            return Cow::Borrowed(name);
        }
        self.sent.get(name).map_or_else(|| fit(name), |sent| Cow::Borrowed(sent))
    }

    /// The tool that was sent under this name, if its own is another.
    pub fn tool(&self, sent: &str) -> Option<&str> {
        let mut tools = self.sent.iter().filter(|(name, known)| *known == sent && name != known);
        tools.next().map(|(name, _)| name.as_str())
    }
}

fn fits_in(char: char) -> bool {
    char.is_ascii_alphanumeric() || matches!(char, '_' | '-')
}

fn fits(name: &str) -> bool {
    (1..=NAME_LENGTH).contains(&name.len()) && name.chars().all(fits_in)
}

/// A name that every server takes. Those of our own tools fit; a model makes up others.
fn fit(name: &str) -> Cow<'_, str> {
    if fits(name) {
        return Cow::Borrowed(name);
    }
    let made: String =
        name.chars().take(NAME_LENGTH).map(|char| if fits_in(char) { char } else { '_' }).collect();
    Cow::Owned(if made.is_empty() { String::from("unnamed") } else { made })
}

/// What fits of a name, with letters behind it that make it another than those that are taken.
fn marked(name: &str, taken: &BTreeSet<String>) -> String {
    let start: String = fit(name).chars().take(NAME_LENGTH - MARK_LENGTH - 1).collect();
    let mut tries = (0..u32::MAX).map(|again| format!("{start}_{}", mark(name, again)));
    tries.find(|made| !taken.contains(made)).unwrap_or_default()
}

fn mark(name: &str, again: u32) -> String {
    const LETTERS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    let digest = Sha256::digest(format!("{name} {again}").as_bytes());
    let letter =
        |byte: u8| LETTERS.get(usize::from(byte) % LETTERS.len()).map_or('a', |byte| char::from(*byte));
    digest.into_iter().take(MARK_LENGTH).map(letter).collect()
}
