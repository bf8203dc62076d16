//! `petasos chat`: line by line.
//!
//! A line is said; one that comes while the agent works waits for the end of the turn. Ctrl-C stops the turn,
//! and at rest the program.

use std::io::BufRead as _;
use std::process::ExitCode;
use std::sync::Arc;

use petasos_core::approval::{Answer, Scope};
use petasos_core::entry::When;
use petasos_core::id::{CallId, Digest};
use petasos_core::text::Text;
use petasos_core::turn::OnAsk;
use petasos_runtime::{Event, Op, RunResult, SessionHandle, WantsTold};
use tokio::sync::mpsc;

use super::watch::Stops;
use super::{Refusal, commands, set_up};
use crate::args::ChatArguments;
use crate::print::{self, Printer, is_person_there};
use crate::{World, exit};

const HELP: &str = "\
/steer TEXT  say it for the next step, while the agent works
/stop        stop the turn
/go          go on with a turn that stopped
/quit        leave; so does the end of input
Any other line is said. While the agent works it waits for the end of the turn.";

/// Talks until the input ends.
pub(crate) async fn chat(arguments: ChatArguments, world: &World) -> ExitCode {
    let mut printer = Printer::chat();
    match begin(arguments, world).await {
        Ok(mut chat) => chat.talk().await,
        Err(refusal) => refusal.tell(&mut printer),
    }
}

async fn begin(arguments: ChatArguments, world: &World) -> Result<Chat, Refusal> {
    let setup = set_up(world, arguments.workspace.as_deref(), arguments.model.flags())?;
    let chosen = setup.choose().await?;
    let agent = setup.agent(commands(arguments.allow_commands))?;
    let on_ask = setup.settings.on_ask.unwrap_or(OnAsk::Ask);
    let session = agent.create(setup.terms(&chosen, on_ask)).await?;
    print::talk(&format!("petasos: session {}, {chosen}. /help lists what can be done.", session.id()));
    Ok(Chat {
        session,
        printer: Printer::chat(),
        questions: Vec::new(),
        is_busy: false,
        last: None,
        is_person: is_person_there(),
    })
}

struct Chat {
    session: SessionHandle,
    printer: Printer,
    /// Calls that wait for an answer, in the order in which they asked.
    questions: Vec<Question>,
    is_busy: bool,
    last: Option<Arc<RunResult>>,
    is_person: bool,
}

struct Question {
    call: CallId,
    shown: Digest,
    wants: WantsTold,
}

enum Heard {
    Line(Option<String>),
    Event(Option<Event>),
    Signal,
}

impl Chat {
    async fn talk(&mut self) -> ExitCode {
        let mut stops = Stops::listen();
        let mut lines = read_lines();
        let mut has_input = true;
        self.invite();
        while has_input || self.is_busy {
            let heard = tokio::select! {
                event = self.session.next_event() => Heard::Event(event),
                line = lines.recv(), if has_input => Heard::Line(line),
                _ = stops.next() => Heard::Signal,
            };
            match heard {
                Heard::Event(Some(event)) => self.hear(event),
                Heard::Event(None) => break,
                Heard::Line(Some(line)) if line.trim() == "/quit" => has_input = self.leave().await,
                Heard::Line(Some(line)) => self.say(line).await,
                Heard::Line(None) => has_input = self.leave().await,
                Heard::Signal if self.is_busy => self.ask(Op::Interrupt).await,
                Heard::Signal => break,
            }
        }
        match &self.last {
            Some(result) => exit::code(result, None),
            None => ExitCode::SUCCESS,
        }
    }

    /// The input has ended: what asks can no longer be answered, what runs comes to its end.
    async fn leave(&mut self) -> bool {
        if !self.questions.is_empty() {
            self.questions.clear();
            self.ask(Op::Park).await;
        }
        false
    }

    fn hear(&mut self, event: Event) {
        self.printer.event(&event);
        match event {
            Event::TurnStart { .. } => self.is_busy = true,
            Event::Asking { call, shown, wants, .. } => {
                self.questions.push(Question { call, shown, wants });
                self.invite();
            }
            Event::ToolResult { call, .. } => self.questions.retain(|question| question.call != call),
            Event::Result(result) => {
                self.questions.clear();
                self.is_busy = false;
                self.last = Some(result);
                self.invite();
            }
            Event::Said { .. }
            | Event::StepStart { .. }
            | Event::Delta { .. }
            | Event::Reply { .. }
            | Event::ToolStart { .. }
            | Event::Note { .. }
            | Event::Retrying { .. }
            | Event::TurnEnd { .. } => {}
        }
    }

    async fn say(&mut self, line: String) {
        let text = line.trim();
        match text {
            "" => self.invite(),
            "/help" => print::talk(HELP),
            "/stop" => self.ask(Op::Interrupt).await,
            "/go" => self.ask(Op::Continue { add: Default::default() }).await,
            _ => {
                if let Some(steer) = text.strip_prefix("/steer ") {
                    self.ask(Op::say(steer, When::NextStep)).await;
                } else if text.starts_with('/') {
                    print::talk(&format!("petasos: there is no {text}\n{HELP}"));
                } else if let Some(question) = self.questions.first() {
                    match answer(question, text) {
                        Some(answer) => self.decide(answer).await,
                        None => self.invite(),
                    }
                } else {
                    self.is_busy = true;
                    self.ask(Op::say(line, When::Now)).await;
                }
            }
        }
    }

    async fn decide(&mut self, answer: Answer) {
        let Question { call, shown, .. } = self.questions.remove(0);
        self.ask(Op::Decide { call, answer, shown }).await;
        if !self.questions.is_empty() {
            self.invite();
        }
    }

    async fn ask(&mut self, op: Op) {
        if let Err(error) = self.session.ask(op).await {
            self.is_busy = false;
            print::talk(&format!("petasos: {error}"));
            self.invite();
        }
    }

    fn invite(&self) {
        match self.questions.first() {
            Some(Question { wants: WantsTold::Approval, .. }) => {
                print::talk(
                    "  [y]es, yes for this [s]ession, [n]o and go on, [x] no and stop; or write why not",
                );
            }
            Some(Question { wants: WantsTold::Answer, .. }) | None => {}
        }
        if self.is_person && (!self.is_busy || !self.questions.is_empty()) {
            print::piece("> ");
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
