//! Ends sessions of the real program at random, for a time: `soak PETASOS ON_A_BAD_DISK SECONDS SEED [RUN]`.
//!
//! Each run is a scene by chance whose processes are killed by chance, also while they go on with it, until it is at its
//! end. RUN is the seed of one run alone. The last line tells how many kills there were and what did not hold.
//! `cargo xtask soak` builds and starts it.

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

use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use petasos_core::request::Wire;
use petasos_testkit::kills::{Drive, Fault, Programs, Report, chance};
use petasos_testkit::random::dice::Dice;

/// Runs at once.
const AT_ONCE: usize = 4;
/// How often it is told how far it is.
const TOLD: Duration = Duration::from_secs(15);

const WIRES: [Wire; 3] = [Wire::Chat, Wire::Responses, Wire::Messages];

#[derive(Debug, Default)]
struct Sum {
    runs: u64,
    processes: usize,
    kills: usize,
    in_flight: usize,
    lost: Vec<u64>,
    doubled: Vec<u64>,
    otherwise: Vec<u64>,
    told: Option<Instant>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let programs = Programs { petasos: (&arguments[0]).into(), on_a_bad_disk: (&arguments[1]).into() };
    let until = Instant::now() + Duration::from_secs(arguments[2].parse().unwrap());
    let seed: u64 = arguments[3].parse().unwrap();
    if let Some(run) = arguments.get(4) {
        println!("{:#?}", one(&programs, run.parse().unwrap()));
        return ExitCode::SUCCESS;
    }
    // What a run complains of is told once, with its seed.
    set_hook(Box::new(|_| {}));
    let (seeds, sum) = (Mutex::new(Dice::new(seed)), Mutex::new(Sum::default()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while Instant::now() < until {
                    let run = seeds.lock().unwrap().roll();
                    let came = catch_unwind(AssertUnwindSafe(|| one(&programs, run)));
                    take(&mut sum.lock().unwrap(), run, came);
                }
            });
        }
    });
    let sum = sum.into_inner().unwrap();
    println!("seed {seed}: {}", told(&sum));
    let bad = [&sum.lost, &sum.doubled, &sum.otherwise].iter().any(|seeds| !seeds.is_empty());
    // Nothing is shown by a soak that ended nobody.
    if bad || sum.kills == 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn told(sum: &Sum) -> String {
    let Sum { runs, processes, kills, in_flight, lost, doubled, otherwise, .. } = sum;
    let (lost, doubled, otherwise) = (seeds(lost), seeds(doubled), seeds(otherwise));
    format!(
        "{runs} runs, {processes} processes, {kills} kills, {in_flight} calls in flight at one; \
         {lost} lost, {doubled} doubled, {otherwise} wrong otherwise"
    )
}

fn seeds(seeds: &[u64]) -> String {
    if seeds.is_empty() { "0".to_owned() } else { format!("{} {seeds:?}", seeds.len()) }
}

fn one(programs: &Programs, seed: u64) -> Report {
    let mut dice = Dice::new(seed);
    let scene = chance::scene(&mut dice);
    let wires = (*dice.pick(&WIRES), *dice.pick(&WIRES));
    let mut left = chance::KILLS;
    Drive::new(programs, &scene, wires).to_the_end(|_| {
        let fault = if left > 0 { chance::fault(&mut dice) } else { Fault::None };
        left = left.saturating_sub(usize::from(fault != Fault::None));
        fault
    })
}

fn take(sum: &mut Sum, run: u64, came: std::thread::Result<Report>) {
    sum.runs += 1;
    match came {
        Ok(report) => {
            sum.processes += report.processes;
            sum.kills += report.kills;
            sum.in_flight += report.in_flight.len();
        }
        Err(why) => {
            let text = why.downcast_ref::<String>().cloned();
            let why = text.or_else(|| why.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            let why = why.unwrap_or_default();
            println!("run {run}: {why}");
            // What it holds beside is all that was told and kept.
            let first = why.lines().next().unwrap_or_default();
            let is = |what: &str| first.starts_with(what) || first.contains(&format!("failed: {what}"));
            if is("lost: ") {
                sum.lost.push(run);
            } else if is("doubled: ") {
                sum.doubled.push(run);
            } else {
                sum.otherwise.push(run);
            }
        }
    }
    let now = Instant::now();
    if sum.told.is_none_or(|told| now - told > TOLD) {
        sum.told = Some(now);
        println!("{}", told(sum));
    }
}
