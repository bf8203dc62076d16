//! `petasos test`: recorded sessions as tests of a program and its settings.

use std::process::ExitCode;

use super::replay::{left_out_line, lines, of_file, present};
use crate::args::TestArguments;
use crate::print::Printer;
use crate::{World, print};

/// A file is none that can be replayed, or not all of it.
const UNREADABLE: u8 = 2;

/// Replays each file: 0 if all are the same, 1 if one differs, 2 if one cannot be read.
pub(crate) async fn test(arguments: TestArguments, world: &World) -> ExitCode {
    let TestArguments { files, against, json } = arguments;
    let (mut same, mut differ, mut unreadable) = (0_u64, 0_u64, 0_u64);
    for file in &files {
        let present = match present(against, world) {
            Ok(present) => present,
            Err(refusal) => {
                return refusal.tell(&mut if json { Printer::json() } else { Printer::job() });
            }
        };
        let name = file.display();
        match of_file(file, present).await {
            Ok(replayed) if !replayed.is_whole() => {
                unreadable += 1;
                if json {
                    print::line(&replayed.line());
                    continue;
                }
                print::shown(&format!("damaged  {name}"));
                replayed.damage.iter().for_each(|damage| print::shown(&format!("  {damage}")));
                replayed.left_out.iter().for_each(|left| print::shown(&left_out_line(left)));
            }
            Ok(replayed) => {
                *if replayed.is_same() { &mut same } else { &mut differ } += 1;
                if json {
                    print::line(&replayed.line());
                    continue;
                }
                let told = if replayed.is_same() { "same" } else { "differs" };
                print::shown(&format!("{told}  {name}"));
                replayed.left_out.iter().for_each(|left| print::shown(&left_out_line(left)));
                let found = replayed.differences.iter().flat_map(lines);
                found.for_each(|line| print::shown(&line));
            }
            Err(why) => {
                unreadable += 1;
                print::talk(&format!("petasos: {why}"));
            }
        }
    }
    if !json {
        print::shown(&format!("{same} the same, {differ} differ, {unreadable} cannot be read"));
    }
    match (differ, unreadable) {
        (0, 0) => ExitCode::SUCCESS,
        (_, 0) => ExitCode::FAILURE,
        (_, _) => ExitCode::from(UNREADABLE),
    }
}
