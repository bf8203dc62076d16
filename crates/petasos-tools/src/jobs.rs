//! Commands that run beside the steps.

mod watch;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use petasos_core::tool::Outcome;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::exec::Run;
use crate::output::{Problem, Shown};
use crate::session::SessionState;
use crate::tool::{Context, Stop};
use watch::Watch;

/// The most jobs of a session at a time: each holds a process and its output.
const MOST: usize = 8;
/// How long all jobs may take to end with their session.
const END: Duration = Duration::from_secs(2);

/// The commands that run beside the steps of a session. They end with it; dropping it ends them at once.
#[derive(Debug, Default)]
pub struct Jobs(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    /// Those that were begun so far; a number never comes again.
    begun: u32,
    jobs: BTreeMap<u32, Job>,
    /// What looks after them.
    tasks: JoinSet<()>,
}

#[derive(Debug)]
struct Job {
    command: String,
    asks: mpsc::Sender<Asked>,
    is_over: Arc<AtomicBool>,
}

/// What is asked of a job.
#[derive(Debug)]
pub(crate) enum Ask {
    /// What it said since the last time: of one that was just begun, or of one that is looked at again.
    Poll(Patience),
    /// It is to end.
    Stop,
    /// It is to get input.
    Write(String),
}

/// How long something new is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// To see whether it fails at once.
    Begun,
    /// So that a model need not ask in every step.
    Polled,
}

/// What is told of a job.
#[derive(Debug)]
pub(crate) struct Answer {
    /// How the call ends that asked.
    pub(crate) outcome: Outcome,
    /// The state and the output.
    pub(crate) shown: Shown,
    /// True if it is the end of the job, which is told once.
    is_last: bool,
}

type Asked = (Ask, Stop, oneshot::Sender<Answer>);

impl Jobs {
    /// Begins a job, and tells how it stands soon after.
    pub(crate) async fn begin(&self, run: Run, context: &Context) -> Result<Answer, Problem> {
        if self.table().jobs.len() >= MOST {
            let cause = format!("{MOST} jobs are there, and no more may be");
            return Err(Problem::new(
                "too many jobs",
                cause,
                "end one with job: action stop, or poll those that ended",
            ));
        }
        // It outlives this call and must not hold what holds it.
        let session = Arc::new(SessionState::new(Arc::clone(&context.session.mask)));
        let own = Context { session, ..context.clone() };
        let (asks, asked) = mpsc::channel(1);
        let (is_over, command) = (Arc::new(AtomicBool::new(false)), run.command.clone());
        let watch = Watch::begin(run, own, asked, Arc::clone(&is_over)).await?;
        let id = {
            let mut table = self.table();
            table.begun += 1;
            let id = table.begun;
            table.jobs.insert(id, Job { command, asks, is_over });
            table.tasks.spawn(watch.numbered(id).until_over());
            // Those that ended are let go.
            while table.tasks.try_join_next().is_some() {}
            id
        };
        self.ask(id, Ask::Poll(Patience::Begun), context).await
    }

    /// Asks something of a job. One whose end was told is gone.
    pub(crate) async fn ask(&self, id: u32, ask: Ask, context: &Context) -> Result<Answer, Problem> {
        let asks = self.table().jobs.get(&id).map(|job| job.asks.clone());
        let (answer, answered) = oneshot::channel();
        let Some(asks) = asks else { return Err(self.no_such(id)) };
        asks.send((ask, context.stop.clone(), answer)).await.map_err(|_| self.no_such(id))?;
        let answer = answered.await.map_err(|_| self.no_such(id))?;
        if answer.is_last {
            self.table().jobs.remove(&id);
        }
        Ok(answer)
    }

    /// A line for each job; none if there is none.
    pub(crate) fn list(&self) -> String {
        let table = self.table();
        let line = |(id, job): (&u32, &Job)| {
            let state = if job.is_over.load(Ordering::Acquire) { "has ended" } else { "runs" };
            format!("job {id} {state}: {}\n", job.command)
        };
        table.jobs.iter().map(line).collect()
    }

    /// Ends all jobs, in two seconds at most.
    pub async fn end_all(&self) {
        let Table { mut tasks, .. } = std::mem::take(&mut *self.table());
        // Each sees that nobody can ask it any more.
        let all = async { while tasks.join_next().await.is_some() {} };
        // What has not ended by then is killed as it is dropped.
        timeout(END, all).await.ok();
    }

    fn no_such(&self, id: u32) -> Problem {
        let there: Vec<String> = self.table().jobs.keys().map(u32::to_string).collect();
        let there = if there.is_empty() {
            "none is there".to_owned()
        } else {
            format!("there: {}", there.join(", "))
        };
        let cause = format!(
            "a job is gone once its end was told, and with the process of Petasos that began it; {there}"
        );
        let hint = "begin it again with run_command, background true, if it is still wanted";
        Problem::new(&format!("there is no job {id}"), cause, hint)
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        // Nothing that is done with it can leave it half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
