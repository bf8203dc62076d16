//! `petasos dev request`: the body of a request, written again from its session.

use std::process::ExitCode;
use std::sync::Arc;

use petasos_core::request::Wire;
use petasos_runtime::{RequestError, Same, Setup, Written};

use super::Refusal;
use crate::World;
use crate::print::{self, Printer};

/// Prints a request.
pub(crate) async fn request(wire: Option<Wire>, session: &str, step: Option<u64>, world: &World) -> ExitCode {
    match write(wire, session, step, world).await {
        Ok(Written { seq, body, same }) => {
            print::bytes(&body);
            match same {
                Same::Yes => ExitCode::SUCCESS,
                Same::OtherWire => {
                    print::talk(&format!("petasos: entry {seq} was sent on another wire than this one"));
                    ExitCode::SUCCESS
                }
                Same::No => {
                    print::talk(&format!(
                        "petasos: this is not what was sent for entry {seq}: this version of petasos writes it \
                         differently, or lines of its log are damaged"
                    ));
                    ExitCode::FAILURE
                }
            }
        }
        Err(refusal) => refusal.tell(&mut Printer::job()),
    }
}

async fn write(
    wire: Option<Wire>,
    session: &str,
    step: Option<u64>,
    world: &World,
) -> Result<Written, Refusal> {
    let setup = Setup::to_look(world.environment.clone(), None, Arc::clone(&world.disk))?;
    let found = setup.find(Some(session)).await?;
    setup.request(&found.id, wire, step).await.map_err(|error| match error {
        RequestError::Log(error) => {
            Refusal::usage(error.to_string(), "petasos sessions show tells what happened in the session")
        }
        RequestError::Store(error) => error.into(),
    })
}
