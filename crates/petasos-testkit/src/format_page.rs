//! The page on a format, as something that lines can be checked against.
//!
//! `docs/format/session.md` has one table of kinds, one of scalars, and under a heading of each kind or type either a
//! table of fields (an object) or one of values (one of several). Nothing else of the page is read. `events.md` is
//! such a page without kinds.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// What the page says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatPage {
    /// The kinds, with what their lines in the table say.
    pub kinds: BTreeMap<String, Kind>,
    scalars: BTreeMap<String, String>,
    shapes: BTreeMap<String, Shape>,
}

/// A kind in the table of kinds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// `S` or `W`.
    pub keep: String,
    /// `P`, `A`, or both.
    pub follows: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Shape {
    Object(BTreeMap<String, Field>),
    OneOf(BTreeMap<String, Option<Type>>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Field {
    of: Type,
    may_be_left_out: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Type {
    Named(String),
    List(Box<Type>),
    OrNull(Box<Type>),
    Object(BTreeMap<String, Field>),
}

/// Where a value stands, what was met on the way, and the first thing that does not fit.
struct Walk<'a> {
    page: &'a FormatPage,
    met: BTreeSet<String>,
}

impl FormatPage {
    /// Reads the page.
    ///
    /// # Panics
    /// If a table cannot be understood, or names a type that has no heading: with the line.
    pub fn parse(page: &str) -> Self {
        let mut parsed = Self { kinds: BTreeMap::new(), scalars: BTreeMap::new(), shapes: BTreeMap::new() };
        let (mut heading, mut columns) = (String::new(), Vec::new());
        for line in page.lines() {
            if let Some(text) =
                line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#'))
            {
                (heading, columns) = (text.to_owned(), Vec::new());
            } else if !line.starts_with('|') {
                columns = Vec::new();
            } else if columns.is_empty() {
                columns = cells(line);
            } else if !line.starts_with("|---") {
                parsed.row(&heading, &columns, &cells(line));
            }
        }
        parsed.check_names();
        parsed
    }

    fn row(&mut self, heading: &str, columns: &[String], cells: &[String]) {
        let (first, second) = (&cells[0], &cells[1]);
        match columns[0].as_str() {
            "kind" => {
                let kind = Kind { keep: second.clone(), follows: cells[2].clone() };
                self.kinds.insert(plain(first), kind);
            }
            "scalar" => {
                self.scalars.insert(first.clone(), second.clone());
            }
            "field" => {
                let shape =
                    self.shapes.entry(heading.to_owned()).or_insert_with(|| Shape::Object(BTreeMap::new()));
                let Shape::Object(fields) = shape else { panic!("{heading} has fields and values") };
                let field = Field { of: a_type(second), may_be_left_out: first.ends_with('?') };
                assert_eq!(fields.insert(plain(first), field), None, "{heading} has {first} twice");
            }
            "value" => {
                let shape =
                    self.shapes.entry(heading.to_owned()).or_insert_with(|| Shape::OneOf(BTreeMap::new()));
                let Shape::OneOf(values) = shape else { panic!("{heading} has fields and values") };
                let with = (!second.is_empty()).then(|| a_type(second));
                assert_eq!(values.insert(plain(first), with), None, "{heading} has {first} twice");
            }
            _ => {}
        }
    }

    fn check_names(&self) {
        for kind in self.kinds.keys() {
            assert!(
                self.shapes.contains_key(&format!("`{kind}`")),
                "the page has no heading for kind {kind}"
            );
        }
        for (heading, shape) in &self.shapes {
            let types: Vec<&Type> = match shape {
                Shape::Object(fields) => fields.values().map(|field| &field.of).collect(),
                Shape::OneOf(values) => values.values().flatten().collect(),
            };
            for one in types {
                self.check_type(heading, one);
            }
        }
    }

    fn check_type(&self, heading: &str, one: &Type) {
        match one {
            Type::Named(name) => {
                let known = self.scalars.contains_key(name) || self.shapes.contains_key(name);
                assert!(known, "{heading} names the type {name}, which the page does not have");
            }
            Type::List(inner) | Type::OrNull(inner) => self.check_type(heading, inner),
            Type::Object(fields) => fields.values().for_each(|field| self.check_type(heading, &field.of)),
        }
    }

    /// What is wrong with a line of a log by this page; none if all of it is on the page. The sum is not checked.
    pub fn complaint(&self, line: &str) -> Option<String> {
        self.walk(line).err()
    }

    /// All that the page has to name: kinds with their fields, types with their fields or values.
    pub fn names(&self) -> BTreeSet<String> {
        self.shapes.iter().flat_map(|(heading, shape)| shape.names(heading)).collect()
    }

    /// Those of [`FormatPage::names`] that a line shows.
    ///
    /// # Errors
    /// What is wrong with the line by this page.
    pub fn walk(&self, line: &str) -> Result<BTreeSet<String>, String> {
        let value: Value = serde_json::from_str(line).map_err(|error| format!("no JSON: {error}"))?;
        let Value::Object(envelope) = &value else { return Err("a line is an object".into()) };
        let keys: Vec<&str> = envelope.keys().map(String::as_str).collect();
        let mut wanted = vec!["at", "body", "kind", "seq", "v"];
        if envelope.contains_key("sum") {
            wanted.push("sum");
        }
        if keys.iter().collect::<BTreeSet<_>>() != wanted.iter().collect() {
            return Err(format!("a line has the keys {wanted:?}, not {keys:?}"));
        }
        let kind = envelope["kind"].as_str().ok_or("kind is no text")?;
        if !self.kinds.contains_key(kind) {
            return Err(format!("kind {kind} is not on the page"));
        }
        self.walk_object(&format!("`{kind}`"), &envelope["body"])
    }

    /// Those of [`FormatPage::names`] that an object shows, by the fields that stand under a heading.
    ///
    /// # Errors
    /// What is wrong with the object by this page.
    pub fn walk_object(&self, heading: &str, object: &Value) -> Result<BTreeSet<String>, String> {
        let Some(Shape::Object(fields)) = self.shapes.get(heading) else {
            return Err(format!("the page has no fields under {heading}"));
        };
        let mut walk = Walk { page: self, met: BTreeSet::new() };
        walk.object(heading, fields, object)?;
        Ok(walk.met)
    }
}

impl Walk<'_> {
    fn object(&mut self, path: &str, fields: &BTreeMap<String, Field>, value: &Value) -> Result<(), String> {
        let Value::Object(object) = value else { return Err(format!("{path}: {value} is no object")) };
        if let Some(key) = object.keys().find(|key| !fields.contains_key(*key)) {
            return Err(format!("{path} has {key}, which is not on the page"));
        }
        for (key, field) in fields {
            let name = format!("{path}.{key}");
            match object.get(key) {
                Some(value) => self.value(&name, &field.of, value)?,
                None if field.may_be_left_out => continue,
                None => return Err(format!("{name} is left out")),
            }
            self.met.insert(name);
        }
        Ok(())
    }

    fn value(&mut self, path: &str, wanted: &Type, value: &Value) -> Result<(), String> {
        match (wanted, value) {
            (Type::OrNull(_), Value::Null) => Ok(()),
            (Type::OrNull(inner), _) => self.value(path, inner, value),
            (Type::List(inner), Value::Array(list)) => {
                list.iter().try_for_each(|one| self.value(path, inner, one))
            }
            (Type::List(_), _) => Err(format!("{path}: {value} is no list")),
            (Type::Object(fields), _) => self.object(path, fields, value),
            (Type::Named(name), _) => match (self.page.scalars.get(name), self.page.shapes.get(name)) {
                (Some(json), _) => scalar(path, name, json, value),
                (None, Some(Shape::Object(fields))) => self.object(name, fields, value),
                (None, Some(Shape::OneOf(values))) => self.one_of(name, values, value),
                (None, None) => Err(format!("{path}: no type {name}")),
            },
        }
    }

    fn one_of(
        &mut self,
        path: &str,
        values: &BTreeMap<String, Option<Type>>,
        value: &Value,
    ) -> Result<(), String> {
        let (name, with) = match value {
            Value::String(name) => (name, None),
            Value::Object(object) if object.len() == 1 => {
                let (name, with) = object.iter().next().expect("it has one key");
                (name, Some(with))
            }
            _ => return Err(format!("{path}: {value} is neither a value nor one with something")),
        };
        let named = format!("{path}.{name}");
        match (values.get(name), with) {
            (None, _) => return Err(format!("{path} has the value {name}, which is not on the page")),
            (Some(None), None) => {}
            (Some(Some(wanted)), Some(with)) => self.value(&named, wanted, with)?,
            (Some(_), _) => return Err(format!("{named} comes with something else than the page says")),
        }
        self.met.insert(named);
        Ok(())
    }
}

fn scalar(path: &str, name: &str, json: &str, value: &Value) -> Result<(), String> {
    let text = value.as_str();
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let fits = match (json, name) {
        ("boolean", _) => value.is_boolean(),
        ("number", "code") => value.is_i64(),
        ("number", _) => value.is_u64(),
        (_, "json") => text.is_some_and(|text| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()),
        (_, "hash") => text.is_some_and(|text| text.parse::<petasos_core::id::Digest>().is_ok()),
        (_, "session") => text.is_some_and(|text| text.parse::<petasos_core::id::SessionId>().is_ok()),
        (_, "call") => {
            text.and_then(|text| text.split_once('.')).is_some_and(|(a, b)| digits(a) && digits(b))
        }
        _ => text.is_some(),
    };
    if fits { Ok(()) } else { Err(format!("{path}: {value} is no {name}")) }
}

impl Shape {
    fn names(&self, heading: &str) -> Vec<String> {
        match self {
            Self::Object(fields) => field_names(heading, fields),
            Self::OneOf(values) => {
                let names = |(value, with): (&String, &Option<Type>)| {
                    let name = format!("{heading}.{value}");
                    let fields = match with {
                        Some(Type::Object(fields)) => field_names(&name, fields),
                        _ => Vec::new(),
                    };
                    [vec![name], fields].concat()
                };
                values.iter().flat_map(names).collect()
            }
        }
    }
}

fn field_names(path: &str, fields: &BTreeMap<String, Field>) -> Vec<String> {
    fields.keys().map(|field| format!("{path}.{field}")).collect()
}

/// The cells of a line of a table.
fn cells(line: &str) -> Vec<String> {
    line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
}

/// A name without its marks.
fn plain(cell: &str) -> String {
    cell.trim_end_matches('?').trim_matches('`').to_owned()
}

/// `text`, `[text]`, `text or null`, `{path: text, exit?: code or null}`.
fn a_type(text: &str) -> Type {
    let text = text.trim();
    if let Some(inner) = text.strip_suffix(" or null") {
        return Type::OrNull(Box::new(a_type(inner)));
    }
    if let Some(inner) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        return Type::List(Box::new(a_type(inner)));
    }
    let Some(inner) = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) else {
        return Type::Named(text.to_owned());
    };
    let field = |text: &str| {
        let (name, of) = text.split_once(':').unwrap_or_else(|| panic!("{text} is no field of {inner}"));
        let name = name.trim();
        (plain(name), Field { of: a_type(of), may_be_left_out: name.ends_with('?') })
    };
    Type::Object(inner.split(',').map(field).collect())
}
