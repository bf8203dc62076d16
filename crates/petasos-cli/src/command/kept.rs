//! A session that is open, as it is kept: what a chat asks of its log.

use petasos_core::id::SessionId;
use petasos_runtime::{LastSaid, Setup};

use super::manage::told;
use crate::print;

/// A session in its store.
#[derive(Debug)]
pub(super) struct Kept {
    setup: Setup,
    session: SessionId,
}

impl Kept {
    pub(super) fn new(setup: Setup, session: &SessionId) -> Self {
        Self { setup, session: session.clone() }
    }

    /// What was said last, as far as the log tells.
    pub(super) async fn last_said(&self) -> Option<LastSaid> {
        match self.setup.last_said(&self.session).await {
            Ok(said) => said,
            Err(error) => {
                print::talk(&format!("petasos: {error}"));
                None
            }
        }
    }

    /// Makes a fork of all there is so far, and says where.
    pub(super) async fn fork(&self) {
        match self.setup.fork(&self.session, None).await {
            Ok(made) => print::talk(&told(&made, self.session.as_str())),
            Err(error) => print::talk(&format!("petasos: {error}")),
        }
    }
}
