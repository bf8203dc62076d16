//! Who may do what: policy, answers and grants. Pure; the one place where an [`Approved`] is made.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::bounded::Bounded;
use crate::claims::{Claims, Rerun};
use crate::id::{CallId, Digest};
use crate::text::{Json, Text};

/// What policy says of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Action {
    /// It may run.
    Allow,
    /// A person is asked.
    Ask,
    /// It may not run; the turn goes on.
    Deny,
    /// It may not run whatever else is allowed, and the turn ends.
    Hardline,
}

/// One rule of a policy.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rule {
    /// The tool it is about; `*` is every tool.
    pub tool: Text,
    /// What it says.
    pub action: Action,
    /// How it is named to people and in the log.
    pub name: Text,
}

/// The rules in force.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Policy {
    /// The strictest one that fits counts, wherever it stands.
    pub rules: Vec<Rule>,
    /// Over all of it, made by the shell.
    pub hash: Digest,
}

/// Answers kept for longer than their call: exactly what was shown, nothing wider.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Grants(BTreeSet<Digest>);

impl Grants {
    pub(crate) fn add(&mut self, shown: Digest) {
        self.0.insert(shown);
    }

    /// True if just this was granted.
    pub fn holds(&self, shown: &Digest) -> bool {
        self.0.contains(shown)
    }
}

/// A person's answer to a call that asks.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Run it.
    Yes {
        /// For how long this counts.
        scope: Scope,
    },
    /// Do not run it; the turn goes on.
    No {
        /// What the model is told.
        reason: Text,
    },
    /// Do not run it, and stop the turn.
    NoAndStop,
    /// The answer to a question of the model.
    Text(Text),
}

impl Answer {
    /// True if the answer is a grant that outlives its call.
    pub fn is_kept(&self) -> bool {
        match self {
            Self::Yes { scope: Scope::Session | Scope::Always } => true,
            Self::Yes { scope: Scope::Once } | Self::No { .. } | Self::NoAndStop | Self::Text(_) => false,
        }
    }
}

/// For how long a yes counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// For this call.
    Once,
    /// For the session.
    Session,
    /// For good.
    Always,
}

/// What a call wants of a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wants {
    /// Leave to run.
    Approval,
    /// An answer; such a call never runs, the answer is its result.
    Answer,
}

/// A call as it would run: repaired, through its hooks, with its claims.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Proposal {
    /// Which call.
    pub call: CallId,
    /// The tool that runs.
    pub tool: Text,
    /// Its final arguments.
    pub arguments: Json,
    /// What made them differ from the model's own; empty if nothing did.
    pub changed_by: Vec<Text>,
    /// What it touches.
    pub claims: Claims,
    /// Over what a person would be shown.
    pub shown: Digest,
    /// What it wants of a person if it asks.
    pub wants: Wants,
    /// The least that hooks demand: they make a verdict stricter, never weaker.
    pub at_least: Action,
}

/// A call that may run. Only [`judge`] and a person's yes make one; nothing else can be run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Approved {
    proposal: Proposal,
}

impl Approved {
    /// What runs.
    pub fn proposal(&self) -> &Proposal {
        &self.proposal
    }
}

/// A call that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Asked {
    proposal: Proposal,
}

impl Asked {
    /// What is asked about.
    pub fn proposal(&self) -> &Proposal {
        &self.proposal
    }

    /// A person said yes to what was shown.
    pub(crate) fn approve(self) -> Approved {
        Approved { proposal: self.proposal }
    }
}

/// What was decided about a call when it was prepared.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Prepared {
    /// The verdict.
    pub verdict: Verdict,
    /// The rule that gave it.
    pub rule: Text,
    /// The policy that holds the rule.
    pub policy: Digest,
}

/// A verdict, with what it is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It may run.
    Allow(Approved),
    /// A person is asked.
    Ask(Asked),
    /// It may not run.
    Deny {
        /// What was proposed.
        proposal: Box<Proposal>,
        /// What the no ends.
        ends: Ends,
    },
    /// It is no call that could run: what the model reads of it.
    Invalid(Bounded),
}

/// What a no of the policy ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ends {
    /// The call.
    Call,
    /// The turn.
    Turn,
}

/// Judges a call: the strictest of the rules that fit and of what hooks demand; without a rule a call
/// that changes nothing may run, and all others ask. A question of the model always asks.
pub fn judge(policy: &Policy, grants: &Grants, proposal: Proposal) -> Prepared {
    let fits = |rule: &&Rule| &*rule.tool == "*" || rule.tool == proposal.tool;
    let rule = policy.rules.iter().filter(fits).max_by_key(|rule| rule.action);
    let by_default = if proposal.claims.rerun == Rerun::Free { Action::Allow } else { Action::Ask };
    let (action, name) = match rule {
        Some(rule) => (rule.action, rule.name.clone()),
        None => (by_default, Text::from("default")),
    };
    let (mut action, mut name) =
        if proposal.at_least > action { (proposal.at_least, Text::from("hook")) } else { (action, name) };
    if proposal.wants == Wants::Answer && action < Action::Ask {
        (action, name) = (Action::Ask, Text::from("question"));
    } else if action == Action::Ask && proposal.wants == Wants::Approval && grants.holds(&proposal.shown) {
        (action, name) = (Action::Allow, Text::from("grant"));
    }
    let verdict = match action {
        Action::Allow => Verdict::Allow(Approved { proposal }),
        Action::Ask => Verdict::Ask(Asked { proposal }),
        Action::Deny => Verdict::Deny { proposal: Box::new(proposal), ends: Ends::Call },
        Action::Hardline => Verdict::Deny { proposal: Box::new(proposal), ends: Ends::Turn },
    };
    Prepared { verdict, rule: name, policy: policy.hash }
}
