//! Any transcript makes requests that every server takes, each with the parts of the one before.

use std::collections::BTreeMap;

use petasos_core::entry::When;
use petasos_core::request::{Params, Target, ToolChoice, ToolMode, Wire};
use petasos_core::transcript::{ClosedStep, Item};
use petasos_core::turn::made_calls;
use petasos_providers::{
    AfterResults, Body, Encoder, Ids, OutputCap, Quirks, ReasoningBack, Rule, StreamUsage, Tail, catalog,
    encoder, encoder_without, origin,
};
use petasos_testkit::check_request::{check_prefix, check_request};
use petasos_testkit::transcripts::counted::COUNTED;
use petasos_testkit::transcripts::{Counts, Origin, Transcript, seal, targets, transcript};
use petasos_testkit::words::say;
use serde_json::Value;

/// So many transcripts; `PETASOS_TRANSCRIPTS` sets another number.
const TRANSCRIPTS: u64 = 300;

/// Replies come from any of them: the provider is switched at any step.
fn origins() -> Vec<Origin> {
    targets().iter().map(|target| (origin(target), target.clone())).collect()
}

fn count() -> u64 {
    std::env::var("PETASOS_TRANSCRIPTS").ok().map_or(TRANSCRIPTS, |count| count.parse().unwrap())
}

/// The requests that a transcript makes on its way, and how it stood when each was made.
fn requests(encoder: &mut dyn Encoder, items: &[Item]) -> Vec<Body> {
    let mut bodies = Vec::new();
    for (place, item) in items.iter().enumerate() {
        encoder.push(item);
        let tool_choice = if place % 3 == 2 { ToolChoice::Forbidden } else { ToolChoice::Auto };
        let max_output = [Some(512), None, Some(1)][place % 3];
        bodies.push(encoder.body(&Params { tool_choice }, &Tail { max_output, ..Tail::default() }));
    }
    bodies
}

