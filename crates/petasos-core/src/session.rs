//! The session: folds entries, and holds at most one turn.
//!
//! A live session and one that is folded from its log take entries in by the same code, so at any
//! entry the two are the same but for what is under way. What is said, continued, set or gone back to
//! is decided here; everything that happens inside a turn is decided by the [`Turn`].

mod back;
mod fold;
mod said;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::approval::{Answer, Grants};
use crate::budget::Limits;
use crate::entry::{
    Body, Cause, Decision, Head, LimitAdded, Said, SessionStart, Setting, Speaker, TurnStart, VerdictKind,
    When,
};
use crate::error::{Handled, Rejected};
use crate::id::{CallId, Digest, Epoch, Seq};
use crate::learnt::Learnt;
use crate::request::{Draft, Target};
use crate::stop::StopReason;
use crate::text::Text;
use crate::time::Time;
use crate::transcript::{Item, Transcript};
use crate::turn::journal::Journal;
use crate::turn::{Effect, Input, Mode, Turn};
use crate::usage::Account;

/// What the next turn runs under, as the shell resolved it from configuration.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Terms {
    /// What it may use.
    pub limits: Limits,
    /// How it works.
    pub mode: Mode,
    /// Whom it asks.
    pub target: Target,
    /// Whom it asks when that one fails.
    pub fallback: Vec<Target>,
}

/// One stored conversation, as its entries tell it, and what is under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Session {
    start: Option<Arc<SessionStart>>,
    epoch: Epoch,
    transcript: Transcript,
    /// What was said and has not entered the transcript.
    queue: BTreeMap<Seq, Arc<Said>>,
    settings: BTreeMap<Text, Setting>,
    grants: Grants,
    head: Option<Arc<Head>>,
    turn: Option<Turn>,
    /// What the turns before used.
    past: Account,
    /// Entries that did not fit what came before them: a line between was damaged.
    misfits: Vec<Seq>,
    terms: Arc<Terms>,
    /// Set since the last run began: a turn that is continued takes them, else it keeps its own.
    changed: Option<Arc<Terms>>,
    journal: Journal,
    saving: Saving,
}

/// Whether memory and disk still agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Saving {
    /// They do.
    Works,
    /// An append failed: what is on disk must be read anew.
    Failed,
}

impl Session {
    /// Takes in what happened. Drain [`Session::next_effect`] after each input.
    ///
    /// # Errors
    /// [`Rejected`] if the input does not fit; nothing has changed then.
    pub fn handle(&mut self, now: Time, input: Input) -> Result<Handled, Rejected> {
        let before = self.journal.now;
        self.journal.now = now;
        let was_running = self.is_running();
        let handled = self.dispatch(input);
        if matches!(handled, Err(_) | Ok(Handled::Stale)) {
            self.journal.now = before;
        }
        self.absorb();
        if was_running && !self.is_running() {
            self.start_what_waits();
        }
        handled
    }

    fn dispatch(&mut self, input: Input) -> Result<Handled, Rejected> {
        match input {
            Input::Say(_)
            | Input::Continue { .. }
            | Input::Set(_)
            | Input::GoTo(_)
            | Input::Undo
            | Input::Retry
                if self.saving == Saving::Failed =>
            {
                Err(Rejected::NotSaved)
            }
            // Several appends may be out when one fails; what is said of the others is late.
            Input::Appended { .. } | Input::AppendFailed(_) if self.saving == Saving::Failed => {
                Ok(Handled::Stale)
            }
            Input::Say(said) => self.say(said),
            Input::Decide { call, answer, shown } if !self.is_running() && self.saving == Saving::Works => {
                self.decide_at_rest(call, answer, shown)
            }
            Input::Continue { add } => self.go_on(&add),
            Input::Set(setting) => {
                self.write(setting);
                Ok(Handled::Taken)
            }
            Input::GoTo(seq) => self.go_to(seq),
            Input::Undo => self.undo(),
            Input::Retry => self.retry(),
            Input::Appended { upto } if !self.journal.appended(upto) => Err(Rejected::NotAsked),
            Input::Appended { .. } if !self.is_running() => Ok(Handled::Taken),
            Input::AppendFailed(failure) => {
                self.saving = Saving::Failed;
                match self.turn.as_mut().filter(|turn| turn.is_running()) {
                    Some(turn) => turn.handle(&mut self.journal, Input::AppendFailed(failure)),
                    None => {
                        self.journal.forget_unanswered();
                        Ok(Handled::Taken)
                    }
                }
            }
            Input::Woke => {
                self.journal.woke();
                self.hand_to_turn(Input::Woke)
            }
            Input::Decide { .. }
            | Input::Interrupt
            | Input::Park
            | Input::Appended { .. }
            | Input::Measured(_)
            | Input::Reserved(_)
            | Input::Refused(_)
            | Input::Delta { .. }
            | Input::ReplyEnded { .. }
            | Input::RequestFailed { .. }
            | Input::Prepared { .. }
            | Input::Probed { .. }
            | Input::ToolEnded { .. }
            | Input::HeadBuilt(_) => self.hand_to_turn(input),
        }
    }

