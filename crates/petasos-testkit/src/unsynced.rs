//! A disk that drops what was not synced, and the folder store on it.
//!
//! The folder store runs on [`UnsyncedDisk`] with the very code that runs on a real one; so a sync that is
//! missing, or comes too late, loses entries in a test. The disk is as mean as a system may be: without a sync
//! of the folder a new file has no name after a power cut, and without a sync of the file its name stands
//! for what was synced of it last.

mod folder;
mod store;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use petasos_store::{Disk, DiskFile, DiskLock, Durability, FolderStore, LockError, Opening};

/// A folder store that loses in a power cut what was not synced.
#[derive(Clone, Debug)]
pub struct Unsynced {
    /// The disk below it.
    pub disk: UnsyncedDisk,
    store: FolderStore,
}

impl Default for Unsynced {
    fn default() -> Self {
        Self::new(Durability::Power)
    }
}

impl Unsynced {
    /// An empty store.
    pub fn new(durability: Durability) -> Self {
        let disk = UnsyncedDisk::default();
        let store = FolderStore::on(Arc::new(disk.clone()), "/petasos", durability);
        Self { disk, store }
    }

    /// Cuts the power: what was not synced is lost, and every writer is a thing of the past.
    pub fn power_cut(&self) {
        self.disk.power_cut(0);
    }

    /// Cuts the power while the disk is writing: up to `bytes` of what was appended to each file and not
    /// synced are there, which tears a line.
    pub fn power_cut_keeping(&self, bytes: usize) {
        self.disk.power_cut(bytes);
    }

    /// The `n`-th write from now (1 is the next) gets half of its bytes to the disk, and then the disk is
    /// full, until [`Unsynced::make_room`]. An append is one write.
    pub fn fail_next(&self, n: u32) {
        self.disk.state().room = Room::For(n);
    }

    /// The disk is no longer full.
    pub fn make_room(&self) {
        self.disk.state().room = Room::Enough;
    }

    /// The `n`-th sync from now (1 is the next), of a file or a folder, fails. What it was to sync is given up:
    /// later reads see it, later syncs succeed, and it never gets to the disk.
    pub fn fail_sync(&self, n: u32) {
        self.disk.state().sync_fails_in = n;
    }
}

/// A disk in memory. A clone is another handle on the same one.
#[derive(Clone, Debug, Default)]
pub struct UnsyncedDisk(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    files: BTreeMap<Inode, Bytes>,
    /// Every name but that of the root, as programs see it.
    names: BTreeMap<PathBuf, Node>,
    /// The names that last.
    synced_names: BTreeMap<PathBuf, Node>,
    locked: BTreeMap<PathBuf, String>,
    next_inode: u64,
    /// Raised by a power cut: files and locks of before do nothing any more.
    boots: u64,
    room: Room,
    /// The sync of this number from now fails, counted from 1; 0 is none.
    sync_fails_in: u32,
    /// Every sync that was done, in order: the path of a folder, or the name of a file when it was opened.
    syncs: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Inode(u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Node {
    Folder,
    File(Inode),
}

#[derive(Debug, Default)]
struct Bytes {
    /// As programs see them.
    now: Vec<u8>,
    /// As they last.
    synced: Vec<u8>,
    /// Those that a failed sync has given up: zeros on the disk.
    given_up: Range<usize>,
}

impl Bytes {
    /// What the disk has of them once they are synced.
    fn on_disk(&self) -> Vec<u8> {
        let mut bytes = self.now.clone();
        let end = self.given_up.end.min(bytes.len());
        bytes[self.given_up.start.min(end)..end].fill(0);
        bytes
    }
}

/// How much the disk takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Room {
    #[default]
    Enough,
    /// The write of this number, counted from 1, is half done.
    For(u32),
    None,
}

impl UnsyncedDisk {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("a test that panicked holds the disk")
    }

    /// What was synced, in order, since the disk was made: folders by their path, files by the name that
    /// they were opened under.
    pub fn syncs(&self) -> Vec<PathBuf> {
        self.state().syncs.clone()
    }

    fn power_cut(&self, kept: usize) {
        let mut state = self.state();
        state.boots += 1;
        state.locked.clear();
        state.names = state.synced_names.clone();
        // A name in a folder whose own name was lost is lost with it.
        let folders: BTreeSet<PathBuf> = state
            .names
            .iter()
            .filter(|(_, node)| **node == Node::Folder)
            .map(|(path, _)| path.clone())
            .collect();
        state.names.retain(|path, _| {
            path.ancestors().skip(1).all(|above| above == Path::new("/") || folders.contains(above))
        });
        state.synced_names = state.names.clone();
        for bytes in state.files.values_mut() {
            let appended = bytes.now.strip_prefix(&*bytes.synced).unwrap_or_default();
            let torn = appended[..kept.min(appended.len())].to_vec();
            bytes.synced.extend(torn);
            bytes.now = bytes.synced.clone();
            bytes.given_up = 0..0;
        }
    }
}

