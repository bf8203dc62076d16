//! The processes that a command has begun, as the system tells it.
//!
//! A process group is left by whoever makes one of its own, as `timeout` does; the parent of each process says
//! where it came from as long as that parent lives. Where there is no `/proc` the group is all that is known.

use std::fs;

use rustix::process::{Pid, Signal, getpid, test_kill_process_group};

/// A process, told apart from a later one with its number by when it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Process {
    pid: i32,
    parent: i32,
    group: i32,
    began: u64,
}

/// Processes below one.
#[derive(Clone, Debug, Default)]
pub(super) struct Tree(Vec<Process>);

impl Tree {
    /// Adds those that are below a process now, and says how many are new.
    pub(super) fn grow(&mut self, root: Pid) -> usize {
        let before = self.0.len();
        let all: Vec<Process> = every_process();
        let mut above = vec![root.as_raw_nonzero().get()];
        above.extend(self.0.iter().map(|process| process.pid));
        while let Some(parent) = above.pop() {
            for process in all.iter().filter(|process| process.parent == parent) {
                if !self.0.iter().any(|known| known.is(process)) {
                    self.0.push(*process);
                    above.push(process.pid);
                }
            }
        }
        self.0.len() - before
    }

    /// True if none was found.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True if one of them has not ended.
    pub(super) fn is_there(&self) -> bool {
        self.0.iter().any(Process::is_there)
    }

    /// Sends them a signal.
    pub(super) fn signal(&self, signal: Signal) {
        self.0.iter().for_each(|process| process.signal(signal));
    }

    /// Their numbers, between blanks.
    pub(super) fn numbers(&self) -> String {
        let numbers: Vec<String> = self.0.iter().map(|process| process.pid.to_string()).collect();
        numbers.join(" ")
    }
}

impl Process {
    /// Its parent and its group may change.
    fn is(&self, other: &Self) -> bool {
        (self.pid, self.began) == (other.pid, other.began)
    }

    fn is_there(&self) -> bool {
        read(self.pid).is_some_and(|now| self.is(&now))
    }

    /// It may have ended since, which is what is wanted.
    #[cfg(target_os = "linux")]
    fn signal(&self, signal: Signal) {
        use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
        let Some(pid) = Pid::from_raw(self.pid) else { return };
        // Looked at after it is held: from then on no other can come to its number.
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(held) if self.is_there() => pidfd_send_signal(&held, signal).ok(),
            Ok(_) => None,
            Err(_) => self.signal_by_number(pid, signal),
        };
    }

    #[cfg(not(target_os = "linux"))]
    fn signal(&self, signal: Signal) {
        Pid::from_raw(self.pid).and_then(|pid| self.signal_by_number(pid, signal));
    }

    /// Where none can be held, as on old kernels.
    fn signal_by_number(&self, pid: Pid, signal: Signal) -> Option<()> {
        if self.is_there() { rustix::process::kill_process(pid, signal).ok() } else { None }
    }
}

/// True if a process of the group has not ended. The system counts those too that have ended and that nobody
/// has waited for, of which some containers are full.
pub(super) fn is_group_there(group: Pid) -> bool {
    if test_kill_process_group(group).is_err() {
        return false;
    }
    let all = every_process();
    all.is_empty() || all.iter().any(|process| process.group == group.as_raw_nonzero().get())
}

fn every_process() -> Vec<Process> {
    // That of another pid namespace has other processes under our numbers.
    let is_ours = fs::read_link("/proc/self")
        .is_ok_and(|own| own.to_str() == Some(getpid().as_raw_nonzero().to_string().as_str()));
    let Some(entries) = fs::read_dir("/proc").ok().filter(|_| is_ours) else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(read).collect()
}

/// None for one that has ended, also if nobody has waited for it.
fn read(pid: i32) -> Option<Process> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat).into_owned();
    // The name stands in parentheses and may hold any.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let has_ended = fields.next()?.starts_with(['Z', 'X']);
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let threads: u32 = fields.nth(14)?.parse().ok()?;
    let began = fields.nth(1)?.parse().ok()?;
    // One whose first thread alone has ended looks the same, and goes on.
    if has_ended && threads <= 1 { None } else { Some(Process { pid, parent, group, began }) }
}
