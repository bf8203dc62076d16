//! What the model has read of files.

/// What the model has read of files in this session.
#[derive(Debug, Default)]
pub struct Seen;
