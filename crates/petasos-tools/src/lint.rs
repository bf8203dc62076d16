//! Whether a tool's face tells a model enough: when to use it, when not, and what each argument is.
//!
//! A description is read as words, in English and in Chinese, so what is found is a question to who wrote it, not a
//! proof. What passes may still be wrong; what is found is hardly ever right.

mod parameters;
mod words;
mod written;

use std::fmt;

use petasos_core::text::Text;

use crate::tool::ToolSpec;
pub use written::{NoSpecs, specs};

/// Characters of a description: several services take no more.
const LONGEST: usize = 1024;
/// Characters of what is said of one parameter: more of it belongs into the description, or is two parameters.
const LONGEST_OF_PARAMETER: usize = 300;
/// Characters of a name, as every wire takes it.
const LONGEST_NAME: usize = 64;

/// Something that a model is not told, or not well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The tool.
    pub tool: Text,
    /// Where: `name`, `description`, or a parameter by its path, such as `edits[].old`.
    pub at: Text,
    /// What is wrong.
    pub fault: Fault,
}

/// What is wrong with the face of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The name is empty, too long, or has other letters than wires take.
    Name,
    /// Another tool before it has the name.
    NameTaken,
    /// Nothing is said of it.
    NoDescription,
    /// It is not said when to use it.
    NoUse,
    /// It is not said when to use another, or none.
    NoLimit,
    /// More is said than a model is to read each time, or a service takes: so many characters at most.
    TooLong(usize),
    /// The arguments are no object with named properties.
    NoObject,
    /// An argument is required that is not described.
    NoSuchProperty,
    /// It is not said what it means.
    NoMeaning,
    /// It has no type.
    NoType,
    /// A text without format or example.
    NoFormat,
    /// A number without unit or bounds.
    NoUnit,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tool, at, fault } = self;
        write!(f, "{tool}: {at}: {fault}")
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Name => "is no name that every service takes; letters, digits, _ and -, 64 at most",
            Self::NameTaken => "a tool before it has the same name; a model could call only one of them",
            Self::NoDescription => "is missing; say what it does, when to use it, and when not",
            Self::NoUse => "does not say when to use it; for example \"Use it before …\", \"Use it when …\"",
            Self::NoLimit => {
                "does not say when not to use it; name the other tool (\"for … use …\"), or the case (\"not for …\")"
            }
            Self::TooLong(most) => return write!(f, "is longer than {most} characters; say less, or split it"),
            Self::NoObject => "are no object with properties; give {\"type\":\"object\",\"properties\":{…}}",
            Self::NoSuchProperty => "is required and not among the properties; describe it, or require it no more",
            Self::NoMeaning => "does not say what it means; give it a description of a few words",
            Self::NoType => "has no type; give it one, or an enum",
            Self::NoFormat => "is a text without format or example; for example \"…, such as src/main.rs\"",
            Self::NoUnit => "is a number without unit or bounds; say of what, or give minimum and maximum",
        })
    }
}

/// What is wrong with the face of a tool that stands beside others of these names.
pub fn lint(spec: &ToolSpec, others: &[&str]) -> Vec<Finding> {
    let found = |at: &str, fault: Fault| Finding { tool: spec.name.clone(), at: Text::from(at), fault };
    let mut findings = Vec::new();
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    if spec.name.is_empty() || spec.name.len() > LONGEST_NAME || !spec.name.chars().all(is_letter) {
        findings.push(found("name", Fault::Name));
    }
    let description = spec.description.trim();
    let others: Vec<&str> = others.iter().copied().filter(|other| *other != &*spec.name).collect();
    if description.is_empty() {
        findings.push(found("description", Fault::NoDescription));
    } else {
        if !words::tells_use(description, &spec.name, &others) {
            findings.push(found("description", Fault::NoUse));
        }
        if !words::tells_limit(description, &spec.name, &others) {
            findings.push(found("description", Fault::NoLimit));
        }
        if description.chars().nth(LONGEST).is_some() {
            findings.push(found("description", Fault::TooLong(LONGEST)));
        }
    }
    let faults = parameters::faults(spec.parameters.as_str());
    findings.extend(faults.into_iter().map(|(at, fault)| found(&at, fault)));
    findings
}

/// What is wrong with the faces of tools that are given to a model together.
pub fn lint_all(specs: &[ToolSpec]) -> Vec<Finding> {
    let names: Vec<&str> = specs.iter().map(|spec| &*spec.name).collect();
    let mut findings = Vec::new();
    for (place, spec) in specs.iter().enumerate() {
        if names.iter().take(place).any(|name| *name == &*spec.name) {
            let at = Text::from("name");
            findings.push(Finding { tool: spec.name.clone(), at, fault: Fault::NameTaken });
        }
        findings.extend(lint(spec, &names));
    }
    findings
}
