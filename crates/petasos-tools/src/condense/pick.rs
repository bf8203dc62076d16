//! Picking from JSON by its text: what is picked is copied, letter by letter.

use std::borrow::Cow;
use std::fmt;

use serde::Deserializer as _;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::path::{Path, Step};

/// What paths lead to in a value, in the shape that it has there; none if they lead to nothing.
pub(super) fn pick(value: &RawValue, paths: &[Path]) -> Option<String> {
    let paths: Vec<&[Step]> = paths.iter().map(Path::steps).collect();
    let mut out = String::new();
    copy(value, &paths, &mut out).then_some(out)
}

/// Copies what is picked; true if anything is.
fn copy(value: &RawValue, paths: &[&[Step]], out: &mut String) -> bool {
    if paths.iter().any(|path| path.is_empty()) {
        out.push_str(value.get());
        return true;
    }
    match Parts::of(value) {
        Parts::Fields(fields) => {
            let begin = out.len();
            let mut separator = '{';
            for (name, field) in fields {
                let plain = serde_json::from_str::<Cow<'_, str>>(name.get()).unwrap_or_default();
                let inner = after(paths, |step| match step {
                    Step::Field(wanted) => *wanted == plain,
                    Step::All => true,
                    Step::Item(_) | Step::Items(..) => false,
                });
                let before = out.len();
                out.push(separator);
                out.push_str(name.get());
                out.push(':');
                if !inner.is_empty() && copy(field, &inner, out) {
                    separator = ',';
                } else {
                    out.truncate(before);
                }
            }
            close(out, begin, '}')
        }
        Parts::Items(items) => {
            let wants_items = |path: &&[Step]| matches!(path.first(), Some(Step::All | Step::Items(..)));
            if items.is_empty() && paths.iter().any(wants_items) {
                // That there is none is an answer.
                out.push_str("[]");
                return true;
            }
            let begin = out.len();
            let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
            let mut separator = '[';
            for (at, item) in (0_i64..).zip(items) {
                let from_begin = |place: i64| if place < 0 { place.saturating_add(length) } else { place };
                let inner = after(paths, |step| match step {
                    Step::All => true,
                    Step::Item(place) => from_begin(*place) == at,
                    Step::Items(from, to) => {
                        from.is_none_or(|from| from_begin(from) <= at)
                            && to.is_none_or(|to| at < from_begin(to))
                    }
                    Step::Field(_) => false,
                });
                let before = out.len();
                out.push(separator);
                if !inner.is_empty() && copy(item, &inner, out) {
                    separator = ',';
                } else {
                    out.truncate(before);
                }
            }
            close(out, begin, ']')
        }
        Parts::None => false,
    }
}

fn close(out: &mut String, begin: usize, end: char) -> bool {
    let has_any = out.len() > begin;
    if has_any {
        out.push(end);
    }
    has_any
}

/// The rests of those paths whose first step fits.
fn after<'a>(paths: &[&'a [Step]], fits: impl Fn(&Step) -> bool) -> Vec<&'a [Step]> {
    let rest = |path: &&'a [Step]| path.split_first().filter(|(first, _)| fits(first)).map(|(_, rest)| rest);
    paths.iter().filter_map(rest).collect()
}

/// What a value is made of, as text.
enum Parts<'a> {
    Fields(Vec<(&'a RawValue, &'a RawValue)>),
    Items(Vec<&'a RawValue>),
    None,
}

impl<'a> Parts<'a> {
    fn of(value: &'a RawValue) -> Self {
        struct Split;
        impl<'de> Visitor<'de> for Split {
            type Value = Parts<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object or an array")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Parts<'de>, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Parts::Fields(fields))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Parts<'de>, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = sequence.next_element()? {
                    items.push(item);
                }
                Ok(Parts::Items(items))
            }
        }
        // Another kind of value holds nothing.
        serde_json::Deserializer::from_str(value.get()).deserialize_any(Split).unwrap_or(Self::None)
    }
}
