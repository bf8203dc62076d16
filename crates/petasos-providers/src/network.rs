//! What went wrong below HTTP, in words that tell a name from a connection from a certificate.

use std::error::Error;
use std::io;

use petasos_core::stop::FailureKind;
use petasos_core::turn::Failure;
use petasos_core::usage::Usage;

/// The failure of a request that got no answer. Its message names the host, never the URL or the key.
pub(crate) fn unreachable(host: &str, error: &reqwest::Error) -> Failure {
    let causes = causes(error);
    let cause = causes.last().cloned().unwrap_or_default();
    let is_refused = io_error(error).is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
    let (kind, message) = if error.is_timeout() {
        (
            FailureKind::Timeout,
            format!("no connection to {host} in time (timeouts.connect); is it reachable from here?"),
        )
    } else if causes.iter().any(|cause| cause.contains("dns error")) {
        let next = "check the base URL and the network";
        (FailureKind::Network, format!("the name of {host} cannot be resolved ({cause}); {next}"))
    } else if is_tls(error) {
        let next = "is it an https server, and its certificate from a public authority?";
        (FailureKind::Network, format!("no TLS connection to {host} ({cause}); {next}"))
    } else if is_refused {
        (FailureKind::Network, format!("nothing listens at {host}; is the server running?"))
    } else if causes.iter().any(|cause| is_no_http(cause)) {
        let next = "is it a server of HTTP, at this port? one with TLS is asked by https://";
        (FailureKind::BadStream, format!("{host} answered in no HTTP that can be read ({cause}); {next}"))
    } else if error.is_connect() {
        (FailureKind::Network, format!("no connection to {host} ({cause}); check the network"))
    } else {
        (FailureKind::Network, format!("{host} closed the connection before it answered ({cause})"))
    };
    // Without a connection nothing was sent.
    let usage = error.is_connect().then(Usage::default);
    let micro_usd = usage.map(|_| 0);
    Failure { kind, status: None, message: message.into(), retry_after: None, remedy: None, usage, micro_usd }
}

/// What broke a body off.
pub(crate) fn cause(error: &reqwest::Error) -> String {
    causes(error).last().cloned().unwrap_or_default()
}

/// The causes below an error. Its own text is not among them: it may hold the URL.
fn causes(error: &reqwest::Error) -> Vec<String> {
    sources(error).map(|error| error.to_string().chars().take(300).collect()).collect()
}

fn sources(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(error.source(), |error| (*error).source())
}

fn io_error(error: &reqwest::Error) -> Option<&io::Error> {
    sources(error).find_map(|error| error.downcast_ref())
}

/// True if this is said of an answer whose head cannot be read. The words are those of hyper, whose errors have no
/// names that would tell it.
fn is_no_http(cause: &str) -> bool {
    cause.starts_with("invalid HTTP")
        || cause.ends_with(" parsed")
        || cause.contains("message head is too large")
}

fn is_tls(error: &reqwest::Error) -> bool {
    sources(error).any(|mut error| {
        // rustls stands inside an io::Error, maybe inside of another, and neither names it as its source.
        while let Some(inner) = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            error = inner;
        }
        error.is::<rustls::Error>()
    })
}
