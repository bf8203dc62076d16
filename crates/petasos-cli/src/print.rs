//! What a person or program reads: data on stdout, talk on stderr.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use petasos_core::id::CallId;
use petasos_core::time::Span;
use petasos_core::tool::Outcome;
use petasos_runtime::{
    Bound, DeltaKind, Event, NoteTold, ProgramNote, RunResult, UsageOfRun, WaitedFor, WantsTold, readable,
};

/// Set once stdout did not take what was written.
static IS_LOST: AtomicBool = AtomicBool::new(false);

/// Set once something of a session was to be written: what is lost of it can be looked at again.
static IS_OF_A_SESSION: AtomicBool = AtomicBool::new(false);

/// Set while a line stands at the terminal that the next one takes the place of.
static IS_PASSING: AtomicBool = AtomicBool::new(false);

/// To the start of the line, and the line away (ECMA-48, EL).
const LINE_AWAY: &str = "\r\u{1b}[2K";

/// Writes a line of talk that holds for now alone: at a terminal the next one takes its place, so nothing scrolls.
fn passing(text: &str) {
    let mut to = io::stderr().lock();
    if !to.is_terminal() {
        drop(writeln!(to, "{}", plain(text)));
        return;
    }
    // As wide as the narrowest terminals are: what wraps cannot be taken away.
    drop(write!(to, "{LINE_AWAY}{}", line_of(text, 79)));
    drop(to.flush());
    IS_PASSING.store(true, Ordering::Relaxed);
}

/// Takes such a line away, for something else comes now.
fn clear_passing() {
    if IS_PASSING.swap(false, Ordering::Relaxed) {
        let mut to = io::stderr().lock();
        drop(write!(to, "{LINE_AWAY}"));
        drop(to.flush());
    }
}

/// Writes a line for a program, as it is. If nobody reads any more there is nobody to tell, and the run goes on.
pub(crate) fn line(line: &str) {
    clear_passing();
    kept(writeln!(io::stdout().lock(), "{line}"));
}

/// Keeps in mind that output was lost; a reader that went away wanted no more of it.
fn kept(written: io::Result<()>) {
    if let Err(error) = written
        && error.kind() != io::ErrorKind::BrokenPipe
        && !IS_LOST.swap(true, Ordering::Relaxed)
    {
        let of_a_session = IS_OF_A_SESSION.load(Ordering::Relaxed);
        let rest = if of_a_session { "the session has it all" } else { "make room, and run it again" };
        talk(&format!("petasos: stdout cannot be written: {error}; {rest}"));
    }
}

/// True if output was lost.
pub(crate) fn is_lost() -> bool {
    // What is still in the buffer is lost or not by now, too.
    kept(io::stdout().lock().flush());
    IS_LOST.load(Ordering::Relaxed)
}

/// Writes something of a log for a person, also into a pipe: that often ends at a terminal.
pub(crate) fn shown(text: &str) {
    IS_OF_A_SESSION.store(true, Ordering::Relaxed);
    line(&plain(text));
}

/// Writes data for a person; into a file or a pipe it goes as it is.
pub(crate) fn data(text: &str) {
    if io::stdout().is_terminal() { line(&plain(text)) } else { line(text) }
}

/// Writes bytes for a program, exactly; at a terminal as a line that it may show.
pub(crate) fn bytes(bytes: &[u8]) {
    let mut out = io::stdout().lock();
    if out.is_terminal() {
        kept(writeln!(out, "{}", plain(&String::from_utf8_lossy(bytes))));
    } else {
        kept(out.write_all(bytes));
    }
}

/// Where bytes for a program go from another thread: stdout, as [`bytes`] writes there.
#[derive(Debug)]
pub(crate) struct Out;

impl io::Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::stdout().lock().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().lock().flush()
    }
}

/// Writes a line of talk. What of it comes from a model, a tool or a file does not reach the terminal's controls.
pub(crate) fn talk(line: &str) {
    clear_passing();
    drop(writeln!(io::stderr().lock(), "{}", plain(line)));
}

/// Writes what a person is to answer behind.
pub(crate) fn invitation(text: &str) {
    clear_passing();
    let mut to = io::stderr().lock();
    drop(write!(to, "{text}"));
    drop(to.flush());
}

