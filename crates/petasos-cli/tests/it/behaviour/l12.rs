//! Row L12: a person interrupts a turn at any event of it, and the next turn starts on a valid transcript.

use std::collections::BTreeMap;

use petasos_testkit::model_server::ModelServer;
use serde_json::Value;

use crate::program::{Place, model, of_kind};
use crate::running::Running;

/// An interrupt between the two calls of the reply leaves one of them.
const SCRIPT: &str = r#"{"text":"I look","calls":[{"name":"list_files","arguments":{}},{"name":"run_command","arguments":{"command":"echo one >> counter"}}],"when":{"results":0}}
{"text":"There is a counter.","when":{"results":1}}
{"text":"There is a counter.","when":{"results":2}}"#;

#[test]
fn l12_interrupted_at_each_event_the_next_turn_starts_on_a_valid_transcript() {
    let unbroken = {
        let server = ModelServer::start(SCRIPT);
        let run = Place::new().run_json(&server, &["--allow-commands", "hello"]);
        assert_eq!(run.code, 0);
        run.types().len()
    };
    let mut codes = BTreeMap::new();
    for at in 1..unbroken {
        let server = ModelServer::start(SCRIPT);
        let place = Place::new();
        let mut command = place.petasos();
        let command = command.args(["run", "--json", "--allow-commands"]).args(model(&server)).arg("hello");
        let mut running = Running::begin(command).hush();
        for _ in 0..at {
            running.line().unwrap();
        }
        running.signal("INT");
        let run = running.end();
        let status = run.result()["status"].as_str().unwrap().to_owned();
        // It may be over before it hears of it.
        assert!([(130, "interrupted"), (0, "completed")].contains(&(run.code, &status)), "{run:?}");
        *codes.entry(run.code).or_insert(0) += 1;
        check_calls(&place.entries());
        let counted = place.read("counter");
        let next = place.petasos_does(&["resume", "--json", "--allow-commands", "-m", "and now?"]);
        assert_eq!(next.code, 0, "after {at} events: {next:?}");
        assert_eq!(next.result()["reply"], "There is a counter.");
        let entries = place.entries();
        check_calls(&entries);
        let began = of_kind(&entries, "tool_start").len();
        let lines = place.read("counter").unwrap_or_default().lines().count();
        assert!(
            began <= 1 + usize::from(counted.is_none()) && lines <= began,
            "{began} starts, {lines} lines"
        );
        // The server judges every request when it ends.
        server.finish();
    }
    assert!(codes[&130] > 3, "{codes:?}");
}

/// Every call of every reply has exactly one result, in the order of the calls or not, and one end a run.
pub fn check_calls(entries: &[Value]) {
    let mut open: BTreeMap<String, u32> = BTreeMap::new();
    for reply in of_kind(entries, "reply") {
        let blocks = reply["body"]["blocks"].as_array().unwrap();
        let calls = blocks.iter().filter(|block| block.get("call").is_some()).count();
        for place in 0..calls {
            open.insert(format!("{}.{place}", reply["seq"]), 0);
        }
    }
    for result in of_kind(entries, "tool_result") {
        *open.get_mut(result["body"]["call"].as_str().unwrap()).unwrap() += 1;
    }
    assert!(open.values().all(|results| *results == 1), "{open:?}");
    let (starts, ends) = (of_kind(entries, "turn_start").len(), of_kind(entries, "turn_end").len());
    assert_eq!(starts, ends);
}
