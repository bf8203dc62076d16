//! Every row of the catalog can be used.

use std::collections::BTreeSet;

use petasos_core::request::Wire;
use petasos_providers::{Endpoint, Place, catalog};

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
        if let Some(wire) = row.spoken_wire() {
            Endpoint::new(row.name, &row.base_url(), wire).unwrap();
        }
    }
}

#[test]
fn p01_a_row_whose_wires_this_build_does_not_speak_says_so() {
    let wire = |name| catalog().iter().find(|row| row.name == name).unwrap().spoken_wire();
    assert_eq!(wire("anthropic"), None);
    assert_eq!(wire("openai"), Some(Wire::Chat));
    assert_eq!(wire("ollama"), Some(Wire::Chat));
}