/// Writes a piece of data without a line end.
fn piece(text: &str) {
    clear_passing();
    let mut out = io::stdout().lock();
    let shown = if out.is_terminal() { plain(text) } else { text.to_owned() };
    kept(write!(out, "{shown}").and_then(|()| out.flush()));
}

/// Text from a model or tool as a terminal may show it: control characters would move the cursor, set titles
/// or answer for the person.
pub(crate) fn plain(text: &str) -> String {
    let show = |letter: char| match letter {
        '\n' | '\t' => letter,
        other if other.is_control() => '\u{fffd}',
        // What turns the direction of text can make one command look like another.
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        other => other,
    };
    text.replace("\r\n", "\n").chars().map(show).collect()
}

/// One line of at most so many characters.
pub(crate) fn line_of(text: &str, most: usize) -> String {
    let text = plain(text).replace(['\n', '\t'], " ");
    match text.chars().count() > most {
        true => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
        false => text,
    }
}

/// What a call that asks wants to do, whole: a person is to see all of what they say yes to.
pub(crate) fn question(call: &str, tool: &str, arguments: &str, wants: WantsTold) -> String {
    let what = match wants {
        WantsTold::Approval => "asks for leave to run",
        WantsTold::Answer => "asks",
    };
    let arguments = plain(&readable(arguments)).replace('\n', "\n      ");
    format!("  ? call {call} {what}: {}\n      {arguments}", line_of(tool, 64))
}

/// A wait shorter than this is over before a person has read of it.
const WORTH_TELLING: Span = Span::seconds(5);

/// What is waited for, in a line.
fn waited(what: WaitedFor, (seconds, host, model): (u64, &str, &str), bound: Option<(Bound, u64)>) -> String {
    let end = match (what, bound.map(|(bound, left)| (bound.setting(), left))) {
        (WaitedFor::Gate, _) => String::from(", others go before"),
        (_, Some((Some(setting), left))) => format!(", {left} s to {setting}"),
        (_, Some((None, left))) => format!(", asked again in {left} s"),
        (WaitedFor::Model | WaitedFor::Retry, None) => String::new(),
    };
    format!("  … {seconds} s: waiting for {} at {}{end}", line_of(model, 30), line_of(host, 30))
}

/// Characters of a call's arguments, or of a result, in a line of talk.
const SHOWN: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    /// Every event as JSON.
    Json,
    /// The answer on stdout, steps on stderr.
    Job,
    /// Answers as they come.
    Chat,
}

/// Tells the events of a session.
#[derive(Debug)]
pub(crate) struct Printer {
    style: Style,
    /// A line of text is open on stdout.
    is_open: bool,
    /// Text of the present step was told as it came.
    is_told: bool,
    /// Calls that nobody was asked about, and that were refused for it.
    refused: u32,
    /// Calls that a person knows of: what becomes of them is no news.
    known: Vec<CallId>,
    /// Failures since the last reply that were tried again.
    retries: u32,
}

impl Printer {
    fn new(style: Style) -> Self {
        Self { style, is_open: false, is_told: false, refused: 0, known: Vec::new(), retries: 0 }
    }

    pub(crate) fn json() -> Self {
        Self::new(Style::Json)
    }

    pub(crate) fn job() -> Self {
        Self::new(Style::Job)
    }

    pub(crate) fn chat() -> Self {
        Self::new(Style::Chat)
    }

    /// A person was asked about these calls.
    pub(crate) fn knows(&mut self, calls: impl IntoIterator<Item = CallId>) {
        self.known.extend(calls);
    }

    /// Tells an event.
    pub(crate) fn event(&mut self, event: &Event) {
        let is_before_any = matches!(event, Event::Result(result) if result.session.is_none());
        if !is_before_any {
            IS_OF_A_SESSION.store(true, Ordering::Relaxed);
        }
        match self.style {
            Style::Json => match event.line() {
                Ok(text) => line(&text),
                Err(error) => talk(&format!("petasos: an event cannot be written: {error}")),
            },
            Style::Job | Style::Chat => self.tell(event),
        }
    }

    /// Tells a result that no session told.
    pub(crate) fn result(&mut self, result: &RunResult) {
        self.event(&Event::Result(std::sync::Arc::new(result.clone())));
    }

