//! Row S01 through the binary: SIGKILL, and the loss of power, before, within and after every act of its disk; then the
//! session goes on.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use petasos_core::request::Wire;
use petasos_testkit::kills::scenes::{self, Scene};
use petasos_testkit::kills::{Drive, Fault, Programs, Report};

/// Runs at once; each has a process and a server, and some of them wait to try again.
const AT_ONCE: usize = 12;

const WIRES: [Wire; 3] = [Wire::Chat, Wire::Responses, Wire::Messages];

/// Cargo builds the examples of a package with its tests, but not with one test target alone.
pub fn programs() -> Programs {
    let petasos = Path::new(env!("CARGO_BIN_EXE_petasos"));
    let on_a_bad_disk = petasos.with_file_name("examples").join("on_a_bad_disk");
    let told = "is not built: cargo build -p petasos-cli --examples";
    assert!(on_a_bad_disk.is_file(), "{} {told}", on_a_bad_disk.display());
    Programs { petasos: petasos.to_owned(), on_a_bad_disk }
}

/// A point at which a process of a scene is ended, and the wires before and after it.
#[derive(Clone, Debug)]
struct Point {
    scene: usize,
    process: usize,
    /// What the disk was asked there.
    act: String,
    fault: Fault,
    wires: (Wire, Wire),
}

/// The scenes as they go when nobody ends them, with what each process does to the disk.
fn unkilled(programs: &Programs) -> Vec<(Scene, Report)> {
    let scenes = scenes::all();
    let run =
        |scene: &Scene| Drive::new(programs, scene, (Wire::Chat, Wire::Chat)).to_the_end(|_| Fault::List);
    std::thread::scope(|scope| {
        let runs: Vec<_> = scenes.iter().map(|scene| scope.spawn(|| run(scene))).collect();
        let reports = runs.into_iter().map(|run| run.join().unwrap()).collect::<Vec<_>>();
        scenes.iter().cloned().zip(reports).collect()
    })
}

/// The sides of an act, and which of them is a point.
#[derive(Clone, Copy, Debug)]
struct Sides {
    words: [&'static str; 3],
    /// True for the number of a scene, an act and a side, 0 to 2 for before, within and after.
    is_point: fn(usize, &str, usize) -> bool,
}

/// What a kill leaves is what was written: each line and each sync of a log has two sides, and a line a middle
/// (in two scenes). All other acts (folders, blobs, names, locks) are points of the first scene, which has all of them.
const KILLED: Sides = Sides {
    words: ["before", "within", "after"],
    is_point: |scene, act, side| match side {
        1 => scene < 2 && act.starts_with("line"),
        _ => scene == 0 || act.starts_with("line") || act.starts_with("sync log"),
    },
};

/// What the loss of power leaves changes with each sync; and a line may be torn.
const WITHOUT_POWER: Sides = Sides {
    words: ["cut-before", "cut-within", "cut-after"],
    is_point: |_, act, side| if side == 1 { act.starts_with("line") } else { act.starts_with("sync") },
};

/// Every act of every process on its sides. The wires go around, so that each side meets each pair of them; all pairs at
/// all acts, and kills of kills, are what `cargo xtask soak` is for.
fn points(unkilled: &[(Scene, Report)], sides: Sides) -> Vec<Point> {
    let mut points = Vec::new();
    for (scene, (_, report)) in unkilled.iter().enumerate() {
        for (process, acts) in report.acts.iter().enumerate() {
            for (at, act) in acts.iter().enumerate() {
                for side in (0..3).filter(|side| (sides.is_point)(scene, act, *side)) {
                    let turn = at + side;
                    let wires = (WIRES[turn % 3], WIRES[(turn / 3 + process) % 3]);
                    let fault = Fault::Act(sides.words[side], at as u64 + 1);
                    points.push(Point { scene, process, act: act.clone(), fault, wires });
                }
            }
        }
    }
    points
}

/// Does something with each point, several at a time; by the number of the point.
fn at_once(points: &[Point], act: impl Fn(&Point) -> Report + Sync) -> BTreeMap<usize, Report> {
    let (next, told) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let take = || {
        let number = next.fetch_add(1, Ordering::Relaxed);
        points.get(number).map(|point| (number, point))
    };
    let work = || {
        while let Some((number, point)) = take() {
            let report = act(point);
            told.lock().unwrap().insert(number, report);
        }
    };
    std::thread::scope(|scope| (0..AT_ONCE).for_each(|_| drop(scope.spawn(work))));
    told.into_inner().unwrap()
}

/// Ends a process at each point, and prints what became of it.
fn kill_at_every(sides: Sides) {
    let programs = programs();
    let unkilled = unkilled(&programs);
    let points = points(&unkilled, sides);
    let told = at_once(&points, |point| kill_at(&programs, &unkilled, point));
    assert_eq!(told.len(), points.len(), "each point was tried");
    for (number, report) in &told {
        let Point { scene, process, act, fault, wires } = &points[*number];
        println!(
            "{}, process {process}, {fault:?} ({act}), {wires:?}: {} kills, {} processes, in flight {:?}",
            unkilled[*scene].0.name, report.kills, report.processes, report.in_flight
        );
    }
    let kills: usize = told.values().map(|report| report.kills).sum();
    let processes: usize = told.values().map(|report| report.processes).sum();
    println!(
        "{:?}: {} points, {kills} kills, {processes} processes; 0 lost, 0 doubled",
        sides.words,
        points.len()
    );
    // Where threads meet, a process may have an act less than the one whose acts were listed.
    assert!(kills * 100 >= points.len() * 95, "{kills} kills at {} points", points.len());
}

fn kill_at(programs: &Programs, unkilled: &[(Scene, Report)], point: &Point) -> Report {
    let (scene, whole) = &unkilled[point.scene];
    println!("{}: {point:?}", scene.name);
    let fault = |process| if process == point.process { point.fault.clone() } else { Fault::None };
    let report = Drive::new(programs, scene, point.wires).to_the_end(fault);
    assert_eq!(report.reply, whole.reply);
    if report.in_flight.is_empty() {
        let sorted = |report: &Report| report.counted.iter().cloned().collect::<BTreeSet<_>>();
        assert_eq!(sorted(&report), sorted(whole), "{point:?}");
    }
    report
}

#[test]
fn s01_a_kill_at_every_act_of_the_disk_loses_nothing_and_runs_nothing_twice() {
    kill_at_every(KILLED);
}

#[test]
fn s01_a_power_cut_at_every_act_of_the_disk_loses_nothing_that_was_synced_and_runs_nothing_twice() {
    kill_at_every(WITHOUT_POWER);
}

/// The judge sees what is not synced: the same list finds fault with a store that was told not to.
#[test]
fn s01_a_power_cut_takes_what_was_told_where_nothing_is_synced() {
    let (programs, scenes) = (programs(), scenes::all());
    let drive =
        || Drive::new(&programs, &scenes[0], (Wire::Chat, Wire::Chat)).with_setting("durability: process");
    let report = drive().to_the_end(|_| Fault::List);
    let reply = report.acts[0].iter().position(|act| act == "line reply").unwrap() as u64 + 1;
    let fault = |process| if process == 0 { Fault::Act("cut-before", reply) } else { Fault::None };
    let judged = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drive().to_the_end(fault)));
    let why = judged.unwrap_err().downcast::<String>().unwrap();
    assert!(why.starts_with("lost: told and not kept"), "{why}");
}
