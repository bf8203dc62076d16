//! What error answers mean: the table, and how long they ask to wait.

use std::time::{Duration, SystemTime};

use petasos_core::stop::FailureKind;
use petasos_core::stop::FailureKind::*;
use petasos_core::time::Span;
use petasos_core::turn::Failure;
use petasos_core::usage::Usage;
use petasos_providers::{ErrorAnswer, WaitHeaders, classify, wait_asked};
use proptest::prelude::*;

fn classified(status: u16, body: &str) -> Failure {
    classify(&ErrorAnswer { host: "models.example", status, media: "", body, retry_after: None })
}

fn check(rows: &[(u16, &str, FailureKind)]) {
    for (status, body, kind) in rows {
        assert_eq!(classified(*status, body).kind, *kind, "{status} {body}");
    }
}

#[test]
fn p04_a_status_alone() {
    check(&[
        (400, "", BadRequest),
        (401, "", Auth),
        (402, "", Billing),
        (403, "", Auth),
        (404, "", NotFound),
        (408, "", Timeout),
        (413, "", Overflow),
        (418, "", BadRequest),
        (422, "", BadRequest),
        (429, "", RateLimit),
        (500, "", Other),
        (502, "", Other),
        (503, "", Overloaded),
        (504, "", Timeout),
        (529, "", Overloaded),
        (600, "", Other),
    ]);
}

#[test]
fn p04_an_error_in_each_of_its_shapes() {
    let shapes = [
        r#"{"error":{"message":"no such model","type":"invalid_request_error","code":"model_not_found"}}"#,
        r#"[{"error":{"message":"no such model","code":"model_not_found"}}]"#,
        r#"{"message":"no such model","code":"model_not_found"}"#,
        "\u{feff} {\"error\":{\"message\":\"no such model\",\"type\":\"model_not_found\",\"code\":null}}",
    ];
    for body in shapes {
        let failure = classified(400, body);
        assert_eq!(failure.kind, NotFound, "{body}");
        assert!(failure.message.contains("no such model"), "{}", failure.message);
        assert!(failure.message.contains("400 from models.example"), "{}", failure.message);
    }
    for body in [r#"{"error":"no such model"}"#, r#"{"detail":"no such model"}"#, "no such model"] {
        assert!(classified(404, body).message.contains("no such model"), "{body}");
    }
}

