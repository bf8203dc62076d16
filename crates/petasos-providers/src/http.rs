//! A provider behind HTTP: one client, bounded waits, and an answer that is read whatever it is.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use futures_util::future::{BoxFuture, join_all};
use futures_util::stream;
use petasos_core::entry::Head;
use petasos_core::learnt::Learnt;
use petasos_core::request::{Target, Wire};
use petasos_core::stop::FailureKind;
use petasos_core::text::Text;
use petasos_core::turn::Failure;
use petasos_core::usage::Usage;
use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION,
};
use reqwest::{Client, RequestBuilder, Response, redirect};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use tokio::time::{Instant, timeout_at};

use crate::answer::AnswerDecoder;
use crate::classify::{ErrorAnswer, WaitHeaders, classify, wait_asked};
use crate::endpoint::{Endpoint, Timeouts, after};
use crate::models;
use crate::network::unreachable;
use crate::packing::{is_gzip, packed, packing};
use crate::provider::{Encoder, Outgoing, Provider, ReplyEvent, ReplyStream, Waits, encoder_knowing};
use crate::quirks::{MessagesKey, Quirks};
use crate::reading::Reading;
use crate::remedy::is_sent;
use crate::spoken::other_wires;
use crate::windows::{Looked, Manner, Place, QUESTIONS, Question};

/// The most that is read of an error's body (P06).
const ERROR_CAP: usize = 64 << 10;
/// How long its body is read (P06).
const ERROR_TIME: Duration = Duration::from_secs(10);
/// The most that a list of models may hold.
const MODELS_CAP: usize = 4 << 20;
/// How long a server is asked for its window, and how much it may say.
const WINDOW_TIME: Duration = Duration::from_secs(1);
const WINDOW_CAP: usize = 1 << 20;

/// Which version of the Messages wire is spoken (docs.claude.com/en/api/versioning).
const MESSAGES_VERSION: &str = "2023-06-01";
const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// A provider that is asked over HTTP. The client behind it is made at the first request.
#[derive(Clone, Debug)]
pub struct HttpProvider {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    endpoint: Endpoint,
    host: String,
    client: OnceLock<Result<Client, String>>,
}

/// Where a call stands.
enum Calling {
    Sending { shared: Arc<Shared>, target: Target, body: Outgoing },
    Reading(Arc<Shared>, Box<Reading>),
    Ended,
}

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Reply,
    Models,
}

impl HttpProvider {
    /// A provider at this endpoint. Opens nothing.
    pub fn new(endpoint: Endpoint) -> Self {
        let host = endpoint.host();
        Self { shared: Arc::new(Shared { endpoint, host, client: OnceLock::new() }) }
    }

    /// Where it is.
    pub fn endpoint(&self) -> &Endpoint {
        &self.shared.endpoint
    }
}

impl Provider for HttpProvider {
    fn encoder(&self, target: &Target, head: &Head, learnt: &Learnt) -> Box<dyn Encoder> {
        encoder_knowing(target, head, learnt)
    }

    fn waits(&self, target: &Target) -> Option<Waits> {
        let Shared { endpoint, host, .. } = &*self.shared;
        Some(Waits { host: host.as_str().into(), timeouts: endpoint.timeouts(&target.model) })
    }

