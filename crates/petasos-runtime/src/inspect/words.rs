//! Entries that are told as no event, in plain words: where a session comes from, settings, and where the leaf went.

use petasos_core::entry::{Body, Entry, Leaf, LeafReason, Origin, Setting, SettingSource};

/// What an entry says; `next` is the one after it.
pub(super) fn words(entry: &Entry, next: Option<&Entry>) -> Option<String> {
    if let Body::SessionStart(start) = &entry.body {
        return of_origin(&start.origin);
    }
    if let Body::Setting(setting) = &entry.body {
        return Some(of_setting(setting, next));
    }
    if let Body::Leaf(leaf) = &entry.body {
        return Some(of_leaf(leaf));
    }
    None
}

fn of_origin(origin: &Origin) -> Option<String> {
    match origin {
        Origin::New => None,
        Origin::Fork { session, seq } => Some(format!("forked from session {session}, up to entry {seq}")),
        Origin::Import { from, seq: None } => Some(format!("imported: it was session {from}")),
        Origin::Import { from, seq: Some(seq) } => {
            Some(format!("imported: up to entry {seq} it was session {from}"))
        }
        Origin::Child { session, call } => Some(format!("run by call {call} of session {session}")),
    }
}

fn of_leaf(leaf: &Leaf) -> String {
    let to = match leaf.to {
        Some(seq) => format!("behind entry {seq}"),
        None => "before all that was said".to_owned(),
    };
    match leaf.why {
        LeafReason::Undo => format!("undo: goes on {to}"),
        LeafReason::Retry => format!("retry: goes on {to}"),
        LeafReason::Fork => format!("the fork goes on {to}"),
        LeafReason::Person => format!("goes on {to}"),
    }
}

fn of_setting(setting: &Setting, next: Option<&Entry>) -> String {
    let Setting { key, value, by, .. } = setting;
    let Some(value) = value else { return format!("{key}: taken back") };
    let request = match by {
        SettingSource::Person => return format!("{key}: {value}"),
        SettingSource::Learnt { request } => *request,
    };
    let is_of_next =
        next.is_some_and(|next| matches!(&next.body, Body::Reply(reply) if reply.request == request));
    match (&**key, &**value) {
        ("window", tokens) if is_of_next => format!(
            "the server cut off the front of what it was sent, the task among it: it seems to take about {tokens} \
             tokens. Give it more (num_ctx of Ollama, --ctx-size of llama.cpp), and say how many with model.window"
        ),
        ("window", tokens) => format!("learnt: the model takes {tokens} tokens"),
        ("max_output", tokens) => format!("learnt: it writes {tokens} tokens at most"),
        ("output_cap_name", _) => "learnt: its output cap goes by the other name".to_owned(),
        (key, "no") => match key.strip_prefix("send.") {
            Some(what) => format!("learnt: {what} is not sent"),
            None => format!("learnt: {key}: no"),
        },
        (key, value) => format!("learnt: {key}: {value}"),
    }
}
