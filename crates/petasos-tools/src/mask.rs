//! Secrets, and what a model reads in their place.

/// The secrets that no result shows.
#[derive(Debug, Default)]
pub struct Mask;
