//! Scenes and ends of processes by chance, from a seed.

use std::time::Duration;

use serde_json::{Value, json};

use super::Fault;
use super::scenes::{How, Scene, calls, count, edit, fails, file, long, read, says, write};
use crate::random::dice::Dice;

/// The longest that a process lives before it is killed from outside: a scene takes some tenths of a second, and those
/// that wait to try again a second or two.
const LONGEST: u64 = 700;
/// Acts of a disk that one process comes to, mostly.
const ACTS: u64 = 40;
/// Kills of one scene, at most: it is to come to its end.
pub const KILLS: usize = 8;

const WORDS: [&str; 3] = ["before", "within", "after"];
const POWER: [&str; 3] = ["cut-before", "cut-within", "cut-after"];

/// What ends a process.
pub fn fault(dice: &mut Dice) -> Fault {
    match dice.below(10) {
        0 | 1 => Fault::None,
        2..5 => Fault::After(Duration::from_millis(dice.below(LONGEST))),
        5..8 => Fault::Act(WORDS[dice.below(3) as usize], 1 + dice.below(ACTS)),
        _ => Fault::Act(POWER[dice.below(3) as usize], 1 + dice.below(ACTS)),
    }
}

/// A scene.
pub fn scene(dice: &mut Dice) -> Scene {
    let how = *dice.weighed(&[(5, How::Run), (2, How::Stopped), (4, How::Chat)]);
    let mut writer = Writer { script: String::new(), results: 0, calls: 0, how };
    let turns = 1 + dice.below(3);
    for turn in 0..turns {
        for _ in 0..=dice.below(3) {
            writer.step(dice);
        }
        let text = if turn + 1 == turns { "All is done.".to_owned() } else { format!("So far {turn}.") };
        writer.maybe_fails(dice);
        writer.script.push_str(&says(writer.results, &text));
    }
    let steers = if how == How::Chat { dice.below(3) } else { 0 };
    Scene {
        name: "a scene by chance".to_owned(),
        script: writer.script,
        files: (0..writer.calls).map(|call| file(&format!("old-{call}.txt"))).collect(),
        how,
        asks: how == How::Run && dice.permille(300),
        first: "Do the work.".to_owned(),
        steers: (0..steers).map(|steer| format!("Mind this, {steer}.")).collect(),
        then: (1..turns).map(|turn| format!("And once more, {turn}.")).collect(),
        reply: "All is done.".to_owned(),
    }
}

/// Writes a script: what a step of it answers to follows from the number of results before it.
struct Writer {
    script: String,
    results: usize,
    calls: u64,
    how: How,
}

impl Writer {
    fn step(&mut self, dice: &mut Dice) {
        self.maybe_fails(dice);
        let made: Vec<Value> = (0..=dice.below(4)).map(|_| self.call(dice)).collect();
        self.script.push_str(&calls(self.results, &made));
        self.results += made.len();
    }

    fn call(&mut self, dice: &mut Dice) -> Value {
        let number = self.calls;
        self.calls += 1;
        match dice.below(12) {
            0 | 1 => read(&format!("old-{number}.txt")),
            2 | 3 => write(&format!("new-{number}.txt")),
            4 | 5 => edit(&format!("old-{number}.txt")),
            6 => long(&format!("token-{number}")),
            7 if self.how == How::Stopped => {
                let command = format!("echo token-{number} >> counter.txt; touch up; exec sleep 1");
                json!({"name": "run_command", "arguments": {"command": command}})
            }
            _ => count(&format!("token-{number}")),
        }
    }

    fn maybe_fails(&mut self, dice: &mut Dice) {
        if dice.permille(120) {
            let cut = json!({"cut_after_bytes": 100 + dice.below(200)});
            let faults = [json!({"status": 429}), json!({"status": 500}), json!("garbage"), cut];
            self.script.push_str(&fails(self.results, dice.pick(&faults)));
        }
    }
}
