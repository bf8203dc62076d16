//! L18: a temperature by its bytes, on each wire.

use petasos_core::learnt::{Learnt, Parameter};
use petasos_core::request::{Params, Temperature, ToolChoice, Wire};
use petasos_providers::{Tail, encoder_knowing};
use petasos_testkit::check_request::check_request;

use crate::say::{head, said, target_on};

/// The end of a request's body, from its temperature on, and how many parts the request has.
fn sent(
    wire: Wire,
    thousandths: Option<u16>,
    learnt: &Learnt,
) -> (Option<String>, Vec<petasos_core::id::Digest>) {
    let mut encoder = encoder_knowing(&target_on(wire), &head("S", "[]"), learnt);
    encoder.push(&said("hello"));
    let tail = Tail { max_output: None, temperature: thousandths.map(Temperature) };
    let body = encoder.body(&Params { tool_choice: ToolChoice::Auto }, &tail);
    assert_eq!(check_request(wire, &body.bytes), Vec::<String>::new());
    let text = String::from_utf8(body.bytes.to_vec()).unwrap();
    (text.find("\"temperature\"").map(|at| text[at..].to_owned()), body.parts)
}

#[test]
fn l18_a_temperature_is_sent_as_it_is_set_and_is_no_part_of_the_prefix() {
    let none = Learnt::default();
    for wire in [Wire::Chat, Wire::Responses, Wire::Messages] {
        let (unset, parts) = sent(wire, None, &none);
        assert_eq!(unset, None, "{wire:?}");
        for (thousandths, wanted) in [(0, "0"), (700, "0.7"), (1_000, "1"), (55, "0.055"), (250, "0.25")] {
            let (told, same) = sent(wire, Some(thousandths), &none);
            assert_eq!(told, Some(format!("\"temperature\":{wanted}}}")), "{wire:?}");
            assert_eq!(same, parts, "{wire:?}");
        }
        let most = if wire == Wire::Messages { "1" } else { "1.5" };
        assert_eq!(sent(wire, Some(1_500), &none).0, Some(format!("\"temperature\":{most}}}")), "{wire:?}");
    }
}

#[test]
fn l18_a_temperature_that_a_target_does_not_take_is_left_out() {
    let learnt = Learnt { without: [Parameter::Temperature].into(), ..Learnt::default() };
    for wire in [Wire::Chat, Wire::Responses, Wire::Messages] {
        assert_eq!(sent(wire, Some(0), &learnt).0, None, "{wire:?}");
    }
}