    fn call(&self, target: &Target, body: Outgoing) -> ReplyStream {
        let calling = Calling::Sending { shared: Arc::clone(&self.shared), target: target.clone(), body };
        Box::pin(stream::unfold(calling, advance))
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<Text>, Failure>> {
        Box::pin(self.shared.models())
    }

    fn look<'a>(&'a self, model: &'a str) -> BoxFuture<'a, Looked> {
        Box::pin(self.shared.look(model))
    }
}

/// The next event of a call.
async fn advance(mut calling: Calling) -> Option<(ReplyEvent, Calling)> {
    loop {
        calling = match calling {
            Calling::Sending { shared, target, body } => match shared.post(&target, body).await {
                Ok(reading) => Calling::Reading(shared, Box::new(reading)),
                Err(failure) => return Some((ReplyEvent::Failed(failure), Calling::Ended)),
            },
            Calling::Reading(shared, mut reading) => match reading.next().await {
                delta @ ReplyEvent::Delta(_) => return Some((delta, Calling::Reading(shared, reading))),
                end @ ReplyEvent::Done(_) => return Some((end, Calling::Ended)),
                ReplyEvent::Failed(failure) => {
                    let message = shared.without_key(&failure.message).into();
                    return Some((ReplyEvent::Failed(Failure { message, ..failure }), Calling::Ended));
                }
            },
            Calling::Ended => return None,
        };
    }
}

impl Shared {
    /// Why a target cannot be asked here.
    fn refusal(&self, target: &Target) -> Option<Failure> {
        if target.wire == self.endpoint.wire() {
            return None;
        }
        let name = self.endpoint.name();
        let message = format!("the provider {name} is asked on another wire; choose another target");
        Some(not_sent(FailureKind::BadRequest, &message))
    }

    async fn post(&self, target: &Target, body: Outgoing) -> Result<Reading, Failure> {
        if let Some(refusal) = self.refusal(target) {
            return Err(refusal);
        }
        let started = Instant::now();
        let url = self.endpoint.url(request_path(self.endpoint.wire()));
        let sent = body.bytes.clone();
        let request = self.client()?.post(url).body(body.bytes);
        let request = request.header(CONTENT_TYPE, "application/json").header(ACCEPT, "text/event-stream");
        let timeouts = self.endpoint.timeouts(&target.model);
        let response = match self.send(request, (started, timeouts), Wanted::Reply).await {
            Ok(response) => response,
            Err(failure) => {
                let remedy = failure.remedy.filter(|remedy| is_sent(*remedy, &sent));
                return Err(Failure { remedy, ..failure });
            }
        };
        let decoder = AnswerDecoder::new(target, &self.host).reading(&body.calls);
        let decoder = match &self.endpoint.key {
            Some(key) => decoder.hiding(key.clone()),
            None => decoder,
        };
        Ok(Reading::new(response, decoder, &self.host, (started, self.endpoint.patience(&target.model))))
    }

    async fn models(&self) -> Result<Vec<Text>, Failure> {
        let started = Instant::now();
        let request = self.client()?.get(self.endpoint.url(&["models"])).header(ACCEPT, "application/json");
        let timeouts = self.endpoint.timeouts("");
        let response = self.send(request, (started, timeouts), Wanted::Models).await?;
        let until = after(started, timeouts.first_byte);
        let body = read_upto(response, MODELS_CAP, until).await;
        models::read(&self.host, &body, self.endpoint.key.as_ref())
    }

    /// The window of a model, by the first of the questions that is answered.
    async fn look(&self, model: &str) -> Looked {
        if !self.endpoint.is_near() {
            return Looked::default();
        }
        let until = Instant::now() + WINDOW_TIME;
        let answers = QUESTIONS.iter().map(|question| async move {
            let answer = self.ask(question, model, until).await?;
            Some((question.read)(&answer, model))
        });
        Looked::all(join_all(answers).await.into_iter().flatten())
    }

    async fn ask(&self, question: &Question, model: &str, until: Instant) -> Option<String> {
        let url = match question.place {
            Place::Base => self.endpoint.url(question.path),
            Place::Root => self.endpoint.root_url(question.path),
        };
        let client = self.client().ok()?;
        let request = match question.manner {
            Manner::Plain => client.get(url),
            Manner::Named => {
                let body = serde_json::to_string(&BTreeMap::from([("model", model)])).ok()?;
                client.post(url).header(CONTENT_TYPE, "application/json").body(body)
            }
        };
        let request = self.introduced(request.header(ACCEPT, "application/json")).ok()?;
        let response = timeout_at(until, request.send()).await.ok()?.ok()?;
        if !response.status().is_success() {
            return None;
        }
        // What is cut here cannot be read, and says nothing.
        String::from_utf8(read_upto(response, WINDOW_CAP, until).await).ok()
    }

