//! What the log of a session says, read as any program reads it.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// The whole lines of a log.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// Their bytes.
    pub(super) whole: Vec<u8>,
    /// What they say.
    pub entries: Vec<Value>,
    /// Something stands behind the last whole line.
    is_torn: bool,
}

impl Log {
    pub(super) fn read(path: &Path) -> Self {
        let bytes = fs::read(path).unwrap();
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let lines = bytes[..end].split_inclusive(|byte| *byte == b'\n');
        let entries = lines.map(|line| serde_json::from_slice(line).unwrap()).collect();
        Self { whole: bytes[..end].to_vec(), entries, is_torn: end < bytes.len() }
    }

    /// The session's id; empty if there is none.
    pub(super) fn session(&self) -> String {
        self.entries.first().map_or_else(String::new, |first| text(&first["body"]["id"]).to_owned())
    }

    /// The bodies of a kind, with their seqs.
    pub fn of<'a>(&'a self, kind: &'static str) -> impl DoubleEndedIterator<Item = (u64, &'a Value)> {
        let found = self.entries.iter().filter(move |entry| entry["kind"] == kind);
        found.map(|entry| (entry["seq"].as_u64().unwrap(), &entry["body"]))
    }

    /// What was said, with its seq.
    pub(super) fn said(&self) -> impl Iterator<Item = (u64, &Value, &str)> {
        self.of("said").map(|(seq, body)| (seq, body, text(&body["content"][0]["text"])))
    }

    pub(super) fn has_said(&self, word: &str) -> bool {
        self.said().any(|(_, _, text)| text == word)
    }

    /// The calls of all replies: id, name and arguments.
    pub(super) fn calls(&self) -> Vec<(String, String, Value)> {
        let mut calls = Vec::new();
        for (seq, reply) in self.of("reply") {
            let blocks = reply["blocks"].as_array().unwrap().iter();
            for (place, call) in blocks.filter_map(|block| block.get("call")).enumerate() {
                let arguments = serde_json::from_str(text(&call["arguments"])).unwrap_or(Value::Null);
                calls.push((format!("{seq}.{place}"), text(&call["name"]).to_owned(), arguments));
            }
        }
        calls
    }

    /// The outcomes of a call.
    pub(super) fn outcomes(&self, call: &str) -> Vec<&str> {
        let results = self.of("tool_result").filter(|(_, result)| result["call"] == call);
        results.map(|(_, result)| text(&result["outcome"])).collect()
    }

    /// Calls without a result that have begun, or may have: where a line is torn, nobody knows what it said.
    pub(super) fn in_flight(&self) -> Vec<String> {
        let open =
            self.calls().into_iter().map(|(call, ..)| call).filter(|call| self.outcomes(call).is_empty());
        let begun = |call: &String| self.of("tool_start").any(|(_, start)| start["call"] == *call);
        open.filter(|call| self.is_torn || begun(call)).collect()
    }

    /// The first call that waits for a person, of a turn that rests.
    pub(super) fn asking(&self) -> Option<String> {
        let last = self.last_run()?;
        if last != "awaiting_approval" {
            return None;
        }
        let asked = self.of("call").filter(|(_, call)| call["verdict"] == "ask");
        let mut waiting = asked.map(|(_, call)| text(&call["call"]).to_owned()).filter(|call| {
            let decided = self.of("decision").any(|(_, decision)| decision["call"] == *call);
            !decided && self.outcomes(call).is_empty()
        });
        waiting.next()
    }

    /// The reason that the last run of a turn ended with; none if it has none.
    fn last_run(&self) -> Option<String> {
        let last = self
            .entries
            .iter()
            .rev()
            .find(|entry| ["turn_start", "turn_end"].iter().any(|kind| entry["kind"] == *kind))?;
        let reason = &last["body"]["reason"];
        let name = reason.as_str().or_else(|| reason.as_object()?.keys().next().map(String::as_str))?;
        Some(name.to_owned())
    }

    /// True if the last turn can go on.
    pub(super) fn is_open(&self) -> bool {
        let has_begun = self.of("turn_start").next().is_some();
        has_begun && self.last_run().is_none_or(|reason| reason != "completed")
    }

    /// True if something was said that no turn and no request has taken in.
    pub(super) fn is_waiting(&self) -> bool {
        self.said().any(|(seq, said, _)| match text(&said["when"]) {
            "next_step" => self.of("request").all(|(_, request)| request["upto"].as_u64().unwrap() < seq),
            _ => self.of("turn_start").all(|(_, start)| start["cause"]["said"]["said"] != seq),
        })
    }

    /// The text of the last reply.
    pub(super) fn last_text(&self) -> String {
        let Some((_, reply)) = self.of("reply").next_back() else { return String::new() };
        let blocks = reply["blocks"].as_array().unwrap().iter();
        blocks.filter_map(|block| block["text"].as_str()).collect()
    }
}

pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
