//! A reply of Responses, event by event.

use bytes::Bytes;
use serde::Serialize;

use super::items::{Item, Kind, Part};
use super::{Ending, Response, begun, ended, ending};
use crate::wire::{ARGUMENT_PIECES, TEXT_PIECES, Telling, named_frame, pieces};

#[derive(Default, Serialize)]
struct Event<'a> {
    #[serde(rename = "type")]
    of: &'static str,
    sequence_number: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    response: Option<&'a Response<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_index: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<&'a Item<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    item_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_index: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary_index: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<Part<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delta: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    logprobs: Option<[u8; 0]>,
}

/// Events so far.
#[derive(Debug, Default)]
struct Frames(Vec<Bytes>);

impl Frames {
    fn push(&mut self, of: &'static str, event: Event<'_>) -> Result<(), serde_json::Error> {
        let event = Event { of, sequence_number: self.0.len(), ..event };
        self.0.push(named_frame(of, &event)?);
        Ok(())
    }
}

pub(super) fn frames(telling: &Telling<'_>) -> Result<Vec<Bytes>, serde_json::Error> {
    let mut frames = Frames::default();
    let begun = begun(telling);
    for of in ["response.created", "response.in_progress"] {
        frames.push(of, Event { response: Some(&begun), ..Event::default() })?;
    }
    let ended = ended(telling)?;
    for (at, item) in ended.output.iter().enumerate() {
        let begun = item.begun();
        let of_item = |item| Event { output_index: Some(at), item: Some(item), ..Event::default() };
        frames.push("response.output_item.added", of_item(&begun))?;
        match item.of {
            Kind::Reasoning => push_summary(&mut frames, at, item)?,
            Kind::Message => push_text(&mut frames, at, item)?,
            Kind::FunctionCall => push_call(&mut frames, at, item)?,
        }
        frames.push("response.output_item.done", of_item(item))?;
    }
    let last = match ending(telling.reply) {
        Ending::Completed => "response.completed",
        Ending::Incomplete(_) => "response.incomplete",
        Ending::Failed => "response.failed",
        Ending::Untold => return Ok(frames.0),
    };
    frames.push(last, Event { response: Some(&ended), ..Event::default() })?;
    Ok(frames.0)
}

fn push_summary(frames: &mut Frames, at: usize, item: &Item<'_>) -> Result<(), serde_json::Error> {
    for (summary_index, part) in item.summary.iter().flatten().enumerate() {
        let event = || Event {
            item_id: Some(&item.id),
            output_index: Some(at),
            summary_index: Some(summary_index),
            ..Event::default()
        };
        let begun = Event { part: Some(Part::summary("")), ..event() };
        frames.push("response.reasoning_summary_part.added", begun)?;
        for piece in pieces(part.text, TEXT_PIECES) {
            let delta = Event { delta: Some(&piece), ..event() };
            frames.push("response.reasoning_summary_text.delta", delta)?;
        }
        frames.push("response.reasoning_summary_text.done", Event { text: Some(part.text), ..event() })?;
        frames.push("response.reasoning_summary_part.done", Event { part: Some(part.clone()), ..event() })?;
    }
    Ok(())
}

fn push_text(frames: &mut Frames, at: usize, item: &Item<'_>) -> Result<(), serde_json::Error> {
    for (content_index, part) in item.content.iter().flatten().enumerate() {
        let event = || Event {
            item_id: Some(&item.id),
            output_index: Some(at),
            content_index: Some(content_index),
            ..Event::default()
        };
        frames.push("response.content_part.added", Event { part: Some(Part::said("")), ..event() })?;
        for piece in pieces(part.text, TEXT_PIECES) {
            let delta = Event { delta: Some(&piece), logprobs: Some([]), ..event() };
            frames.push("response.output_text.delta", delta)?;
        }
        let done = Event { text: Some(part.text), logprobs: Some([]), ..event() };
        frames.push("response.output_text.done", done)?;
        frames.push("response.content_part.done", Event { part: Some(part.clone()), ..event() })?;
    }
    Ok(())
}

fn push_call(frames: &mut Frames, at: usize, item: &Item<'_>) -> Result<(), serde_json::Error> {
    let event = || Event { item_id: Some(&item.id), output_index: Some(at), ..Event::default() };
    for piece in pieces(item.arguments.unwrap_or_default(), ARGUMENT_PIECES) {
        let delta = Event { delta: Some(&piece), ..event() };
        frames.push("response.function_call_arguments.delta", delta)?;
    }
    let done = Event { name: item.name, arguments: item.arguments, ..event() };
    frames.push("response.function_call_arguments.done", done)
}
