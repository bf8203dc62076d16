//! P08: usage from every shape, counted once, and what it costs.

use petasos_core::request::{Target, ToolMode, Wire};
use petasos_core::usage::Usage;
use petasos_providers::{
    AnswerDecoder, Place, Price, ReplyEvent, Runs, Tariff, catalog, micro_usd, prices, tariff_by, tariff_of,
};

/// Usage and cost of a reply that a provider streams in these events.
fn told(provider: &str, wire: Wire, events: &[&str]) -> (Option<[u64; 5]>, Option<u64>) {
    match end(provider, wire, events) {
        Ok(told) => told,
        Err(failure) => panic!("{failure:?}"),
    }
}

/// The same of a reply that is whole, or of one that failed.
fn end(provider: &str, wire: Wire, events: &[&str]) -> Result<Told, Told> {
    let target = Target { provider: provider.into(), model: "m".into(), wire, tool_mode: ToolMode::Native };
    let mut decoder = AnswerDecoder::new(&target, "models.example");
    for event in events {
        decoder.feed(format!("data: {event}\n\n").as_bytes());
    }
    decoder.finish();
    while let Some(event) = decoder.next_event() {
        match event {
            ReplyEvent::Done(end) => return Ok((end.usage.map(numbers), end.micro_usd)),
            ReplyEvent::Failed(failure) => return Err((failure.usage.map(numbers), failure.micro_usd)),
            ReplyEvent::Delta(_) => {}
        }
    }
    panic!("no end");
}

type Told = (Option<[u64; 5]>, Option<u64>);

fn numbers(usage: Usage) -> [u64; 5] {
    let Usage { input, output, cached, reasoning, cache_written } = usage;
    [input, output, cached, reasoning, cache_written]
}

const STOP: &str = r#"{"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}"#;

fn chat(events: &[&str]) -> Option<[u64; 5]> {
    told("example", Wire::Chat, &[&[STOP], events, &["[DONE]"]].concat()).0
}

fn responses(usage: &str) -> Option<[u64; 5]> {
    let output = r#"[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hi"}]}]"#;
    let whole = format!(
        r#"{{"type":"response.completed","response":{{"status":"completed","output":{output},"usage":{usage}}}}}"#
    );
    told("example", Wire::Responses, &[&whole]).0
}

