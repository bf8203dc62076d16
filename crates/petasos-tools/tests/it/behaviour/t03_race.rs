//! Row T03 and case F-20: a parent that is swapped for a link between check and use.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use petasos_core::tool::{Fact, Outcome};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::say::{Room, approved, arguments, until};

/// Ends the swaps, also when a check fails: else the test would wait for them for ever.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What a program does that decides by names: it looks, finds the folder inside, and opens the name again.
fn naive_write(root: &Path, path: &Path) {
    let parent = path.parent().unwrap();
    if parent.canonicalize().is_ok_and(|parent| parent.starts_with(root)) {
        fs::write(path, "naive").ok();
    }
}

#[test]
fn case_f20_t03_a_swapped_parent_beats_a_naive_writer_and_never_ours() {
    let room = Room::new();
    room.sh("mkdir ../out d; echo inside > d/passwd; echo TOPSECRET > ../out/passwd; ln -s ../out link");
    let root = room.path("").canonicalize().unwrap();
    let (folder, link, outside) = (root.join("d"), root.join("link"), root.join("../out/f"));
    let (swaps, over) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                renameat_with(CWD, &folder, CWD, &link, RenameFlags::EXCHANGE).unwrap();
                swaps.fetch_add(1, Ordering::Relaxed);
            }
        });
        let _over = Over(&over);
        until(|| {
            naive_write(&root, &folder.join("f"));
            outside.exists()
        });
        fs::remove_file(&outside).unwrap();
        let before = swaps.load(Ordering::Relaxed);
        let (mut done, mut refused) = (0, 0);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        // Until both ways of the swap were met often, and at least so many times.
        for round in 0_u32.. {
            let write = runtime
                .block_on(room.call("write_file", &arguments(&[("path", "d/f"), ("content", "ours")])));
            let read = runtime.block_on(room.call("read_file", &arguments(&[("path", "d/passwd")])));
            assert!(!outside.exists(), "written outside in round {round}: {write:?}");
            assert!(!read.for_model.text().contains("TOPSECRET"), "read outside in round {round}");
            let listed = runtime.block_on(room.call("list_files", "{}"));
            assert!(!listed.for_model.text().contains("d/../"), "{listed:?}");
            if write.outcome == Outcome::Ok {
                done += 1
            } else {
                refused += 1
            }
            if round >= 300 && done >= 20 && refused >= 20 {
                break;
            }
            assert!(round < 1_000_000, "{done} done, {refused} refused");
        }
        let swapped = swaps.load(Ordering::Relaxed) - before;
        assert!(swapped > 100, "{swapped} swaps");
    });
    // Whichever of the two is the folder now, what was written is in it, and nothing unfinished is.
    let names = |path: &Path| {
        let names =
            fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    };
    let real = if folder.is_symlink() { &link } else { &folder };
    assert_eq!(names(real), ["f", "passwd"]);
    assert_eq!(names(&root.join("../out")), ["passwd"]);
}

#[test]
fn t03_what_is_written_is_the_place_that_was_allowed() {
    let room = Room::new();
    room.sh("mkdir a b; echo x > a/f; echo x > b/f; ln -s a one; ln -s b other");
    let root = room.path("").canonicalize().unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                renameat_with(CWD, root.join("one"), CWD, root.join("other"), RenameFlags::EXCHANGE).unwrap();
                // So that a look at both parts of a path mostly sees one state.
                std::thread::sleep(std::time::Duration::from_micros(100));
            }
        });
        let _over = Over(&over);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (mut done, mut refused) = (0, 0);
        for round in 0_u32.. {
            let tools = [
                ("write_file", arguments(&[("path", "one/f"), ("content", &format!("{round}"))])),
                (
                    "edit_file",
                    format!(r#"{{"path":"one/f","edits":[{{"old":"{round}","new":"x{round}"}}]}}"#),
                ),
            ];
            for (tool, given) in tools {
                let proposal = room.propose(tool, &given).unwrap();
                let claimed = proposal.claims.places[0].name.clone();
                let (_raise, context) = room.context();
                let output = runtime.block_on(room.tool(tool).run(&approved(proposal), context));
                let path_of = |fact: &Fact| match fact {
                    Fact::Wrote { path, .. } | Fact::NotWritten { path } => Some(path.clone()),
                    _ => None,
                };
                let told: Vec<_> = output.facts.iter().filter_map(path_of).collect();
                assert_eq!(told, [claimed], "{round}: {output:?}");
                if output.outcome == Outcome::Ok {
                    done += 1
                } else {
                    refused += u32::from(output.for_model.text().contains("not what was allowed"))
                }
            }
            if round >= 200 && done >= 40 && refused >= 20 {
                break;
            }
            assert!(round < 1_000_000, "{done} done, {refused} refused");
        }
    });
}

/// A folder's names are read at once and gone into one after the other: long enough for a swap in between.
#[test]
fn case_f20_a_folder_that_becomes_a_link_on_the_way_to_it_is_not_gone_into() {
    let room = Room::new();
    room.sh("mkdir ../out zz; echo inside > zz/secret; echo TOPSECRET > ../out/secret; ln -s ../out link");
    room.sh("seq -f 'a%g' 3000 | xargs touch");
    let root = room.path("").canonicalize().unwrap();
    let (folder, link) = (root.join("zz"), root.join("link"));
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                renameat_with(CWD, &folder, CWD, &link, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let _over = Over(&over);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut met = 0;
        until(|| {
            let call = r#"{"pattern":"SECRET|inside","glob":"secret"}"#;
            let output = runtime.block_on(room.call("search_files", call));
            let text = output.for_model.text();
            assert!(!text.contains("TOPSECRET"), "{text}");
            met += u32::from(text.contains("could not be read"));
            met >= 3
        });
    });
}
