//! What chance puts into the mouths of models, tools and people.

use std::collections::VecDeque;

use petasos_core::approval::{
    Action, Answer, Policy, Prepared, Proposal, Rule, Scope, Verdict, Wants, judge,
};
use petasos_core::bounded::{Bounded, Cap};
use petasos_core::budget::Limits;
use petasos_core::claims::Rerun;
use petasos_core::entry::{CallForm, Content, FinishReason, Opaque, Said, Speaker, When};
use petasos_core::id::{CallId, RequestId};
use petasos_core::learnt::{Adapt, Parameter};
use petasos_core::request::{Draft, Measured, Purpose};
use petasos_core::session::{Session, Terms};
use petasos_core::stop::FailureKind;
use petasos_core::text::{Json, Text};
use petasos_core::time::{Permille, Span};
use petasos_core::tool::{Fact, Outcome, ToolOutput};
use petasos_core::turn::{Delta, Failure, Guards, Input, Mode, OnAsk, Remedy, ReplyEnd};
use petasos_core::usage::Usage;

use crate::random::{Dice, Talk, Temper, is_closing};
use crate::row::{AGAIN, AGAINS};
use crate::words::{call, digest, failure, measured, output, policy, proposal, target};

const TOOLS: &[(u64, &str)] = &[
    (20, "read"),
    (4, "free_alone"),
    (14, "write"),
    (8, "other_write"),
    (5, "alone"),
    (8, "ask_write"),
    (4, "ask_alone"),
    (3, "deny_write"),
    (1, "hard_write"),
    (8, "keyed"),
    (6, "question"),
    (8, "probed"),
    (3, "nonsense"),
];

const FAILURES: &[FailureKind] = &[
    FailureKind::Auth,
    FailureKind::Billing,
    FailureKind::RateLimit,
    FailureKind::Overloaded,
    FailureKind::Timeout,
    FailureKind::Network,
    FailureKind::RateLimit,
    FailureKind::Overloaded,
    FailureKind::Timeout,
    FailureKind::Network,
    FailureKind::NotFound,
    FailureKind::BadRequest,
    FailureKind::Overflow,
    FailureKind::Empty,
    FailureKind::BadStream,
    FailureKind::Other,
];

pub(super) fn terms(dice: &mut Dice) -> Terms {
    let some = |dice: &mut Dice, share, least: u64, most: u64| {
        dice.permille(share).then(|| least + dice.below(most))
    };
    let limits = Limits {
        steps: some(dice, 850, 1, 7).map(|steps| steps as u32),
        tokens: some(dice, 200, 40, 300),
        micro_usd: some(dice, 150, 4, 40),
        time: some(dice, 150, 0, 20_000).map(Span),
    };
    let on_ask = *dice.weighed(&[(70, OnAsk::Ask), (12, OnAsk::Refuse), (18, OnAsk::Park)]);
    let guards = if dice.permille(850) { Guards::On } else { Guards::Off };
    let mode = Mode { serial: dice.permille(150), on_ask, guards };
    let fallback = (0..dice.below(3)).map(|place| target(&format!("fallback {place}"))).collect();
    let first = if dice.permille(900) { "first" } else { "other" };
    Terms { limits, mode, target: target(first), fallback }
}

pub(super) fn add(dice: &mut Dice) -> Limits {
    match dice.below(5) {
        0 => Limits::default(),
        1 => Limits { tokens: Some(dice.below(100)), ..Limits::default() },
        2 => Limits { micro_usd: Some(dice.below(20)), ..Limits::default() },
        3 => Limits { time: Some(Span(dice.below(9_000))), ..Limits::default() },
        _ => Limits { steps: Some(1 + dice.below(3) as u32), ..Limits::default() },
    }
}

pub(super) fn measure(dice: &mut Dice, draft: &Draft) -> Measured {
    let mut measured = measured(draft);
    (measured.tokens, measured.window) = (10, Some(1_000));
    measured.worst.tokens = 10 + dice.below(30);
    measured.worst.micro_usd = Some(2);
    if dice.permille(10) {
        measured.tokens = 1_000 + dice.below(2);
    }
    if dice.permille(20) {
        measured.worst.micro_usd = None;
    }
    measured
}

pub(super) fn said(dice: &mut Dice, when: When) -> Said {
    let text =
        Content::Text(dice.pick(&["do it", "and this", "then that", "你好，再试一次"]).to_owned().into());
    let blob = Content::Blob { hash: digest(7), bytes: 9, media: "image/png".into() };
    let content = match dice.below(10) {
        0 => vec![blob],
        1 => vec![text, blob],
        2 => vec![text.clone(), text],
        _ => vec![text],
    };
    let from = *dice.weighed(&[(8, Speaker::Person), (1, Speaker::Job), (1, Speaker::Program)]);
    Said { from, content, notes: Vec::new(), when, withdraws: None }
}

