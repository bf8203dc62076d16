//! What is decided about a call before it runs: repair → hooks → claims → judge. What is judged is what runs.

use std::sync::Arc;

use petasos_core::approval::{Grants, Policy, Prepared, Verdict, judge};
use petasos_core::bounded::Bounded;
use petasos_core::entry::ModelCall;
use petasos_core::id::{CallId, Digest};
use petasos_core::text::Text;
use petasos_core::turn::Input;
use petasos_providers::WireNames;
use petasos_tools::{Registry, trouble};

/// A call that is to be prepared.
#[derive(Debug)]
pub(crate) struct Preparing {
    pub(crate) call: CallId,
    pub(crate) made: ModelCall,
    /// The names that the tools were sent under.
    pub(crate) names: WireNames,
    pub(crate) registry: Arc<Registry>,
    pub(crate) policy: Arc<Policy>,
    pub(crate) grants: Grants,
}

impl Preparing {
    /// Claims and verdict. Looks at the file system and may wait for it.
    pub(crate) fn decide(self) -> Input {
        let Self { call, mut made, names, registry, policy, grants } = self;
        let own_name = names.tool(&made.name).map(Text::from);
        let was_sent_as_another = own_name.is_some();
        made.name = own_name.unwrap_or(made.name);
        let prepared = match registry.propose(call, &made) {
            Ok(mut proposal) => {
                if was_sent_as_another {
                    proposal.changed_by.insert(0, Text::from("repair: name"));
                }
                judge(&policy, &grants, proposal)
            }
            Err(text) => invalid(text, policy.hash),
        };
        Input::Prepared { call, prepared }
    }
}

/// The answer for a call whose preparation met a fault of ours.
pub(crate) fn broke_down(call: CallId) -> Input {
    let text = trouble(
        "the call could not be prepared",
        "the tool met a fault of its own while it looked at the arguments",
        "call it with other arguments, or do it another way",
    );
    Input::Prepared { call, prepared: invalid(text, Digest([0; 32])) }
}

fn invalid(text: Bounded, policy: Digest) -> Prepared {
    Prepared { verdict: Verdict::Invalid(text), rule: Text::from("arguments"), policy }
}
