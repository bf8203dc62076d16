//! What a user interface asks of a session: the only way in.

use petasos_core::approval::Answer;
use petasos_core::budget::Limits;
use petasos_core::entry::{Content, Said, Setting, Speaker, When};
use petasos_core::id::{CallId, Digest, Seq};
use petasos_core::session::Terms;
use petasos_core::text::Text;
use petasos_core::turn::Input;

/// What a person or program wants of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Something is said.
    Say(Said),
    /// A call that asks is decided about, as it was shown.
    Decide {
        /// Which call.
        call: CallId,
        /// What.
        answer: Answer,
        /// Over what was shown.
        shown: Digest,
    },
    /// The turn is stopped.
    Interrupt,
    /// Nobody is there to answer: the turn goes as far as it can, then rests.
    Park,
    /// A turn at rest goes on; a running one gets what is added to its limits.
    Continue {
        /// What is added.
        add: Limits,
    },
    /// A setting is made.
    Set(Setting),
    /// The transcript goes on from an earlier place.
    GoTo(Seq),
    /// What was said last is taken back, with all that came of it.
    Undo,
    /// What was said last is answered anew.
    Retry,
    /// The turns from here on work under these terms.
    Terms(Box<Terms>),
}

impl Op {
    /// A person says `text`.
    pub fn say(text: impl Into<Text>, when: When) -> Self {
        Self::Say(Said {
            from: Speaker::Person,
            content: vec![Content::Text(text.into())],
            notes: Vec::new(),
            when,
            withdraws: None,
        })
    }

    /// The session gets a title, or loses it.
    pub fn title(title: Option<Text>) -> Self {
        Self::Set(crate::manage::title_of(title))
    }

    /// What core is told; terms are set, not told.
    pub(crate) fn into_input(self) -> Result<Input, Box<Terms>> {
        Ok(match self {
            Self::Say(said) => Input::Say(said),
            Self::Decide { call, answer, shown } => Input::Decide { call, answer, shown },
            Self::Interrupt => Input::Interrupt,
            Self::Park => Input::Park,
            Self::Continue { add } => Input::Continue { add },
            Self::Set(setting) => Input::Set(setting),
            Self::GoTo(seq) => Input::GoTo(seq),
            Self::Undo => Input::Undo,
            Self::Retry => Input::Retry,
            Self::Terms(terms) => return Err(terms),
        })
    }
}