    fn hand_to_turn(&mut self, input: Input) -> Result<Handled, Rejected> {
        if self.saving == Saving::Failed && !self.is_running() {
            return crate::turn::late::at_rest(&input).map_err(|_| Rejected::NotSaved);
        }
        match &mut self.turn {
            Some(turn) => turn.handle(&mut self.journal, input),
            None => crate::turn::late::at_rest(&input),
        }
    }

    /// The next thing to do; none when there is nothing more until the next input.
    pub fn next_effect(&mut self) -> Option<Effect> {
        self.journal.next_effect()
    }

    /// `Continue`: a turn at rest goes on in a new run; else what waits starts the next turn; a running
    /// one only gets what is added.
    fn go_on(&mut self, add: &Limits) -> Result<Handled, Rejected> {
        let Some(turn) = &mut self.turn else { return self.continue_with_queue(add) };
        let is_at_rest = !turn.is_running();
        let may_continue = turn.told().ended.is_none_or(StopReason::is_continuable);
        match (is_at_rest, may_continue) {
            (false, _) if add.adds_nothing() => return Err(Rejected::Running),
            (true, false) => return self.continue_with_queue(add),
            (false, _) | (true, true) => {}
        }
        let id = turn.told().id;
        if !add.adds_nothing() {
            turn.pen(&mut self.journal).write(LimitAdded { turn: id, add: add.clone() });
        }
        if !is_at_rest {
            turn.set_timer(&mut self.journal);
        }
        if is_at_rest {
            let start = continues(turn, self.changed.take().as_deref());
            turn.pen(&mut self.journal).write(start);
            self.run();
        }
        Ok(Handled::Taken)
    }

    fn continue_with_queue(&mut self, add: &Limits) -> Result<Handled, Rejected> {
        let Some((&said, _)) = self.queue.first_key_value() else { return Err(Rejected::NothingToContinue) };
        self.supersede();
        self.begin_turn(Cause::Said { said }, add);
        Ok(Handled::Taken)
    }

    /// What was said for after the turn starts the next one, unless somebody wanted the turn stopped
    /// or it waits for an answer.
    fn start_what_waits(&mut self) {
        let ended = self.turn.as_ref().and_then(|turn| turn.told().ended);
        let starts = self.saving == Saving::Works && ended.is_some_and(lets_the_next_start);
        if starts && let Some((&said, _)) = self.queue.first_key_value() {
            self.begin_turn(Cause::Said { said }, &Limits::default());
        }
    }

    fn begin_turn(&mut self, cause: Cause, add: &Limits) {
        self.changed = None;
        let Terms { limits, mode, target, fallback } = Terms::clone(&self.terms);
        let limits = limits.raised_by(add);
        self.write(TurnStart { cause, limits, mode, target, fallback });
        self.run();
    }

    fn run(&mut self) {
        self.absorb();
        if let Some(turn) = &mut self.turn {
            turn.run(&mut self.journal);
        }
        self.absorb();
    }

