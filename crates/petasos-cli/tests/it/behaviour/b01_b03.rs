//! Rows B01, B03 and P08 through the program: what a turn costs, the limit of it, and more on top.

use petasos_testkit::model_server::ModelServer;
use serde_json::{Value, json};

use crate::program::{Place, of_kind};

const CALL: &str = r#"{"calls":[{"name":"calculate","arguments":{"expression":"1+1"}}],"usage":{"input":1000000,"output":1000,"cached":400000}}"#;
const DONE: &str = r#"{"text":"done","usage":{"input":2000,"output":100}}"#;

/// Settings with this server, one dollar a million tokens of input, a tenth of it from a cache, five of output.
fn settings(server: &ModelServer, more: &str) -> String {
    let url = server.base_url();
    format!("model: {{base_url: \"{url}\", name: m, price: {{input: 1, cached: 0.1, output: 5}}}}\n{more}\n")
}

fn told(result: &Value) -> [&Value; 4] {
    [&result["status"], &result["budget"], &result["steps"], &result["usage"]["micro_usd"]]
}

#[test]
fn p08_what_a_turn_costs_is_told_and_frozen_in_its_replies() {
    let server = ModelServer::start(&format!("{CALL}\n{DONE}"));
    let place = Place::new();
    place.settings(&settings(&server, ""));
    let run = place.petasos_does(&["run", "--json", "hello"]);
    // 600,000 at 1, 400,000 at 0.1, 1,000 at 5; then 2,000 at 1 and 100 at 5.
    assert_eq!(
        told(&run.result()),
        [&json!("completed"), &json!(null), &json!(2), &json!(647_500)],
        "{run:?}"
    );
    let entries = place.entries();
    let frozen: Vec<&Value> =
        of_kind(&entries, "reply").iter().map(|reply| &reply["body"]["micro_usd"]).collect();
    assert_eq!(frozen, [&json!(645_000), &json!(2_500)]);
    let reserved = of_kind(&entries, "request")[0]["body"]["reserved"].clone();
    // The output cap that is reserved where nobody set one, at 5.
    assert!(reserved["micro_usd"].as_u64().unwrap() > 8_192 * 5, "{reserved}");
}

