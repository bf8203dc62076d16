//! Row T03 and case F-20: folders that no tool reaches, under whatever name.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use petasos_core::tool::Outcome;
use petasos_tools::{Options, Registry, Workspace, builtin};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::say::{Room, arguments, edit, until, wait};

/// A workspace in which `.petasos` is closed.
fn closed_room() -> Room {
    let mut room = Room::new();
    let workspace = Workspace::open(room.path("")).unwrap().with_closed(&room.path(".petasos"));
    room.registry = Registry::new(builtin(Arc::new(workspace), Options::default()));
    room
}

fn path(path: &str) -> String {
    arguments(&[("path", path)])
}

async fn is_out_of_reach(room: &Room, folder: &str) {
    let file = format!("{folder}/config.yaml");
    let before = room.get(&file);
    for (tool, call) in [
        ("read_file", path(&file)),
        ("list_files", path(folder)),
        ("search_files", arguments(&[("pattern", "TOPSECRET"), ("path", folder)])),
        ("search_files", arguments(&[("pattern", "TOPSECRET"), ("path", &file)])),
        ("write_file", arguments(&[("path", &file), ("content", "x")])),
        ("write_file", arguments(&[("path", &format!("{folder}/new/x")), ("content", "x")])),
        ("edit_file", edit(&file, "TOPSECRET", "x")),
    ] {
        room.refused(tool, &call, "not to be reached").await;
    }
    let found = room.text("search_files", r#"{"pattern":"TOPSECRET"}"#).await;
    assert!(found.starts_with("nothing matches"), "{found}");
    let listed = room.text("list_files", "{}").await;
    assert!(!listed.contains("config.yaml") && listed.contains("1 ignored"), "{listed}");
    assert_eq!(room.get(&file), before);
    assert_eq!(fs::read_dir(room.path(folder)).unwrap().count(), 1, "{folder}");
}

#[tokio::test]
async fn t03_a_closed_folder_under_another_name_is_closed() {
    let room = Room::new();
    room.sh("mkdir .petasos; echo TOPSECRET > .petasos/config.yaml");
    let mut room = room;
    let workspace = Workspace::open(room.path("")).unwrap().with_closed(&room.path(".petasos"));
    room.registry = Registry::new(builtin(Arc::new(workspace), Options::default()));
    is_out_of_reach(&room, ".petasos").await;
    room.sh("mkdir deep; mv .petasos deep/other");
    is_out_of_reach(&room, "deep/other").await;
    // What stands under the name now is closed too.
    room.sh("rm -r deep; mkdir .petasos; echo TOPSECRET > .petasos/config.yaml");
    is_out_of_reach(&room, ".petasos").await;
}

#[tokio::test]
async fn t03_a_closed_folder_that_is_made_later_is_closed() {
    let room = closed_room();
    let call = arguments(&[("path", ".petasos/config.yaml"), ("content", "x")]);
    room.refused("write_file", &call, "not to be reached").await;
    assert!(!room.path(".petasos").exists());
    room.sh("mkdir .petasos; echo TOPSECRET > .petasos/config.yaml; ln -s .petasos link");
    room.refused("read_file", &path("link/config.yaml"), "not to be reached").await;
    is_out_of_reach(&room, ".petasos").await;
}

/// It may be mounted below the workspace, or moved there, and keeps what it is.
#[tokio::test]
async fn t03_a_closed_folder_from_outside_is_closed_inside() {
    let mut room = Room::new();
    room.sh("mkdir ../home; echo TOPSECRET > ../home/config.yaml");
    let workspace = Workspace::open(room.path("")).unwrap().with_closed(&room.path("../home"));
    room.registry = Registry::new(builtin(Arc::new(workspace), Options::default()));
    room.sh("mv ../home here");
    is_out_of_reach(&room, "here").await;
}

/// Ends the swaps, also when a check fails: else the test would wait for them for ever.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What a program does that decides by names: it follows every link, looks at the name, and opens the path again.
fn naive_read(closed: &Path, path: &Path) -> String {
    let is_open = path.canonicalize().is_ok_and(|whole| !whole.starts_with(closed));
    if is_open { fs::read_to_string(path).unwrap_or_default() } else { String::new() }
}

/// Swaps `d` for another name while files in it are read, written, searched and listed, until `d` was met both as
/// the folder and as what it is swapped with.
fn never_reaches_what_is_swapped_in(other: &str, make: &str) {
    let room = Room::new();
    room.sh(&format!(
        "mkdir .petasos d; echo inside > d/f; echo inside > d/g; echo TOPSECRET > .petasos/f; {make}"
    ));
    let mut room = room;
    let workspace = Workspace::open(room.path("")).unwrap().with_closed(&room.path(".petasos"));
    room.registry = Registry::new(builtin(Arc::new(workspace), Options::default()));
    let root = room.path("").canonicalize().unwrap();
    let (folder, other, closed) = (root.join("d"), root.join(other), root.join(".petasos"));
    let (swaps, over) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                renameat_with(CWD, &folder, CWD, &other, RenameFlags::EXCHANGE).unwrap();
                swaps.fetch_add(1, Ordering::Relaxed);
            }
        });
        let _over = Over(&over);
        until(|| naive_read(&closed, &folder.join("f")).contains("TOPSECRET"));
        let before = swaps.load(Ordering::Relaxed);
        let (mut done, mut refused) = (0, 0);
        for round in 0_u32.. {
            let read = wait(room.call("read_file", &path("d/f")));
            assert!(!read.for_model.text().contains("TOPSECRET"), "read in round {round}");
            // What is written is synced, which takes its time.
            let most = if round % 4 == 0 { 6 } else { 3 };
            let calls = [
                ("search_files", arguments(&[("pattern", "SECRET"), ("path", "d")])),
                ("search_files", arguments(&[("pattern", "SECRET")])),
                ("search_files", arguments(&[("pattern", "SECRET"), ("path", "d/f")])),
                ("edit_file", edit("d/f", "TOP", "x")),
                ("write_file", arguments(&[("path", "d/new"), ("content", "ours")])),
                ("write_file", arguments(&[("path", "d/deep/new"), ("content", "ours")])),
            ];
            for (tool, call) in calls.iter().take(most) {
                let output = wait(room.call(tool, call));
                assert!(!output.for_model.text().contains("TOPSECRET"), "{round} {tool} {output:?}");
            }
            if read.outcome == Outcome::Ok {
                done += 1
            } else {
                refused += 1
            }
            if round >= 100 && done >= 10 && refused >= 10 {
                break;
            }
            assert!(round < 100_000, "{done} done, {refused} refused");
        }
        let swapped = swaps.load(Ordering::Relaxed) - before;
        assert!(swapped > 100, "{swapped} swaps");
    });
    // Whichever name the closed folder has now, it is as it was.
    let is_secret = |path: &&Path| fs::read(path.join("f")).is_ok_and(|text| text == b"TOPSECRET\n");
    let secret = [&*folder, &*other, &*closed].into_iter().find(is_secret).unwrap();
    assert_eq!(fs::read_dir(secret).unwrap().count(), 1);
}

#[test]
fn case_f20_a_link_to_a_closed_folder_that_is_swapped_in_is_never_read_nor_written() {
    never_reaches_what_is_swapped_in("link", "ln -s .petasos link");
}

#[test]
fn case_f20_a_closed_folder_that_is_swapped_in_itself_is_never_read_nor_written() {
    never_reaches_what_is_swapped_in(".petasos", "");
}

/// Environments and memory of processes are there, and ways to all that they have open.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn t03_what_processes_have_is_not_reached_from_the_root() {
    let mut room = Room::new();
    let workspace = Arc::new(Workspace::open("/").unwrap());
    room.registry = Registry::new(builtin(workspace, Options::default()));
    for path in ["proc/self/status", "/proc/self/environ", "/proc/1/root/etc/hostname", "etc/../proc/version"]
    {
        let output = room.call("read_file", &arguments(&[("path", path)])).await;
        assert!(output.for_model.text().contains("not to be reached"), "{path}: {output:?}");
    }
    let listed = room.call("list_files", r#"{"path":"/proc"}"#).await;
    assert!(listed.for_model.text().contains("not to be reached"), "{listed:?}");
}
