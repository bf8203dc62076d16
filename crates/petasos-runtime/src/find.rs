//! Which session is meant: by the beginning of its id, by its title, or the one that was spoken in last.
//!
//! What was named is taken or refused; nothing else is ever taken in its place.

use std::path::PathBuf;

use petasos_core::id::SessionId;
use petasos_store::{Index, Query, Rebuilt, Search, Store as _, StoreError, Within};
use tokio::task::spawn_blocking;

use crate::inspect::{Listed, Searched, Sessions};
use crate::setup::{Setup, fault};

/// Characters of a title in a list of those that fit.
const TITLE: usize = 60;

/// Which sessions are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Those of this workspace.
    Here,
    /// All.
    All,
}

/// A session that was looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Which.
    pub id: SessionId,
    /// The folder it works in.
    pub workspace: PathBuf,
    /// Its title, or what was said first.
    pub title: String,
    /// A newer session that may be the one that is meant and cannot be read: why.
    pub passed_over: Option<String>,
}

/// Why a session was not found.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// Neither an id nor a title begins so.
    #[error("no session's id or title begins with {named:?}")]
    NoneBegins {
        /// What was given.
        named: String,
    },
    /// No session worked in this folder.
    #[error("no session has worked in {}", workspace.display())]
    NoneHere {
        /// The folder.
        workspace: PathBuf,
    },
    /// More than one id.
    #[error("several sessions begin with {named:?}: {ids}")]
    Several {
        /// What was given.
        named: String,
        /// Those that fit.
        ids: String,
    },
    /// More than one title.
    #[error("several sessions have a title that begins with {named:?}:\n{rows}")]
    SeveralTitled {
        /// What was given.
        named: String,
        /// Those that fit, one a line: id, time and title.
        rows: String,
    },
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Setup {
    /// The session whose id begins so, else the one with this title, else the one whose title begins so; of those in
    /// several folders the one of this workspace. Without a name, the one of this workspace in which something
    /// happened last.
    ///
    /// # Errors
    /// There is none, or more than one.
    pub async fn find(&self, named: Option<&str>) -> Result<Found, FindError> {
        // The logs of other sessions are nothing to who names one as it is called.
        if let Some(named) = named.and_then(|named| named.parse().ok())
            && let Some(listed) = self.one(named).await?
        {
            return Ok(found(&listed, None));
        }
        let listing = self.sessions().await?;
        match named {
            Some(named) => self.named(listing, named),
            None => self.newest(listing),
        }
    }

    /// The session of just this id, if there is one.
    async fn one(&self, session: SessionId) -> Result<Option<Listed>, StoreError> {
        let store = self.store();
        let read = match spawn_blocking(move || store.read(&session)).await {
            Ok(read) => read,
            Err(error) => return Err(fault(&error.to_string())),
        };
        match read {
            Ok(contents) => Ok(contents.listed().map(Listed::from)),
            Err(StoreError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// All sessions, by when something happened in them last. Of logs that somebody has looked at before, what is new is
    /// read.
    ///
    /// # Errors
    /// What the disk says of their folder.
    pub async fn sessions(&self) -> Result<Sessions, StoreError> {
        self.in_index(|index| index.list()).await.map(Sessions::of)
    }

    /// Looks for what was said, answered, called and given back: in all sessions, or in those of this workspace.
    ///
    /// # Errors
    /// What the disk says of their folder.
    pub async fn search(&self, query: Query, reach: Reach, limit: usize) -> Result<Searched, StoreError> {
        let workspace = self.places.workspace.clone();
        let search = move |index: &Index| {
            let within = match reach {
                Reach::All => Within::All,
                Reach::Here => Within::Folder(&workspace),
            };
            index.search(&Search { query: &query, within, limit })
        };
        self.in_index(search).await.map(Searched::of)
    }

    /// Makes the index anew.
    ///
    /// # Errors
    /// `Index` if it cannot be written, or what the disk says of the folder of sessions.
    pub async fn reindex(&self) -> Result<Rebuilt, StoreError> {
        self.in_index(|index| index.rebuild()).await
    }

    async fn in_index<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Index) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let index = Index::of(&self.store());
        match spawn_blocking(move || work(&index)).await {
            Ok(done) => done,
            Err(error) => Err(fault(&error.to_string())),
        }
    }

    fn named(&self, listing: Sessions, named: &str) -> Result<Found, FindError> {
        // Every id begins with nothing, and none is meant by it.
        if named.trim().is_empty() {
            return Err(FindError::NoneBegins { named: named.to_owned() });
        }
        let Sessions { sessions, unreadable } = listing;
        let unreadable = unreadable.into_iter().find(|(id, _)| id.as_str().starts_with(named));
        let exact = sessions.iter().find(|listed| listed.id().as_str() == named);
        let by_id = || sessions.iter().filter(|listed| listed.id().as_str().starts_with(named));
        let ids: Vec<&Listed> = exact.map_or_else(|| by_id().collect(), |one| vec![one]);
        match (ids.as_slice(), unreadable) {
            ([one], passed_over) => Ok(found(one, passed_over.map(|(_, error)| error.to_string()))),
            ([_, _, ..], _) => {
                let ids = ids.iter().map(|listed| listed.id().to_string()).collect::<Vec<_>>();
                Err(FindError::Several { named: named.to_owned(), ids: ids.join(", ") })
            }
            ([], Some((_, error))) => Err(error.into()),
            ([], None) => self.titled(&sessions, named),
        }
    }

    fn titled(&self, sessions: &[Listed], named: &str) -> Result<Found, FindError> {
        let title = in_one_line(named);
        let begins = |listed: &&Listed| in_one_line(listed.title()).starts_with(&title);
        let is_titled = |listed: &&Listed| in_one_line(listed.title()) == title;
        let begin: Vec<&Listed> = sessions.iter().filter(begins).filter(|_| !title.is_empty()).collect();
        let exact: Vec<&Listed> = begin.iter().copied().filter(is_titled).collect();
        let fitting = self.here_if_any(if exact.is_empty() { begin } else { exact });
        match fitting.as_slice() {
            [] => Err(FindError::NoneBegins { named: named.to_owned() }),
            [one] => Ok(found(one, None)),
            [_, _, ..] => {
                let row = |one: &&Listed| {
                    let title: String = one.title().split_whitespace().collect::<Vec<_>>().join(" ");
                    let title: String = title.chars().take(TITLE).collect();
                    format!("  {}  {}  {title}", one.id(), one.last_time())
                };
                let rows = fitting.iter().map(row).collect::<Vec<_>>().join("\n");
                Err(FindError::SeveralTitled { named: named.to_owned(), rows })
            }
        }
    }

    /// Those of this workspace, if there are any among them.
    fn here_if_any<'a>(&self, listed: Vec<&'a Listed>) -> Vec<&'a Listed> {
        let is_here = |one: &&Listed| one.is_in(&self.places.workspace);
        if listed.iter().any(is_here) { listed.into_iter().filter(is_here).collect() } else { listed }
    }

    fn newest(&self, listing: Sessions) -> Result<Found, FindError> {
        // One that was opened and left is nothing to go on with.
        let fits = |listed: &&Listed| listed.is_in(&self.places.workspace) && !listed.is_blank();
        let newest = listing.sessions.iter().rfind(fits);
        // Whose folder it is stands in the line that cannot be read, so any of them may be the one that is meant.
        let Some(newest) = newest else {
            return Err(FindError::NoneHere { workspace: self.places.workspace.clone() });
        };
        let passed_over = listing.unreadable.iter().find(|(id, _)| id > newest.id());
        Ok(found(newest, passed_over.map(|(_, error)| error.to_string())))
    }
}

fn found(listed: &Listed, passed_over: Option<String>) -> Found {
    Found {
        id: listed.id().clone(),
        workspace: PathBuf::from(listed.workspace()),
        title: listed.title().to_owned(),
        passed_over,
    }
}

/// A title as it is compared: as it stands in a list, however its letters are written.
fn in_one_line(title: &str) -> String {
    title.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}
