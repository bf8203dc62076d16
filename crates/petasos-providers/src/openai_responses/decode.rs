//! Events of the Responses wire to deltas.

use petasos_core::entry::FinishReason;
use petasos_core::text::Text;
use petasos_core::turn::Delta;
use serde_json::value::RawValue;

use super::event::{Event, Item, Kind, Manner, Response, Slot, Words};
use super::items::{Completing, GrowingItems, Refusal};
use crate::answer::{Answer, Counted, Fed, other_finish};
use crate::classify::Reported;
use crate::sse::SseEvent;
use crate::wire::{Ending, WireDecoder};

/// Why a reply is incomplete, as servers write it.
const REASONS: &[(&str, FinishReason)] = &[
    ("max_output_tokens", FinishReason::Length),
    ("max_tokens", FinishReason::Length),
    ("length", FinishReason::Length),
    ("content_filter", FinishReason::Refused),
];

/// How a reply stands at its end. What the event of the end is called says it, unless its reply says worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Completed,
    Incomplete,
    Failed,
    Cancelled,
}

const STANDINGS: &[(&str, Standing)] = &[
    ("completed", Standing::Completed),
    ("incomplete", Standing::Incomplete),
    ("failed", Standing::Failed),
    ("cancelled", Standing::Cancelled),
];

/// Reads one answer of a Responses server.
#[derive(Clone, Debug)]
pub(crate) struct ResponsesDecoder {
    items: GrowingItems,
}

impl ResponsesDecoder {
    /// A decoder for an answer of this origin.
    pub(crate) fn new(origin: Text) -> Self {
        Self { items: GrowingItems::new(origin) }
    }

    fn read(
        &mut self,
        event: &Event<'_>,
        type_: &str,
        deltas: &mut Vec<Delta>,
    ) -> Result<Fed, serde_json::Error> {
        let (content, summary) = (event.content(), event.summary());
        match type_ {
            "response.output_text.delta" => {
                self.add(event, Kind::Message, (content, Manner::Text), deltas)?
            }
            "response.refusal.delta" => self.add(event, Kind::Message, (content, Manner::Refusal), deltas)?,
            // The last two are those of other servers.
            "response.reasoning_text.delta"
            | "response.reasoning.delta"
            | "response.reasoning_content.delta" => {
                self.add(event, Kind::Reasoning, (content, Manner::Text), deltas)?;
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_summary.delta" => {
                self.add(event, Kind::Reasoning, (summary, Manner::Text), deltas)?;
            }
            "response.output_text.done" => self.end(event, Kind::Message, (content, Manner::Text), deltas),
            "response.refusal.done" => self.end(event, Kind::Message, (content, Manner::Refusal), deltas),
            "response.reasoning_text.done" => {
                self.end(event, Kind::Reasoning, (content, Manner::Text), deltas);
            }
            "response.reasoning_summary_text.done" => {
                self.end(event, Kind::Reasoning, (summary, Manner::Text), deltas);
            }
            "response.function_call_arguments.delta" => {
                self.items.add_arguments(event.named(), &event.delta()?, deltas);
            }
            "response.function_call_arguments.done" => {
                let arguments = event.arguments().unwrap_or_default();
                self.items.end_arguments(event.named(), event.name(), &arguments, deltas);
            }
            "response.output_item.added" => {
                if let Some(item) = event.item().and_then(Item::read) {
                    self.items.announce(&item, event.named().index, deltas);
                }
            }
            "response.output_item.done" => {
                if let Some(item) = event.item() {
                    self.items.end_item(item, event.named().index, deltas);
                }
            }
            // It says that it is at work, as often as it likes.
            "response.in_progress" | "response.queued" => return Ok(Fed::Nothing),
            // Its own tools at work, parts that begin and end, and what is still to be invented.
            _ if type_.starts_with("response.") => {}
            _ => return Ok(Fed::Nothing),
        }
        Ok(Fed::Progress)
    }

    fn add(
        &mut self,
        event: &Event<'_>,
        kind: Kind,
        (slot, manner): (Slot, Manner),
        deltas: &mut Vec<Delta>,
    ) -> Result<(), serde_json::Error> {
        let words = Words { slot, manner, text: event.delta()? };
        self.items.add_words(kind, event.named(), &words, deltas);
        Ok(())
    }

    fn end(
        &mut self,
        event: &Event<'_>,
        kind: Kind,
        (slot, manner): (Slot, Manner),
        deltas: &mut Vec<Delta>,
    ) {
        let text = match manner {
            Manner::Text => event.text(),
            Manner::Refusal => event.refusal(),
        };
        let words = Words { slot, manner, text: text.unwrap_or_default() };
        self.items.end_words(kind, event.named(), words, deltas);
    }

