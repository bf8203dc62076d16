//! Bodies a million levels deep are read on a small stack: how deep a server nests is its own choice.

use petasos_core::stop::FailureKind;
use petasos_providers::{ErrorAnswer, Provider, classify};

use crate::cases::stream;
use crate::say::{decode, told};
use crate::server::{answer, listen, provider};

const LEVELS: usize = 1_000_000;

/// Runs this where a call for each level would overflow at once.
fn on_a_small_stack(run: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(512 << 10).spawn(run).unwrap().join().unwrap();
}

fn arrays() -> String {
    format!("{}{}", "[".repeat(LEVELS), "]".repeat(LEVELS))
}

/// Not quite as deep, for each level is longer and looked at in more ways.
fn nested(open: &str, close: &str) -> String {
    format!("{}1{}", open.repeat(LEVELS / 50), close.repeat(LEVELS / 50))
}

/// Values that are deep in each of the ways that are looked into.
fn deep() -> Vec<String> {
    vec![
        arrays(),
        nested("{\"error\":", "}"),
        nested("{\"thinking\":", "}"),
        nested("[{\"thinking\":", "}]"),
        nested("[{\"error\":", "}]"),
    ]
}

#[test]
fn p04_an_error_body_of_any_depth() {
    on_a_small_stack(|| {
        for deep in deep() {
            for body in [
                deep.clone(),
                format!(r#"{{"error":{deep}}}"#),
                format!(r#"{{"error":{{"message":{deep}}}}}"#),
            ] {
                let answer = ErrorAnswer {
                    host: "models.example",
                    status: 400,
                    media: "",
                    body: &body,
                    retry_after: None,
                };
                let failure = classify(&answer);
                assert_eq!(failure.kind, FailureKind::BadRequest);
                assert!(failure.message.chars().count() < 1_000);
            }
        }
    });
}

#[test]
fn p03_a_whole_body_and_an_error_event_of_any_depth() {
    on_a_small_stack(|| {
        for deep in deep() {
            decode(&[deep.as_bytes()]).1.unwrap_err();
            let whole = format!(r#"{{"choices":[{{"message":{{"content":{deep}}}}}]}}"#);
            decode(&[whole.as_bytes()]).1.ok();
            let event = format!("event: error\ndata: {deep}\n\n");
            decode(&[event.as_bytes()]).1.unwrap_err();
            decode(&[&stream(&[&format!(r#"{{"error":{deep}}}"#)])]).1.unwrap_err();
            decode(&[&stream(&[&deep])]).1.ok();
        }
    });
}

#[test]
fn p03_a_piece_of_any_depth() {
    on_a_small_stack(|| {
        for deep in deep() {
            for field in ["content", "reasoning", "refusal", "tool_calls", "function_call"] {
                decode(&[&stream(&[&format!(r#"{{"choices":[{{"delta":{{"{field}":{deep}}}}}]}}"#)])]).1.ok();
            }
            for part in
                [r#"{"thinking":DEEP}"#, r#"{"text":DEEP}"#, r#"{"thinking":[{"text":DEEP}]}"#, "DEEP"]
            {
                let part = part.replace("DEEP", &deep);
                decode(&[&stream(&[&format!(r#"{{"choices":[{{"delta":{{"content":[{part}]}}}}]}}"#)])])
                    .1
                    .ok();
            }
            let arguments = format!(
                r#"{{"choices":[{{"delta":{{"tool_calls":[{{"function":{{"name":"ls","arguments":{deep}}}}}]}}}}]}}"#
            );
            decode(&[&stream(&[&arguments])]).1.ok();
        }
    });
}

#[test]
fn p01_a_list_of_models_of_any_depth() {
    on_a_small_stack(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        for deep in [arrays(), nested("{\"error\":", "}"), format!(r#"{{"data":{}}}"#, arrays())] {
            let failure = runtime.block_on(async {
                let (listener, url) = listen().await;
                let length = deep.len();
                let bytes = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{deep}").into_bytes();
                tokio::spawn(answer(listener, bytes));
                provider(&url).models().await.unwrap_err()
            });
            assert!(failure.message.chars().count() < 1_000, "{}", failure.message);
        }
    });
}

#[test]
fn p03_thinking_is_a_string_or_one_array_of_texts() {
    let piece = |content: &str| {
        let said = format!(r#"{{"choices":[{{"delta":{{"content":[{content}]}},"finish_reason":"stop"}}]}}"#);
        told(&stream(&[&said]))
    };
    assert_eq!(piece(r#"{"type":"thinking","thinking":"a"}"#), ["reasoning: a", "end: Stop"]);
    let parts = r#"{"thinking":[{"type":"text","text":"a"},"b"]},{"type":"text","text":"c"}"#;
    assert_eq!(piece(parts), ["reasoning: ab", "text: c", "end: Stop"]);
    assert_eq!(piece(r#"{"thinking":[{"thinking":"a"}],"text":"c"}"#), ["text: c", "end: Stop"]);
}
