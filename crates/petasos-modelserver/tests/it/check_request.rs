//! Each rule of the judge of requests is broken by a body that breaks nothing else.

use petasos_core::request::Wire;
use petasos_testkit::check_request::{check_headers, check_request};

mod chat;
mod messages;
mod responses;

#[test]
fn a_body_is_an_object_that_is_not_too_large_on_every_wire() {
    for wire in [Wire::Chat, Wire::Responses, Wire::Messages] {
        let check = |body: &[u8], wanted: &str| assert_eq!(check_request(wire, body), [wanted]);
        check(b"{\"model\":", "no JSON: EOF while parsing a value at line 1 column 9");
        check(b"[]", "the body is no object");
        check(&vec![b' '; 64 << 20], "the body has 67108864 bytes, less than 67108864 are taken");
        let found = check_request(wire, b"\"\xff\"");
        assert!(found.len() == 1 && found[0].starts_with("no JSON: invalid unicode"), "{found:?}");
        let lone = check_request(wire, br#"{"model":"\ud800"}"#);
        assert!(lone.len() == 1 && lone[0].starts_with("no JSON: "), "{lone:?}");
    }
}

#[test]
fn messages_name_their_version_in_a_header() {
    let with = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
    let good = with("anthropic-version", "2023-06-01");
    for wire in [Wire::Chat, Wire::Responses, Wire::Messages] {
        assert_eq!(check_headers(wire, &good), Vec::<String>::new());
    }
    for wire in [Wire::Chat, Wire::Responses] {
        assert_eq!(check_headers(wire, &[]), Vec::<String>::new());
    }
    let wrong = |version: &str| vec![format!("anthropic-version is {version:?}, and has to be a date")];
    assert_eq!(check_headers(Wire::Messages, &with("version", "2023-06-01")), wrong(""));
    for version in ["", "latest", "2023-6-1", "2023-06-011"] {
        assert_eq!(check_headers(Wire::Messages, &with("anthropic-version", version)), wrong(version));
    }
}
