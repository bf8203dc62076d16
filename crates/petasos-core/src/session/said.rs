//! What is said: on disk before it is acknowledged, and when it enters.

use crate::approval::Answer;
use crate::budget::Limits;
use crate::entry::{Cause, Content, Decision, Said, Speaker, VerdictKind, When};
use crate::error::{Handled, Rejected};
use crate::id::{CallId, Digest, Seq};
use crate::session::{Session, continues};
use crate::stop::StopReason;
use crate::text::Text;
use crate::turn::Phase;
use crate::turn::verdict::answer_question;

impl Session {
    /// `Say`. A steer waits for the next request, a follow-up for the end of the turn; with no run
    /// under way either starts a turn. To a parked question, a message is the answer.
    pub(crate) fn say(&mut self, said: Said) -> Result<Handled, Rejected> {
        if let Some(withdrawn) = said.withdraws {
            self.may_be_withdrawn(withdrawn)?;
        }
        match (is_blank(&said.content), said.withdraws) {
            (true, None) => return Err(Rejected::Empty),
            (true, Some(_)) => {
                self.write(Said { content: Vec::new(), ..said });
                return Ok(Handled::Taken);
            }
            (false, _) => {}
        }
        if self.is_running() {
            let when = match said.when {
                When::NextStep => When::NextStep,
                When::Now | When::AfterTurn => When::AfterTurn,
            };
            self.write(Said { when, ..said });
            return Ok(Handled::Taken);
        }
        match (self.parked_question(), plain_text(&said.content)) {
            (Some((call, shown)), Some(text)) if said.withdraws.is_none() => {
                self.answer(call, shown, said.from, text);
            }
            _ => {
                self.supersede();
                let seq = self.write(Said { when: When::Now, ..said });
                self.absorb();
                self.begin_turn(Cause::Said { said: seq }, &Limits::default());
            }
        }
        Ok(Handled::Taken)
    }

    /// What waits can be taken back until a request that holds it is on its way.
    fn may_be_withdrawn(&self, seq: Seq) -> Result<(), Rejected> {
        let drafted = match self.turn.as_ref().map(crate::turn::Turn::phase) {
            Some(Phase::Measuring(draft) | Phase::Reserving { draft, .. }) => Some(draft.upto),
            _ => None,
        };
        let is_drafted = self.journal.view.steers.contains(&seq) && drafted.is_some_and(|upto| seq <= upto);
        if self.queue.contains_key(&seq) && !is_drafted { Ok(()) } else { Err(Rejected::NotWaiting(seq)) }
    }

    /// The question that the turn was parked for.
    fn parked_question(&self) -> Option<(CallId, Digest)> {
        let told = self.turn.as_ref()?.told();
        if told.ended != Some(StopReason::AwaitingAnswer) {
            return None;
        }
        let open = told.step.reply.as_ref()?;
        open.calls.iter().find_map(|call| {
            let asked = call.call.as_ref().filter(|asked| asked.verdict == VerdictKind::Ask)?;
            call.result.is_none().then_some((asked.call, asked.shown))
        })
    }

    /// The message is the answer, and the turn goes on.
    fn answer(&mut self, call: CallId, shown: Digest, by: Speaker, text: Text) {
        let Some(turn) = &mut self.turn else { return };
        let start = continues(turn, self.changed.take().as_deref());
        let mut pen = turn.pen(&mut self.journal);
        pen.write(start);
        let answer = Answer::Text(text.clone());
        pen.write(Decision { call, answer, by, shown });
        answer_question(&mut pen, call, &text);
        self.run();
    }
}

fn is_blank(content: &[Content]) -> bool {
    content.iter().all(|piece| match piece {
        Content::Text(text) => text.is_blank(),
        Content::Blob { .. } => false,
    })
}

/// The whole of it, if it is text alone.
fn plain_text(content: &[Content]) -> Option<Text> {
    let pieces: Option<Vec<&str>> = content
        .iter()
        .map(|piece| match piece {
            Content::Text(text) => Some(&**text),
            Content::Blob { .. } => None,
        })
        .collect();
    Some(Text::from(pieces?.join("\n")))
}
