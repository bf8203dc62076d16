//! A log against the program and the settings of now: which call would be judged otherwise, which part of a request
//! would be another one.

use std::path::PathBuf;

use petasos_core::approval::{Ends, Policy, Prepared, Proposal, Verdict, judge};
use petasos_core::entry::{Body, Entry, Head, VerdictKind};
use petasos_core::id::Seq;
use petasos_core::session::Session;
use petasos_core::text::Text;
use petasos_tools::Registry;

use super::Difference;
use super::entries;
use crate::config::ConfigError;
use crate::prompt;
use crate::setup::{Commands, Setup, policy};

/// What of now a log is held against.
#[derive(Debug)]
pub struct Present {
    registry: Registry,
    policy: Policy,
    /// That of who began the session with leave to run commands.
    allowing: Policy,
}

impl Setup {
    /// The system text, the tools and the rules of now, for a replay. Nothing is asked for them.
    ///
    /// # Errors
    /// What is wrong with the settings.
    pub fn present(&self, commands: Commands) -> Result<Present, ConfigError> {
        Ok(Present {
            registry: self.registry()?,
            policy: policy(commands),
            allowing: policy(Commands::Allowed),
        })
    }
}

impl Present {
    /// The head that would be built where the log has that of this entry: on that day, for that model, in that folder.
    pub(super) fn head(&self, log: &[Entry], head: Seq) -> Option<Head> {
        let place = log.binary_search_by_key(&head, |entry| entry.seq).ok()?;
        let before = log.get(..=place)?;
        let start = before.iter().rev().find_map(entries::turn_start)?;
        let Body::SessionStart(session) = &log.first()?.body else { return None };
        let workspace = PathBuf::from(&*session.workspace);
        let at = before.last()?.at;
        prompt::head(&self.registry, &workspace, &start.target.model, at).ok()
    }

    /// A call that would be judged otherwise now. Whoever had leave to run commands then has it here.
    pub(super) fn judged(&self, session: &Session, prepared: &Prepared) -> Option<Difference> {
        let (proposal, was) = told(&prepared.verdict)?;
        let policy = if prepared.policy == self.allowing.hash { &self.allowing } else { &self.policy };
        let judged = judge(policy, session.grants(), proposal.clone());
        let (_, now) = told(&judged.verdict)?;
        // What a hook demanded the log does not tell.
        let is_same = now == was || &*prepared.rule == "hook";
        (!is_same).then(|| Difference::Decision {
            call: proposal.call,
            tool: proposal.tool.clone(),
            was: (was, prepared.rule.clone()),
            now: (now, judged.rule),
        })
    }
}

fn told(verdict: &Verdict) -> Option<(&Proposal, VerdictKind)> {
    match verdict {
        Verdict::Allow(approved) => Some((approved.proposal(), VerdictKind::Allow)),
        Verdict::Ask(asked) => Some((asked.proposal(), VerdictKind::Ask)),
        Verdict::Deny { proposal, ends: Ends::Call } => Some((proposal, VerdictKind::Deny)),
        Verdict::Deny { proposal, ends: Ends::Turn } => Some((proposal, VerdictKind::Hardline)),
        Verdict::Invalid(_) => None,
    }
}

/// A call that was judged again, for who goes through a replay step by step.
pub(super) fn call_of(prepared: &Prepared) -> Option<super::CallReplayed> {
    let (proposal, verdict) = told(&prepared.verdict)?;
    let (call, tool, rule): (_, Text, Text) = (proposal.call, proposal.tool.clone(), prepared.rule.clone());
    Some(super::CallReplayed { call, tool, verdict, rule })
}
