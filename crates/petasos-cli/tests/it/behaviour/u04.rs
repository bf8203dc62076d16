//! Row U04: the first things that people try.

use petasos_testkit::model_server::ModelServer;
use petasos_testkit::page_server::{Page, PageServer};
use serde_json::json;

use crate::program::{Place, bodies, ended, model, results};

/// Two steps, the second with what the first told. No proxy of the environment is asked for the page.
#[test]
fn u04_fetch_a_page_and_divide_its_length_by_7() {
    let words = "twenty-one characters".repeat(3);
    let pages = PageServer::start([("/page", Page::html(format!("<title>T</title><p>{words}</p>")))]);
    let place = Place::new();
    place.settings(&format!("tools: {{fetch_private: [\"{}\"]}}\n", pages.address()));
    let page = pages.url("/page");
    let fetch = json!({"calls": [{"name": "fetch_url", "arguments": {"url": page}}]});
    let divide = json!({"calls": [{"name": "calculate", "arguments": {"expression": "63 / 7"}}]});
    let script = format!("{fetch}\n{divide}\n{}", json!({"text": "It is 9."}));
    let server = ModelServer::start(&script);
    let ask = format!("Fetch {page} and divide its length in characters by 7.");
    let mut command = place.petasos();
    command.args(["run", "--json"]).args(model(&server)).arg(&ask);
    // What the program asks of the model's server goes past it as well, since that is on this machine.
    command.env("HTTP_PROXY", "http://127.0.0.1:9").env("http_proxy", "http://127.0.0.1:9");
    let run = ended(&mut command);
    assert_eq!((run.code, &run.result()["reply"]), (0, &json!("It is 9.")), "{run:?}");
    let sent = bodies(&server.finish());
    assert_eq!(sent.len(), 3);
    let told = results(&sent[2]);
    assert!(
        told[0]
            .1
            .contains(&format!("[{page} · 200 · text/html · 86 bytes · 63 characters]\nTitle: T\n{words}")),
        "{told:?}"
    );
    assert_eq!(told[1].1, "9");
    assert_eq!(pages.asked().len(), 1);
}

/// Without the setting the same page is out of reach, and a workspace file cannot bring it in.
#[test]
fn u04_a_page_of_this_machine_is_refused_unless_a_person_lists_it() {
    let pages = PageServer::start([("/page", Page::html("inside"))]);
    let place = Place::new();
    let fetch = json!({"calls": [{"name": "fetch_url", "arguments": {"url": pages.url("/page")}}]});
    let server = ModelServer::start(&format!("{fetch}\n{}", json!({"text": "It is out of reach."})));
    let run = place.run_json(&server, &["fetch it"]);
    assert_eq!(run.code, 0, "{run:?}");
    let sent = bodies(&server.finish());
    let told = results(&sent[1])[0].1;
    assert!(told.starts_with("{\"error\":\"refused\"") && told.contains("tools.fetch_private"), "{told}");
    assert_eq!(pages.connections(), 0);

    let settings = format!("tools: {{fetch_private: [\"{}\"]}}\n", pages.address());
    std::fs::create_dir(place.work().join(".petasos")).unwrap();
    place.write(".petasos/config.yaml", &settings);
    let server = ModelServer::start(&json!({"text": "unasked"}).to_string());
    let run = place.run(&server, &["fetch it"]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains("`tools.fetch_private` may not stand in a workspace file"), "{}", run.stderr);
    assert_eq!(server.finish().len(), 0);
}
