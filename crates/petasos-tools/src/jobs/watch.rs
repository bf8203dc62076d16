//! What looks after one job: reads its output, answers for it, and ends it.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use petasos_core::tool::Outcome;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};

use super::{Answer, Ask, Asked, Patience};
use crate::exec::running::{Ending, Exit, Full, Left, Output, Running};
use crate::exec::{Kind, Run, exited, note};
use crate::kept::{Flow, Kept};
use crate::output::{Problem, Shown};
use crate::tool::{Context, Stop};

/// How long a job that was just begun is looked at before it is told.
const FIRST: Duration = Duration::from_millis(300);
/// How long a job is waited for that has nothing new.
const NEWS: Duration = Duration::from_secs(5);

/// How long a job says nothing that pauses, and how long a pause is waited for.
const PAUSE: Duration = Duration::from_millis(30);
const SETTLED: Duration = Duration::from_millis(300);

/// One job, and what is asked of it.
#[derive(Debug)]
pub(super) struct Watch {
    asked: mpsc::Receiver<Asked>,
    is_over: Arc<AtomicBool>,
    job: Watched,
    piece: Vec<u8>,
}

#[derive(Debug)]
struct Watched {
    id: u32,
    running: Running,
    /// None at its end.
    output: Option<Output>,
    kept: Kept,
    /// What was told of it before, in bytes.
    told: u64,
    most_output: u64,
    began: Instant,
    limit: Instant,
    stage: Stage,
    context: Context,
}

/// How far a job is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stage {
    Runs,
    Over(Why, Left),
}

/// Why a job is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    Exited(Exit),
    Stopped,
    TimedOut,
    TooMuch,
}

/// What happened to a job.
enum Happened {
    Said(usize),
    Over(Left),
    TimedOut,
}

impl Watch {
    pub(super) async fn begin(
        run: Run,
        context: Context,
        asked: mpsc::Receiver<Asked>,
        is_over: Arc<AtomicBool>,
    ) -> Result<Self, Problem> {
        let mut stop = context.stop.clone();
        let (running, output) = Running::begin(&run, Kind::Job, &mut stop).await?;
        let (kept, began) = (Kept::new(&context), Instant::now());
        let job = Watched {
            id: 0,
            running,
            output: Some(output),
            kept,
            told: 0,
            most_output: run.bounds.most_output,
            began,
            limit: began + run.bounds.limit,
            stage: Stage::Runs,
            context,
        };
        Ok(Self { asked, is_over, job, piece: vec![0; 64 * 1024] })
    }

    /// Gives it its number.
    pub(super) fn numbered(mut self, id: u32) -> Self {
        self.job.id = id;
        self
    }

    /// Until its end was told, or nobody can ask any more.
    pub(super) async fn until_over(mut self) {
        loop {
            let asked = tokio::select! {
                biased;
                asked = self.asked.recv() => asked,
                happened = self.job.next(&mut self.piece) => {
                    self.take_in(happened).await;
                    continue;
                }
            };
            let Some((ask, stop, answer)) = asked else { break };
            let told = self.answer(ask, stop).await;
            let is_last = told.is_last;
            if is_last {
                // Before it is told, so that who is told finds it gone.
                self.asked.close();
            }
            // Whoever asked may be gone.
            drop(answer.send(told));
            if is_last {
                return;
            }
        }
        self.job.end(Why::Stopped, &mut self.piece).await;
    }

    async fn take_in(&mut self, happened: Happened) {
        self.job.take_in(happened, &mut self.piece).await;
        self.is_over.store(self.job.stage != Stage::Runs, Ordering::Release);
    }

    async fn answer(&mut self, ask: Ask, mut stop: Stop) -> Answer {
        match ask {
            Ask::Poll(patience) => {
                let is_first = patience == Patience::Begun;
                let until = Instant::now() + if is_first { FIRST } else { NEWS };
                while self.job.stage == Stage::Runs && (is_first || !self.job.kept.has_come()) {
                    let happened = tokio::select! {
                        biased;
                        () = stop.raised() => break,
                        () = sleep_until(until) => break,
                        happened = self.job.next(&mut self.piece) => happened,
                    };
                    self.take_in(happened).await;
                }
                let flow = self.settle().await;
                return self.job.tell(flow).await;
            }
            Ask::Stop => self.job.end(Why::Stopped, &mut self.piece).await,
            Ask::Write(text) => return self.job.write(&text).await,
        }
        self.job.tell(Flow::Quiet).await
    }

    /// Reads on until the job pauses, so that no word is told in two halves: a key would not be known by one of them.
    async fn settle(&mut self) -> Flow {
        let until = Instant::now() + SETTLED;
        while self.job.stage == Stage::Runs {
            let happened = tokio::select! {
                biased;
                () = sleep_until(until) => return Flow::Busy,
                happened = self.job.next(&mut self.piece) => happened,
                () = sleep(PAUSE) => return Flow::Quiet,
            };
            self.take_in(happened).await;
        }
        Flow::Quiet
    }
}