#[test]
fn p08_a_person_reads_tokens_and_their_cost_and_no_cost_that_nobody_knows() {
    let server = ModelServer::start(DONE);
    let place = Place::new();
    place.settings(&settings(&server, ""));
    let run = place.petasos_does(&["run", "hello"]);
    assert!(run.stderr.contains("2000 tokens in (0 of them cached), 100 out, $0.0025\n"), "{run:?}");
    let server = ModelServer::start(r#"{"text":"done","usage":null}"#);
    let place = Place::new();
    place.settings(&settings(&server, ""));
    let run = place.petasos_does(&["run", "--json", "hello"]);
    let cost = run.result()["usage"]["micro_usd"].clone();
    assert!(cost.as_u64().unwrap() > 8_192 * 5, "what nobody told counts as it was reserved: {cost}");
}

#[test]
fn b01_b03_a_turn_ends_at_its_money_and_goes_on_with_more() {
    let server = ModelServer::start(&format!("{CALL}\n{DONE}"));
    let place = Place::new();
    place.settings(&settings(&server, "limits: {usd: 0.6}"));
    let run = place.petasos_does(&["run", "--json", "hello"]);
    let result = run.result();
    assert_eq!(
        (run.code, told(&result)),
        (10, [&json!("budget_exhausted"), &json!("money"), &json!(1), &json!(645_000)]),
        "{run:?}"
    );
    let hint = result["error"]["hint"].as_str().unwrap();
    assert!(hint.contains("--add-usd"), "{hint}");
    let run = place.petasos_does(&["resume", "--json", "--add-usd", "0.50"]);
    let result = run.result();
    assert_eq!(
        (run.code, told(&result), &result["reply"]),
        (0, [&json!("completed"), &json!(null), &json!(2), &json!(647_500)], &json!("done")),
        "{run:?}"
    );
    assert_eq!(server.finish().len(), 2);
}

/// No request is made that could overdraw it: not even the first.
#[test]
fn b01_a_limit_below_the_worst_case_of_one_request_makes_none() {
    let server = ModelServer::start(DONE);
    let place = Place::new();
    place.settings(&settings(&server, "limits: {usd: 0.01}"));
    let run = place.petasos_does(&["run", "--json", "hello"]);
    assert_eq!((run.code, &run.result()["budget"]), (10, &json!("money")), "{run:?}");
    assert_eq!(server.finish().len(), 0);
}

#[test]
fn b01_a_limit_of_money_is_refused_where_a_price_is_unknown() {
    let place = Place::new();
    place.settings("limits: {usd: 5}\n");
    let elsewhere = ["run", "--json", "--base-url", "http://192.0.2.1/v1", "--model", "m", "hello"];
    let run = place.petasos_does(&elsewhere);
    let result = run.result();
    let message = result["error"]["message"].as_str().unwrap();
    assert_eq!((run.code, &result["error"]["kind"]), (2, &json!("config")), "{run:?}");
    for part in ["the price of m at http://192.0.2.1/v1 is not known", "price", "limits.usd"] {
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(place.sessions(), Vec::<String>::new());
    // So it is with a model that is asked only when the first one fails.
    let server = ModelServer::start(DONE);
    let fallback = "limits: {usd: 5}\nfallback: [{name: other, base_url: \"http://192.0.2.1/v1\"}]";
    place.settings(&settings(&server, fallback));
    let run = place.petasos_does(&["run", "--json", "hello"]);
    let result = run.result();
    assert!(result["error"]["message"].as_str().unwrap().contains("the price of other"), "{run:?}");
    assert_eq!(server.finish().len(), 0);
}

/// A turn that was begun with a known price is not gone on with where nobody knows it any more: it says so, and no
/// request is made.
#[test]
fn b01_a_turn_whose_price_became_unknown_says_so_and_goes_on_once_it_is_known() {
    let place = Place::new();
    let elsewhere = |price: &str| {
        format!("model: {{base_url: \"http://192.0.2.1/v1\", name: m{price}}}\nlimits: {{usd: 0.01}}\n")
    };
    // The worst case of one request is above the limit, so none is made.
    place.settings(&elsewhere(", price: {input: 1, output: 5}"));
    let run = place.petasos_does(&["run", "--json", "hello"]);
    assert_eq!((run.code, &run.result()["budget"]), (10, &json!("money")), "{run:?}");
    place.settings(&elsewhere(""));
    let run = place.petasos_does(&["resume", "--json", "--add-usd", "0.50"]);
    let result = run.result();
    let message = result["error"]["message"].as_str().unwrap();
    assert_eq!((run.code, &result["error"]["kind"]), (2, &json!("config")), "{run:?}");
    assert!(message.contains("the price of m"), "{message}");
    place.settings(&elsewhere(", price: {input: 1, output: 5}"));
    let run = place.petasos_does(&["resume", "--json", "--add-usd", "0.001"]);
    assert_eq!((run.code, &run.result()["budget"]), (10, &json!("money")), "{run:?}");
}

/// A proxy on this machine may be in front of a provider that is paid: its address is no price, and a person may say that it
/// costs nothing.
#[test]
fn b01_an_address_on_this_machine_is_no_price() {
    let server = ModelServer::start(DONE);
    let url = server.base_url();
    let place = Place::new();
    let settings =
        |price: &str| format!("model: {{base_url: \"{url}\", name: m{price}}}\nlimits: {{usd: 5}}\n");
    place.settings(&settings(""));
    let run = place.petasos_does(&["run", "--json", "hello"]);
    let result = run.result();
    assert_eq!((run.code, &result["error"]["kind"]), (2, &json!("config")), "{run:?}");
    let message = result["error"]["message"].as_str().unwrap();
    for part in
        ["the price of m at http://127.0.0.1", "`price: {input: 0, output: 0}` says that it costs nothing"]
    {
        assert!(message.contains(part), "{message}");
    }
    place.settings(&settings(", price: {input: 0, output: 0}"));
    let run = place.petasos_does(&["run", "--json", "hello"]);
    assert_eq!(
        (run.code, told(&run.result())),
        (0, [&json!("completed"), &json!(null), &json!(1), &json!(0)]),
        "{run:?}"
    );
    assert_eq!(server.finish().len(), 1);
}

#[test]
fn bad_amounts_of_dollars_are_told() {
    let place = Place::new();
    for amount in ["-1", "0", "a lot", "1,50"] {
        let run = place.petasos_does(&["resume", "--json", &format!("--add-usd={amount}")]);
        assert_eq!(run.code, 2, "{run:?}");
        let message = run.result()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains("such as 0.50"), "{message}");
    }
}
