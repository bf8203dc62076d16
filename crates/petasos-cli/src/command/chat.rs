//! `petasos chat`: line by line.
//!
//! A line is said; one that comes while the agent works waits for the end of the turn. Ctrl-C stops the turn,
//! and at rest the program.

use std::collections::VecDeque;
use std::io::BufRead as _;
use std::process::ExitCode;
use std::sync::Arc;

use petasos_core::approval::{Answer, Scope};
use petasos_core::entry::When;
use petasos_core::id::{CallId, Digest};
use petasos_core::stop::StopReason;
use petasos_core::text::Text;
use petasos_core::turn::OnAsk;
use petasos_runtime::{Event, Follows, Op, RunResult, SessionHandle, WantsTold};
use tokio::sync::mpsc;

use super::kept::Kept;
use super::manage::{taken_back, title_of};
use super::seen::Seen;
use super::watch::{Stops, left};
use super::{Refusal, commands, set_up};
use crate::args::ChatArguments;
use crate::exit::Signal;
use crate::print::{self, Printer, is_person_there};
use crate::{World, exit};

const HELP: &str = "\
/steer TEXT  say it for the next step, while the agent works
/stop        stop the turn
/go          go on with a turn that stopped
/undo        take back what was said last, with all that came of it
/retry       have what was said last answered anew
/fork        begin a session that goes off this one; this one goes on here
/title TEXT  give the session a title
/quit        leave; so does the end of input
Any other line is said. While the agent works it waits for the end of the turn.";

/// Talks until the input ends.
pub(crate) async fn chat(arguments: ChatArguments, world: &World) -> ExitCode {
    let mut printer = Printer::chat();
    let mut stops = Stops::listen();
    match begin(arguments, world, &mut stops).await {
        Ok(chat) => chat.talk(printer, stops).await,
        Err(refusal) => refusal.tell(&mut printer),
    }
}

async fn begin(arguments: ChatArguments, world: &World, stops: &mut Stops) -> Result<Chat, Refusal> {
    let setup = set_up(world, arguments.workspace.as_deref(), arguments.model.flags())?;
    let chosen = stops.or(setup.choose()).await?;
    let agent = setup.agent(commands(arguments.allow_commands))?;
    let terms = setup.terms(&chosen, OnAsk::Ask);
    stops.or(setup.check_prices(&terms)).await?;
    let session = stops.or(agent.create(terms)).await?;
    let kept = Kept::new(setup, session.id());
    print::talk(&format!("petasos: session {}, {chosen}. /help lists what can be done.", session.id()));
    Ok(Chat {
        session,
        kept,
        questions: VecDeque::new(),
        work: Work::Rests,
        input: Input::Open,
        seen: Seen::default(),
        last: None,
        is_person: is_person_there(),
    })
}

/// Whether the agent works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Rests,
    Works,
    /// It was told to stop.
    Stopping,
}

/// Whether a person can still say something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Input {
    Open,
    Ended,
}

struct Chat {
    session: SessionHandle,
    /// The session as it is kept.
    kept: Kept,
    /// Calls that wait for an answer, in the order in which they asked.
    questions: VecDeque<Question>,
    work: Work,
    input: Input,
    seen: Seen,
    last: Option<Arc<RunResult>>,
    is_person: bool,
}

struct Question {
    call: CallId,
    shown: Digest,
    wants: WantsTold,
    text: String,
}

enum Heard {
    Line(Option<String>),
    Event(Option<Event>),
    Signal(Signal),
}

impl Chat {
    async fn talk(mut self, mut printer: Printer, mut stops: Stops) -> ExitCode {
        let mut lines = read_lines();
        self.invite();
        let mut ended_by = None;
        while self.input == Input::Open || self.work != Work::Rests {
            let heard = tokio::select! {
                event = self.session.next_event() => Heard::Event(event),
                line = lines.recv(), if self.input == Input::Open => Heard::Line(line),
                signal = stops.next() => Heard::Signal(signal),
            };
            match heard {
                Heard::Event(Some(event)) => self.hear(event, &mut printer).await,
                Heard::Event(None) => {
                    let end = (StopReason::InternalError, None);
                    let watched = left(&self.session, &mut printer, &self.seen, end);
                    return exit::code(&watched.result, None);
                }
                Heard::Line(Some(line)) if line.trim() != "/quit" => self.say(line).await,
                Heard::Line(_) => self.end_input().await,
                Heard::Signal(signal) => {
                    if signal != Signal::Interrupt {
                        self.end_input().await;
                        ended_by = Some(signal);
                    }
                    match self.work {
                        Work::Rests => break,
                        Work::Works => self.interrupt().await,
                        // Twice means now.
                        Work::Stopping => {
                            let end = (StopReason::Interrupted, Some(signal));
                            let watched = left(&self.session, &mut printer, &self.seen, end);
                            return exit::code(&watched.result, Some(signal));
                        }
                    }
                }
            }
        }
        let Self { session, last, .. } = self;
        session.close().await;
        match last {
            Some(result) => exit::code(&result, ended_by),
            None => exit::at_rest(ended_by),
        }
    }

    /// The input has ended: what asks can no longer be answered, what runs comes to its end.
    async fn end_input(&mut self) {
        self.input = Input::Ended;
        if !self.questions.is_empty() {
            self.questions.clear();
            self.ask(Op::Park).await;
        }
    }

    async fn interrupt(&mut self) {
        self.work = Work::Stopping;
        self.ask(Op::Interrupt).await;
    }