/// A turn that goes on with calls of another origin is gone on with without thinking; where no calls are of another
/// origin the model thinks as it likes.
fn about_thinking(target: &Target, items: &[Item], body: &Body) -> Option<String> {
    let is_off = String::from_utf8_lossy(&body.bytes).contains(r#""thinking":{"type":"disabled"}"#);
    let has_calls = |step: &ClosedStep| made_calls(&step.reply).next().is_some();
    let foreign = |step: &ClosedStep| has_calls(step) && step.target.as_deref() != Some(target);
    let steps = items.iter().filter_map(|item| if let Item::Step(step) = item { Some(step) } else { None });
    match (items.last(), is_off) {
        (Some(Item::Step(step)), false) if foreign(step) => Some("thinking among foreign calls".into()),
        (_, true) if !steps.clone().any(foreign) => Some("thinking is forbidden for nothing".into()),
        _ => None,
    }
}

/// What the quirks of a provider want of a body and do not find there.
fn about_quirks(target: &Target, body: &Body) -> Vec<String> {
    let quirks = Quirks::of(&target.provider);
    let body: Value = serde_json::from_slice(&body.bytes).unwrap();
    let mut found = Vec::new();
    if quirks.ids == Ids::Nine {
        let mut ids = Vec::new();
        add_ids(&body, &mut ids);
        let is_nine = |id: &&String| id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        found.extend(ids.iter().filter(|id| !is_nine(id)).map(|id| format!("the id {id:?} is not of nine")));
    }
    let messages = match target.wire {
        Wire::Chat => body["messages"].as_array().unwrap().as_slice(),
        Wire::Responses | Wire::Messages => &[],
    };
    if quirks.after_results == AfterResults::Assistant {
        let is_gap = |pair: &&[Value]| pair[0]["role"] == "tool" && pair[1]["role"] == "user";
        found.extend(messages.windows(2).filter(is_gap).map(|_| "a user right behind results".to_owned()));
    }
    for message in messages {
        let is_wanted = message["role"] == "assistant" && quirks.reasoning == ReasoningBack::Always;
        if message["reasoning_content"].is_string() != is_wanted {
            found.push(format!("reasoning_content of {message}: wanted is {is_wanted}"));
        }
    }
    if target.wire == Wire::Chat {
        let (has, other) = match quirks.output_cap {
            OutputCap::MaxTokens => ("max_tokens", "max_completion_tokens"),
            OutputCap::MaxCompletionTokens => ("max_completion_tokens", "max_tokens"),
        };
        found.extend(body.get(other).map(|_| format!("{other} where {has} is the name")));
        let is_asked = body.get("stream_options").is_some();
        if is_asked != (quirks.stream_usage == StreamUsage::Asked) {
            found.push("stream_options".to_owned());
        }
    }
    found
}

/// The ids of calls and results, wherever they stand.
fn add_ids(value: &Value, ids: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            let is_call =
                ["tool_use", "function"].iter().any(|of| members.get("type").is_some_and(|is| is == of));
            for (key, value) in members {
                match (key.as_str(), value) {
                    ("call_id" | "tool_call_id" | "tool_use_id", Value::String(id)) => ids.push(id.clone()),
                    ("id", Value::String(id)) if is_call => ids.push(id.clone()),
                    // What a model says is its own affair.
                    ("input", Value::Object(_)) => {}
                    (_, value) => add_ids(value, ids),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| add_ids(item, ids)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Everything that is wrong with the requests of a transcript to the target in this place.
fn complaints(place: usize, items: &[Item], bodies: &[Body]) -> Vec<String> {
    let targets = targets();
    let wire = targets[place].wire;
    let mut found = Vec::new();
    for (at, body) in bodies.iter().enumerate() {
        found.extend(check_request(wire, &body.bytes));
        // Where calls are text there are none that the wire knows of.
        if wire == Wire::Messages && targets[place].tool_mode == ToolMode::Native {
            found.extend(about_thinking(&targets[place], &items[..=at], body));
        }
        found.extend(about_quirks(&targets[place], body));
        let text = String::from_utf8_lossy(&body.bytes);
        let foreign = (0..targets.len()).filter(|other| *other != place && text.contains(&seal(*other)));
        found.extend(foreign.map(|other| format!("what {:?} sealed goes to another", targets[other])));
    }
    for pair in bodies.windows(2) {
        found.extend(check_prefix(wire, &pair[0].bytes, &pair[1].bytes));
        if !pair[1].parts.starts_with(&pair[0].parts) {
            found.push("the parts do not start with those of the request before".into());
        }
    }
    found
}

/// Undo, retry, a fork and going back all leave the beginning of a transcript, up to something said or a whole step.
#[test]
fn p02_s03_from_any_place_one_can_say_something_else_to_every_server() {
    let (targets, origins) = (targets(), origins());
    let mut moves = 0;
    for seed in 0..count() / 10 {
        let Transcript { head, items } = transcript(seed, &origins, &mut Counts::new());
        let is_place = |place: &usize| matches!(items[*place], Item::Said(_) | Item::Step(_));
        for place in (0..items.len()).filter(is_place) {
            let mut way = items[..=place].to_vec();
            way.push(Item::Said(std::sync::Arc::new(say("something else", When::Now))));
            for (at, target) in targets.iter().enumerate() {
                let mut encoder = encoder(target, &head);
                way.iter().for_each(|item| encoder.push(item));
                let params = Params { tool_choice: ToolChoice::Auto };
                let body = encoder.body(&params, &Tail { max_output: Some(512), ..Tail::default() });
                let found: Vec<String> = check_request(targets[at].wire, &body.bytes)
                    .into_iter()
                    .chain(about_quirks(target, &body))
                    .collect();
                assert_eq!(found, Vec::<String>::new(), "seed {seed}, behind item {place}, to {target:?}");
                moves += 1;
            }
        }
    }
    assert!(moves > 1_000, "{moves}");
}

#[test]
fn p02_p10_any_transcript_makes_requests_that_every_server_takes() {
    let (targets, origins) = (targets(), origins());
    let mut counts = Counts::new();
    let mut requests_made = 0;
    for seed in 0..count() {
        let Transcript { head, items } = transcript(seed, &origins, &mut counts);
        for (place, target) in targets.iter().enumerate() {
            let bodies = requests(&mut *encoder(target, &head), &items);
            requests_made += bodies.len();
            let found = complaints(place, &items, &bodies);
            assert_eq!(found, Vec::<String>::new(), "transcript {seed} to {target:?}: {items:?}");
        }
    }
    println!("{requests_made} requests of {} transcripts, in which", count());
    for (what, often) in &counts {
        println!("{often:>7} times {what}");
    }
    let never: Vec<_> =
        COUNTED.iter().filter(|what| counts.get(**what).is_none_or(|often| *often == 0)).collect();
    assert_eq!(never, Vec::<&&str>::new(), "what never happens shows nothing");
}

/// Each quirk that shows in bytes is that of some target, and some target has two models.
#[test]
fn every_quirk_of_the_catalog_is_that_of_some_target() {
    let targets = targets();
    let of_targets: Vec<Quirks> = targets.iter().map(|target| Quirks::of(&target.provider)).collect();
    for row in catalog() {
        let quirks = row.quirks;
        let has = |same: &dyn Fn(&Quirks) -> bool| of_targets.iter().any(same);
        assert!(has(&|of| of.ids == quirks.ids), "{}", row.name);
        assert!(has(&|of| of.reasoning == quirks.reasoning), "{}", row.name);
        assert!(has(&|of| of.after_results == quirks.after_results), "{}", row.name);
        assert!(has(&|of| of.output_cap == quirks.output_cap), "{}", row.name);
        assert!(has(&|of| of.stream_usage == quirks.stream_usage), "{}", row.name);
        assert!(has(&|of| of.sealed_reasoning == quirks.sealed_reasoning), "{}", row.name);
    }
    for wire in [Wire::Chat, Wire::Responses, Wire::Messages] {
        let on = || targets.iter().filter(move |target| target.wire == wire);
        let has_two =
            on().any(|one| on().any(|other| one.provider == other.provider && one.model != other.model));
        assert!(has_two, "{wire:?}");
    }
}

/// Requests that are made from the same transcript in one process and in another are the same.
#[test]
fn p10_the_same_transcript_makes_the_same_bytes_wherever_it_is_taken_up() {
    let (targets, origins) = (targets(), origins());
    for seed in 0..30 {
        let Transcript { head, items } = transcript(seed, &origins, &mut Counts::new());
        for target in &targets {
            let along = requests(&mut *encoder(target, &head), &items);
            for (at, body) in along.iter().enumerate() {
                let anew = requests(&mut *encoder(target, &head), &items[..=at]);
                assert_eq!(anew.last().unwrap(), body, "transcript {seed} at {at} to {target:?}");
            }
        }
    }
}

/// A rule without which everything is still valid would be none; where each is needed is told here.
#[test]
fn p02_with_any_one_rule_switched_off_some_request_is_wrong() {
    let (targets, origins) = (targets(), origins());
    let mut needed: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for rule in Rule::ALL {
        let wires = needed.entry(format!("{rule:?}")).or_default();
        for wire in [Wire::Chat, Wire::Responses, Wire::Messages] {
            let is_found = (0..TRANSCRIPTS).any(|seed| {
                let Transcript { head, items } = transcript(seed, &origins, &mut Counts::new());
                targets.iter().enumerate().filter(|(_, target)| target.wire == wire).any(|(place, target)| {
                    let bodies = requests(&mut *encoder_without(*rule, target, &head), &items);
                    // Nothing is wrong with what the rules make together.
                    bodies != requests(&mut *encoder(target, &head), &items)
                        && !complaints(place, &items, &bodies).is_empty()
                })
            });
            if is_found {
                wires.push(format!("{wire:?}"));
            }
        }
    }
    let table: Vec<String> =
        needed.into_iter().map(|(rule, wires)| format!("{rule}: {}", wires.join(", "))).collect();
    expect_test::expect![[r#"
        AnswersAreApart: Chat, Responses, Messages
        AnswersSaySomething: Chat, Responses, Messages
        ArgumentsAreAnObject: Chat, Responses, Messages
        CallsHaveResults: Chat, Responses, Messages
        CallsNeedTools: Messages
        FewCacheMarks: Messages
        IdsFit: Chat, Responses, Messages
        IdsOnce: Chat, Responses, Messages
        ListedFieldsGoBack: Responses, Messages
        NamesDiffer: Chat, Responses, Messages
        NamesFit: Chat, Responses, Messages
        NoThinkingAmongForeignCalls: Messages
        NothingEmptyIsSent: Chat, Responses, Messages
        OpaqueGoesHome: Chat, Responses, Messages
        OutputCapIsTaken: Responses
        ReasoningHasAFollower: Responses, Messages
        ReasoningIsGivenBack: Chat
        ReasoningIsSealed: Responses, Messages
        ResultsAreAnswered: Chat
        ResultsSaySomething: Chat, Responses, Messages
        SchemasAreOfObjects: Chat, Responses, Messages
        ToolChoiceNeedsTools: Chat, Responses, Messages
        ToolsAreDescribed: Chat, Responses, Messages
        UserSpeaksFirst: Chat, Responses, Messages
        UserSpeaksLast: Chat, Responses, Messages
        UsersAreJoined: Chat, Responses, Messages
        UsersSaySomething: Chat, Responses, Messages"#]]
    .assert_eq(&table.join("\n"));
}
