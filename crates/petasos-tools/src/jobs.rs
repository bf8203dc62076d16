//! Commands that run beside the steps.

/// The commands that run beside the steps of a session.
#[derive(Debug, Default)]
pub struct Jobs;
