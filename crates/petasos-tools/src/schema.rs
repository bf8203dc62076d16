//! What a schema wants, as far as arguments are fitted to it and errors tell it.

use std::fmt;

use serde_json::Value as Schema;

use crate::node::{Kind, Node};

/// References that are followed one after another.
const HOPS: usize = 8;
/// Levels of a schema that are shown.
const SHOWN_LEVELS: usize = 4;
/// Characters of a schema that are shown.
const SHOWN: usize = 260;

/// The kinds of values that a schema takes, each with the schema of what is inside.
#[derive(Clone, Debug)]
pub(crate) struct Wanted<'a> {
    root: &'a Schema,
    options: Vec<(Kind, &'a Schema)>,
}

/// How a value suits what is wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Suits<'a> {
    /// Not at all.
    No,
    /// By this schema.
    By(&'a Schema),
    /// By more than one, so that what is inside is left as it is.
    Several,
}

/// What a schema wants; `None` if it takes anything, or says it in words that are not read here.
pub(crate) fn wanted<'a>(root: &'a Schema, schema: &'a Schema) -> Option<Wanted<'a>> {
    let mut wanted = Wanted { root, options: Vec::new() };
    wanted.add(schema, HOPS).then_some(wanted)
}

impl<'a> Wanted<'a> {
    fn add(&mut self, schema: &'a Schema, hops: usize) -> bool {
        let hops = hops.saturating_sub(1);
        if let Some(reference) = schema.get("$ref") {
            let target = reference.as_str().and_then(|name| self.root.pointer(name.strip_prefix('#')?));
            return target.is_some_and(|target| hops > 0 && self.add(target, hops));
        }
        if let Some(types) = schema.get("type") {
            let one = std::slice::from_ref(types);
            let types = types.as_array().map_or(one, Vec::as_slice);
            let kinds = types.iter().map(|name| Some((Kind::named(name.as_str()?)?, schema)));
            let Some(options) = kinds.collect::<Option<Vec<_>>>() else { return false };
            self.options.extend(options);
            return true;
        }
        let choices = schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Schema::as_array);
        choices.is_some_and(|choices| {
            hops > 0 && !choices.is_empty() && choices.iter().all(|choice| self.add(choice, hops))
        })
    }

    /// True if values of this kind are taken.
    pub(crate) fn takes(&self, kind: Kind) -> bool {
        self.options.iter().any(|(option, _)| *option == kind)
    }

    /// How a value suits.
    pub(crate) fn suits(&self, node: &Node) -> Suits<'a> {
        let mut suits = Suits::No;
        for (_, schema) in self.options.iter().filter(|(kind, _)| node.is(*kind)) {
            suits = match suits {
                Suits::No => Suits::By(schema),
                Suits::By(other) if std::ptr::eq(other, *schema) => suits,
                Suits::By(_) | Suits::Several => Suits::Several,
            };
        }
        suits
    }

    /// True if the value is just what the items of the one array are that is taken here: an object with all
    /// that is required and nothing that is unknown.
    pub(crate) fn takes_array_of(&self, node: &Node) -> bool {
        let Node::Object(members) = node else { return false };
        let mut arrays = self.options.iter().filter(|(kind, _)| *kind == Kind::Array);
        let (Some((_, array)), None) = (arrays.next(), arrays.next()) else { return false };
        let Some(item) = item_schema(array, 0).and_then(|item| wanted(self.root, item)) else { return false };
        let Suits::By(item) = item.suits(node) else { return false };
        let Some(properties) = item.get("properties").and_then(Schema::as_object) else { return false };
        let has = |name: &str| members.iter().any(|(key, _)| &**key == name);
        members.iter().all(|(key, _)| properties.contains_key(&**key))
            && properties.keys().all(|name| has(name) || !is_required(item, name))
    }
}

impl fmt::Display for Wanted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (kind, schema)) in self.options.iter().enumerate() {
            f.write_str(if place == 0 { "" } else { " or " })?;
            f.write_str(kind.with_article())?;
            if matches!(kind, Kind::Array | Kind::Object) {
                write!(f, " {}", shown(self.root, *kind, schema, SHOWN_LEVELS))?;
            }
        }
        Ok(())
    }
}

/// The schema of an item of an array.
pub(crate) fn item_schema(schema: &Schema, index: usize) -> Option<&Schema> {
    let items = schema.get("items");
    let first = schema.get("prefixItems").or(items.filter(|items| items.is_array()));
    let own = first.and_then(Schema::as_array).and_then(|first| first.get(index));
    own.or(items.filter(|items| items.is_object()))
}

/// True if an object must have this member.
pub(crate) fn is_required(schema: &Schema, name: &str) -> bool {
    let required = schema.get("required").and_then(Schema::as_array);
    required.is_some_and(|required| required.iter().any(|required| required.as_str() == Some(name)))
}

/// A tool with its parameters, in a line: `read_file(path: string, lines?: integer)`.
pub(crate) fn signature(name: &str, parameters: &str) -> String {
    // The schema was checked when the tool came about; without it the name still says something.
    let root: Schema = serde_json::from_str(parameters).unwrap_or_default();
    let whole = format!("{name}({})", members(&root, &root, SHOWN_LEVELS));
    let dots = if whole.chars().nth(SHOWN).is_some() { "…" } else { "" };
    whole.chars().take(SHOWN).collect::<String>() + dots
}

fn members(root: &Schema, schema: &Schema, levels: usize) -> String {
    let properties = schema.get("properties").and_then(Schema::as_object);
    let members = properties.into_iter().flatten().map(|(name, member)| {
        let mark = if is_required(schema, name) { "" } else { "?" };
        format!("{name}{mark}: {}", short(root, member, levels.saturating_sub(1)))
    });
    members.collect::<Vec<_>>().join(", ")
}

fn short(root: &Schema, schema: &Schema, levels: usize) -> String {
    let Some(wanted) = wanted(root, schema) else { return String::from("any") };
    let options = wanted.options.iter().map(|(kind, schema)| shown(root, *kind, schema, levels));
    options.collect::<Vec<_>>().join("|")
}

fn shown(root: &Schema, kind: Kind, schema: &Schema, levels: usize) -> String {
    match kind {
        Kind::Array if levels > 0 => {
            let items = (0..).map_while(|index| schema.get("prefixItems")?.get(index));
            let mut items: Vec<String> = items.take(4).map(|item| short(root, item, levels - 1)).collect();
            if items.is_empty() {
                items.extend(item_schema(schema, 0).map(|item| short(root, item, levels - 1)));
            }
            format!("[{}]", items.join(", "))
        }
        Kind::Object if levels > 0 => format!("{{{}}}", members(root, schema, levels)),
        Kind::Null
        | Kind::Boolean
        | Kind::Integer
        | Kind::Number
        | Kind::String
        | Kind::Array
        | Kind::Object => kind.name().to_owned(),
    }
}
