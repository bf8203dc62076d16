//! Tools with typed arguments: schema, reading of arguments and the way to an output are the same for all.

use std::fmt;
use std::future::Future;

use futures_util::future::BoxFuture;
use petasos_core::approval::Approved;
use petasos_core::bounded::Bounded;
use petasos_core::claims::{Access, Claims, Place, PlaceKind, Rerun};
use petasos_core::text::{Json, NotJson};
use petasos_core::tool::{Fact, Outcome, ToolOutput};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use crate::arguments;
use crate::condense::{Condense, condensed, wide};
use crate::output::{Problem, Told, output};
use crate::tool::{Context, Tool, ToolSpec};

/// A tool by its arguments and its work.
pub(crate) trait TypedTool: fmt::Debug + Send + Sync {
    /// Its name.
    const NAME: &'static str;
    /// When to use it, when not, and what it gives.
    const DESCRIPTION: &'static str;
    /// Arguments of a usual call, for people who look at the tool.
    const EXAMPLE: &'static str = "{}";
    /// What a call gives.
    type Arguments: DeserializeOwned + JsonSchema + Send;
    /// What its arguments mean.
    type Target: Send;

    /// What a call touches.
    fn claims(&self, arguments: Self::Arguments) -> Result<Claims, Problem>;

    /// What the arguments mean, and the places among the claims. Found anew when the call runs, since a link may have
    /// changed, and only once: what was compared with what was allowed is what is worked on.
    fn find(&self, arguments: &Self::Arguments) -> Result<(Self::Target, Vec<Place>), Problem>;

    /// Does it.
    fn work(
        &self,
        arguments: Self::Arguments,
        target: Self::Target,
        context: &Context,
    ) -> impl Future<Output = Result<Told, Problem>> + Send;

    /// Sees after a crash whether it was done.
    fn probe(&self, _probe: &Json) -> impl Future<Output = Outcome> + Send {
        std::future::ready(Outcome::Unknown)
    }
}

/// A typed tool behind the seam.
#[derive(Debug)]
pub(crate) struct Typed<T> {
    spec: ToolSpec,
    tool: T,
    condense: Condense,
}

impl<T: TypedTool> Typed<T> {
    /// The tool with its spec.
    pub(crate) fn new(tool: T, condense: Condense) -> Result<Self, NotJson> {
        Ok(Self { spec: arguments::spec::<T::Arguments>(T::NAME, T::DESCRIPTION)?, tool, condense })
    }
}

impl<T: TypedTool> Typed<T> {
    /// Policy and person judged the places that were claimed, so that the same arguments may touch no other.
    fn allowed(&self, arguments: &T::Arguments, call: &Approved) -> Result<T::Target, Problem> {
        let (target, now) = self.tool.find(arguments)?;
        if now == call.proposal().claims.places {
            return Ok(target);
        }
        let names: Vec<String> = now.iter().map(|place| format!("{:?}", &*place.name)).collect();
        let cause = format!("the path means another file now than when it was allowed: {}", names.join(", "));
        Err(Problem::new("not what was allowed", cause, "nothing was done; call it again"))
    }
}

impl<T: TypedTool> Typed<T> {
    /// Does it, and picks from its result if there is a rule for the call.
    async fn condensed_work(
        &self,
        arguments: T::Arguments,
        target: T::Target,
        call: &Approved,
        context: &Context,
    ) -> Result<Told, Problem> {
        match self.condense.rule(T::NAME, &call.proposal().arguments) {
            Some(rule) => {
                let told = self.tool.work(arguments, target, &wide(context)).await?;
                Ok(condensed(rule, told, context).await)
            }
            None => self.tool.work(arguments, target, context).await,
        }
    }
}

impl<T: TypedTool> Tool for Typed<T> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn example(&self) -> &str {
        T::EXAMPLE
    }

    fn claims(&self, arguments: &Json) -> Result<Claims, Bounded> {
        let read = arguments::read(&self.spec, arguments);
        read.and_then(|arguments| self.tool.claims(arguments)).map_err(|problem| problem.bounded())
    }

    fn run<'a>(&'a self, call: &'a Approved, context: Context) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let began = Instant::now();
            let told = match arguments::read(&self.spec, &call.proposal().arguments) {
                Ok(arguments) => match self.allowed(&arguments, call) {
                    Ok(target) => self.condensed_work(arguments, target, call, &context).await,
                    Err(problem) => Ok(not_done(problem, &call.proposal().claims.places)),
                },
                Err(problem) => Err(problem),
            };
            output(&context, began, told.unwrap_or_else(Told::from)).await
        })
    }

    fn probe<'a>(&'a self, probe: &'a Json) -> BoxFuture<'a, Outcome> {
        Box::pin(self.tool.probe(probe))
    }
}

/// A problem, and the facts that the files which were to be written were not.
fn not_done(problem: Problem, places: &[Place]) -> Told {
    let files = places.iter().filter(|place| (place.kind, place.access) == (PlaceKind::Path, Access::Write));
    files.fold(Told::from(problem), |told, file| told.with(Fact::NotWritten { path: file.name.clone() }))
}

/// Claims of a call that changes nothing.
pub(crate) fn reads(places: Vec<Place>) -> Claims {
    Claims { rerun: Rerun::Free, places, alone: false, argv: Vec::new(), probe: None }
}
