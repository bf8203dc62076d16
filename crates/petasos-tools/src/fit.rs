//! Arguments made to fit the schema of a tool, where they can mean one thing only.
//!
//! A text is never changed where the schema takes text. What does not fit stays as it came, and the model is
//! told which field, what stands there and what is wanted.

use serde_json::Value as Schema;

use crate::node::{Kind, Node};
use crate::repair::{self, Repair, Repairs};
use crate::schema::{Suits, Wanted, is_required, item_schema, wanted};

/// The most digits that a number with an exponent is written out to.
const DIGITS: usize = 40;

/// A value that its schema does not take: where and why, as the model reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Misfit(pub(crate) String);

/// Fits arguments to the schema of a tool, and says what that changed.
///
/// # Errors
/// The first value that does not fit.
pub(crate) fn fit(schema: &Schema, arguments: &mut Node) -> Result<Repairs, Misfit> {
    let mut fitting = Fitting { root: schema, repairs: Repairs::new() };
    fitting.value(schema, arguments, &Place::Top)?;
    Ok(fitting.repairs)
}

/// Where a value stands.
#[derive(Clone, Copy, Debug)]
enum Place<'a> {
    Top,
    Member(&'a Place<'a>, &'a str),
    Item(&'a Place<'a>, usize),
}

impl Place<'_> {
    fn path(&self) -> String {
        match self {
            Self::Top => String::new(),
            Self::Member(Self::Top, key) => (*key).to_owned(),
            Self::Member(parent, key) => format!("{}.{key}", parent.path()),
            Self::Item(parent, place) => format!("{}[{place}]", parent.path()),
        }
    }

    fn misfit(&self, node: &Node, wanted: &Wanted<'_>, why: &str) -> Misfit {
        let path = self.path();
        let field = if path.is_empty() { "the arguments" } else { &path };
        Misfit(format!("{field}: invalid type: {}, expected {wanted}{why}", node.met()))
    }
}

#[derive(Debug)]
struct Fitting<'a> {
    root: &'a Schema,
    repairs: Repairs,
}

impl<'a> Fitting<'a> {
    fn value(&mut self, schema: &'a Schema, node: &mut Node, place: &Place<'_>) -> Result<(), Misfit> {
        let Some(wanted) = wanted(self.root, schema) else { return Ok(()) };
        if !matches!(wanted.suits(node), Suits::No) {
            return self.inside(wanted.suits(node), node, place);
        }
        let (mut read, repairs) = meant(node, &wanted).map_err(|why| place.misfit(node, &wanted, &why))?;
        let suits = wanted.suits(&read);
        if matches!(suits, Suits::No) {
            return Err(place.misfit(node, &wanted, ""));
        }
        self.inside(suits, &mut read, place)?;
        self.repairs.extend(repairs);
        *node = read;
        Ok(())
    }

    /// Fits what is in a value that suits.
    fn inside(&mut self, suits: Suits<'a>, node: &mut Node, place: &Place<'_>) -> Result<(), Misfit> {
        let Suits::By(schema) = suits else { return Ok(()) };
        match node {
            Node::Object(members) => self.members(schema, members, place),
            Node::Array(items) => items.iter_mut().enumerate().try_for_each(|(index, item)| {
                let schema = item_schema(schema, index);
                schema.map_or(Ok(()), |schema| self.value(schema, item, &Place::Item(place, index)))
            }),
            Node::Null | Node::Bool(_) | Node::Number(_) | Node::String(_) => Ok(()),
        }
    }

    fn members(
        &mut self,
        schema: &'a Schema,
        members: &mut Vec<(Box<str>, Node)>,
        place: &Place<'_>,
    ) -> Result<(), Misfit> {
        let others = schema.get("additionalProperties").filter(|others| others.is_object());
        let of = |key: &str| schema.get("properties").and_then(|properties| properties.get(key));
        let before = members.len();
        members.retain(|(key, value)| {
            of(key).is_none_or(|member| is_required(schema, key) || !self.is_nothing(member, value))
        });
        if members.len() < before {
            self.repairs.insert(Repair::NullLeftOut);
        }
        members.iter_mut().try_for_each(|(key, value)| {
            let schema = of(key).or(others);
            schema.map_or(Ok(()), |schema| self.value(schema, value, &Place::Member(place, key)))
        })
    }

    /// True for `null`, also as text, where a value is wanted that is neither.
    fn is_nothing(&self, schema: &'a Schema, value: &Node) -> bool {
        let takes = |kind| wanted(self.root, schema).is_none_or(|wanted| wanted.takes(kind));
        match value {
            Node::Null => !takes(Kind::Null),
            Node::String(text) if matches!(text.trim(), "null" | "None") => {
                !takes(Kind::Null) && !takes(Kind::String)
            }
            Node::Bool(_) | Node::Number(_) | Node::String(_) | Node::Array(_) | Node::Object(_) => false,
        }
    }
}

/// The one value that is meant by another of the wrong kind, or what more there is to say of it.
fn meant(node: &Node, wanted: &Wanted<'_>) -> Result<(Node, Repairs), String> {
    let takes_whole = wanted.takes(Kind::Integer);
    match node {
        Node::String(text) if !wanted.takes(Kind::String) => {
            let (read, mut repairs) =
                repair::value(text).map_err(|fault| format!("; read as JSON, {}", fault.cause))?;
            // "10 // 2", "5 # of 10": what looks like a comment in a text may be what it says.
            if repairs.contains(&Repair::Comment) {
                return Err(String::from("; a text with a comment is not read"));
            }
            repairs.insert(Repair::TextOfValue);
            let written_out = match &read {
                Node::Number(digits) if takes_whole => whole(digits),
                Node::Null
                | Node::Bool(_)
                | Node::Number(_)
                | Node::String(_)
                | Node::Array(_)
                | Node::Object(_) => None,
            };
            Ok((written_out.map_or(read, |digits| Node::Number(digits.into())), repairs))
        }
        Node::Number(digits) if takes_whole => {
            let digits = whole(digits).ok_or_else(String::new)?;
            Ok((Node::Number(digits.into()), Repairs::from([Repair::WholeNumber])))
        }
        Node::Object(_) if wanted.takes_array_of(node) => {
            Ok((Node::Array(vec![node.clone()]), Repairs::from([Repair::OneOfArray])))
        }
        Node::Null | Node::Bool(_) | Node::Number(_) | Node::String(_) | Node::Array(_) | Node::Object(_) => {
            Err(String::new())
        }
    }
}

/// The digits of a number that is whole, without point and exponent: `3.0` is `3`, `1.2e1` is `12`.
fn whole(number: &str) -> Option<String> {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let exponent: i32 = exponent.parse().ok()?;
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let after = after.trim_end_matches('0');
    let digits = format!("{before}{after}");
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Some(String::from("0"));
    }
    let shift = i64::from(exponent) - i64::try_from(after.len()).ok()?;
    let whole = match usize::try_from(shift) {
        Ok(zeros) if zeros <= DIGITS => format!("{digits}{}", "0".repeat(zeros)),
        Ok(_) => return None,
        // A fraction without a last zero, or one that only the exponent moves.
        Err(_) => {
            let zeros = usize::try_from(shift.checked_neg()?).ok()?;
            let kept = digits.len().checked_sub(zeros)?;
            let (whole, rest) = digits.split_at_checked(kept)?;
            (!whole.is_empty() && rest.bytes().all(|digit| digit == b'0')).then(|| whole.to_owned())?
        }
    };
    (whole.len() <= DIGITS).then(|| format!("{sign}{whole}"))
}