#[test]
fn case_d06_an_empty_account_is_no_rate_limit() {
    check(&[
        (
            429,
            r#"{"error":{"message":"You have no quota left for this billing period.","type":"insufficient_quota","code":"insufficient_quota"}}"#,
            Billing,
        ),
        (429, r#"{"error":{"message":"slow down","code":"rate_limit_exceeded"}}"#, RateLimit),
        (402, r#"{"error":{"message":"Insufficient Balance","code":"invalid_request_error"}}"#, Billing),
    ]);
    assert!(!Billing.is_passing() && RateLimit.is_passing());
}

#[test]
fn p04_a_limit_that_passes_by_itself_is_no_empty_account() {
    let said = |status: u16, message: &str, retry_after| {
        let body = serde_json::json!({"error": {"message": message, "code": status}}).to_string();
        let answer = ErrorAnswer { host: "h", status, media: "", body: &body, retry_after };
        let failure = classify(&answer);
        (failure.kind, failure.retry_after)
    };
    let minute = "You exceeded your current quota, please check your plan and billing details. Please retry in 38.86s.";
    assert_eq!(said(429, minute, None), (RateLimit, Some(Span(38_860))));
    assert_eq!(said(429, minute, Some(Span(5))), (RateLimit, Some(Span(5))), "the header counts before");
    assert_eq!(said(429, "see your billing page", None), (RateLimit, None));
    assert_eq!(said(429, "Insufficient balance", None), (Billing, None));
    assert_eq!(said(403, "check billing", None), (Billing, None));
    for (words, wait) in [
        ("try again in 1m26.4s.", Some(86_400)),
        ("Try again in 540ms", Some(540)),
        ("try again in 2 minutes", Some(120_000)),
        ("retry in a while", None),
        ("retry in 5 apples", None),
        ("retry in 99999999999999999999999999h", None),
    ] {
        assert_eq!(said(429, words, None), (RateLimit, wait.map(Span)), "{words}");
    }
    let code = r#"{"error":{"message":"retry in 5s","code":"insufficient_quota"}}"#;
    assert_eq!(classified(429, code).kind, Billing, "a code counts before words");
}

#[test]
fn p08_an_answer_that_ran_out_of_time_may_have_used_something() {
    for (status, usage) in [(408, None), (504, None), (503, Some(Usage::default()))] {
        let failure = classified(status, "");
        assert_eq!((failure.usage, failure.micro_usd), (usage, usage.map(|_| 0)), "{status}");
    }
    assert_eq!(&*classified(413, "").message, "413 from models.example: an empty body");
}

#[test]
fn case_d07_how_long_an_answer_asks_to_wait() {
    // Wed, 21 Oct 2026 07:28:00 GMT
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_792_567_680);
    let asked = |after| wait_asked(&WaitHeaders { after: Some(after), ..WaitHeaders::default() }, now);
    assert_eq!(asked("5"), Some(Span::seconds(5)));
    assert_eq!(asked("Wed, 21 Oct 2026 07:28:30 GMT"), Some(Span::seconds(30)));
    assert_eq!(asked("Wed, 21 Oct 2026 07:00:00 GMT"), Some(Span(0)));
    assert_eq!(asked("-5"), None);
    assert_eq!(asked("2abc"), None);
    // Core has the cap.
    assert_eq!(asked("999999"), Some(Span::seconds(999_999)));
    for junk in ["", "NaN", "inf", "1e999", "Wed, 99 Oct 2026 07:28:30 GMT", "\u{661}"] {
        assert_eq!(asked(junk), None, "{junk:?}");
    }
    assert_eq!(asked("1.5"), Some(Span(1500)));
    assert_eq!(wait_asked(&WaitHeaders::default(), now), None);
    let both = WaitHeaders { after: Some("5"), after_ms: Some("250"), date: None };
    assert_eq!(wait_asked(&both, now), Some(Span(250)));
    let late = "Wed, 21 Oct 2026 07:28:20 GMT";
    let told = WaitHeaders { after: Some("Wed, 21 Oct 2026 07:28:30 GMT"), after_ms: None, date: Some(late) };
    assert_eq!(wait_asked(&told, now), Some(Span::seconds(10)), "a date counts by the server's own clock");
}

#[test]
fn case_d09_a_request_that_is_too_long_in_all_words() {
    check(&[
        (
            400,
            r#"{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
            Overflow,
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 200123 tokens > 200000 maximum"}}"#,
            Overflow,
        ),
        (
            413,
            r#"{"type":"error","error":{"type":"request_too_large","message":"Prompt is too long"}}"#,
            Overflow,
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":8192}}"#,
            Overflow,
        ),
        (
            400,
            r#"{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 0 output tokens and your prompt contains at least 4097 input tokens.","code":400}"#,
            Overflow,
        ),
        (
            400,
            r#"{"error":{"message":"Input length 5131 exceeds the maximum allowed input length of 5040 tokens."}}"#,
            Overflow,
        ),
        (
            400,
            r#"{"error":{"message":"input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"}}"#,
            Overflow,
        ),
        (
            429,
            r#"{"error":{"message":"Request too large for model on tokens per min (TPM): Limit 30000, Requested 31000","code":"rate_limit_exceeded"}}"#,
            RateLimit,
        ),
        (400, r#"{"error":{"message":"unknown field context_window in config"}}"#, BadRequest),
    ]);
}

#[test]
fn case_d10_d11_a_bad_output_limit_is_no_request_that_is_too_long() {
    check(&[
        (
            400,
            r#"{"error":{"message":"max_tokens is too large: 6000. This model supports at most 4096 completion tokens, whereas you provided 6000.","type":"invalid_request_error","param":"max_tokens"}}"#,
            BadRequest,
        ),
        (
            400,
            r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}"#,
            BadRequest,
        ),
    ]);
}

#[test]
fn p04_errors_as_they_are_met_in_the_wild() {
    check(&[
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API."}}"#,
            Billing,
        ),
        (403, r#"{"error":{"message":"Key limit exceeded (total limit)","code":403}}"#, Billing),
        (402, r#"{"error":{"message":"Quota used; please try again in 20s"}}"#, RateLimit),
        (429, r#"{"error":{"code":"1113","message":"余额不足或无可用资源包,请充值。"}}"#, Billing),
        (
            429,
            r#"{"error":{"code":429,"message":"Quota exceeded for requests","status":"RESOURCE_EXHAUSTED"}}"#,
            RateLimit,
        ),
        (400, r#"{"message":"Rate exceeded","type":"ThrottlingException"}"#, RateLimit),
        (429, r#"{"error":{"message":"The service is overloaded, try later"}}"#, Overloaded),
        (529, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, Overloaded),
        (
            403,
            r#"{"error":{"message":"Your chosen model requires moderation and your input was flagged","code":403}}"#,
            BadRequest,
        ),
        (400, r#"{"error":{"message":"The response was filtered","code":"content_filter"}}"#, BadRequest),
        (404, r#"{"error":{"message":"No endpoints found that support tool use."}}"#, NotFound),
        (400, r#"{"error":"No models loaded. Please load a model in the developer page."}"#, NotFound),
        (
            404,
            r#"{"error":{"message":"model 'qwen' not found, try pulling it first","type":"api_error"}}"#,
            NotFound,
        ),
        (401, r#"{"error":{"message":"token expired"}}"#, Auth),
        (400, r#"{"error":{"message":"Range of input length should be [1, 30720]"}}"#, Overflow),
        (
            500,
            r#"{"error":{"message":"the request exceeds the available context size","type":"server_error"}}"#,
            Overflow,
        ),
        (500, r#"{"error":{"message":"flagged a bug"}}"#, Other),
    ]);
    // Proxies add a wait to any 429.
    let body = r#"{"error":{"message":"Insufficient Balance"}}"#;
    let wait = Some(Span::seconds(60));
    let empty = classify(&ErrorAnswer { host: "h", status: 402, media: "", body, retry_after: wait });
    assert_eq!(empty.kind, Billing);
    let loading =
        classified(503, r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#);
    assert_eq!((loading.kind, loading.retry_after), (Overloaded, Some(Span::seconds(30))));
}

#[test]
fn p04_an_answer_with_an_error_used_nothing_and_says_little() {
    let long = format!(r#"{{"error":{{"message":"{}"}}}}"#, "x".repeat(100_000));
    let failure = classified(500, &long);
    assert!(failure.message.chars().count() < 1_000, "it fits into its entry whole");
    assert_eq!((failure.usage, failure.micro_usd), (Some(Usage::default()), Some(0)));
    let empty = classified(500, "");
    assert_eq!(&*empty.message, "500 from models.example: an empty body");
}

#[test]
fn p04_what_a_server_says_is_not_obeyed_by_a_terminal() {
    let bodies = [r#"{"error":"a\u001b[2Jb\nc"}"#, "a\u{1b}[2Jb\nc", "<title>a\u{1b}[2Jb\nc</title>"];
    for body in bodies {
        let message = classified(500, body).message;
        assert!(!message.chars().any(char::is_control), "{message:?}");
    }
}

proptest! {
    #[test]
    fn p04_any_answer_is_classified(status in any::<u16>(), body in body(), media in ".{0,20}") {
        let answer = ErrorAnswer { host: "h", status, media: &media, body: &body, retry_after: None };
        prop_assert!(classify(&answer).message.chars().count() <= 1_000);
    }

    #[test]
    fn p04_any_header_is_read_or_not(after in ".{0,40}", after_ms in "[-0-9.eE]{0,12}") {
        let headers = WaitHeaders { after: Some(&after), after_ms: Some(&after_ms), date: Some(&after) };
        wait_asked(&headers, SystemTime::UNIX_EPOCH);
    }
}

fn body() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("<TITLE"),
        Just("\u{130}<title>"),
        Just("</title>"),
        Just(r#"{"error":"#),
        Just(r#"{"message":"x","code":429}"#),
        Just("}"),
        Just("["),
        Just("]"),
        Just("null"),
        Just("\u{feff}"),
        Just("text \u{6587}"),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}
