//! Row P07 through the program: servers that cut off the front of what they are sent.

use petasos_testkit::model_server::ModelServer;
use serde_json::{Value, json};

use crate::program::{Place, of_kind};

/// What a server answered that read 2,051 tokens of 12,000.
const CUT: &str =
    r#"{"text":"What would you like me to do with this file?","usage":{"input":2051,"output":12}}"#;

/// A prompt of about so many tokens.
fn prompt(tokens: usize) -> String {
    "Look at this. ".repeat(tokens / 4)
}

fn notes(events: &[Value]) -> Vec<&Value> {
    events.iter().filter(|event| event["type"] == "note").collect()
}

#[test]
fn case_e08_a_server_that_cuts_the_front_off_is_told_once_and_its_window_is_kept() {
    let server = ModelServer::start(&format!("{CUT}\n{CUT}"));
    let place = Place::new();
    let run = place.run_json(&server, &[&prompt(12_000)]);
    assert_eq!(run.code, 0, "{run:?}");
    let events = run.events();
    let [note] = notes(&events)[..] else { panic!("{run:?}") };
    let entries = place.entries();
    let [setting] = of_kind(&entries, "setting")[..] else { panic!("{entries:#?}") };
    assert_eq!((&setting["body"]["key"], &setting["body"]["value"]), (&json!("window"), &json!("4096")));
    assert_eq!((&note["source"], &note["entry"]), (&json!("cut_prompt"), &setting["seq"]));
    let text = note["text"].as_str().unwrap();
    for part in ["read 2051 tokens of about", "about 4096", "num_ctx", "--ctx-size", "model.window"] {
        assert!(text.contains(part), "{text}");
    }
    // The next request does not fit what is known now, and is not sent to be cut again.
    let run = place.petasos_does(&["resume", "--json", "-m", "and now?"]);
    assert_eq!((run.code, &run.result()["status"]), (11, &json!("context_exhausted")), "{run:?}");
    assert_eq!(server.finish().len(), 1);
    // A person reads it too.
    let server = ModelServer::start(CUT);
    let run = Place::new().run(&server, &[&prompt(12_000)]);
    assert!(run.stderr.contains("petasos: the server read 2051 tokens of about"), "{run:?}");
}

/// A count that is low for other reasons teaches nothing: a small request, a tokenizer that puts the same words into fewer
/// tokens from the first request on, a server that does not say.
#[test]
fn p07_a_count_that_is_low_for_other_reasons_teaches_nothing() {
    let rows: &[(&str, &[&str], usize)] = &[
        ("more than half", &[r#"{"text":"a","usage":{"input":7000,"output":1}}"#], 12_000),
        ("nobody says", &[r#"{"text":"a","usage":null}"#], 12_000),
        ("none at all", &[r#"{"text":"a","usage":{"input":0,"output":1}}"#], 12_000),
    ];
    for (what, script, tokens) in rows {
        let server = ModelServer::start(&script.join("\n"));
        let place = Place::new();
        let run = place.run_json(&server, &[&prompt(*tokens)]);
        assert_eq!((run.code, notes(&run.events()).len()), (0, 0), "{what}: {run:?}");
        assert_eq!(of_kind(&place.entries(), "setting").len(), 0, "{what}");
    }
}

/// The first request fits and is counted at its full size; the second is four times as large and is counted at less
/// than the first.
#[test]
fn p07_a_window_is_seen_when_a_session_grows_out_of_it() {
    let first = r#"{"text":"a","usage":{"input":3000,"output":1}}"#;
    let server = ModelServer::start(&format!("{first}\n{CUT}"));
    let place = Place::new();
    assert_eq!(place.run(&server, &[&prompt(1_500)]).code, 0);
    let run = place.petasos_does(&["resume", "--json", "-m", &prompt(12_000)]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(notes(&run.events()).len(), 1, "{run:?}");
}
