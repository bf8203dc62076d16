//! P07: how many tokens a server near by gives, asked in the words of each kind.

use petasos_core::request::Wire;
use petasos_providers::{Endpoint, HttpProvider, Looked, Provider as _, Runs};
use tokio::io::AsyncWriteExt as _;

use crate::server::{listen, ok, provider, read_request};

/// What a server answers to a first line; all else is not there.
type Answers = &'static [(&'static str, &'static str)];

/// What such a server tells of `qwen3:8b`.
async fn look(answers: Answers) -> Looked {
    let (listener, url) = listen().await;
    let server = tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let request = read_request(&mut socket).await;
            let known = answers.iter().find(|(asked, _)| request.starts_with(&format!("{asked} HTTP")));
            let bytes = match known {
                Some((_, body)) => ok(body.as_bytes()),
                None => b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_vec(),
            };
            socket.write_all(&bytes).await.unwrap();
            drop(socket.shutdown().await);
        }
    });
    let told = provider(&url).look("qwen3:8b").await;
    server.abort();
    told
}

/// What it is, what it answers, and the window.
const SERVERS: &[(&str, Answers, Option<u64>)] = &[
    (
        "llama.cpp",
        &[(
            "GET /props",
            r#"{"default_generation_settings":{"id":0,"n_ctx":8192,"params":{}},"total_slots":4}"#,
        )],
        Some(8_192),
    ),
    (
        "vLLM",
        &[(
            "GET /v1/models",
            r#"{"object":"list","data":[{"id":"other","max_model_len":7},{"id":"qwen3:8b","max_model_len":40960}]}"#,
        )],
        Some(40_960),
    ),
    (
        "LM Studio, loaded",
        &[(
            "GET /api/v0/models",
            r#"{"data":[{"id":"qwen3:8b","state":"loaded","max_context_length":131072,"loaded_context_length":4096}]}"#,
        )],
        Some(4_096),
    ),
    (
        "LM Studio, not loaded: what the model was trained for is no answer",
        &[(
            "GET /api/v0/models",
            r#"{"data":[{"id":"qwen3:8b","state":"not-loaded","max_context_length":131072}]}"#,
        )],
        None,
    ),
    (
        "Ollama, loaded",
        &[
            ("GET /v1/models", r#"{"object":"list","data":[{"id":"qwen3:8b","object":"model"}]}"#),
            ("GET /api/ps", r#"{"models":[{"name":"qwen3:8b","model":"qwen3:8b","context_length":4096}]}"#),
            (
                "POST /api/show",
                r#"{"parameters":"num_ctx                        16384","model_info":{"qwen3.context_length":40960}}"#,
            ),
        ],
        Some(4_096),
    ),
    (
        "Ollama, set in the model's file",
        &[
            ("GET /api/ps", r#"{"models":[]}"#),
            (
                "POST /api/show",
                r#"{"parameters":"temperature 0.6\nnum_ctx 16384","model_info":{"qwen3.context_length":40960}}"#,
            ),
        ],
        Some(16_384),
    ),
    (
        "Ollama, neither",
        &[("POST /api/show", r#"{"parameters":"","model_info":{"qwen3.context_length":40960}}"#)],
        None,
    ),
    ("another model", &[("GET /api/ps", r#"{"models":[{"name":"other","context_length":4096}]}"#)], None),
    ("nothing", &[], None),
    (
        "nonsense",
        &[
            ("GET /props", "[]"),
            ("GET /v1/models", "<html>"),
            ("GET /api/v0/models", r#"{"data":{"id":"qwen3:8b"}}"#),
            ("GET /api/ps", r#"{"models":[{"name":"qwen3:8b","context_length":0}]}"#),
            ("POST /api/show", r#"{"parameters":"num_ctx many"}"#),
        ],
        None,
    ),
];

#[tokio::test]
async fn p07_the_window_is_asked_in_the_words_of_each_server() {
    for (what, answers, wanted) in SERVERS {
        assert_eq!(look(answers).await.window, *wanted, "{what}");
    }
}

/// A server that runs models itself is known by words that only its kind knows. What lists models may be a proxy in front of
/// a paid provider, and what Ollama calls its cloud runs elsewhere.
#[tokio::test]
async fn p08_a_server_that_runs_the_model_itself_is_known_by_its_own_words() {
    for (what, answers, _) in SERVERS {
        let told = look(answers).await.runs;
        let wanted = if ["another model", "nothing"].contains(what) { Runs::Unknown } else { Runs::There };
        assert_eq!(told, wanted, "{what}");
    }
    let listed: Answers = &[(
        "GET /v1/models",
        r#"{"data":[{"id":"qwen3:8b","object":"model","created":1677610602,"owned_by":"openai"}],"object":"list"}"#,
    )];
    assert_eq!(look(listed).await.runs, Runs::Unknown, "LiteLLM");
    let cloud: Answers = &[
        ("GET /v1/models", r#"{"object":"list","data":[{"id":"qwen3:8b","object":"model"}]}"#),
        ("GET /api/ps", r#"{"models":[{"name":"qwen3:8b"}]}"#),
        (
            "POST /api/show",
            r#"{"model_info":{"qwen3.context_length":40960},"remote_model":"qwen3:8b","remote_host":"https://ollama.com:443"}"#,
        ),
    ];
    assert_eq!(look(cloud).await.runs, Runs::Elsewhere);
}

/// Connections are taken by the system, and nothing is ever said on them.
#[tokio::test(start_paused = true)]
async fn p07_a_server_that_says_nothing_is_waited_for_a_second() {
    let (_listener, url) = listen().await;
    let began = tokio::time::Instant::now();
    assert_eq!(provider(&url).look("m").await, Looked::default());
    assert!(began.elapsed() <= std::time::Duration::from_secs(2), "{:?}", began.elapsed());
}

/// An address that nothing answers at: it would take far more than no time to ask.
#[tokio::test(start_paused = true)]
async fn p07_a_server_elsewhere_is_not_asked() {
    let endpoint = Endpoint::new("example", "https://models.example/v1", Wire::Chat).unwrap();
    let began = tokio::time::Instant::now();
    assert_eq!(HttpProvider::new(endpoint).look("m").await, Looked::default());
    assert_eq!(began.elapsed(), std::time::Duration::ZERO);
}
