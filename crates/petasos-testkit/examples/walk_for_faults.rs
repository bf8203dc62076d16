//! Walks all worlds to their end and prints which invariants were broken anywhere: what
//! `cargo xtask faults` runs on a core with a fault planted in it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::wildcard_enum_match_arm,
    let_underscore_drop
)]

use std::sync::Mutex;

use petasos_core::session::Terms;
use petasos_testkit::walk::{Until, Walked, walk};
use petasos_testkit::walks::{MOST, all};
use petasos_testkit::world::Menu;

/// Walks one world after the other until none is left.
fn walk_what_is_left(worlds: &Mutex<Vec<(Menu, Terms)>>, walks: &Mutex<Vec<Walked>>) {
    loop {
        let next = worlds.lock().unwrap().pop();
        let Some((menu, terms)) = next else { return };
        let walked = walk(&menu, &terms, MOST, Until::End);
        walks.lock().unwrap().push(walked);
    }
}

fn main() {
    let worlds = Mutex::new(Vec::from(all()));
    let walks: Mutex<Vec<Walked>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| walk_what_is_left(&worlds, &walks));
        }
    });
    let walks = walks.into_inner().unwrap();
    let mut caught: Vec<_> = walks.iter().flat_map(|walked| walked.findings.caught()).collect();
    caught.sort_unstable();
    caught.dedup();
    for walked in &walks {
        println!("{walked}\n{}", walked.findings.report());
    }
    let names: Vec<String> = caught.iter().map(ToString::to_string).collect();
    println!("walk caught: {}", if names.is_empty() { "nothing".to_owned() } else { names.join(" ") });
}