impl Watched {
    /// What happens next; nothing more when it is over. May be dropped and called anew.
    async fn next(&mut self, piece: &mut [u8]) -> Happened {
        if self.stage != Stage::Runs {
            return std::future::pending().await;
        }
        tokio::select! {
            biased;
            left = self.running.over() => Happened::Over(left),
            () = sleep_until(self.limit) => Happened::TimedOut,
            length = read(&mut self.output, piece) => Happened::Said(length),
        }
    }

    async fn take_in(&mut self, happened: Happened, piece: &mut [u8]) {
        match happened {
            Happened::Said(length) => {
                self.kept.push(piece.get(..length).unwrap_or_default(), &self.context).await;
                if self.told.saturating_add(self.kept.bytes()) > self.most_output {
                    self.end(Why::TooMuch, piece).await;
                }
            }
            Happened::Over(left) => {
                let exit = self.running.exited().await;
                self.over(Why::Exited(exit), left, piece).await;
            }
            Happened::TimedOut => self.end(Why::TimedOut, piece).await,
        }
    }

    async fn end(&mut self, why: Why, piece: &mut [u8]) {
        if self.stage != Stage::Runs {
            return;
        }
        let Self { running, output, kept, context, .. } = self;
        let left = {
            let mut ending = pin!(running.end(Ending::Asked));
            loop {
                let length = tokio::select! {
                    biased;
                    left = &mut ending => break left,
                    length = read(output, piece) => length,
                };
                if why != Why::TooMuch {
                    kept.push(piece.get(..length).unwrap_or_default(), context).await;
                }
            }
        };
        self.over(why, left, piece).await;
    }

    /// Takes in what is still to be read, however long the disk takes for it. No process is left that could say more, but
    /// somebody else may hold its pipe.
    async fn over(&mut self, why: Why, left: Left, piece: &mut [u8]) {
        let mut rest = self.output.as_ref().filter(|_| why != Why::TooMuch).map_or(0, Output::waiting);
        while rest > 0 && self.output.is_some() {
            let length = read(&mut self.output, piece).await;
            rest = rest.saturating_sub(length as u64);
            self.kept.push(piece.get(..length).unwrap_or_default(), &self.context).await;
        }
        self.stage = Stage::Over(why, left);
    }

    async fn write(&mut self, text: &str) -> Answer {
        let told = match self.running.give(text).await {
            Ok(()) if text.is_empty() => Ok(format!("the input of job {} has its end", self.id)),
            Ok(()) => Ok(format!("job {} gets {} bytes; poll it for what it says", self.id, text.len())),
            Err(Full) => Err(Problem::new(
                "the input was not taken",
                "the job has ended, its input has, or what it got before waits unread",
                "poll it to see how it stands",
            )),
        };
        match told {
            Ok(text) => Answer { outcome: Outcome::Ok, shown: Shown::All(text), is_last: false },
            Err(problem) => {
                Answer { outcome: Outcome::Error, shown: Shown::Problem(problem), is_last: false }
            }
        }
    }

    /// How it stands, and what it said since the last time.
    async fn tell(&mut self, flow: Flow) -> Answer {
        let (id, seconds) = (self.id, self.began.elapsed().as_secs());
        let (outcome, is_last, (mut shown, bytes), silence) = match &self.stage {
            Stage::Runs => {
                let first = format!("job {id} runs ({seconds} s)\n");
                (Outcome::Ok, false, self.kept.take(&first, flow, &self.context).await, "(nothing new)")
            }
            Stage::Over(why, left) => {
                let (outcome, line) = ended(*why, self.most_output);
                let first = format!("job {id} has ended: {line}{}", note(left));
                let kept = std::mem::replace(&mut self.kept, Kept::new(&self.context));
                (outcome, true, kept.finish(&first, &self.context).await, "(no more output)")
            }
        };
        self.told = self.told.saturating_add(bytes);
        if let (0, Shown::Part { text, .. }) = (bytes, &mut shown) {
            text.push_str(silence);
        }
        Answer { outcome, shown, is_last }
    }
}

/// The length of the next piece; nothing more after the end. May be dropped and called anew.
async fn read(output: &mut Option<Output>, piece: &mut [u8]) -> usize {
    let Some(open) = output else { return std::future::pending().await };
    let length = open.read(piece).await.len();
    if length == 0 {
        *output = None;
    }
    length
}

fn ended(why: Why, most_output: u64) -> (Outcome, String) {
    match why {
        Why::Exited(exit) => {
            let (outcome, line, _) = exited(exit);
            (outcome, line)
        }
        Why::Stopped => (Outcome::Ok, "it was stopped\n".to_owned()),
        Why::TimedOut => (Outcome::TimedOut, "its time was over\n".to_owned()),
        Why::TooMuch => (Outcome::Error, format!("it wrote more than {most_output} bytes of output\n")),
    }
}