    /// Goes on in place with the turn that the log leaves open, for a shell that still holds the work
    /// that was under way (a replay, or a session that is folded anew beside running tools). After a
    /// crash that work is gone: `Continue` is the way then.
    ///
    /// # Errors
    /// [`Rejected::Running`] if a run is under way, [`Rejected::NothingToContinue`] if no turn is open.
    pub fn rejoin(&mut self, now: Time) -> Result<(), Rejected> {
        if self.is_running() {
            return Err(Rejected::Running);
        }
        self.journal.now = now;
        match self.turn.as_mut().filter(|turn| turn.told().ended.is_none()) {
            Some(turn) => turn.rejoin(&mut self.journal),
            None => return Err(Rejected::NothingToContinue),
        }
        self.absorb();
        Ok(())
    }

    /// A call of a turn that was parked is decided about: the answer stands in the log, and the run after
    /// follows it, if the call still looks as it did (`verdict.rs`).
    fn decide_at_rest(&mut self, call: CallId, answer: Answer, shown: Digest) -> Result<Handled, Rejected> {
        let Some(turn) = &mut self.turn else { return Err(Rejected::AtRest) };
        if !turn.told().ended.is_some_and(StopReason::leaves_calls_open) {
            return Err(Rejected::AtRest);
        }
        let open =
            turn.told().step.call(call).filter(|open| open.result.is_none() && open.decision.is_none());
        let Some(asked) = open.and_then(|open| open.call.as_ref()) else {
            return Err(Rejected::OtherCall(call));
        };
        if asked.verdict != VerdictKind::Ask {
            return Err(Rejected::OtherCall(call));
        }
        if asked.shown != shown {
            return Err(Rejected::OtherShown(call));
        }
        turn.pen(&mut self.journal).write(Decision { call, answer, by: Speaker::Person, shown });
        Ok(Handled::Taken)
    }

    /// Writes an entry that belongs to no turn. The turn there is hears of it, as when the log is read.
    fn write(&mut self, body: impl Into<Body>) -> Seq {
        if let Some(turn) = &mut self.turn {
            return turn.pen(&mut self.journal).write(body);
        }
        let entry = self.journal.entry(body.into());
        let seq = entry.seq;
        self.journal.leave(entry, None);
        seq
    }

    fn absorb(&mut self) {
        for fresh in self.journal.take_fresh() {
            self.take_in(&fresh.entry, fresh.closed);
        }
    }

    /// True if `Continue` has something to go on with.
    pub fn can_continue(&self) -> bool {
        let may = |turn: &Turn| turn.told().ended.is_none_or(StopReason::is_continuable);
        !self.is_running() && (self.turn.as_ref().is_some_and(may) || !self.queue.is_empty())
    }

    /// True if the process that is at work in it begins the next turn by itself, with what waits.
    pub fn begins_the_next(&self) -> bool {
        let ended = self.turn.as_ref().and_then(|turn| turn.told().ended);
        !self.is_running() && !self.queue.is_empty() && ended.is_some_and(lets_the_next_start)
    }