    /// The reply is at its end.
    fn finish(&mut self, response: &Response<'_>, standing: Standing, answer: &mut Answer) {
        let said = response.status().and_then(|status| known(&status));
        let standing = if standing == Standing::Completed { said.unwrap_or(standing) } else { standing };
        let mut deltas = Vec::new();
        self.items.end_output(&response.output().unwrap_or_default(), &mut deltas);
        let cut = match standing {
            Standing::Completed if self.items.refusal() == Refusal::Said => Some(FinishReason::Refused),
            Standing::Completed => None,
            Standing::Incomplete => Some(incomplete(response)),
            Standing::Cancelled => Some(other_finish("cancelled")),
            Standing::Failed => {
                answer.emit(deltas, self.items.size());
                return answer.fail_reported(&response.error.map(Reported::of).unwrap_or_default());
            }
        };
        let completing = if cut.is_none() { Completing::All } else { Completing::Nothing };
        let calls = self.items.complete(completing, &mut deltas);
        answer.emit(deltas, self.items.size());
        let whole = if calls > 0 { FinishReason::ToolUse } else { FinishReason::Stop };
        answer.done(cut.unwrap_or(whole));
    }
}

impl WireDecoder for ResponsesDecoder {
    fn event(&mut self, event: &SseEvent, answer: &mut Answer) -> Fed {
        let data = event.data.trim();
        let read = match Event::read(data) {
            Ok(read) => read,
            // Events of this wire have its name in front; another's are not for us.
            Err(_)
                if !matches!(event.name.as_str(), "" | "message") && !event.name.starts_with("response.") =>
            {
                return Fed::Nothing;
            }
            Err(error) => {
                answer.fail_unreadable(data, &error);
                return Fed::Progress;
            }
        };
        let type_ = read.type_(&event.name);
        if type_ == "error" || read.is_error() || (type_.is_empty() && read.error().is_some()) {
            answer.report(Reported::read(data).unwrap_or_default());
            return Fed::Progress;
        }
        let standing = type_.strip_prefix("response.").and_then(|end| {
            // What the WebSocket form of this wire calls every end.
            if end == "done" { Some(Standing::Completed) } else { known(end) }
        });
        // At the end, the event itself where a server leaves the wrapping out.
        let bare = || standing.map(|_| data);
        let response = read.response().map(RawValue::get).or_else(bare);
        let response = response.and_then(|response| Response::read(response).ok()).unwrap_or_default();
        let counted = if standing.is_some() { Counted::AtTheEnd } else { Counted::SoFar };
        response.tell(counted, answer);
        if let Some(standing) = standing {
            self.finish(&response, standing, answer);
            return Fed::Progress;
        }
        let mut deltas = Vec::new();
        let fed = self.read(&read, &type_, &mut deltas);
        answer.emit(deltas, self.items.size());
        fed.unwrap_or_else(|error| {
            answer.fail_unreadable(data, &error);
            Fed::Progress
        })
    }

    fn is_whole(&self, data: &str) -> bool {
        Event::read(data).is_ok()
    }

    fn whole(&mut self, body: &str, answer: &mut Answer) -> bool {
        let Ok(response) = Response::read(body) else { return false };
        if response.output().is_none() || response.error.is_some() {
            return false;
        }
        response.tell(Counted::AtTheEnd, answer);
        self.finish(&response, Standing::Completed, answer);
        true
    }

    fn end(&mut self, _: Ending, answer: &mut Answer) {
        // `[DONE]` is no end: it comes behind a reply that broke off too.
        answer.fail_cut();
    }

    fn finish(&self) -> Option<&FinishReason> {
        // The end of a reply brings its usage with it, so there is nothing to wait for.
        None
    }

    fn server(&self) -> &'static str {
        "Responses"
    }
}

fn known(standing: &str) -> Option<Standing> {
    STANDINGS.iter().find(|(known, _)| *known == standing).map(|(_, standing)| *standing)
}

fn incomplete(response: &Response<'_>) -> FinishReason {
    // Where nobody says why, it is the cap: taking it for whole would be worse.
    let Some(reason) = response.reason() else { return FinishReason::Length };
    let known = REASONS.iter().find(|(known, _)| *known == reason).map(|(_, finish)| finish.clone());
    known.unwrap_or_else(|| other_finish(&reason))
}
