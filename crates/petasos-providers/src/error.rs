//! What can be wrong before a request is made.

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
}
