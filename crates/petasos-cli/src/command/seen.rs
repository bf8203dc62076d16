//! What a run told of its turn: all that can be said of one whose end is not waited for.

use petasos_core::request::Purpose;
use petasos_runtime::{Event, UsageOfRun};

/// Steps and usage, as events told them. Of a turn that goes on in this run, what it used before is not known.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    asked: Option<(Purpose, u32)>,
    steps: u32,
    usage: Option<UsageOfRun>,
}

impl Seen {
    /// Steps of the turn.
    pub(crate) fn steps(&self) -> u32 {
        self.steps
    }

    /// What its replies used.
    pub(crate) fn usage(&self) -> UsageOfRun {
        self.usage.unwrap_or_default()
    }

    /// Takes an event in.
    pub(crate) fn event(&mut self, event: &Event) {
        match event {
            Event::TurnStart { continues: false, .. } => *self = Self::default(),
            Event::StepStart { step, purpose, .. } => {
                self.asked = Some((*purpose, *step));
                // Those of runs before this one are among them.
                self.steps = step.saturating_sub(1);
            }
            Event::Reply { usage, .. } => {
                if let Some((Purpose::Step, step)) = self.asked {
                    self.steps = step;
                }
                // Tokens of which nothing is said cost nobody knows what.
                let usage = usage.unwrap_or_default();
                self.usage = Some(self.usage.map_or(usage, |sum| plus(sum, usage)));
            }
            // The whole turn, and exact.
            Event::TurnEnd { steps, usage, .. } => (self.steps, self.usage) = (*steps, Some(*usage)),
            Event::Said { .. }
            | Event::TurnStart { .. }
            | Event::Delta { .. }
            | Event::ToolStart { .. }
            | Event::ToolResult { .. }
            | Event::Asking { .. }
            | Event::Note { .. }
            | Event::Retrying { .. }
            | Event::Waiting { .. }
            | Event::Result(_) => {}
        }
    }
}

fn plus(sum: UsageOfRun, more: UsageOfRun) -> UsageOfRun {
    UsageOfRun {
        input: sum.input.saturating_add(more.input),
        output: sum.output.saturating_add(more.output),
        cached: sum.cached.saturating_add(more.cached),
        reasoning: sum.reasoning.saturating_add(more.reasoning),
        micro_usd: sum.micro_usd.zip(more.micro_usd).map(|(sum, more)| sum.saturating_add(more)),
    }
}
