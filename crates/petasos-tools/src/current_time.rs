//! `current_time`: the time at which the call began.

use jiff::Timestamp;
use jiff::tz::{TimeZone, db};
use petasos_core::claims::{Claims, Place};
use petasos_core::time::Time;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::nearest::nearest;
use crate::output::{Problem, Told};
use crate::tool::Context;
use crate::typed::{TypedTool, reads};

/// `current_time`.
#[derive(Debug)]
pub(crate) struct CurrentTime;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// IANA name such as Asia/Shanghai; the local zone if left out.
    zone: Option<String>,
}

impl TypedTool for CurrentTime {
    const NAME: &'static str = "current_time";
    const DESCRIPTION: &'static str = "The date, weekday and time now, in a time zone. Use it whenever today's date \
        matters. To reckon with dates use run_command (date).";
    type Arguments = Arguments;
    type Target = ();

    fn claims(&self, _: Arguments) -> Result<Claims, Problem> {
        Ok(reads(Vec::new()))
    }

    fn find(&self, _: &Arguments) -> Result<((), Vec<Place>), Problem> {
        Ok(((), Vec::new()))
    }

    async fn work(&self, arguments: Arguments, (): (), context: &Context) -> Result<Told, Problem> {
        let zone = match arguments.zone.as_deref().map(str::trim) {
            None | Some("") => TimeZone::system(),
            Some(name) => TimeZone::get(name).map_err(|_| unknown(name))?,
        };
        Ok(Told::ok(said(context.now, zone)?))
    }
}

fn said(now: Time, zone: TimeZone) -> Result<String, Problem> {
    let milliseconds = i64::try_from(now.0).unwrap_or(i64::MAX);
    let timestamp = Timestamp::from_millisecond(milliseconds).map_err(|error| {
        Problem::new("no such time", error.to_string(), "the clock of this machine is wrong; tell the person")
    })?;
    let zoned = timestamp.to_zoned_datetime(zone);
    let name = zoned.time_zone().iana_name().unwrap_or("local zone").to_owned();
    Ok(format!("{} ({name})", zoned.strftime("%A, %Y-%m-%d %H:%M:%S %:z")))
}

fn unknown(name: &str) -> Problem {
    let known: Vec<String> = db().available().map(|zone| zone.as_str().to_owned()).collect();
    let city = |zone: &'_ str| zone.rsplit('/').next().unwrap_or_default().to_owned();
    let near = nearest(name, known.iter().map(String::as_str)).map(str::to_owned).or_else(|| {
        // Often only the city is given, or with the wrong continent.
        let wanted = city(name).to_lowercase().replace(' ', "_");
        known.iter().find(|zone| city(zone).to_lowercase() == wanted).cloned()
    });
    let hint = match near {
        Some(near) => format!("did you mean {near}? UTC always works"),
        None => "give an IANA name such as Europe/Berlin or Asia/Shanghai; UTC always works".to_owned(),
    };
    Problem::new("unknown time zone", format!("{name:?} is no IANA time zone"), hint)
}