    fn tell(&mut self, event: &Event) {
        match event {
            Event::Delta { kind: DeltaKind::Text, text, .. } if self.style == Style::Chat => {
                piece(text);
                self.is_open = true;
                self.is_told = true;
            }
            Event::StepStart { .. } => self.is_told = false,
            Event::ToolStart { tool, call, .. } => self.aside(&format!("  · {tool} ({call})")),
            Event::ToolResult { call, tool, outcome, text, .. } => {
                self.refused += u32::from(*outcome == Outcome::Denied && !self.known.contains(call));
                let sign = if matches!(outcome, Outcome::Ok | Outcome::Empty) { "✓" } else { "✗" };
                self.aside(&format!("  {sign} {}: {}", line_of(tool, 40), line_of(text, SHOWN)));
            }
            Event::Reply { calls, .. } => {
                self.retries = 0;
                for call in calls {
                    self.aside(&format!(
                        "  → {} {}",
                        line_of(&call.name, 40),
                        line_of(&call.arguments, SHOWN)
                    ));
                }
            }
            // A chat shows a question when it is the next to be answered.
            Event::Asking { .. } if self.style == Style::Chat => {}
            Event::Asking { call, tool, arguments, wants, .. } => {
                self.aside(&question(&call.to_string(), tool, arguments, *wants));
            }
            Event::Note { source: NoteTold::Program(ProgramNote::CutPrompt), text, .. } => {
                self.aside(&format!("petasos: {text}"));
            }
            Event::Note { text, .. } => self.aside(&format!("  note to the model: {}", line_of(text, SHOWN))),
            Event::Retrying { message, wait: None, .. } => {
                self.retries = 0;
                self.aside(&format!("  going to the next model: {}", line_of(message, 300)));
            }
            Event::Retrying { message, wait: Some(wait), .. } => {
                self.retries += 1;
                // Once, and at once, is nothing that a person could do something about.
                if self.retries > 1 || *wait >= WORTH_TELLING {
                    let seconds = wait.0.div_ceil(1000);
                    self.aside(&format!("  trying again in {seconds} s: {}", line_of(message, 300)));
                }
            }
            Event::Waiting { what, seconds, host, model, bound, ends_in } => {
                self.close_line();
                passing(&waited(*what, (*seconds, host, model), bound.zip(*ends_in)));
            }
            Event::Result(result) => self.end(result),
            Event::TurnStart { .. } => self.retries = 0,
            Event::Said { .. } | Event::Delta { .. } | Event::TurnEnd { .. } => {}
        }
    }

    fn end(&mut self, result: &RunResult) {
        match self.style {
            // A summary that was made by rule did not come as a reply.
            Style::Chat if self.is_told => self.close_line(),
            Style::Job | Style::Chat if !result.reply.is_blank() => data(&result.reply),
            Style::Chat | Style::Job | Style::Json => self.close_line(),
        }
        let refused = std::mem::take(&mut self.refused);
        if self.style == Style::Job && refused > 0 {
            talk(&format!(
                "petasos: refused, since nobody was asked: {refused} of its calls. --allow-commands lets commands run, \
                 --park has them wait for your yes, petasos chat asks"
            ));
        }
        if self.style == Style::Job && result.session.is_some() {
            talk(&format!("petasos: {}", used(&result.usage)));
        }
        if let Some(hint) = &result.hint {
            talk(&format!("petasos: {hint}"));
        }
        if let Some(error) = &result.error {
            talk(&format!("petasos: {}: {}", result.status, error.message));
            talk(&format!("  next: {}", error.hint));
        }
    }

    /// Tells something beside the answer.
    pub(crate) fn aside(&mut self, line: &str) {
        self.close_line();
        talk(line);
    }

    fn close_line(&mut self) {
        if self.is_open {
            line("");
            self.is_open = false;
        }
    }
}

/// Tokens, and what they cost if that is known.
fn used(usage: &UsageOfRun) -> String {
    let UsageOfRun { input, output, cached, micro_usd, .. } = usage;
    let cost = match micro_usd {
        Some(micro) => {
            let (dollars, part) = (micro / 1_000_000, format!("{:06}", micro % 1_000_000));
            let part = part.trim_end_matches('0');
            format!(", ${dollars}.{part:0<2}")
        }
        None => String::new(),
    };
    format!("{input} tokens in ({cached} of them cached), {output} out{cost}")
}

/// True if a person sits at the terminal.
pub(crate) fn is_person_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}