    /// Sends a request; the answer is a good one, its body unread.
    async fn send(
        &self,
        request: RequestBuilder,
        (started, timeouts): (Instant, Timeouts),
        wanted: Wanted,
    ) -> Result<Response, Failure> {
        // Without a word about it any packing would do.
        let request = self.introduced(request)?.header(ACCEPT_ENCODING, "identity");
        let first = after(started, timeouts.first_byte);
        let until = timeouts.call.map_or(first, |call| first.min(after(started, call)));
        let response = match timeout_at(until, request.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(unreachable(&self.host, &error)),
            Err(_) => {
                let waited = started.elapsed().as_secs();
                let setting = if until < first { "timeouts.call" } else { "timeouts.first_byte" };
                let message = format!("no answer from {} for {waited} s ({setting})", self.host);
                return Err(Failure {
                    usage: None,
                    micro_usd: None,
                    ..not_sent(FailureKind::Timeout, &message)
                });
            }
        };
        if response.status().is_success() {
            return match packing(response.headers()) {
                Some(packing) => {
                    let message = packed(&self.host, &packing);
                    Err(Failure {
                        usage: None,
                        micro_usd: None,
                        ..not_sent(FailureKind::BadRequest, &message)
                    })
                }
                None => Ok(response),
            };
        }
        Err(self.error_answer(response, timeouts.call.map(|call| after(started, call)), wanted).await)
    }

    /// A request with the headers that tell who asks, and after which version of the wire.
    fn introduced(&self, request: RequestBuilder) -> Result<RequestBuilder, Failure> {
        let wire = self.endpoint.wire();
        let request = match wire {
            Wire::Chat | Wire::Responses => request,
            Wire::Messages => request.header("anthropic-version", MESSAGES_VERSION),
        };
        let Some(key) = &self.endpoint.key else { return Ok(request) };
        let bearer = || (AUTHORIZATION, format!("Bearer {}", key.reveal()));
        let own = || (X_API_KEY, key.reveal().to_owned());
        let headers = match (wire, Quirks::of(self.endpoint.name()).messages_key) {
            (Wire::Chat | Wire::Responses, _) => vec![bearer()],
            (Wire::Messages, MessagesKey::OwnHeader) => vec![own()],
            (Wire::Messages, MessagesKey::BothHeaders) => vec![own(), bearer()],
        };
        let mut request = request;
        for (name, value) in headers {
            let Ok(mut value) = HeaderValue::from_str(&value) else {
                let message = "the key holds characters that no header can carry; check how it was set";
                return Err(not_sent(FailureKind::Auth, message));
            };
            value.set_sensitive(true);
            request = request.header(name, value);
        }
        Ok(request)
    }

