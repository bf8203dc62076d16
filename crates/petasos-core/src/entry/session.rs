//! Bodies that are about the session as a whole, and what is said in it.

use serde::{Deserialize, Serialize};

use crate::id::CallId;
use crate::id::{Digest, Epoch, Seq, SessionId};
use crate::text::Text;

/// Body of `session`, the first line. Made by the store.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SessionStart {
    /// Version of the session's layout.
    pub format: u32,
    /// Its id, which is also its folder's name.
    pub id: SessionId,
    /// The folder it works in, as the person named it.
    pub workspace: Text,
    /// Where it comes from.
    pub origin: Origin,
    /// How many parents it has: 0 for a session that a person started.
    pub depth: u8,
}

/// Where a session comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// It is new.
    New,
    /// It went off another session after an entry.
    Fork {
        /// That session.
        session: SessionId,
        /// The last entry of it that counts here.
        seq: Seq,
    },
    /// It was imported.
    Import {
        /// What it was imported from.
        from: Text,
        /// The last entry that came with it; none if nothing did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seq: Option<Seq>,
    },
    /// A call of another session runs it.
    Child {
        /// The parent.
        session: SessionId,
        /// The call.
        call: CallId,
    },
}

/// Body of `open`. Made by the store; its epoch fences the holder before.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Open {
    /// One more than that of the holder before.
    pub epoch: Epoch,
    /// Who holds it: process id and host.
    pub holder: Text,
    /// Version of the program.
    pub program: Text,
    /// What was found damaged and set aside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damage: Vec<Damage>,
}

/// A part of a log that could not be read and was set aside.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Damage {
    /// Its first byte in the log as it was found.
    pub from: u64,
    /// How many bytes.
    pub bytes: u64,
    /// What was wrong, for a person.
    pub why: Text,
}

/// Body of `said`, and the input of the same name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Said {
    /// Who said it.
    pub from: Speaker,
    /// What was said.
    pub content: Vec<Content>,
    /// What was fetched for it and is frozen with it (memory, entities).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Text>,
    /// When it enters.
    pub when: When,
    /// An earlier `said` that this one takes back. With no content it does only that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withdraws: Option<Seq>,
}

/// Who said something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    /// A person.
    Person,
    /// A scheduled job.
    Job,
    /// The session that runs this one.
    Parent,
    /// Another program.
    Program,
}

/// A piece of what was said.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Plain text.
    Text(Text),
    /// A file kept beside the log.
    Blob {
        /// Its name: the hash of its bytes.
        hash: Digest,
        /// Its size.
        bytes: u64,
        /// Its media type.
        media: Text,
    },
}

/// When something that was said enters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// Starts a turn if none is open, else counts as after the turn.
    Now,
    /// Enters with the next request (a steer).
    NextStep,
    /// Starts the next turn (a follow-up).
    AfterTurn,
}

/// Body of `setting`, and what `Set` brings.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Setting {
    /// Its name; `title` is one.
    pub key: Text,
    /// Its value; none takes it back.
    pub value: Option<Text>,
    /// Who set it.
    pub by: SettingSource,
    /// How long it holds.
    #[serde(rename = "for")]
    pub lifetime: Lifetime,
}

/// Who made a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SettingSource {
    /// A person.
    Person,
    /// Learnt from what a request met.
    Learnt {
        /// That request.
        request: crate::id::RequestId,
    },
}

/// How long a setting holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lifetime {
    /// Until the turn ends.
    Turn,
    /// As long as the session.
    Session,
}

/// Body of `leaf`: the transcript goes on from an earlier place.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Leaf {
    /// A `said`, or the last entry of a closed step; none is the empty transcript.
    pub to: Option<Seq>,
    /// Why.
    pub why: LeafReason,
}

/// Why the leaf moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeafReason {
    /// The last turn was taken back.
    Undo,
    /// The last turn is made again.
    Retry,
    /// This session is a fork.
    Fork,
    /// A person went there.
    Person,
}