pub(super) fn answer(dice: &mut Dice, wants: Wants) -> Answer {
    let reason = || Text::from("not now");
    match wants {
        Wants::Approval => match dice.below(20) {
            0..=10 => Answer::Yes { scope: Scope::Once },
            11..=13 => Answer::Yes { scope: Scope::Session },
            14 => Answer::Yes { scope: Scope::Always },
            15..=16 => Answer::No { reason: reason() },
            17 => Answer::No { reason: "because ".repeat(if dice.permille(50) { 8_000 } else { 3 }).into() },
            _ => Answer::NoAndStop,
        },
        Wants::Answer => match dice.below(12) {
            0..=6 => Answer::Text("the second one".into()),
            7 => Answer::Text(" ".into()),
            8 => Answer::Text("x".repeat(if dice.permille(50) { 60_000 } else { 9 }).into()),
            9..=10 => Answer::No { reason: reason() },
            _ => Answer::NoAndStop,
        },
    }
}

/// The tool that a call means: its name, whatever else changes.
pub(super) fn tool_of(session: &Session, call: CallId) -> Text {
    let reply = session.turn().unwrap().told().step.reply.as_ref().unwrap();
    reply.made(usize::from(call.place)).unwrap().name.clone()
}

/// A call is prepared. Policy, hooks, what is shown and even claims may be others than the last time.
pub(super) fn prepare(dice: &mut Dice, session: &Session, call: CallId) -> Prepared {
    let tool = tool_of(session, call);
    let mut rules = policy();
    if &*tool == "nonsense" {
        let text = Bounded::new("no such tool", Cap::RESULT, "");
        return Prepared { verdict: Verdict::Invalid(text), rule: "tools".into(), policy: rules.hash };
    }
    let mut proposed = proposal(call, &tool);
    let kind = TOOLS.iter().position(|(_, name)| **name == *tool).unwrap_or(0) as u8;
    proposed.shown = digest(20 + kind * 8 + u8::try_from(call.place).unwrap());
    match dice.below(40) {
        0 => rules = today(&tool, *dice.pick(&[Action::Allow, Action::Ask, Action::Deny])),
        1 => proposed.at_least = Action::Ask,
        2 => proposed.at_least = Action::Deny,
        3..=4 => {
            proposed.changed_by = vec!["repair".into()];
            proposed.arguments = Json::try_from("{\"a\":1.50}").unwrap();
        }
        5 => proposed.shown = digest(200 + dice.below(20) as u8),
        6 => other_claims(dice, &mut proposed),
        _ => {}
    }
    judge(&rules, session.grants(), proposed)
}

fn today(tool: &Text, action: Action) -> Policy {
    let rules = vec![Rule { tool: tool.clone(), action, name: "rule of today".into() }];
    Policy { rules, hash: digest(6) }
}

/// The tool was updated meanwhile, and says other things of itself.
fn other_claims(dice: &mut Dice, proposed: &mut Proposal) {
    if proposed.wants == Wants::Answer {
        return;
    }
    match dice.below(3) {
        0 => proposed.claims.rerun = Rerun::Never,
        1 => proposed.claims.alone = true,
        _ => proposed.claims.rerun = Rerun::Keyed("another key".into()),
    }
}

/// A reply, or how the request fails.
pub(super) fn talk(
    dice: &mut Dice,
    request: RequestId,
    purpose: Purpose,
    temper: Temper,
) -> (Talk, &'static str) {
    let kind = match (is_closing(purpose), dice.below(100)) {
        (_, 0..70) if temper.failures > 0 => "failure",
        (_, 0..70) if temper.cuts > 0 => *dice.pick(&["cut", "cut calls"]),
        (false, 0..80) if temper.rows > 0 || temper.broken > 0 => "row",
        (_, 0..=13) => "failure",
        (_, 14..=16) => "refusal",
        (_, 17..=22) => "empty",
        (_, 23..=24) => "odd",
        (_, 25..=26) => "odd text",
        (_, 27..=34) => "cut",
        (_, 35..=40) => "cut calls",
        (false, 41..=79) | (true, 41..=50) => "calls",
        (_, 80) => "again",
        (_, _) => "text",
    };
    let mut rest = VecDeque::new();
    if dice.permille(200) {
        rest.push_back(Delta::Reasoning("let me see".into()));
    }
    if dice.permille(30) {
        rest.push_back(Delta::Opaque(Opaque {
            origin: "scripted".into(),
            raw: Json::try_from("[1]").unwrap(),
        }));
    }
    let has_text = matches!(kind, "text" | "refusal" | "odd text" | "cut") || dice.permille(250);
    if has_text && !matches!(kind, "empty" | "odd") {
        pieces(dice, &mut rest);
    }
    if matches!(kind, "calls" | "cut calls") {
        calls(dice, &mut rest, kind == "cut calls");
    }
    if kind == "row" {
        row(dice, &mut rest);
    }
    if kind == "again" {
        rest.push_back(Delta::Text(AGAIN.repeat(AGAINS).into()));
    }
    let finish = match kind {
        "calls" | "row" => FinishReason::ToolUse,
        "cut" | "cut calls" => FinishReason::Length,
        "refusal" => FinishReason::Refused,
        "odd" | "odd text" => FinishReason::Other("hm".into()),
        _ => FinishReason::Stop,
    };
    let end = if kind == "failure" {
        rest.truncate(dice.below(1 + rest.len() as u64) as usize);
        Input::RequestFailed { request, failure: fails(dice), jitter: Permille(dice.below(1200) as u16) }
    } else {
        Input::ReplyEnded { request, end: ending(dice, finish) }
    };
    (Talk { request, rest, end }, kind)
}