fn messages(start: &str, end: &str) -> Option<[u64; 5]> {
    let start = format!(
        r#"{{"type":"message_start","message":{{"role":"assistant","content":[],"usage":{start}}}}}"#
    );
    let end = format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"end_turn"}},"usage":{end}}}"#);
    told("example", Wire::Messages, &[&start, &end, r#"{"type":"message_stop"}"#]).0
}

/// What it is, the events behind the answer, and the usage: input, output, and of these cached, reasoning, written to a
/// cache.
type Shape = (&'static str, &'static [&'static str], Option<[u64; 5]>);

const SHAPES: &[Shape] = &[
    (
        "OpenAI",
        &[
            r#"{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"prompt_tokens_details":{"cached_tokens":60},"completion_tokens_details":{"reasoning_tokens":8}}}"#,
        ],
        Some([100, 20, 60, 8, 0]),
    ),
    (
        "DeepSeek",
        &[
            r#"{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"prompt_cache_hit_tokens":64,"prompt_cache_miss_tokens":36}}"#,
        ],
        Some([100, 20, 64, 0, 0]),
    ),
    (
        "Kimi",
        &[
            r#"{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"cached_tokens":32}}"#,
        ],
        Some([100, 20, 32, 0, 0]),
    ),
    (
        "Moonshot, inside a choice",
        &[
            r#"{"choices":[{"index":0,"delta":{},"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120}}]}"#,
        ],
        Some([100, 20, 0, 0, 0]),
    ),
    (
        "Groq, beside the chunk",
        &[r#"{"choices":[],"x_groq":{"usage":{"prompt_tokens":100,"completion_tokens":20}}}"#],
        Some([100, 20, 0, 0, 0]),
    ),
    (
        "Groq, in both places",
        &[
            r#"{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20},"x_groq":{"usage":{"prompt_tokens":100,"completion_tokens":20}}}"#,
        ],
        Some([100, 20, 0, 0, 0]),
    ),
    (
        "xAI, reasoning beside the output",
        &[
            r#"{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":128,"completion_tokens_details":{"reasoning_tokens":8}}}"#,
        ],
        Some([100, 28, 0, 8, 0]),
    ),
    (
        "OpenRouter, a cache that is written",
        &[
            r#"{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"prompt_tokens_details":{"cached_tokens":10,"cache_write_tokens":70}}}"#,
        ],
        Some([100, 20, 10, 0, 70]),
    ),
    (
        "with every chunk: the whole so far, not a piece",
        &[
            r#"{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":5}}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20}}"#,
        ],
        Some([100, 20, 0, 0, 0]),
    ),
    (
        "null behind a number takes nothing back",
        &[
            r#"{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20}}"#,
            r#"{"choices":[],"usage":null}"#,
        ],
        Some([100, 20, 0, 0, 0]),
    ),
    (
        "llama.cpp, its own words alone",
        &[r#"{"choices":[],"timings":{"prompt_n":40,"cache_n":60,"predicted_n":20,"prompt_ms":1.5}}"#],
        Some([100, 20, 60, 0, 0]),
    ),
    (
        "llama.cpp, its own words beside a usage",
        &[
            r#"{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20},"timings":{"prompt_n":40,"cache_n":60,"predicted_n":20}}"#,
        ],
        Some([100, 20, 0, 0, 0]),
    ),
    (
        "an older llama.cpp, which does not say what came from its cache",
        &[r#"{"choices":[],"timings":{"prompt_n":40,"predicted_n":20}}"#],
        None,
    ),
    (
        "gateways that send both names",
        &[
            r#"{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"input_tokens":0,"output_tokens":0}}"#,
        ],
        Some([100, 20, 0, 0, 0]),
    ),
    (
        "the output missing, and a total",
        &[r#"{"choices":[],"usage":{"prompt_tokens":100,"total_tokens":120}}"#],
        Some([100, 20, 0, 0, 0]),
    ),
    (
        "parts larger than the whole",
        &[
            r#"{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"prompt_tokens_details":{"cached_tokens":900,"cache_write_tokens":900},"completion_tokens_details":{"reasoning_tokens":30}}}"#,
        ],
        Some([100, 20, 100, 20, 0]),
    ),
];

#[test]
fn p08_usage_is_read_from_every_shape_of_chat_completions() {
    for (what, events, wanted) in SHAPES {
        assert_eq!(chat(events), *wanted, "{what}");
    }
}

#[test]
fn p08_usage_is_read_from_every_shape_of_responses_and_messages() {
    let whole = r#"{"input_tokens":100,"input_tokens_details":{"cached_tokens":60},"output_tokens":20,"output_tokens_details":{"reasoning_tokens":8},"total_tokens":120}"#;
    assert_eq!(responses(whole), Some([100, 20, 60, 8, 0]));
    assert_eq!(responses(r#"{"input_tokens":100,"output_tokens":20}"#), Some([100, 20, 0, 0, 0]));
    let beside = r#"{"input_tokens":100,"output_tokens":20,"output_tokens_details":{"reasoning_tokens":8},"total_tokens":128}"#;
    assert_eq!(responses(beside), Some([100, 28, 0, 8, 0]), "xAI");
    assert_eq!(responses("null"), None);
    let start = r#"{"input_tokens":30,"cache_creation_input_tokens":10,"cache_read_input_tokens":60,"output_tokens":1}"#;
    assert_eq!(
        messages(start, r#"{"output_tokens":20}"#),
        Some([100, 20, 60, 0, 10]),
        "what is cached stands beside the rest, and the output is told as a whole"
    );
    assert_eq!(messages("null", r#"{"input_tokens":100,"output_tokens":20}"#), Some([100, 20, 0, 0, 0]));
}

#[test]
fn p08_a_usage_that_cannot_be_read_is_unknown_and_not_zero() {
    for nonsense in ["-1", "1.5", "\"100\"", "18446744073709551616", "null", "[]", "true"] {
        let usage = |input: &str, output: &str| {
            format!(r#"{{"choices":[],"usage":{{"prompt_tokens":{input},"completion_tokens":{output}}}}}"#)
        };
        assert_eq!(chat(&[&usage(nonsense, "20")]), None, "{nonsense}");
        assert_eq!(chat(&[&usage("100", nonsense)]), None, "{nonsense}");
        assert_eq!(chat(&[&usage("100", "20"), &usage(nonsense, nonsense)]), Some([100, 20, 0, 0, 0]));
        let usage = format!(r#"{{"input_tokens":{nonsense},"output_tokens":20}}"#);
        assert_eq!(responses(&usage), None, "{nonsense}");
    }
    assert_eq!(chat(&[]), None);
    assert_eq!(chat(&[r#"{"choices":[],"usage":{}}"#]), None);
    assert_eq!(chat(&[r#"{"choices":[],"usage":[100,20]}"#]), None);
    assert_eq!(messages("{}", "{}"), None);
}

/// What a server tells before the end of a reply is a number of the past: who takes it for the bill is short of all
/// that came behind it.
#[test]
fn p08_the_usage_of_a_reply_that_breaks_off_is_unknown_unless_its_end_was_told() {
    let text = r#"{"choices":[{"index":0,"delta":{"content":"Hi"}}]}"#;
    let so_far = r#"{"choices":[{"index":0,"delta":{"content":" there"}}],"usage":{"prompt_tokens":9,"completion_tokens":1,"cost":0.5}}"#;
    let failed = |wire, events: &[&str]| end("openrouter", wire, events).expect_err("it broke off");
    assert_eq!(failed(Wire::Chat, &[text, so_far]), (None, None));
    let with_error = r#"{"choices":[],"error":{"message":"no","code":502},"usage":{"prompt_tokens":9,"completion_tokens":2,"cost":0.5}}"#;
    assert_eq!(
        failed(Wire::Chat, &[text, with_error]),
        (Some([9, 2, 0, 0, 0]), Some(500_000)),
        "told with it"
    );
    let error = r#"{"choices":[],"error":{"message":"no","code":502}}"#;
    assert_eq!(failed(Wire::Chat, &[so_far, error]), (None, None));
    let given_up = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"insufficient_system_resource"}]}"#;
    assert_eq!(
        failed(Wire::Chat, &[so_far, given_up, "[DONE]"]).0,
        Some([9, 1, 0, 0, 0]),
        "its end was told"
    );

    let at_work =
        r#"{"type":"response.in_progress","response":{"usage":{"input_tokens":9,"output_tokens":1}}}"#;
    let words = r#"{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"Hi"}"#;
    assert_eq!(failed(Wire::Responses, &[at_work, words]), (None, None));
    let failure = r#"{"type":"response.failed","response":{"status":"failed","error":{"message":"no"},"usage":{"input_tokens":9,"output_tokens":1}}}"#;
    assert_eq!(failed(Wire::Responses, &[at_work, words, failure]).0, Some([9, 1, 0, 0, 0]));

    let start = r#"{"type":"message_start","message":{"role":"assistant","content":[],"usage":{"input_tokens":9,"output_tokens":1}}}"#;
    let block = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hi"}}"#;
    assert_eq!(failed(Wire::Messages, &[start, block]), (None, None));
    let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    assert_eq!(failed(Wire::Messages, &[start, block, overloaded]), (None, None));
    let told = told("example", Wire::Messages, &[start, block, r#"{"type":"message_stop"}"#]);
    assert_eq!(told, (None, None), "a reply whose usage never came");
}

/// Gateways that do not know a number say 0 in its place; taken for a number it is a reply for nothing.
#[test]
fn p08_a_zero_that_cannot_be_is_unknown() {
    let usage = |input: u8, output: u8, total: &str| {
        format!(r#"{{"choices":[],"usage":{{"prompt_tokens":{input},"completion_tokens":{output}{total}}}}}"#)
    };
    assert_eq!(chat(&[&usage(0, 0, "")]), None);
    assert_eq!(chat(&[&usage(0, 20, "")]), None);
    assert_eq!(chat(&[&usage(0, 20, r#","total_tokens":20"#)]), None);
    assert_eq!(
        chat(&[&usage(0, 20, r#","total_tokens":120"#)]),
        Some([100, 20, 0, 0, 0]),
        "the total tells it"
    );
    assert_eq!(chat(&[&usage(100, 0, "")]), None, "something was said");
    assert_eq!(chat(&[&usage(100, 20, ""), &usage(0, 0, "")]), Some([100, 20, 0, 0, 0]));
    let silent = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"content_filter"}]}"#;
    let silent = told("example", Wire::Chat, &[silent, &usage(100, 0, ""), "[DONE]"]).0;
    assert_eq!(silent, Some([100, 0, 0, 0, 0]), "nothing was said");
    assert_eq!(responses(r#"{"input_tokens":0,"output_tokens":20}"#), None);
    assert_eq!(responses(r#"{"input_tokens":100,"output_tokens":0}"#), None);
    let zeros = r#"{"input_tokens":0,"output_tokens":0}"#;
    assert_eq!(messages(zeros, r#"{"output_tokens":20}"#), None);
    assert_eq!(messages(zeros, zeros), None);
    assert_eq!(messages(zeros, r#"{"input_tokens":100,"output_tokens":20}"#), Some([100, 20, 0, 0, 0]));
}

/// OpenRouter tells what a reply costs; at another address the field means nothing that is known.
#[test]
fn p08_the_cost_that_a_server_tells_counts_where_it_is_known_to_mean_dollars() {
    let usage = |cost: &str| {
        format!(r#"{{"choices":[],"usage":{{"prompt_tokens":9,"completion_tokens":4,"cost":{cost}}}}}"#)
    };
    let cost = |provider: &str, cost: &str| told(provider, Wire::Chat, &[STOP, &usage(cost), "[DONE]"]).1;
    assert_eq!(cost("openrouter", "0.0145476"), Some(14_548), "rounded up");
    assert_eq!(cost("openrouter", "1.13e-05"), Some(12));
    assert_eq!(cost("openrouter", "0"), Some(0));
    assert_eq!(cost("openrouter", "null"), None);
    assert_eq!(cost("openrouter", "-1"), None);
    assert_eq!(cost("https://openrouter.ai/api/v1", "2"), Some(2_000_000));
    assert_eq!(cost("example", "0.5"), None);
}

#[test]
fn p08_dollars_are_read_without_a_float() {
    let rows = [
        ("1", Some(1_000_000)),
        ("0.5", Some(500_000)),
        (".25", Some(250_000)),
        ("3.", Some(3_000_000)),
        ("0.0000001", Some(1)),
        ("0e-400", Some(0)),
        ("1e-400", Some(1)),
        ("1E2", Some(100_000_000)),
        ("0e999", Some(0)),
        ("1e999", None),
        ("99999999999999999999", None),
        ("-1", None),
        ("+1", None),
        ("1,5", None),
        ("", None),
        (".", None),
        ("1e", None),
        ("NaN", None),
    ];
    for (text, wanted) in rows {
        assert_eq!(micro_usd(text), wanted, "{text:?}");
    }
}

fn target(provider: &str, model: &str) -> Target {
    let wire = Wire::Chat;
    Target { provider: provider.into(), model: model.into(), wire, tool_mode: ToolMode::Native }
}

fn cost(provider: &str, model: &str, usage: Usage) -> Option<u64> {
    tariff_of(&target(provider, model))?.cost(&usage)
}

#[test]
fn p08_a_reply_costs_what_its_row_says_rounded_up() {
    let usage = Usage { input: 1_000, output: 100, cached: 600, reasoning: 50, cache_written: 300 };
    // 100 anew at $1, 600 cached at $0.10, 300 written at $1.25, 100 out at $5.
    assert_eq!(cost("anthropic", "claude-haiku-4-5", usage), Some(100 + 60 + 375 + 500));
    let one = Usage { input: 1, ..Usage::default() };
    assert_eq!(cost("openai", "gpt-5.4-nano", one), Some(1), "0.2 of a millionth");
    assert_eq!(cost("openai", "gpt-5.4-nano", Usage::default()), Some(0));
    let huge = Usage { input: u64::MAX, output: u64::MAX, ..Usage::default() };
    assert_eq!(cost("openai", "gpt-4.1", huge), Some(u64::MAX));
}

#[test]
fn p08_a_longer_request_has_the_price_of_its_size_or_none() {
    let usage = |input| Usage { input, ..Usage::default() };
    assert_eq!(cost("xai", "grok-4.7", usage(199_999)), Some(399_998));
    assert_eq!(cost("xai", "grok-4.7", usage(200_000)), Some(800_000));
    assert_eq!(cost("openai", "gpt-5.5", usage(272_000)), Some(1_360_000));
    assert_eq!(cost("openai", "gpt-5.5", usage(272_001)), None, "beyond what is known");
}

/// A family's next model has a price of its own.
#[test]
fn p08_the_price_of_a_model_that_is_in_no_row_is_unknown() {
    let known = |provider: &str, model: &str| tariff_of(&target(provider, model)).is_some();
    assert!(known("openai", "gpt-4.1-2025-04-14"));
    assert!(known("anthropic", "claude-opus-4-5-20251101"));
    assert!(known("https://api.anthropic.com/v1", "claude-opus-4-5"));
    assert!(!known("anthropic", "claude-opus-4-99"));
    assert!(!known("openai", "gpt-5.4-pro"));
    assert!(!known("openai", "gpt-4.10"));
    assert!(!known("openrouter", "gpt-4.1"), "another provider, another price");
    assert!(!known("https://models.example/v1", "gpt-4.1"));
    assert!(!known("", ""));
}

/// What listens on this machine may hand requests on to a provider that is paid: an address is no price.
#[test]
fn p08_a_model_that_runs_on_this_machine_costs_nothing_and_an_address_is_no_price() {
    let local = catalog().iter().filter(|row| matches!(row.place, Place::Local { .. })).map(|row| row.name);
    let here = ["http://127.0.0.1:4711/v1", "http://[::1]:4711/v1", "http://localhost:8080/v1"];
    for provider in local.chain(here) {
        let target = target(provider, "m");
        assert_eq!(tariff_of(&target), None, "{provider}");
        assert_eq!(tariff_by(&target, Runs::There), Some(Tariff::Flat(Price::FREE)), "{provider}");
        for runs in [Runs::Unknown, Runs::Elsewhere] {
            assert_eq!(tariff_by(&target, runs), None, "{provider}");
        }
    }
    for elsewhere in ["http://10.0.0.7:8080/v1", "openai", "https://host.example/v1"] {
        assert_eq!(
            tariff_by(&target(elsewhere, "m"), Runs::There),
            None,
            "{elsewhere} is somebody's machine"
        );
    }
}

#[test]
fn p08_what_is_reserved_is_the_most_that_so_many_tokens_can_cost() {
    let tariff = tariff_of(&target("anthropic", "claude-haiku-4-5")).unwrap();
    assert_eq!(tariff.worst(1_000, 100), Some(1_250 + 500), "all of the input may be written to the cache");
    for usage in [
        Usage { input: 1_000, output: 100, ..Usage::default() },
        Usage { input: 1_000, output: 100, cached: 1_000, ..Usage::default() },
        Usage { input: 1_000, output: 100, cache_written: 1_000, ..Usage::default() },
    ] {
        assert!(tariff.cost(&usage) <= tariff.worst(1_000, 100), "{usage:?}");
    }
}

#[test]
fn p08_every_row_of_prices_is_sourced_dated_and_found_by_its_names() {
    for row in prices() {
        assert!(!row.source.is_empty() && row.read.starts_with("202"), "{row:?}");
        assert!(row.ranges.is_sorted_by(|one, next| one.upto < next.upto), "{row:?}");
        for range in row.ranges {
            let Price { input, cached, cache_written, output } = range.price;
            assert!(0 < cached && cached <= input && input <= cache_written && input < output, "{row:?}");
        }
        for model in row.models {
            let found = tariff_of(&target(row.provider, model));
            assert_eq!(found, Some(Tariff::Ranges(row.ranges)), "{model} of {}", row.provider);
        }
    }
}