    async fn error_answer(&self, response: Response, call_until: Option<Instant>, wanted: Wanted) -> Failure {
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let until = Instant::now() + ERROR_TIME;
        let until = call_until.map_or(until, |call| call.min(until));
        let location = text(&headers, LOCATION.as_str()).filter(|_| response.status().is_redirection());
        if let Some(location) = location {
            // A key never follows to another place, so nothing does.
            let place: String = self.without_key(location).chars().take(200).collect();
            let message = format!(
                "{status} from {}: it sends requests on to {place}; is that the base URL?",
                self.host
            );
            return Failure { status: Some(status), ..not_sent(FailureKind::NotFound, &message) };
        }
        let wait = WaitHeaders {
            after: text(&headers, "retry-after"),
            after_ms: text(&headers, "retry-after-ms"),
            date: text(&headers, "date"),
        };
        let body = read_upto(response, ERROR_CAP, until).await;
        let body = match packing(&headers).or_else(|| is_gzip(&body).then(|| String::from("gzip"))) {
            Some(packing) => format!("a body packed as {packing}, which was not asked for"),
            None => self.without_key(&String::from_utf8_lossy(&body)),
        };
        let failure = classify(&ErrorAnswer {
            host: &self.host,
            status,
            media: text(&headers, CONTENT_TYPE.as_str()).unwrap_or_default(),
            body: &body,
            retry_after: wait_asked(&wait, SystemTime::now()),
        });
        // A key that was written with escapes shows only now.
        let message = self.without_key(&failure.message).into();
        let failure = self.with_hint(Failure { message, ..failure });
        // There is nothing at that path; where a model is named, the path was right.
        let is_path = matches!(status, 404 | 405) && !body.to_ascii_lowercase().contains("model");
        if wanted == Wanted::Models || !is_path {
            return failure;
        }
        let message = format!("{}; {}", failure.message, other_wires(self.endpoint.wire())).into();
        Failure { message, ..failure }
    }

    /// What a server says, without the key that it may say back.
    fn without_key(&self, text: &str) -> String {
        self.endpoint.key.as_ref().map_or_else(|| text.to_owned(), |key| key.hidden_in(text))
    }

    /// Adds what the endpoint itself tells about a failure.
    fn with_hint(&self, failure: Failure) -> Failure {
        let hint = match failure.kind {
            FailureKind::Auth if self.endpoint.key.is_none() => "no key was sent",
            FailureKind::NotFound if self.endpoint.is_without_path() => "the base URL has no path: add /v1",
            FailureKind::Auth
            | FailureKind::NotFound
            | FailureKind::Billing
            | FailureKind::RateLimit
            | FailureKind::Overloaded
            | FailureKind::Timeout
            | FailureKind::Network
            | FailureKind::BadRequest
            | FailureKind::Overflow
            | FailureKind::Empty
            | FailureKind::BadStream
            | FailureKind::Other => return failure,
        };
        Failure { message: format!("{}; {hint}", failure.message).into(), ..failure }
    }

    fn client(&self) -> Result<&Client, Failure> {
        let made = self.client.get_or_init(|| client(&self.endpoint));
        made.as_ref()
            .map_err(|why| not_sent(FailureKind::Other, &format!("no HTTP client could be made: {why}")))
    }
}

/// What requests of a wire go to, below the base URL.
pub(crate) fn request_path(wire: Wire) -> &'static [&'static str] {
    match wire {
        Wire::Chat => &["chat", "completions"],
        Wire::Responses => &["responses"],
        Wire::Messages => &["messages"],
    }
}

/// The one place where a client is made and TLS is set.
fn client(endpoint: &Endpoint) -> Result<Client, String> {
    let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let client = Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(redirect::Policy::none())
        .connect_timeout(endpoint.connect_timeout())
        .user_agent(concat!("petasos/", env!("CARGO_PKG_VERSION")));
    // A proxy of the environment knows nothing of servers on this machine.
    let client = if endpoint.is_loopback() { client.no_proxy() } else { client };
    client.build().map_err(|error| error.without_url().to_string())
}

/// What comes of a body until it ends, breaks off, is as large as `cap`, or this time has come.
async fn read_upto(mut response: Response, cap: usize, until: Instant) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Ok(Some(bytes))) = timeout_at(until, response.chunk()).await {
        let room = cap.saturating_sub(body.len());
        body.extend(bytes.iter().take(room));
        if body.len() >= cap {
            break;
        }
    }
    body
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// A failure that used nothing.
fn not_sent(kind: FailureKind, message: &str) -> Failure {
    let usage = Some(Usage::default());
    Failure {
        kind,
        status: None,
        message: message.into(),
        retry_after: None,
        remedy: None,
        usage,
        micro_usd: Some(0),
    }
}
