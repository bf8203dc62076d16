//! Which model is chosen: named, at a known provider, by a base URL, by a key in the environment, from a list.

use petasos_core::request::Wire;
use petasos_runtime::config::Flags;
use petasos_testkit::model_server::ModelServer;

use super::Layers;

/// What is chosen, as `model at place by wire`, or why nothing is.
async fn chosen(layers: Layers) -> String {
    match layers.setup().unwrap().choose().await {
        Ok(chosen) => {
            let told = |target: &petasos_core::request::Target| {
                format!("{} at {} by {:?}", target.model, target.provider, target.wire)
            };
            let all = [&chosen.target].into_iter().chain(&chosen.fallback).map(told);
            all.collect::<Vec<_>>().join(", then ")
        }
        Err(error) => error.to_string(),
    }
}

/// For tests with a server, which blocks.
fn now<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

fn flags(base_url: &str, model: &str) -> Flags {
    let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    Flags { base_url: given(base_url), model: given(model), ..Flags::default() }
}

#[tokio::test]
async fn the_choice_is_a_table() {
    let url = "http://host.example/v1";
    let home = "model: {provider: deepseek, name: home}\n";
    let rows: Vec<(Layers, &str)> = vec![
        (Layers::new().flags(flags(url, "m")), "m at http://host.example/v1 by Chat"),
        (Layers::new().home(home), "home at deepseek by Chat"),
        (Layers::new().home(home).flags(flags("", "m")), "m at deepseek by Chat"),
        (Layers::new().home(home).flags(flags(url, "m")), "m at http://host.example/v1 by Chat"),
        (Layers::new().home(home).variable("GROQ_API_KEY", "k"), "home at deepseek by Chat"),
        (Layers::new().variable("GROQ_API_KEY", "k").flags(flags("", "m")), "m at groq by Chat"),
        // The first row of the catalog whose key is there.
        (
            Layers::new().variable("GROQ_API_KEY", "k").variable("OPENAI_API_KEY", "k").flags(flags("", "m")),
            "m at openai by Responses",
        ),
        (Layers::new().env_file("MISTRAL_API_KEY=k\n").flags(flags("", "m")), "m at mistral by Chat"),
        // An empty variable is none.
        (
            Layers::new().variable("OPENAI_API_KEY", "").variable("XAI_API_KEY", "k").flags(flags("", "m")),
            "m at xai by Chat",
        ),
        (
            Layers::new()
                .home("fallback: [{name: f, provider: groq}, {name: g, base_url: \"http://g.example/v1\"}]\n")
                .flags(flags(url, "m")),
            "m at http://host.example/v1 by Chat, then f at groq by Chat, then g at http://g.example/v1 by Chat",
        ),
    ];
    for (layers, wanted) in rows {
        assert_eq!(chosen(layers).await, wanted);
    }
}

/// Explicit `api_mode`, else the provider's profile, else what the base URL tells, else chat completions.
#[tokio::test]
async fn p01_the_wire_is_chosen_by_api_mode_then_profile_then_base_url_then_chat() {
    let home = |model: &str| Layers::new().home(&format!("model: {{name: m, {model}}}\n"));
    for (model, wanted) in [
        // Explicit.
        ("provider: openai, api_mode: chat", "Chat"),
        ("provider: anthropic, api_mode: responses", "Responses"),
        ("base_url: \"https://api.anthropic.com/v1\", api_mode: chat", "Chat"),
        ("base_url: \"http://host.example/anthropic\", api_mode: responses", "Responses"),
        ("base_url: \"http://host.example/v1\", api_mode: messages", "Messages"),
        // The profile: a row by its name, or by its own base URL.
        ("provider: openai", "Responses"),
        ("provider: anthropic", "Messages"),
        ("provider: mistral", "Chat"),
        ("provider: ollama", "Chat"),
        ("base_url: \"https://api.openai.com/v1/\"", "Responses"),
        ("base_url: \"http://127.0.0.1:8080/v1\"", "Chat"),
        // The base URL.
        ("base_url: \"https://api.anthropic.com/other/v1\"", "Messages"),
        ("base_url: \"https://API.openai.com:443/v2\"", "Responses"),
        ("base_url: \"https://api.deepseek.com/anthropic\"", "Messages"),
        ("base_url: \"https://host.example/api/anthropic/v1/\"", "Messages"),
        ("base_url: \"https://host.example/v1/messages\"", "Messages"),
        ("base_url: \"https://host.example/v1/responses\"", "Responses"),
        ("base_url: \"https://host.example/v1/chat/completions\"", "Chat"),
        ("base_url: \"https://api.openai.com/v1/chat/completions\"", "Chat"),
        ("base_url: \"https://api.anthropic.com/v1/messages\"", "Messages"),
        // Nothing tells: names that only look alike are no sign.
        ("base_url: \"https://host.example/v1\"", "Chat"),
        ("base_url: \"https://api.anthropic.com.example/v1\"", "Chat"),
        ("base_url: \"https://host.example/anthropic-proxy/v1\"", "Chat"),
        ("base_url: \"https://host.example/v1?to=anthropic\"", "Chat"),
    ] {
        let told = chosen(home(model)).await;
        assert!(told.ends_with(&format!(" by {wanted}")), "{model}: {told}");
    }
    let flag = Flags { api_mode: Some(Wire::Responses), ..flags("http://host.example/v1", "m") };
    let told = chosen(home("provider: anthropic").flags(flag)).await;
    assert_eq!(told, "m at http://host.example/v1 by Responses");
}

