//! What can be wrong before a request is made.

use petasos_core::request::Wire;

/// An endpoint that cannot be used as it was given. Never holds a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// The base URL is no URL that a request can go to.
    #[error("the base URL {url:?} cannot be used: {why}; one looks like https://host.example/v1")]
    BadUrl {
        /// As it was given, without what may be a key in it.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// This build has no encoder for the wire.
    #[error("this build does not speak the {} wire; it speaks {}", name(wire), spoken())]
    WireNotSpoken {
        /// The wire that was asked for.
        wire: Wire,
    },
}

fn name(wire: &Wire) -> &'static str {
    match wire {
        Wire::Chat => "chat",
        Wire::Responses => "responses",
        Wire::Messages => "messages",
    }
}

fn spoken() -> String {
    crate::catalog::spoken_wires().iter().map(name).collect::<Vec<_>>().join(", ")
}
