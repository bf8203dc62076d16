//! The shell around the loop: sessions that run, their tools, models and stores.
//!
//! [`Agent`] begins and opens sessions; a [`SessionHandle`] takes [`Op`]s and tells [`Event`]s, and that is all
//! that a user interface needs. Inside, `drive.rs` does what `petasos-core/src/turn.rs` decides.

mod agent;
mod blobs;
mod clock;
pub mod config;
mod drive;
mod event;
mod find;
mod front;
mod gate;
mod in_flight;
mod inspect;
mod manage;
mod models;
mod op;
mod outbox;
mod prepare;
mod prompt;
mod requests;
mod result;
mod room;
mod saver;
mod secrets;
mod setup;
mod shell;
mod silence;

pub use agent::{Agent, Asking, Parts, SessionHandle, Standing};
pub use clock::{Clock, SystemClock};
pub use drive::OpError;
pub use event::{Bound, CallTold, DeltaKind, Event, NoteTold, ProgramNote, WaitedFor, WantsTold};
pub use find::{FindError, Found, Reach};
pub use front::Front;
pub use inspect::{Asks, ToolState, ToolTold, lint_built_in, lint_written};
pub use inspect::{
    CallReplayed, Difference, Differing, LeftOut, LeftOutWhy, PartOf, Place, Present, Replayed,
    RequestReplayed,
};
pub use inspect::{
    Decoded, DecodedCall, DecodedEnd, DecodedError, DecodedUsage, Decoding, Following, Listed, Same,
    Searched, SearchedEntry, Sessions, Shown, Words, WriteError, Written, readable,
};
pub use inspect::{StepLine, StepLog, StepTold, ToolOfStep, TurnTold};
pub use manage::{Cleaning, ForkMade, Kept, LastSaid, ManageError, Old, Transferred};
pub use models::Chosen;
pub use op::Op;
pub use petasos_providers::micro_usd;
pub use petasos_store::{BadQuery, Disk, ExportError, OsDisk, Query, Rebuilt, Snippet, StoreError};
pub use petasos_tools::guardian;
pub use petasos_tools::{Finding, NoSpecs};
pub use requests::{Known, Providers};
pub use result::{ErrorTold, Follows, NotStarted, RunResult, UsageOfRun, how_to_decide};
pub use setup::{Commands, RequestError, Setup};
