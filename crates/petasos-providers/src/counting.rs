//! What an answer told of its usage so far, and what of that counts.

use petasos_core::usage::Usage;

use crate::counts::Counts;
use crate::quirks::CostTold;

/// Where in an answer a usage stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    /// Before its end: the server may have gone on.
    SoFar,
    /// At its end, or behind it.
    AtTheEnd,
}

/// Whether an answer brought anything that its model made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Nothing,
    Something,
}

/// The usage as told last, and what it costs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counting {
    told: Counts,
    counted: Counted,
    cost_told: CostTold,
}

impl Counting {
    /// Nothing told yet, by a server that tells its costs so.
    pub(crate) fn new(cost_told: CostTold) -> Self {
        Self { told: Counts::default(), counted: Counted::SoFar, cost_told }
    }

    /// Takes in what an event tells. The last word counts: where a server reports with each event, each holds the
    /// whole so far. True if it is news.
    pub(crate) fn take(&mut self, counts: Counts, counted: Counted) -> bool {
        let before = self.told.usage;
        self.told.usage = counts.usage.or(self.told.usage);
        match self.cost_told {
            CostTold::InUsage => self.told.micro_usd = counts.micro_usd.or(self.told.micro_usd),
            CostTold::Nowhere => {}
        }
        if counts.usage.is_some() && counted == Counted::AtTheEnd {
            self.counted = counted;
        }
        self.told.usage != before
    }

    /// The answer is at its end: what was told is all of it.
    pub(crate) fn end(&mut self) {
        self.counted = Counted::AtTheEnd;
    }

    /// That of a reply that is whole.
    pub(crate) fn of_reply(&self, said: Said) -> Counts {
        Counts { usage: self.told.usage.filter(|usage| is_credible(usage, said)), ..self.told }
    }

    /// That of a reply that failed. A usage from before its end is a number of the past: what is charged then is what
    /// was held for the request.
    pub(crate) fn of_failure(&self, said: Said) -> Counts {
        match self.counted {
            Counted::SoFar => Counts::default(),
            Counted::AtTheEnd => self.of_reply(said),
        }
    }
}

/// Gateways say 0 for what they do not know. No request has no input, and what was said is no output of nothing.
fn is_credible(usage: &Usage, said: Said) -> bool {
    usage.input > 0 && (usage.output > 0 || said == Said::Nothing)
}