fn pieces(dice: &mut Dice, rest: &mut VecDeque<Delta>) {
    for _ in 0..=dice.below(4) {
        // Long, and no repetition, for that is what guards cut.
        let long = || (0..4_000).map(|number| format!("{number} ")).collect();
        let text = if dice.permille(10) { long() } else { "so, 好 ".to_owned() };
        rest.push_back(Delta::Text(text.into()));
    }
}

fn calls(dice: &mut Dice, rest: &mut VecDeque<Delta>, is_cut: bool) {
    let count = *dice.weighed(&[(6, 1_u16), (5, 2), (4, 3), (2, 4), (1, 5), (1, 6)]);
    for place in 0..count {
        let name = dice.weighed(TOOLS);
        let mut deltas = call(place, name, "{}");
        if dice.permille(50) {
            deltas[0] = Delta::Call { wire_id: None, name: (*name).into(), form: CallForm::Text };
            deltas.push(Delta::Raw("<call>".into()));
        }
        rest.extend(deltas);
    }
    if is_cut {
        while !matches!(rest.back(), None | Some(Delta::CallComplete { .. })) {
            rest.pop_back();
        }
        rest.pop_back();
    }
}

/// Calls such as those before, or nearly.
fn row(dice: &mut Dice, rest: &mut VecDeque<Delta>) {
    for place in 0..*dice.weighed(&[(12, 1), (3, 2), (1, 5)]) {
        let name = dice.weighed(&[(30, "write"), (3, "read"), (1, "keyed"), (1, "nonsense")]);
        let arguments = dice.weighed(&[(30, "{}"), (2, " { }\n"), (1, r#"{"n":1}"#)]);
        rest.extend(call(place, name, arguments));
    }
}

fn ending(dice: &mut Dice, finish: FinishReason) -> ReplyEnd {
    let input = dice.below(20);
    let usage = dice.permille(850).then(|| Usage { input, output: dice.below(20), ..Usage::default() });
    let micro_usd = dice.permille(930).then(|| dice.below(3));
    ReplyEnd { finish, usage, micro_usd, timing: Default::default(), model: None, window: None }
}

const REMEDIES: &[Remedy] = &[
    Remedy::NextTarget,
    Remedy::Adapt(Adapt::MaxOutput(4096)),
    Remedy::Adapt(Adapt::MaxOutput(512)),
    Remedy::Adapt(Adapt::Window(8192)),
    Remedy::Adapt(Adapt::Room { window: 8192, room: 1024 }),
    Remedy::Adapt(Adapt::OtherCapName),
    Remedy::Adapt(Adapt::Without(Parameter::Temperature)),
    Remedy::Adapt(Adapt::Without(Parameter::ReasoningBack)),
];

fn fails(dice: &mut Dice) -> Failure {
    let mut failed = failure(*dice.pick(FAILURES));
    if dice.permille(100) {
        failed.message = "no ".repeat(400).into();
    }
    if dice.permille(100) {
        failed.retry_after = Some(Span(dice.below(1_200_000)));
    }
    if dice.permille(300) {
        (failed.usage, failed.micro_usd) = (None, None);
    }
    if dice.permille(250) {
        failed.remedy = Some(*dice.pick(REMEDIES));
    }
    failed
}

pub(super) fn tool_ends(dice: &mut Dice, was_stopped: bool, temper: Temper) -> ToolOutput {
    use Outcome::{CutShort, Denied, Empty, Error, Invalid, NeverBegan, Ok, TimedOut, Unknown};
    if !was_stopped && dice.permille(930) {
        match (temper.broken > 0, temper.rows > 0) {
            (true, _) => {
                let said = *dice.pick(&["broken", "still broken", "broken for good"]);
                return output(Error, said);
            }
            (false, true) => return output(Ok, "done"),
            (false, false) => {}
        }
    }
    let outcome = if was_stopped {
        *dice.weighed(&[(12, CutShort), (4, Ok), (1, NeverBegan), (1, Error)])
    } else {
        let all = [(50, Ok), (8, Empty), (9, Error), (4, TimedOut), (3, CutShort), (2, Unknown)];
        match dice.below(12) {
            0 => *dice.pick(&[NeverBegan, Denied, Invalid]),
            _ => *dice.weighed(&all),
        }
    };
    let mut said = match dice.below(300) {
        0 => output(outcome, &"é".repeat(60_000)),
        1 => output(outcome, ""),
        _ => output(outcome, "done"),
    };
    match dice.below(12) {
        0 => said.facts.push(Fact::Wrote { path: "a".into(), hash: digest(8) }),
        1 => said.facts.push(Fact::NotWritten { path: "a".into() }),
        2 => said.facts.push(Fact::Ran { argv: vec!["ls".into()], exit: Some(1) }),
        _ => {}
    }
    said
}
