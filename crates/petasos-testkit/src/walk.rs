//! The walk: every state that a menu can lead to, each invariant looked at in each.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fmt;
use std::time::Instant;

use petasos_core::session::Terms;

use crate::findings::{Findings, Invariant};
use crate::world::{Menu, Move, State};

/// What a walk saw.
#[derive(Debug)]
pub struct Walked {
    /// Whose menu it was.
    pub name: &'static str,
    /// States seen.
    pub states: usize,
    /// Moves made.
    pub moves: usize,
    /// Crashes among them.
    pub crashes: usize,
    /// How often a turn ended in which way.
    pub ends: BTreeMap<String, usize>,
    /// What was found.
    pub findings: Findings,
    /// How long it took, in seconds.
    pub seconds: f64,
}

impl fmt::Display for Walked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, states, moves, crashes, ends, seconds, .. } = self;
        write!(f, "{name}: {states} states, {moves} moves, {crashes} crashes, {seconds:.1} s, ends {ends:?}")
    }
}

/// When a walk ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// At the first violation, which is told from its beginning.
    FirstFinding,
    /// When all is seen: every invariant that is broken anywhere is named.
    End,
}

/// How a state was come to: from which one, by which of the moves possible there.
struct Step {
    from: u32,
    which: u32,
}

/// Walks all that a menu can lead to. More states than `most` is a walk without end (I5).
pub fn walk(menu: &Menu, terms: &Terms, most: usize, until: Until) -> Walked {
    let began = Instant::now();
    let mut findings = Findings::default();
    let mut first = State::new(menu, terms);
    first.begin(&mut findings);
    let mut seen = HashSet::from([first.fingerprint()]);
    let mut way = vec![Step { from: 0, which: 0 }];
    // Nearest first: a story is as short as can be, and a fault without end stays shallow.
    let mut open = VecDeque::from([(first, 0)]);
    let (mut moves, mut crashes, mut ends) = (0, 0, BTreeMap::<String, usize>::new());
    while let Some((state, at)) = open.pop_front() {
        state.check_wrong_inputs(&mut findings);
        if state.is_over() {
            let ended = state.session.turn().and_then(|turn| turn.told().ended);
            *ends.entry(format!("{ended:?}")).or_default() += 1;
        }
        let possible = state.moves(menu);
        let helps = possible.iter().any(|what| !is_from_outside(what));
        findings.check(state.is_over() || helps, Invariant::I11, || "only an outsider helps".to_owned());
        for (which, what) in possible.into_iter().enumerate() {
            let step = Step { from: u32::try_from(at).unwrap(), which: u32::try_from(which).unwrap() };
            moves += 1;
            crashes += usize::from(matches!(what, Move::Crash(_)));
            let mut next = state.clone();
            next.make(&what, &mut findings);
            if seen.insert(next.fingerprint()) {
                way.push(step);
                open.push_back((next, way.len() - 1));
            } else if !findings.is_empty() && until == Until::FirstFinding {
                way.push(step);
            }
            if !findings.is_empty() && until == Until::FirstFinding {
                break;
            }
        }
        if seen.len() >= most || (!findings.is_empty() && until == Until::FirstFinding) {
            break;
        }
    }
    if !findings.is_empty() && until == Until::FirstFinding && way.len() > 1 {
        findings = retell(menu, terms, &way);
    }
    findings.check(seen.len() < most, Invariant::I5, || format!("over {most} states, and no end"));
    let (name, states, seconds) = (menu.name, seen.len(), began.elapsed().as_secs_f64());
    Walked { name, states, moves, crashes, ends, findings, seconds }
}

/// Goes the last way again, and tells each thing that happens on it.
fn retell(menu: &Menu, terms: &Terms, way: &[Step]) -> Findings {
    let mut choices = Vec::new();
    let mut at = way.len() - 1;
    while at > 0 {
        choices.push(way[at].which as usize);
        at = way[at].from as usize;
    }
    let mut findings = Findings::default();
    findings.tell(vec!["it began".to_owned()]);
    let mut state = State::new(menu, terms);
    state.begin(&mut findings);
    state.check_wrong_inputs(&mut findings);
    for which in choices.into_iter().rev() {
        let what = state.moves(menu).swap_remove(which);
        state.make(&what, &mut findings);
        state.check_wrong_inputs(&mut findings);
        let helps = state.moves(menu).iter().any(|what| !is_from_outside(what));
        findings.check(state.is_over() || helps, Invariant::I11, || "only an outsider helps".to_owned());
    }
    findings
}

/// True for what may never come: a turn must not need it to go on.
fn is_from_outside(what: &Move) -> bool {
    use petasos_core::turn::Input;
    match what {
        Move::Crash(_) => true,
        Move::Say(input) => matches!(**input, Input::Interrupt | Input::Say(_) | Input::AppendFailed(_)),
        Move::Piece(_) | Move::Reply(_) | Move::Continue(_) => false,
    }
}
