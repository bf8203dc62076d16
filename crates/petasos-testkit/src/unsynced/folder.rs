//! The disk that forgets, between two lives of a real process: taken from a folder, and put back into it.

use std::fs;
use std::path::Path;

use super::{Bytes, Inode, Node, State, UnsyncedDisk};

impl UnsyncedDisk {
    /// A disk that holds all that is in a folder, synced, and the names of the folders above it.
    ///
    /// # Panics
    /// If the folder cannot be read.
    pub fn of_folder(folder: &Path) -> Self {
        let disk = Self::default();
        {
            let mut state = disk.state();
            for above in folder.ancestors().filter(|above| *above != Path::new("/") && above.is_dir()) {
                state.names.insert(above.to_owned(), Node::Folder);
            }
            take(&mut state, folder);
            state.synced_names = state.names.clone();
        }
        disk
    }

    /// Cuts the power, keeping up to `bytes` of what was appended to each file and not synced.
    pub fn cut_power(&self, bytes: usize) {
        self.power_cut(bytes);
    }

    /// Makes the folder what the disk has of it now.
    ///
    /// # Panics
    /// If the folder cannot be written.
    pub fn put_back(&self, folder: &Path) {
        let state = self.state();
        if folder.exists() {
            fs::remove_dir_all(folder).expect("a folder that can be emptied");
        }
        // A folder's name comes before those in it.
        for (path, node) in state.names.iter().filter(|(path, _)| path.starts_with(folder)) {
            match node {
                Node::Folder => fs::create_dir_all(path).expect("a folder that can be written"),
                Node::File(inode) => {
                    fs::write(path, &state.files[inode].now).expect("a folder that can be written");
                }
            }
        }
    }
}

fn take(state: &mut State, folder: &Path) {
    let Ok(found) = fs::read_dir(folder) else { return };
    for one in found {
        let path = one.expect("a folder that can be read").path();
        if path.is_dir() {
            state.names.insert(path.clone(), Node::Folder);
            take(state, &path);
            continue;
        }
        let bytes = fs::read(&path).expect("a file that can be read");
        let inode = Inode(state.next_inode);
        state.next_inode += 1;
        state.files.insert(inode, Bytes { now: bytes.clone(), synced: bytes, given_up: 0..0 });
        state.names.insert(path, Node::File(inode));
    }
}