/// The mode belongs to the place that it stands with, and each fallback has its own.
#[tokio::test]
async fn p07_the_tool_mode_is_that_of_the_home_file_for_its_own_place_and_native_else() {
    let mode = |layers: Layers| async move {
        let setup = layers.setup().unwrap();
        let chosen = setup.choose().await.unwrap();
        let modes = std::iter::once(&chosen.target).chain(&chosen.fallback);
        modes.map(|target| format!("{:?}", target.tool_mode)).collect::<Vec<_>>().join(" ")
    };
    let here = "base_url: \"http://127.0.0.1:8080/v1\", name: m";
    let home = |tail: &str| Layers::new().home(&format!("model: {{{here}{tail}}}\n"));
    assert_eq!(mode(home("")).await, "Native");
    assert_eq!(mode(home(", tool_mode: constrained")).await, "Constrained");
    assert_eq!(mode(home(", tool_mode: text, api_mode: messages")).await, "Text");
    let other = flags("http://127.0.0.1:9090/v1", "m");
    assert_eq!(mode(home(", tool_mode: text").flags(other)).await, "Native");
    let anywhere = Layers::new().home("model: {tool_mode: text}\n");
    assert_eq!(mode(anywhere.flags(flags("http://127.0.0.1:9090/v1", "m"))).await, "Text");
    let fallback = format!("model: {{{here}}}\nfallback: [{{{here}, tool_mode: text}}, {{{here}}}]\n");
    assert_eq!(mode(Layers::new().home(&fallback)).await, "Native Text Native");
}

#[tokio::test]
async fn p07_constrained_is_refused_where_the_protocol_has_no_format() {
    let here = "base_url: \"http://127.0.0.1:8080/v1\", name: m";
    let bad = "tool_mode: constrained, api_mode: messages";
    let told = chosen(Layers::new().home(&format!("model: {{{here}, {bad}}}\n"))).await;
    assert!(told.contains("use `api_mode: chat` for the same server, or `tool_mode: text`"), "{told}");
    let told =
        chosen(Layers::new().home(&format!("model: {{{here}}}\nfallback: [{{{here}, {bad}}}]\n"))).await;
    assert!(told.starts_with("fallback 1: with `tool_mode: constrained`"), "{told}");
}

#[tokio::test]
async fn a_model_that_is_named_nowhere_is_told() {
    for (layers, words) in [
        (Layers::new(), "no model is named, and none was found on this machine"),
        (Layers::new().flags(flags("", "m")), "the model m is named, but not where it is served"),
        (Layers::new().workspace("model: {name: w}\n"), "the model w is named, but not where it is served"),
        (Layers::new().home("model: {provider: opnai, name: m}\n"), "there is no provider \"opnai\""),
        (
            Layers::new().home("model: {api_key_env: K}\n"),
            "something is said of the model, but not where it is served",
        ),
    ] {
        let told = chosen(layers).await;
        assert!(told.starts_with(words), "{told}");
    }
}

#[test]
fn without_a_name_the_first_that_the_server_lists_is_taken() {
    let server = ModelServer::start("{}");
    let url = server.base_url();
    // The name in the home file is that of another place.
    let layers = Layers::new().home("model: {provider: deepseek, name: home}\n").flags(flags(&url, ""));
    let told = now(chosen(layers));
    assert!(told.ends_with(&format!(" at {url} by Chat")) && !told.starts_with("home"), "{told}");
    drop(server);
    let told = now(chosen(Layers::new().flags(flags(&url, ""))));
    assert!(told.starts_with(&format!("the models of {url} cannot be listed: ")), "{told}");
    assert!(told.ends_with("; name one with --model NAME"), "{told}");
}

/// A key belongs to the model that it stands with, also where another one is at the same place.
#[tokio::test]
async fn the_variable_of_a_fallbacks_own_key_must_be_set() {
    let home = "model: {base_url: \"http://host.example/v1\", name: m, api_key_env: FIRST_KEY}\n\
                fallback: [{base_url: \"http://host.example/v1\", name: f, api_key_env: SECOND_KEY}]\n";
    let told = chosen(Layers::new().home(home).variable("FIRST_KEY", "k")).await;
    assert!(
        told.starts_with("fallback 1: the variable SECOND_KEY, which is to hold the key, is not set"),
        "{told}"
    );
    let told = chosen(Layers::new().home(home).variable("SECOND_KEY", "k")).await;
    assert!(told.starts_with("the variable FIRST_KEY, which is to hold the key, is not set"), "{told}");
    let both = Layers::new().home(home).variable("FIRST_KEY", "k").variable("SECOND_KEY", "l");
    assert!(chosen(both).await.starts_with("m at http://host.example/v1"));
    // What says nothing of a key has that of its place.
    let home = home.replace(", api_key_env: SECOND_KEY", "");
    let told = chosen(Layers::new().home(&home)).await;
    assert!(told.starts_with("fallback 1: the variable FIRST_KEY"), "{told}");
}