    async fn hear(&mut self, event: Event, printer: &mut Printer) {
        printer.event(&event);
        self.seen.event(&event);
        match event {
            Event::TurnStart { .. } => self.work = Work::Works,
            // Nobody is here to answer.
            Event::Asking { .. } if self.input == Input::Ended => drop(self.ask(Op::Park).await),
            Event::Asking { call, tool, arguments, wants, shown, .. } => {
                let text = print::question(&call.to_string(), &tool, &arguments, wants);
                self.questions.push_back(Question { call, shown, wants, text });
                if self.questions.len() == 1 {
                    self.invite();
                }
            }
            Event::ToolResult { call, .. } => {
                let before = self.questions.len();
                self.questions.retain(|question| question.call != call);
                if self.questions.len() < before && !self.questions.is_empty() {
                    self.invite();
                }
            }
            Event::Result(result) => {
                self.questions.clear();
                if result.follows == Follows::Nothing {
                    self.work = Work::Rests;
                    self.invite();
                }
                self.last = Some(result);
            }
            Event::Said { .. }
            | Event::StepStart { .. }
            | Event::Delta { .. }
            | Event::Reply { .. }
            | Event::ToolStart { .. }
            | Event::Note { .. }
            | Event::Retrying { .. }
            | Event::Waiting { .. }
            | Event::TurnEnd { .. } => {}
        }
    }

    async fn say(&mut self, line: String) {
        let text = line.trim();
        match text {
            "" => self.invite(),
            "/help" => print::talk(HELP),
            "/stop" if self.work == Work::Rests => print::talk("petasos: nothing is running"),
            "/stop" => self.interrupt().await,
            "/go" => self.start(Op::Continue { add: Default::default() }).await,
            "/undo" => self.undo().await,
            "/retry" => self.start(Op::Retry).await,
            "/fork" => {
                self.kept.fork().await;
                self.invite();
            }
            _ => {
                if let Some(title) = text.strip_prefix("/title ") {
                    self.title(title).await;
                } else if let Some(steer) = text.strip_prefix("/steer ") {
                    // At rest there is no step to come, so it begins a turn.
                    let when = if self.work == Work::Rests { When::Now } else { When::NextStep };
                    self.start(Op::say(steer, when)).await;
                } else if text.starts_with('/') {
                    print::talk(&format!("petasos: there is no {text}\n{HELP}"));
                } else if let Some(question) = self.questions.front() {
                    match answer(question, text) {
                        Some(answer) => self.decide(answer).await,
                        None => self.invite(),
                    }
                } else {
                    self.start(Op::say(line, When::Now)).await;
                }
            }
        }
    }

    /// What was said is printed, so that it can be said otherwise.
    async fn undo(&mut self) {
        let said = self.kept.last_said().await;
        if self.ask(Op::Undo).await {
            if let Some(said) = said {
                print::shown(&said.text);
                taken_back(&said).iter().for_each(|line| print::talk(line));
            }
            self.invite();
        }
    }

    async fn title(&mut self, title: &str) {
        match title_of(title) {
            Ok(title) => {
                self.ask(Op::title(title)).await;
            }
            Err(refusal) => print::talk(&format!("petasos: {}", refusal.message())),
        }
        self.invite();
    }

    /// Asks for what begins a turn, or waits for the one that runs.
    async fn start(&mut self, op: Op) {
        if self.ask(op).await && self.work == Work::Rests {
            self.work = Work::Works;
        }
    }

    async fn decide(&mut self, answer: Answer) {
        let Some(Question { call, shown, .. }) = self.questions.pop_front() else { return };
        self.ask(Op::Decide { call, answer, shown }).await;
        if !self.questions.is_empty() {
            self.invite();
        }
    }

    /// Asks something of the session; true if it was taken in.
    async fn ask(&mut self, op: Op) -> bool {
        let asked = self.session.ask(op).await;
        for damage in self.session.found_since() {
            print::talk(&format!("petasos: the log of session {} is damaged: {damage}", self.session.id()));
        }
        match asked {
            Ok(_) => true,
            Err(error) => {
                print::talk(&format!("petasos: {error}"));
                self.invite();
                false
            }
        }
    }

    /// Shows the question that is next, or that a line is waited for.
    fn invite(&self) {
        if let Some(Question { call, wants, text, .. }) = self.questions.front() {
            print::talk(text);
            if *wants == WantsTold::Approval {
                print::talk(&format!(
                    "  {call}: [y]es, yes for this [s]ession, [n]o and go on, [x] no and stop; or write why not"
                ));
            }
        }
        if self.is_person && (self.work == Work::Rests || !self.questions.is_empty()) {
            print::invitation("> ");
        }
    }
}

/// What a line answers; none if it could mean anything.
fn answer(question: &Question, text: &str) -> Option<Answer> {
    Some(match (question.wants, text.to_lowercase().as_str()) {
        (WantsTold::Answer, _) => Answer::Text(text.into()),
        (WantsTold::Approval, "y" | "yes") => Answer::Yes { scope: Scope::Once },
        (WantsTold::Approval, "s" | "session") => Answer::Yes { scope: Scope::Session },
        (WantsTold::Approval, "n" | "no") => Answer::No { reason: Text::from("the user said no") },
        (WantsTold::Approval, "x" | "stop") => Answer::NoAndStop,
        // A word or two are a slip; more are a reason.
        (WantsTold::Approval, other) if other.split_whitespace().count() > 2 => {
            Answer::No { reason: text.into() }
        }
        (WantsTold::Approval, _) => return None,
    })
}

/// Lines of stdin, read on a thread of its own: a read cannot be called off.
fn read_lines() -> mpsc::Receiver<String> {
    let (lines, heard) = mpsc::channel(16);
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        loop {
            let mut bytes = Vec::new();
            match input.read_until(b'\n', &mut bytes) {
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
            let line = String::from_utf8_lossy(&bytes).trim_end_matches(['\r', '\n']).to_owned();
            if lines.blocking_send(line).is_err() {
                break;
            }
        }
    });
    heard
}