    /// True if the same entries tell both: they differ at most in what is under way.
    pub fn is_told_as(&self, other: &Self) -> bool {
        let is_same_turn = match (&self.turn, &other.turn) {
            (Some(one), Some(other)) => one.told() == other.told(),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        is_same_turn
            && self.start == other.start
            && self.epoch == other.epoch
            && self.transcript == other.transcript
            && self.queue == other.queue
            && self.settings == other.settings
            && self.grants == other.grants
            && self.head == other.head
            && self.past == other.past
            && self.journal.view == other.journal.view
            && self.next_seq() == other.next_seq()
    }

    /// True if a run is under way.
    pub fn is_running(&self) -> bool {
        self.turn.as_ref().is_some_and(Turn::is_running)
    }

    /// The first line of its log, if it was there.
    pub fn start(&self) -> Option<&SessionStart> {
        self.start.as_deref()
    }

    /// The epoch of the last opening.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The messages on the way to the leaf. What the open step holds so far is with the turn.
    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// The messages that a draft's request holds: the transcript, then what was said for the next step.
    pub fn messages_for(&self, draft: &Draft) -> Vec<Item> {
        self.placed_messages_for(draft).map(|(_, item)| item.into_owned()).collect()
    }

    /// As [`Session::messages_for`], each with its last entry, by which a shell knows which of them it has
    /// written already: on one way to the leaf they never change.
    pub fn placed_messages_for<'a>(
        &'a self,
        draft: &Draft,
    ) -> impl Iterator<Item = (Seq, Cow<'a, Item>)> + use<'a> {
        let steers =
            self.queue.range(..=draft.upto).filter(|(seq, _)| self.journal.view.steers.contains(seq));
        let steers = steers.map(|(seq, said)| (*seq, Cow::Owned(Item::Said(Arc::clone(said)))));
        self.transcript.items().into_iter().map(|(seq, item)| (seq, Cow::Borrowed(item))).chain(steers)
    }

    /// What was learnt of a target from requests that failed.
    pub fn learnt(&self, target: &Target) -> Learnt {
        self.journal.view.learnt(target)
    }

    /// What was said for the next step and waits, up to an entry.
    fn steers(&self, upto: Seq) -> impl Iterator<Item = (&Seq, &Arc<Said>)> {
        self.queue.range(..=upto).filter(|(_, said)| said.when == When::NextStep)
    }

    /// What was said and waits, by its entry.
    pub fn waiting(&self) -> &BTreeMap<Seq, Arc<Said>> {
        &self.queue
    }

    /// The head in force.
    pub fn head(&self) -> Option<&Head> {
        self.head.as_deref()
    }

    /// Settings in force, by name.
    pub fn settings(&self) -> &BTreeMap<Text, Setting> {
        &self.settings
    }

    /// Answers that outlive their calls.
    pub fn grants(&self) -> &Grants {
        &self.grants
    }

    /// The last turn.
    pub fn turn(&self) -> Option<&Turn> {
        self.turn.as_ref()
    }

    /// Entries that did not fit what came before them, for a line between was damaged.
    pub fn misfits(&self) -> &[Seq] {
        &self.misfits
    }

    /// What the whole session used.
    pub fn account(&self) -> Account {
        let mut account = self.past.clone();
        if let Some(turn) = &self.turn {
            account.add(&turn.told().account);
        }
        account
    }

    /// Number of the next entry: what the store's writer expects.
    pub fn next_seq(&self) -> Seq {
        self.journal.next_seq()
    }

    /// What the next turn works under.
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// Sets what the next turn works under; the present one, when it is continued, too, but for its
    /// limits. Without this a turn goes on as its `turn_start` says.
    pub fn set_terms(&mut self, terms: Terms) {
        self.terms = Arc::new(terms);
        self.changed = Some(Arc::clone(&self.terms));
    }
}

/// The entry with which a turn goes on in a new run.
pub(crate) fn continues(turn: &Turn, changed: Option<&Terms>) -> TurnStart {
    let told = turn.told();
    let (target, fallback) = told.targets();
    let (mode, target, fallback) = match changed {
        Some(terms) => (terms.mode, terms.target.clone(), terms.fallback.clone()),
        None => (told.mode, target.clone(), fallback.to_vec()),
    };
    TurnStart {
        cause: Cause::Continues { turn: told.id },
        limits: told.limits.clone(),
        mode,
        target,
        fallback,
    }
}

/// True if what waits starts the next turn by itself after such an end.
fn lets_the_next_start(reason: StopReason) -> bool {
    match reason {
        StopReason::Completed
        | StopReason::BudgetExhausted(_)
        | StopReason::ContextExhausted
        | StopReason::Stuck
        | StopReason::ToolFailed
        | StopReason::TimedOut
        | StopReason::Refused
        | StopReason::Truncated
        | StopReason::ModelFailed(_) => true,
        StopReason::AwaitingApproval
        | StopReason::AwaitingAnswer
        | StopReason::Denied
        | StopReason::NotSaved
        | StopReason::InternalError
        | StopReason::Interrupted => false,
    }
}
