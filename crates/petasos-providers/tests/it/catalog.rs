//! Every row of the catalog can be used.

use std::collections::BTreeSet;

use petasos_core::request::Wire;
use petasos_providers::{Endpoint, Place, catalog, key_variables_of, row_of, wire_of};

#[test]
fn p01_every_row_has_a_name_of_its_own_a_source_and_a_place_that_can_be_asked() {
    let mut names = BTreeSet::new();
    for row in catalog() {
        assert!(names.insert(row.name), "{} is there twice", row.name);
        assert!(!row.source.is_empty() && !row.wires.is_empty(), "{}", row.name);
        assert_eq!(row.written.len(), 7, "{}", row.name);
        match row.place {
            Place::Hosted { base_url, key_variables, .. } => {
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

/// What an address is found to be: the row, the wire that it is asked on, the variable whose key goes there.
fn found(address: &str) -> String {
    let row = row_of(address).map_or("-", |row| row.name);
    let key = key_variables_of(address).first().copied().unwrap_or("-");
    format!("{row} {:?} {key}", wire_of(address))
}

#[test]
fn p01_an_address_is_known_by_its_host_however_it_is_spelt() {
    let table = [
        ("https://api.deepseek.com", "deepseek Chat DEEPSEEK_API_KEY"),
        ("https://api.deepseek.com/v1", "deepseek Chat DEEPSEEK_API_KEY"),
        ("https://api.deepseek.com/v1/", "deepseek Chat DEEPSEEK_API_KEY"),
        ("HTTPS://API.DeepSeek.com:443/v1/chat/completions", "deepseek Chat DEEPSEEK_API_KEY"),
        ("https://api.deepseek.com/anthropic", "deepseek Messages DEEPSEEK_API_KEY"),
        ("https://api.moonshot.ai/v1", "moonshot Chat MOONSHOT_API_KEY"),
        ("https://api.moonshot.cn/v1", "moonshot Chat MOONSHOT_API_KEY"),
        ("https://api.mistral.ai/v1/chat/completions", "mistral Chat MISTRAL_API_KEY"),
        ("https://api.openai.com", "openai Responses OPENAI_API_KEY"),
        ("https://api.openai.com/v1/chat/completions", "openai Chat OPENAI_API_KEY"),
        ("https://api.anthropic.com/v1/messages", "anthropic Messages ANTHROPIC_API_KEY"),
        ("http://127.0.0.1:8080/v1", "llama.cpp Chat -"),
        ("http://localhost:8080", "llama.cpp Chat -"),
        ("http://LOCALHOST:8080/v1/", "llama.cpp Chat -"),
        ("http://[::1]:8000/v1/messages", "vllm Messages -"),
        ("https://localhost:11434/v1", "ollama Chat -"),
        // In the open it is the same server, and no key goes there by itself.
        ("http://api.openai.com/v1", "openai Responses -"),
        // Look-alikes, other ports, hosts behind a user name, and what is no address.
        ("https://api.openai.com.evil.test/v1", "- Chat -"),
        ("https://evil.test/api.openai.com/v1", "- Chat -"),
        ("https://evil.test/?https://api.openai.com/v1", "- Chat -"),
        ("https://api.openai.com@evil.test/v1", "- Chat -"),
        ("https://evil.test@api.openai.com/v1", "- Chat -"),
        ("https://api.openai.com:pass@evil.test/v1", "- Chat -"),
        ("https://evil.test\\@api.openai.com/v1", "- Chat -"),
        ("https://api.openai.com:8443/v1", "- Chat -"),
        ("https://xapi.openai.com/v1", "- Chat -"),
        ("https://api.openai.com./v1", "- Chat -"),
        ("ftp://api.openai.com/v1", "- Chat -"),
        ("api.openai.com/v1", "- Chat -"),
        ("http://10.0.0.1:8080/v1", "- Chat -"),
        ("http://localhost.evil.test:8080/v1", "- Chat -"),
        ("http://127.0.0.1:8081/v1", "- Chat -"),
    ];
    for (address, is) in table {
        assert_eq!(found(address), is, "{address}");
    }
}
