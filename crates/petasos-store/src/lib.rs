//! What keeps: session logs and blobs, behind one trait and with a plain blocking API.
//!
//! A session is a folder: `sessions/<id>/log.jsonl` is the truth, `blobs/<sha256>` are whole outputs beside
//! it, `lock` says who holds it. The page on the format is `docs/format/session.md`.
//!
//! [`Store`] and [`Writer`] are the seam; [`FolderStore`] keeps on a disk, [`InMemoryStore`] in memory. One
//! battery of tests (`tests/it/battery.rs`) holds for every store.

mod disk;
mod error;
mod export;
mod folder;
mod fork;
mod in_memory;
mod index;
mod line;
mod lines;
mod listed;
mod log;
mod made;
mod store;

pub use disk::{Disk, DiskFile, DiskLock, LockError, Opening, OsDisk};
pub use error::StoreError;
pub use export::{
    ExportEnd, ExportError, ExportReader, Exported, ExportedLine, ExportedSession, Importing, export, import,
    read_export,
};
pub use folder::{Durability, FolderStore};
pub use fork::{Forked, Upto, fork};
pub use in_memory::InMemoryStore;
pub use index::{BadQuery, Hit, Hits, Index, Query, Rebuilt, Search, Snippet, Within};
pub use line::closed_line;
pub use lines::Lines;
pub use listed::Listed;
pub use log::read_log;
pub use store::{
    After, Contents, Holder, LAYOUT, Listing, Opened, Store, UnfinishedBlob, UnfinishedSession, Writer,
};
