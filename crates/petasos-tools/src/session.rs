//! What the calls of one session share beside its log.

use std::sync::Arc;

use crate::jobs::Jobs;
use crate::mask::Mask;
use crate::seen::Seen;

/// What the calls of one session share beside its log: it lives as long as the session is open, and is not kept.
#[derive(Debug, Default)]
pub struct SessionState {
    /// What the model has read of files.
    pub seen: Seen,
    /// Commands that run beside the steps.
    pub jobs: Jobs,
    /// What must not be seen.
    pub mask: Arc<Mask>,
}

impl SessionState {
    /// Nothing was read, and nothing runs.
    pub fn new(mask: Arc<Mask>) -> Self {
        Self { mask, ..Self::default() }
    }
}
