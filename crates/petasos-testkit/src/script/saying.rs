//! What a scripted model says to one request.

use petasos_core::entry::{CallForm, FinishReason};
use petasos_core::learnt::Adapt;
use petasos_core::stop::FailureKind;
use petasos_core::text::Text;
use petasos_core::time::{Permille, Span};
use petasos_core::turn::{Delta, Failure, Remedy, ReplyEnd};

use crate::words::{call, ends, failure};

/// What a model says to one request: pieces, then an end or a failure.
#[derive(Clone, Debug)]
pub struct Saying {
    pub(crate) deltas: Vec<Delta>,
    pub(crate) end: Result<ReplyEnd, (Failure, Permille)>,
}

/// Text, and no more.
pub fn text(text: &str) -> Saying {
    let deltas = vec![Delta::Text(text.into())];
    Saying { deltas, end: Ok(ends(FinishReason::Stop)) }
}

/// Calls of these tools, all whole.
pub fn calls<const N: usize>(tools: [&str; N]) -> Saying {
    let deltas = tools.iter().zip(0..).flat_map(|(tool, place)| call(place, tool, "{}")).collect();
    Saying { deltas, end: Ok(ends(FinishReason::ToolUse)) }
}

/// Calls of these tools with these arguments, all whole.
pub fn calls_with<const N: usize>(made: [(&str, &str); N]) -> Saying {
    let deltas =
        made.iter().zip(0..).flat_map(|((tool, arguments), place)| call(place, tool, arguments)).collect();
    Saying { deltas, end: Ok(ends(FinishReason::ToolUse)) }
}

/// Text that comes in pieces of so many characters.
pub fn pieces(text: &str, length: usize) -> Saying {
    let characters: Vec<char> = text.chars().collect();
    let piece = |piece: &[char]| Delta::Text(piece.iter().collect::<String>().into());
    Saying { deltas: characters.chunks(length).map(piece).collect(), end: Ok(ends(FinishReason::Stop)) }
}

/// An empty reply.
pub fn nothing() -> Saying {
    Saying { deltas: Vec::new(), end: Ok(ends(FinishReason::Stop)) }
}

/// Text that was cut at its length.
pub fn cut(text: &str) -> Saying {
    self::text(text).finish(FinishReason::Length)
}

/// A refusal, with the words it comes in.
pub fn refusal(text: &str) -> Saying {
    self::text(text).finish(FinishReason::Refused)
}

/// A request that failed before anything came.
pub fn fails(kind: FailureKind) -> Saying {
    Saying { deltas: Vec::new(), end: Err((failure(kind), Permille(0))) }
}

impl Saying {
    /// With this text before the rest.
    pub fn after_text(mut self, text: &str) -> Self {
        self.deltas.insert(0, Delta::Text(text.into()));
        self
    }

    /// With this reasoning before the rest.
    pub fn after_reasoning(mut self, text: &str) -> Self {
        self.deltas.insert(0, Delta::Reasoning(text.into()));
        self
    }

    /// With this text behind the rest.
    pub fn then_text(mut self, text: &str) -> Self {
        self.deltas.push(Delta::Text(text.into()));
        self
    }

    /// With these pieces behind the rest.
    pub fn with_deltas(mut self, deltas: impl IntoIterator<Item = Delta>) -> Self {
        self.deltas.extend(deltas);
        self
    }

    /// With one more call, the text of which did not arrive whole.
    pub fn with_half_a_call(mut self, tool: &str) -> Self {
        let place = self.deltas.iter().filter(|delta| matches!(delta, Delta::Call { .. })).count();
        let mut half = call(u16::try_from(place).unwrap(), tool, "{\"a");
        half.pop();
        self.deltas.extend(half);
        self
    }

    /// With these wire ids for its calls.
    pub fn wire_ids<const N: usize>(mut self, ids: [Option<&str>; N]) -> Self {
        let mut ids = ids.into_iter();
        for delta in &mut self.deltas {
            if let Delta::Call { wire_id, .. } = delta {
                *wire_id = ids.next().unwrap().map(Text::from);
            }
        }
        self
    }

    /// With calls in another form.
    pub fn in_form(mut self, as_form: CallForm) -> Self {
        for delta in &mut self.deltas {
            if let Delta::Call { form, .. } = delta {
                *form = as_form;
            }
        }
        self
    }

    /// With another finish reason.
    pub fn finish(mut self, finish: FinishReason) -> Self {
        self.end = Ok(ends(finish));
        self
    }

    /// Its pieces come, and then it fails.
    pub fn then_fails(mut self, kind: FailureKind) -> Self {
        self.end = Err((failure(kind), Permille(0)));
        self
    }

    /// A failure whose provider asks to wait.
    pub fn asking_to_wait(mut self, span: Span) -> Self {
        if let Err((failure, _)) = &mut self.end {
            failure.retry_after = Some(span);
        }
        self
    }

    /// A failure whose provider says what it does not take.
    pub fn teaching(mut self, adapt: Adapt) -> Self {
        if let Err((failure, _)) = &mut self.end {
            failure.remedy = Some(Remedy::Adapt(adapt));
        }
        self
    }

    /// A failure of a target that is known to be out of order for a while.
    pub fn out_of_order(mut self) -> Self {
        if let Err((failure, _)) = &mut self.end {
            failure.remedy = Some(Remedy::NextTarget);
        }
        self
    }

    /// A failure, and the chance that comes with it.
    pub fn with_chance(mut self, jitter: Permille) -> Self {
        if let Err((_, chance)) = &mut self.end {
            *chance = jitter;
        }
        self
    }

    /// Nobody says what it used.
    pub fn without_usage(mut self) -> Self {
        match &mut self.end {
            Ok(end) => (end.usage, end.micro_usd) = (None, None),
            Err((failure, _)) => (failure.usage, failure.micro_usd) = (None, None),
        }
        self
    }
}
