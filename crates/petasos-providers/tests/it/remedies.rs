//! What servers say they do not take, and how the next request is written.

use petasos_core::learnt::{Adapt, CapName, Learnt, Parameter};
use petasos_core::request::{Params, Tail, Target, ToolChoice, ToolMode, Wire};
use petasos_core::turn::Remedy;
use petasos_providers::{ErrorAnswer, classify, encoder_knowing};
use petasos_testkit::check_request::check_request;

use crate::say::{head, said, target_on};

fn taught(status: u16, body: &str) -> Option<Adapt> {
    let answer = ErrorAnswer { host: "h", status, media: "", body, retry_after: None };
    match classify(&answer).remedy {
        Some(Remedy::Adapt(adapt)) => Some(adapt),
        Some(Remedy::NextTarget) | None => None,
    }
}

#[track_caller]
fn check(rows: &[(u16, &str, Option<Adapt>)]) {
    for (status, body, adapt) in rows {
        assert_eq!(taught(*status, body), *adapt, "{status} {body}");
    }
}

#[test]
fn case_d09_the_window_is_learnt_from_the_words_or_there_is_room_for_less() {
    let window = |tokens| Some(Adapt::Window(tokens));
    check(&[
        (
            400,
            r#"{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
            window(8192),
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 200123 tokens > 200000 maximum"}}"#,
            window(200_000),
        ),
        (
            413,
            r#"{"type":"error","error":{"type":"request_too_large","message":"Prompt is too long"}}"#,
            None,
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":8192}}"#,
            window(8192),
        ),
        (
            400,
            r#"{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 0 output tokens and your prompt contains at least 4097 input tokens.","code":400}"#,
            window(4096),
        ),
        (
            400,
            r#"{"error":{"message":"Input length 5131 exceeds the maximum allowed input length of 5040 tokens."}}"#,
            window(5040),
        ),
        (
            400,
            r#"{"error":{"message":"input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"}}"#,
            Some(Adapt::Room { window: 200_000, room: 10_000 }),
        ),
        (
            429,
            r#"{"error":{"message":"Request too large for model on tokens per min (TPM): Limit 30000, Requested 31000","code":"rate_limit_exceeded"}}"#,
            None,
        ),
        (400, r#"{"error":{"message":"unknown field context_window in config"}}"#, None),
    ]);
}

#[test]
fn p04_less_output_makes_room_where_the_input_fits() {
    check(&[
        (
            400,
            r#"{"error":{"message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (1000 in the messages, 4000 in the completion).","code":"context_length_exceeded"}}"#,
            Some(Adapt::Room { window: 4096, room: 3096 }),
        ),
        (
            400,
            r#"{"error":{"message":"'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 4096 tokens and your request has 1000 input tokens (8192 > 4096 - 1000)."}}"#,
            Some(Adapt::Room { window: 4096, room: 3096 }),
        ),
        (
            400,
            r#"{"error":{"message":"This model's maximum context length is 4096 tokens. However, you requested 8000 tokens (4000 in the messages, 4000 in the completion)."}}"#,
            Some(Adapt::Window(4096)),
        ),
        (
            400,
            r#"{"error":{"message":"This endpoint's maximum context length is 163840 tokens. However, you requested about 205398 tokens (5398 of text input, 200000 in the output)."}}"#,
            Some(Adapt::Room { window: 163_840, room: 158_442 }),
        ),
    ]);
}

#[test]
fn case_d10_a_cap_over_the_models_own_is_lowered_to_it() {
    let cap = |tokens| Some(Adapt::MaxOutput(tokens));
    check(&[
        (
            400,
            r#"{"error":{"message":"max_tokens is too large: 6000. This model supports at most 4096 completion tokens, whereas you provided 6000.","type":"invalid_request_error","param":"max_tokens"}}"#,
            cap(4096),
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens for claude-3-5-haiku"}}"#,
            cap(8192),
        ),
        (
            400,
            r#"{"error":{"message":"Invalid max_tokens value, the valid range of max_tokens is [1, 8192]"}}"#,
            cap(8192),
        ),
        (
            400,
            r#"{"error":{"message":"`max_tokens` must be less than or equal to `32768`, the maximum value for `max_tokens` is less than the `context_window` for this model"}}"#,
            cap(32_768),
        ),
        (400, r#"{"error":{"message":"a list holds at most 4096 of them"}}"#, None),
    ]);
}

#[test]
fn case_d11_a_parameter_that_is_not_taken_is_left_out_or_renamed() {
    let without = |parameter| Some(Adapt::Without(parameter));
    check(&[
        (
            400,
            r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}"#,
            Some(Adapt::OtherCapName),
        ),
        (
            400,
            r#"{"error":{"message":"Unrecognized request argument supplied: max_completion_tokens. Did you mean max_tokens?"}}"#,
            Some(Adapt::OtherCapName),
        ),
        (
            400,
            r#"{"error":{"message":"Unsupported parameter: max_output_tokens","param":"max_output_tokens"}}"#,
            without(Parameter::MaxOutput),
        ),
        (
            400,
            r#"{"error":{"message":"Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.","param":"temperature","code":"unsupported_value"}}"#,
            without(Parameter::Temperature),
        ),
        (
            400,
            r#"{"error":{"message":"`temperature` is not supported with this model"}}"#,
            without(Parameter::Temperature),
        ),
        (
            422,
            r#"{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted","input":{}}]}"#,
            without(Parameter::StreamOptions),
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"tool_choice: Extra inputs are not permitted"}}"#,
            without(Parameter::ToolChoice),
        ),
        (
            400,
            r#"{"error":{"message":"Encrypted content is not supported with this model.","type":"invalid_request_error","param":"include"}}"#,
            without(Parameter::SealedReasoning),
        ),
        (
            400,
            r#"{"error":{"message":"Unknown parameter: 'store'.","param":"store","code":"unknown_parameter"}}"#,
            without(Parameter::Store),
        ),
        (
            400,
            r#"{"error":{"message":"thinking.type: disabled is not supported for this model"}}"#,
            without(Parameter::Thinking),
        ),
        (
            400,
            r#"{"error":{"message":"This response_format type is unavailable now","type":"invalid_request_error"}}"#,
            without(Parameter::ResponseFormat),
        ),
        (
            400,
            r#"{"error":{"message":"Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.","param":"response_format"}}"#,
            without(Parameter::ResponseFormat),
        ),
        (
            500,
            r#"{"error":{"message":"unknown parameter: 'stream_options'"}}"#,
            without(Parameter::StreamOptions),
        ),
        (
            400,
            r#"{"error":{"message":"Unknown parameter: 'foo'.","param":"foo","code":"unknown_parameter"}}"#,
            None,
        ),
        (400, r#"{"error":{"message":"images are not supported; we restore them later"}}"#, None),
        (401, r#"{"error":{"message":"temperature is not supported"}}"#, None),
        (429, r#"{"error":{"message":"temperature is not supported"}}"#, None),
    ]);
}

#[test]
fn p04_words_of_everyday_english_teach_nothing() {
    check(&[
        (
            400,
            r#"{"error":{"message":"Image input is not supported by this model. Please include text only."}}"#,
            None,
        ),
        (400, r#"{"error":{"message":"Tools are not supported while thinking is on"}}"#, None),
        (400, r#"{"error":{"message":"The file store is not supported"}}"#, None),
        (
            400,
            r#"{"error":{"message":"Unrecognized request argument supplied: 'thinking'"}}"#,
            Some(Adapt::Without(Parameter::Thinking)),
        ),
        (
            400,
            r#"{"error":{"message":"thinking: Extra inputs are not permitted"}}"#,
            Some(Adapt::Without(Parameter::Thinking)),
        ),
    ]);
}

#[test]
fn p04_what_a_signature_rejects_is_not_sent_again() {
    let stripped = Some(Adapt::Without(Parameter::ReasoningBack));
    check(&[
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: Invalid `signature` in `thinking` block"}}"#,
            stripped,
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified."}}"#,
            stripped,
        ),
        (
            400,
            r#"{"error":{"message":"The encrypted content could not be verified.","code":"invalid_encrypted_content"}}"#,
            stripped,
        ),
    ]);
}

/// What the end of a request to this target says, and what its parameters say.
fn body(target: &Target, learnt: &Learnt) -> serde_json::Value {
    let tools = r#"[{"name":"ls","description":"Lists","parameters":{"type":"object","properties":{}}}]"#;
    let mut encoder = encoder_knowing(target, &head("S", tools), learnt);
    encoder.push(&said("go"));
    let body = encoder
        .body(
            &Params { tool_choice: ToolChoice::Forbidden },
            &Tail { max_output: Some(512), ..Tail::default() },
        )
        .bytes;
    assert_eq!(check_request(target.wire, &body), Vec::<String>::new());
    serde_json::from_slice(&body).unwrap()
}

/// What is gone from a request, and what is new in it, once something was learnt.
fn changes(wire: Wire, learnt: &Learnt) -> Vec<String> {
    let model = if wire == Wire::Responses { ("openai", "gpt-5") } else { ("example", "small") };
    let target = Target { provider: model.0.into(), model: model.1.into(), ..target_on(wire) };
    let (usual, now) = (body(&target, &Learnt::default()), body(&target, learnt));
    let keys =
        |value: &serde_json::Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
    let (before, after) = (keys(&usual), keys(&now));
    let gone = before.iter().filter(|key| !after.contains(key)).map(|key| format!("-{key}"));
    let new = after.iter().filter(|key| !before.contains(key)).map(|key| format!("+{key}"));
    gone.chain(new).collect()
}

#[test]
fn p04_requests_are_written_as_was_learnt() {
    let without = |parameter| Learnt { without: [parameter].into(), ..Learnt::default() };
    let all = [Wire::Chat, Wire::Responses, Wire::Messages];
    let check = |parameter, wanted: [&[&str]; 3]| {
        for (wire, wanted) in all.into_iter().zip(wanted) {
            assert_eq!(changes(wire, &without(parameter)), wanted, "{parameter:?} on {wire:?}");
        }
    };
    check(Parameter::StreamOptions, [&["-stream_options"], &[], &[]]);
    check(Parameter::ToolChoice, [&["-tool_choice"]; 3]);
    // Whether there is a cap, the tail says.
    check(Parameter::MaxOutput, [&[], &[], &[]]);
    check(Parameter::Store, [&[], &["-store"], &[]]);
    check(Parameter::SealedReasoning, [&[], &["-include"], &[]]);
    for (wire, format) in [(Wire::Chat, "response_format"), (Wire::Responses, "text")] {
        let target = Target { tool_mode: ToolMode::Constrained, ..target_on(wire) };
        let keys = |learnt| body(&target, &learnt).as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        let (usual, mut now) = (keys(Learnt::default()), keys(without(Parameter::ResponseFormat)));
        now.push(format.to_owned());
        now.sort();
        assert_eq!(usual, now);
    }
    let other = Learnt { cap_name: CapName::Other, ..Learnt::default() };
    assert_eq!(changes(Wire::Chat, &other), ["-max_tokens", "+max_completion_tokens"]);
}
