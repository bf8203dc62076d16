//! Every row of the catalog can be used.

use std::collections::BTreeSet;

use petasos_core::request::Wire;
use petasos_providers::{Endpoint, Place, catalog, row_of};

#[test]
fn p01_every_row_has_a_name_of_its_own_a_source_and_a_place_that_can_be_asked() {
    let mut names = BTreeSet::new();
    for row in catalog() {
        assert!(names.insert(row.name), "{} is there twice", row.name);
        assert!(!row.source.is_empty() && !row.wires.is_empty(), "{}", row.name);
        assert_eq!(row.written.len(), 7, "{}", row.name);
        match row.place {
            Place::Hosted { base_url, key_variables } => {
                assert!(base_url.starts_with("https://"), "{base_url}");
                assert!(!key_variables.is_empty(), "{}", row.name);
            }
            Place::Local { port } => assert!(row.base_url().contains(&format!("127.0.0.1:{port}/"))),
        }
        Endpoint::new(row.name, &row.base_url(), row.wire()).unwrap();
    }
}

#[test]
fn p01_the_first_wire_of_a_row_is_the_one_it_is_asked_on() {
    let wire = |name| row_of(name).unwrap().wire();
    assert_eq!(wire("anthropic"), Wire::Messages);
    assert_eq!(wire("openai"), Wire::Responses);
    assert_eq!(wire("https://api.openai.com/v1/"), Wire::Responses);
    assert_eq!(wire("ollama"), Wire::Chat);
}