impl State {
    fn next_sync_fails(&mut self) -> bool {
        let fails = self.sync_fails_in == 1;
        self.sync_fails_in = self.sync_fails_in.saturating_sub(1);
        fails
    }

    fn node(&self, path: &Path) -> Option<Node> {
        if path == Path::new("/") { Some(Node::Folder) } else { self.names.get(path).copied() }
    }

    fn inode(&self, path: &Path) -> io::Result<Inode> {
        match self.node(path) {
            Some(Node::File(inode)) => Ok(inode),
            Some(Node::Folder) => Err(io::ErrorKind::IsADirectory.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn check_parent(&self, path: &Path) -> io::Result<()> {
        match path.parent().and_then(|parent| self.node(parent)) {
            Some(Node::Folder) => Ok(()),
            Some(Node::File(_)) => Err(io::ErrorKind::NotADirectory.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

fn is_in(folder: &Path, path: &Path) -> bool {
    path.parent() == Some(folder)
}

/// The names in a folder, as they are once it has another name.
fn moved(names: &BTreeMap<PathBuf, Node>, from: &Path, to: &Path) -> Vec<(PathBuf, Node)> {
    let inside = names.iter().filter_map(|(path, node)| Some((path.strip_prefix(from).ok()?, *node)));
    inside
        .filter(|(rest, _)| !rest.as_os_str().is_empty())
        .map(|(rest, node)| (to.join(rest), node))
        .collect()
}

impl Disk for UnsyncedDisk {
    fn make_folder(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        if state.node(path).is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        state.check_parent(path)?;
        state.names.insert(path.to_owned(), Node::Folder);
        Ok(())
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        let state = self.state();
        if state.node(folder) != Some(Node::Folder) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let names = state.names.keys().filter(|path| is_in(folder, path));
        Ok(names.filter_map(|path| path.file_name()?.to_str().map(str::to_owned)).collect())
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        if state.node(path) != Some(Node::Folder) {
            return Err(io::ErrorKind::NotFound.into());
        }
        if state.next_sync_fails() {
            return Err(io::Error::other("the disk did not take it"));
        }
        state.synced_names.retain(|name, _| !is_in(path, name));
        let names: Vec<_> = state
            .names
            .iter()
            .filter(|(name, _)| is_in(path, name))
            .map(|(name, node)| (name.clone(), *node))
            .collect();
        state.synced_names.extend(names);
        state.syncs.push(path.to_owned());
        Ok(())
    }

    fn read(&self, path: &Path, range: Range<u64>) -> io::Result<Vec<u8>> {
        let state = self.state();
        let bytes = &state.files[&state.inode(path)?].now;
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
        Ok(bytes.get(place(range.start)..place(range.end)).unwrap_or_default().to_vec())
    }

    fn length(&self, path: &Path) -> io::Result<u64> {
        let state = self.state();
        Ok(state.files[&state.inode(path)?].now.len() as u64)
    }

    fn open(&self, path: &Path, how: Opening) -> io::Result<Box<dyn DiskFile>> {
        let mut state = self.state();
        let there = state.inode(path);
        let inode = match (how, there) {
            (Opening::Existing | Opening::Empty, Ok(inode)) => inode,
            (Opening::New, Ok(_)) => return Err(io::ErrorKind::AlreadyExists.into()),
            (Opening::New | Opening::Empty, Err(error)) if error.kind() == io::ErrorKind::NotFound => {
                state.check_parent(path)?;
                let inode = Inode(state.next_inode);
                state.next_inode += 1;
                state.files.insert(inode, Bytes::default());
                state.names.insert(path.to_owned(), Node::File(inode));
                inode
            }
            (_, Err(error)) => return Err(error),
        };
        if how == Opening::Empty {
            state.files.get_mut(&inode).expect("a name has its file").now.clear();
        }
        let boot = state.boots;
        Ok(Box::new(UnsyncedFile { disk: self.clone(), inode, path: path.to_owned(), boot }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        let node = state.node(from).ok_or(io::ErrorKind::NotFound)?;
        state.check_parent(to)?;
        state.names.remove(from);
        state.names.insert(to.to_owned(), node);
        if node == Node::Folder {
            let inside = moved(&state.names, from, to);
            state.names.retain(|path, _| !path.starts_with(from));
            state.names.extend(inside);
            // What lasts in it does so under either name; which of them lasts is for the folder above to say.
            let synced_inside = moved(&state.synced_names, from, to);
            state.synced_names.extend(synced_inside);
        }
        Ok(())
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        if state.node(path) != Some(Node::Folder) {
            return Err(io::ErrorKind::NotFound.into());
        }
        if state.names.keys().any(|name| is_in(path, name)) {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        state.names.remove(path);
        Ok(())
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        let inode = state.inode(from)?;
        if state.node(to).is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        state.check_parent(to)?;
        state.names.insert(to.to_owned(), Node::File(inode));
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.inode(path)?;
        state.names.remove(path);
        Ok(())
    }

    fn lock(&self, path: &Path, holder: &str) -> Result<Box<dyn DiskLock>, LockError> {
        let mut state = self.state();
        state.check_parent(path).map_err(LockError::Io)?;
        if let Some(by) = state.locked.get(path) {
            return Err(LockError::Held(by.clone()));
        }
        state.locked.insert(path.to_owned(), holder.to_owned());
        let boot = state.boots;
        Ok(Box::new(UnsyncedLock { disk: self.clone(), path: path.to_owned(), boot }))
    }
}

#[derive(Debug)]
struct UnsyncedFile {
    disk: UnsyncedDisk,
    inode: Inode,
    path: PathBuf,
    boot: u64,
}

impl UnsyncedFile {
    fn with<T>(&self, act: impl FnOnce(&mut State, Inode) -> io::Result<T>) -> io::Result<T> {
        let mut state = self.disk.state();
        if state.boots != self.boot {
            return Err(io::Error::other("the power was cut since this file was opened"));
        }
        act(&mut state, self.inode)
    }
}

impl DiskFile for UnsyncedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.with(|state, inode| {
            let taken = match state.room {
                Room::Enough => bytes.len(),
                Room::For(0 | 1) => {
                    state.room = Room::None;
                    bytes.len() / 2
                }
                Room::For(more) => {
                    state.room = Room::For(more - 1);
                    bytes.len()
                }
                Room::None => return Err(io::ErrorKind::StorageFull.into()),
            };
            let file = state.files.get_mut(&inode).expect("a file stays while it is open");
            file.now.extend_from_slice(&bytes[..taken]);
            Ok(taken)
        })
    }

    fn sync(&mut self) -> io::Result<()> {
        self.with(|state, inode| {
            let fails = state.next_sync_fails();
            let file = state.files.get_mut(&inode).expect("a file stays while it is open");
            if fails {
                // As Linux does: the pages are taken for good from here on, and are on no disk.
                file.given_up = file.synced.len()..file.now.len();
                return Err(io::Error::other("the disk did not take it"));
            }
            file.synced = file.on_disk();
            state.syncs.push(self.path.clone());
            Ok(())
        })
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.with(|state, inode| {
            let file = state.files.get_mut(&inode).expect("a file stays while it is open");
            let length = usize::try_from(length).expect("a length in memory");
            file.now.resize(length, 0);
            file.given_up = file.given_up.start.min(length)..file.given_up.end.min(length);
            Ok(())
        })
    }

    fn length(&self) -> io::Result<u64> {
        self.with(|state, inode| Ok(state.files[&inode].now.len() as u64))
    }

    fn distrust(&mut self) {
        self.with(|state, inode| {
            let file = state.files.get_mut(&inode).expect("a file stays while it is open");
            file.now = file.on_disk();
            Ok(())
        })
        .ok();
    }
}

#[derive(Debug)]
struct UnsyncedLock {
    disk: UnsyncedDisk,
    path: PathBuf,
    boot: u64,
}

impl DiskLock for UnsyncedLock {}

impl Drop for UnsyncedLock {
    fn drop(&mut self) {
        let mut state = self.disk.state();
        if state.boots == self.boot {
            state.locked.remove(&self.path);
        }
    }
}
