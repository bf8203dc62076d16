//! `petasos dev model-server`: scripted replies on this machine's loopback.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use petasos_modelserver::{Options, Script, Server};

use super::Refusal;
use super::watch::Stops;
use crate::print::{self, Printer};

/// Serves a script until a signal comes.
pub(crate) async fn serve(script: &Path, port: u16, record: Option<PathBuf>) -> ExitCode {
    match begin(script, port, record).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(refusal) => refusal.tell(&mut Printer::job()),
    }
}

async fn begin(path: &Path, port: u16, record: Option<PathBuf>) -> Result<(), Refusal> {
    let hint = "docs/format/model-server.md tells how a script is written";
    let text = std::fs::read_to_string(path)
        .map_err(|error| Refusal::config(format!("{}: {error}", path.display()), hint))?;
    let script = Script::parse(&text)
        .map_err(|error| Refusal::config(format!("{}: {error}", path.display()), hint))?;
    let mut stops = Stops::listen();
    let options = Options { port, record, ..Options::default() };
    let server = Server::start(script, options)
        .await
        .map_err(|error| Refusal::config(error.to_string(), "name another --port or --record file"))?;
    print::line(&server.base_url());
    stops.next().await;
    server.stop().await;
    Ok(())
}
