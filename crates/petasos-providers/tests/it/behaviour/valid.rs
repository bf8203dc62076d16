//! Any transcript makes requests that every server takes, each with the parts of the one before.

use std::sync::Arc;

use petasos_core::entry::{Block, CallForm, FinishReason, ModelCall, Note, NoteSource, Reply, Speaker, When};
use petasos_core::request::{Params, ToolChoice, Wire};
use petasos_core::text::Text;
use petasos_core::transcript::Item;
use petasos_providers::{Body, Tail, encoder};
use petasos_testkit::check_request::check_request;
use proptest::prelude::*;

use crate::say::{head, said_by, step, step_of, target};

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), Just(" \n".to_owned()), ".{0,12}", Just("\u{0}\u{2028}\"\\".to_owned())]
}

fn block() -> impl Strategy<Value = Block> {
    let id = prop_oneof![
        Just(None),
        Just(Some("same".to_owned())),
        "call_[0-9]{1,2}_[0-9]".prop_map(Some),
        text().prop_map(Some),
        "[a-z]{30,50}".prop_map(Some),
    ];
    let arguments = prop_oneof![
        Just("{}".to_owned()),
        Just(r#"{"a":[1,{"b":null}]}"#.to_owned()),
        text(),
        "[{}\\[\\]\",:a0]{0,8}"
    ];
    let call = (id, text(), arguments, any::<bool>()).prop_map(|(id, name, arguments, complete)| {
        Block::Call(ModelCall {
            wire_id: id.map(Text::from),
            name: name.into(),
            arguments: arguments.into(),
            form: CallForm::Native,
            complete,
        })
    });
    prop_oneof![
        3 => call,
        1 => text().prop_map(|text| Block::Text(text.into())),
        1 => text().prop_map(|text| Block::Reasoning(text.into())),
    ]
}

fn items() -> impl Strategy<Value = Vec<Item>> {
    let speaker =
        prop_oneof![Just(Speaker::Person), Just(Speaker::Job), Just(Speaker::Parent), Just(Speaker::Program)];
    let when = prop_oneof![Just(When::Now), Just(When::NextStep), Just(When::AfterTurn)];
    let finish = prop_oneof![Just(FinishReason::Stop), Just(FinishReason::Cut), Just(FinishReason::Length)];
    let item = prop_oneof![
        (speaker, when, text()).prop_map(|(from, when, text)| said_by(from, when, &text)),
        text()
            .prop_map(|text| Item::Note(Arc::new(Note { source: NoteSource::Continue, text: text.into() }))),
        (prop::collection::vec(block(), 0..5), finish, text()).prop_map(|(blocks, finish, result)| {
            let calls = blocks.iter().filter(|block| matches!(block, Block::Call(_))).count();
            let Item::Step(plain) = step(2, blocks, &[]) else { unreachable!() };
            let reply = Reply { finish, ..(*plain.reply).clone() };
            step_of(2, reply, &vec![result.as_str(); calls])
        }),
    ];
    // Each step gets a place of its own in the log.
    prop::collection::vec(item, 0..8).prop_map(|items| {
        let placed = items.into_iter().zip(1..).map(|(item, place)| match item {
            Item::Step(mut step) => {
                step.reply_seq = petasos_core::id::Seq(place);
                Item::Step(step)
            }
            other => other,
        });
        placed.collect()
    })
}

proptest! {
    #[test]
    fn p02_any_transcript_makes_requests_that_every_server_takes(
        items in items(),
        system in text(),
        tools in any::<bool>(),
        forbidden in any::<bool>(),
    ) {
        let tools = if tools { r#"[{"name":"ls","description":"","parameters":{"type":"object"}}]"# } else { "[]" };
        let tool_choice = if forbidden { ToolChoice::Forbidden } else { ToolChoice::Auto };
        let mut encoder = encoder(&target(), &head(&system, tools));
        let mut before: Option<Body> = None;
        for (item, most) in items.iter().zip(1..) {
            encoder.push(item);
            let body = encoder.body(&Params { tool_choice }, &Tail { max_output: Some(most) });
            prop_assert_eq!(check_request(Wire::Chat, &body.bytes), Vec::<String>::new());
            if let Some(before) = before {
                prop_assert_eq!(&body.parts[..before.parts.len()], &before.parts[..]);
            }
            before = Some(body);
        }
    }
}
