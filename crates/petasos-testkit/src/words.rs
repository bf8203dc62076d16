//! A vocabulary for tests: what is said, answered and measured, in few words.
//!
//! Amounts and times are zero or at least a thousand, so that a walk can tell them from the small
//! numbers that name entries.

use petasos_core::approval::{Action, Policy, Proposal, Rule, Wants};
use petasos_core::bounded::{Bounded, Cap};
use petasos_core::budget::{Limits, Worst};
use petasos_core::claims::{Access, Claims, Place, PlaceKind, Rerun};
use petasos_core::entry::{CallForm, Content, FinishReason, Head, Said, Speaker, Timing, When};
use petasos_core::id::{CallId, Digest};
use petasos_core::request::{Draft, Measured, Tail, Target, ToolMode, Wire};
use petasos_core::session::Terms;
use petasos_core::stop::FailureKind;
use petasos_core::text::{Json, Text};
use petasos_core::time::Span;
use petasos_core::tool::{Outcome, ToolOutput};
use petasos_core::turn::{Delta, Failure, Mode, ReplyEnd};
use petasos_core::usage::Usage;

/// A hash that stands for something, told apart by a number.
pub fn digest(number: u8) -> Digest {
    Digest([number; 32])
}

/// A target by its model's name.
pub fn target(model: &str) -> Target {
    Target { provider: "scripted".into(), model: model.into(), wire: Wire::Chat, tool_mode: ToolMode::Native }
}

/// Terms with a step limit, one target and no fallback.
pub fn terms(steps: u32) -> Terms {
    let limits = Limits { steps: Some(steps), ..Limits::default() };
    Terms { limits, mode: Mode::default(), target: target("first"), fallback: Vec::new() }
}

/// A person says something.
pub fn say(text: &str, when: When) -> Said {
    Said {
        from: Speaker::Person,
        content: vec![Content::Text(text.into())],
        notes: Vec::new(),
        when,
        withdraws: None,
    }
}

/// The head of every test.
pub fn head() -> Head {
    Head {
        system: "You are a test.".into(),
        tools: Json::try_from("[]").unwrap(),
        toolset: "test".into(),
        reason: "new session".into(),
        hash: digest(1),
    }
}

/// What a small request measures.
pub fn measured(draft: &Draft) -> Measured {
    Measured {
        tokens: 10_000,
        window: Some(1_000_000),
        bytes: 4_000,
        parts: vec![digest(2)],
        prefix: digest(3),
        body: digest(4),
        tail: Tail::default(),
        breaks: Vec::new(),
        worst: Worst { purpose: draft.purpose, tokens: 20_000, micro_usd: Some(2_000) },
    }
}

/// The deltas of a whole call.
pub fn call(place: u16, name: &str, arguments: &str) -> Vec<Delta> {
    let wire_id = Some(Text::from(format!("call_{place}")));
    vec![
        Delta::Call { wire_id, name: name.into(), form: CallForm::Native },
        Delta::Arguments { place, text: arguments.into() },
        Delta::CallComplete { place },
    ]
}

/// The end of a reply that used 10,000 tokens.
pub fn ends(finish: FinishReason) -> ReplyEnd {
    let usage = Some(Usage { input: 8_000, output: 2_000, ..Usage::default() });
    ReplyEnd { finish, usage, micro_usd: Some(1_000), timing: Timing::default(), model: None, window: None }
}

/// A request that failed before anything came.
pub fn failure(kind: FailureKind) -> Failure {
    let message = Text::from("no");
    let usage = Some(Usage::default());
    Failure { kind, status: Some(500), message, retry_after: None, remedy: None, usage, micro_usd: Some(0) }
}

/// What a tool gives back.
pub fn output(outcome: Outcome, text: &str) -> ToolOutput {
    let for_model = Bounded::new(text, Cap::RESULT, "blob:0; read it with read_file");
    let bytes = text.len() as u64;
    ToolOutput { outcome, for_model, bytes, blob: None, facts: Vec::new(), took: Span(1_000) }
}

/// A policy in which a tool's name says what becomes of it: `deny_…`, `ask_…`, `hard_…`; others run.
pub fn policy() -> Policy {
    let rule =
        |tool: &str, action| Rule { tool: tool.into(), action, name: Text::from(format!("{tool} rule")) };
    let rules = vec![
        rule("*", Action::Allow),
        rule("ask_alone", Action::Ask),
        rule("ask_write", Action::Ask),
        rule("deny_write", Action::Deny),
        rule("hard_write", Action::Hardline),
    ];
    Policy { rules, hash: digest(5) }
}

/// The first number that stands for what is shown of a question.
pub const QUESTION: u8 = 200;

/// A call as its tool's name tells it: `read`, `write`, `alone`, `other_write`, `keyed`, `question`,
/// behind what [`policy`] reads of the name.
pub fn proposal(call: CallId, tool: &str) -> Proposal {
    let place = |name: &str, access| vec![Place { kind: PlaceKind::Path, name: name.into(), access }];
    let (rerun, places, alone, wants) = match tool {
        "read" => (Rerun::Free, place("a", Access::Read), false, Wants::Approval),
        "free_alone" => (Rerun::Free, Vec::new(), true, Wants::Approval),
        "other_write" => (Rerun::Never, place("b", Access::Write), false, Wants::Approval),
        "alone" | "ask_alone" => (Rerun::Never, Vec::new(), true, Wants::Approval),
        "keyed" => {
            (Rerun::Keyed(format!("key {call}").into()), place("c", Access::Write), false, Wants::Approval)
        }
        "question" => (Rerun::Free, Vec::new(), false, Wants::Answer),
        _ => (Rerun::Never, place("a", Access::Write), false, Wants::Approval),
    };
    let probe = (tool == "probed").then(|| Json::try_from("{}").unwrap());
    Proposal {
        call,
        tool: tool.into(),
        arguments: Json::try_from("{}").unwrap(),
        changed_by: Vec::new(),
        claims: Claims { rerun, places, alone, argv: Vec::new(), probe },
        // What is shown of a question is told apart from what is shown of a call, for worlds to answer it.
        shown: digest(
            if wants == Wants::Answer { QUESTION } else { 100 } + u8::try_from(call.place).unwrap(),
        ),
        wants,
        at_least: Action::Allow,
    }
}
