//! What core itself says to the model: notes, the results of calls that did not run, and the summary
//! by rule at the end of a budget. All texts of this crate for the model stand here.

use crate::bounded::{Bounded, Cap};
use crate::entry::{FinishReason, Note, NoteSource};
use crate::guard::Finding;
use crate::stop::Limit;
use crate::tool::{Outcome, ToolOutput, Trouble};
use crate::turn::Tally;

/// The note of a source.
pub(crate) fn note(source: NoteSource) -> Note {
    let text = match source {
        NoteSource::Nudge => {
            "Your last reply was empty. Answer the user now, or call the tool that you need next."
        }
        NoteSource::Continue => {
            "Your last reply was cut off. Go on exactly where it stopped; do not repeat what is there."
        }
        NoteSource::Guard => {
            "Try another way, or say what is in the way. If you go on like this, the turn is ended."
        }
        NoteSource::Raised => "The budget was raised. Go on with the task; tools may be called again.",
        NoteSource::Closing(Limit::Steps) => {
            "The step budget of this turn is used up. Do not call tools. Say what was reached, what is \
             open, and what should be done next."
        }
        NoteSource::Closing(Limit::Tokens) => {
            "The token budget of this turn is used up. Do not call tools. Say what was reached, what is \
             open, and what should be done next."
        }
        NoteSource::Closing(Limit::Money) => {
            "The money budget of this turn is used up. Do not call tools. Say what was reached, what is \
             open, and what should be done next."
        }
    };
    Note { source, text: text.into() }
}

/// The note that tells what a guard found (L10).
pub(crate) fn warning(finding: &Finding) -> Note {
    let hint = match finding {
        Finding::Calls { .. } => "Use the results that you have.",
        Finding::Reply => "It was cut off, and no call in it was run. Do not repeat it.",
        Finding::Tool { .. } => "Look at what it answered.",
    };
    let Note { source, text } = note(NoteSource::Guard);
    let text = Bounded::new(&format!("A guard saw that {finding}. {hint} {text}"), Cap::REASON, "shortened");
    Note { source, text: text.text().clone() }
}

/// Why a call has a result without having run to its end here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoRun<'a> {
    /// Its text did not arrive whole.
    Incomplete,
    /// The same, because the reply came to its output limit.
    CutAtLimit,
    /// A rule forbids it.
    Forbidden { rule: &'a str },
    /// It would have asked, and there is nobody to ask.
    NobodyToAsk,
    /// A person said no.
    PersonSaidNo { reason: &'a str },
    /// Something else was said instead of an answer.
    Superseded,
    /// The turn stopped before it began.
    TurnStopped,
    /// Calls were not wanted in this reply.
    NotNow,
    /// It began, and the process ended.
    ProcessEnded,
    /// It began, was told to stop, and did not say how it ended.
    NoAnswerToStop,
    /// A probe looked after a crash.
    Probed(Outcome),
    /// The line of the log that held its result cannot be read.
    LineDamaged,
    /// It is one more of a row of calls that leads nowhere.
    Repeats,
    /// Its reply repeated itself and was cut.
    ReplyRepeats,
}

impl NoRun<'_> {
    /// Why a call does not run whose text is not whole, in a reply that ended so.
    pub(crate) fn incomplete(finish: &FinishReason) -> Self {
        match finish {
            FinishReason::Length => Self::CutAtLimit,
            FinishReason::Stop
            | FinishReason::ToolUse
            | FinishReason::Refused
            | FinishReason::Cut
            | FinishReason::Other(_) => Self::Incomplete,
        }
    }

    /// The outcome that the result gets.
    pub(crate) fn outcome(self) -> Outcome {
        match self {
            Self::Incomplete
            | Self::CutAtLimit
            | Self::TurnStopped
            | Self::NotNow
            | Self::Repeats
            | Self::ReplyRepeats => Outcome::NeverBegan,
            Self::Forbidden { .. } | Self::NobodyToAsk | Self::PersonSaidNo { .. } | Self::Superseded => {
                Outcome::Denied
            }
            Self::ProcessEnded | Self::NoAnswerToStop | Self::LineDamaged => Outcome::Unknown,
            Self::Probed(seen @ (Outcome::Ok | Outcome::NeverBegan)) => seen,
            // Nothing else can be seen from outside.
            Self::Probed(_) => Outcome::Unknown,
        }
    }

    /// The result that the model reads.
    pub(crate) fn output(self) -> ToolOutput {
        let denied = "the call was not allowed";
        let look = "look at the present state before you try it again";
        let (error, cause, hint) = match self {
            Self::Incomplete => {
                ("the call was cut off", "its arguments did not arrive whole", "make the call again, smaller")
            }
            Self::CutAtLimit => (
                "the call was cut off",
                "the reply came to its output limit before the arguments were whole",
                "nothing was done; do it in smaller parts, each in a call of its own",
            ),
            Self::Forbidden { rule } => (denied, rule, "do it another way, or ask the user"),
            Self::NobodyToAsk => (
                denied,
                "it needs approval, and there is nobody to ask",
                "do it another way, or say what is needed",
            ),
            Self::PersonSaidNo { reason } => {
                (denied, reason, "respect the answer; do it another way, or ask")
            }
            Self::Superseded => (denied, "the user said something else instead", "read what was said"),
            Self::TurnStopped => {
                ("the call never began", "the turn was stopped", "make the call again if it is needed")
            }
            Self::NotNow => {
                ("the call never began", "calls were not allowed in this reply", "answer in words")
            }
            Self::Repeats => (
                "the call was not run",
                "it was made before with the same arguments, and the result was the same each time",
                "use the result that you have, or do something else; once more, and the turn is ended",
            ),
            Self::ReplyRepeats => (
                "the call was not run",
                "the reply repeated itself and was cut off",
                "make only the calls that are needed",
            ),
            Self::ProcessEnded => {
                ("the outcome is unknown", "the program ended while the call was running", look)
            }
            Self::NoAnswerToStop => {
                ("the outcome is unknown", "the call was stopped and did not say how it ended", look)
            }
            Self::Probed(Outcome::Ok) => {
                let text = Bounded::new("Done (seen by looking after a restart).", Cap::RESULT, "");
                return ToolOutput::made_up(Outcome::Ok, text);
            }
            Self::Probed(Outcome::NeverBegan) => (
                "the call never began",
                "looking after a restart showed that it was not done",
                "make the call again if it is needed",
            ),
            Self::LineDamaged => {
                ("the outcome is unknown", "the line of the log that held it is damaged", look)
            }
            Self::Probed(_) => ("the outcome is unknown", "looking after a restart did not tell", look),
        };
        // The cause may be a person's words; cut here, what the model reads is still JSON.
        let cause = Bounded::new(cause, Cap::REASON, "the log has it all");
        let cause = cause.text();
        let text = Bounded::new(&Trouble { error, cause, hint }.json(), Cap::RESULT, "the rest is not kept");
        ToolOutput::made_up(self.outcome(), text)
    }
}

/// What was done, by rule, for a turn whose closing call gave nothing (L07).
pub(crate) fn summary_by_rule(limit: Limit, steps: u32, tally: &Tally) -> String {
    let what = match limit {
        Limit::Steps => "step",
        Limit::Tokens => "token",
        Limit::Money => "money",
    };
    let mut text = format!("Stopped: the {what} budget is used up after {steps} steps.");
    for (tool, count) in tally.tools() {
        text.push_str(&format!("\n- {tool}: {} calls, {} without success", count.calls, count.failed));
    }
    Bounded::new(&text, Cap::REASON, "the log has them all").text().to_string()
}
