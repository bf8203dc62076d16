//! `petasos resume`: a session goes on.

use std::process::ExitCode;

use petasos_core::approval::{Answer, Scope};
use petasos_core::entry::When;
use petasos_core::id::CallId;
use petasos_core::request::Target;
use petasos_core::session::Terms;
use petasos_core::text::Text;
use petasos_core::turn::{Mode, OnAsk};
use petasos_runtime::{Asking, Op, SessionHandle, WantsTold, how_to_decide};

use super::look_on::look_on;
use super::run::leave;
use super::watch::{Stops, watch};
use super::{Refusal, commands, printer, set_up, unattended};
use crate::args::{HowArguments, ResumeArguments, Which};
use crate::print::{Printer, line_of, question};
use crate::{World, print};

/// Goes on with a session.
pub(crate) async fn resume(arguments: ResumeArguments, world: &World) -> ExitCode {
    let mut printer = printer(&arguments.how);
    if arguments.read_only {
        return look_on(arguments.session.as_deref(), (&arguments.how, world), &mut printer).await;
    }
    match go_on(arguments, world, &mut printer).await {
        Ok(code) => code,
        Err(refusal) => refusal.tell(&mut printer),
    }
}

async fn go_on(
    arguments: ResumeArguments,
    world: &World,
    printer: &mut Printer,
) -> Result<ExitCode, Refusal> {
    let add = arguments.add();
    let ResumeArguments { model, how, session, approve, deny, message, retry, .. } = arguments;
    let mut stops = Stops::listen();
    let setup = set_up(world, None, model.flags())?;
    let found = setup.find(session.as_deref()).await?;
    if let Some(why) = &found.passed_over {
        print::talk(&format!("petasos: a newer session cannot be read: {why}"));
    }
    let (setup, own) = setup.in_workspace(&found.workspace)?.for_session(&found.id).await?;
    let agent = setup.agent(commands(how.allow_commands))?;
    // Another model only if one is named here; else the turn keeps its own. One that was killed before its first turn
    // began has none yet.
    let is_open = own.is_none() || model.flags().names_a_model();
    let chosen = if is_open { Some(stops.or(setup.choose()).await?) } else { None };
    let decision = match (approve, deny) {
        (Some(which), _) => Some((which, Answer::Yes { scope: Scope::Once })),
        (None, Some(which)) => Some((which, Answer::No { reason: Text::from("the user said no") })),
        (None, None) => None,
    };
    let on_ask = unattended(&how, &setup);
    let opening = agent.open(&found.id, |log| setup.terms_for(log, chosen.as_ref(), on_ask));
    let mut session = stops.or(opening).await?;
    introduce(&session, &found.title, &how);
    printer.knows(session.standing().asking.iter().map(|one| one.call));
    let decided = match decision {
        Some((which, answer)) => Some(decide(&session, which, answer).await?),
        None => None,
    };
    match message {
        Some(text) if text.trim().is_empty() => {
            return Err(Refusal::usage("there is nothing in the message", "say something: -m \"…\""));
        }
        Some(text) => {
            let terms = session.terms().clone();
            let terms = Terms { limits: terms.limits.raised_by(&add), ..terms };
            stops.or(setup.check_prices(&terms)).await?;
            session.ask(Op::Terms(Box::new(terms))).await?;
            session.ask(Op::say(text, When::Now)).await?;
        }
        None if retry => {
            let terms = session.terms().clone();
            stops.or(setup.check_prices(&terms)).await?;
            session.ask(Op::Terms(Box::new(terms))).await?;
            session.ask(Op::Retry).await?;
        }
        None if !session.standing().can_continue => {
            let id = session.id();
            return Err(Refusal::usage(
                format!("session {id} is finished: there is nothing to continue"),
                format!("say something new: petasos resume {id} -m \"…\""),
            ));
        }
        None => {
            if model.max_steps.is_some() {
                let hint = "add to them instead: --add-steps N";
                return Err(Refusal::usage("--max-steps is for a new turn; this one keeps its limits", hint));
            }
            // What still waits for a person goes on waiting; a refusal is not what it was parked for.
            for Asking { call, tool, arguments, .. } in &session.standing().asking {
                if decided != Some(*call) && !how.json {
                    print::talk(&question(&call.to_string(), tool, arguments, WantsTold::Approval));
                }
            }
            let terms = session.terms().clone();
            let on_ask = if session.standing().asking.is_empty() { on_ask } else { OnAsk::Park };
            let terms = Terms { mode: Mode { on_ask, ..terms.mode }, ..terms };
            let limits = session.standing().limits.raised_by(&add);
            stops.or(setup.check_prices(&Terms { limits, ..terms.clone() })).await?;
            session.ask(Op::Terms(Box::new(terms))).await?;
            session.ask(Op::Continue { add }).await?;
        }
    }
    let watched = watch(&mut session, printer, &mut stops).await;
    Ok(leave(watched, session).await)
}

/// Which session goes on, and what is wrong with its log.
fn introduce(session: &SessionHandle, title: &str, how: &HowArguments) {
    if !how.json {
        let Target { provider, model, .. } = &session.terms().target;
        let title = line_of(title, 60);
        print::talk(&format!("petasos: session {}, {title:?}, model {model} at {provider}", session.id()));
    }
    for damage in session.damage() {
        print::talk(&format!("petasos: the log of session {} is damaged: {damage}", session.id()));
    }
}

/// A call that waits is decided about before the turn goes on.
async fn decide(session: &SessionHandle, which: Which, answer: Answer) -> Result<CallId, Refusal> {
    let asking = &session.standing().asking;
    let told = || asking.iter().map(|one| one.call.to_string()).collect::<Vec<_>>().join(", ");
    let found = match (which, asking.as_slice()) {
        (_, []) => {
            return Err(Refusal::usage("no call waits for a decision", "go on with: petasos resume ID"));
        }
        (Which::TheOne, [one]) => one,
        (Which::TheOne, several) => {
            for Asking { call, tool, arguments, .. } in several {
                print::talk(&question(&call.to_string(), tool, arguments, WantsTold::Approval));
            }
            let message = format!("several calls wait: {}", told());
            return Err(Refusal::usage(
                message,
                how_to_decide(&format!("petasos resume {}", session.id()), several),
            ));
        }
        (Which::This(call), _) => match asking.iter().find(|one| one.call == call) {
            Some(one) => one,
            None => {
                let message = format!("call {call} does not wait for a decision; these do: {}", told());
                return Err(Refusal::usage(message, "name one of those"));
            }
        },
    };
    let Asking { call, shown, .. } = *found;
    session.ask(Op::Decide { call, answer, shown }).await?;
    Ok(call)
}
