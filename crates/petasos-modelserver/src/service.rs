//! From a request to its answer.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use serde::Serialize;

use crate::body::{Length, Paced};
use crate::choice::Choice;
use crate::record::{Answered, RecordFile, Recorded, masked_headers, masked_path};
use crate::socket::Flushes;
use crate::wire::{Delivery, PLAIN, Telling, WIRES, Wire};
use crate::{Fault, FaultBody, Script};

/// The largest body of a request that is taken.
const LARGEST_BODY: usize = 64 * 1024 * 1024;

/// The largest piece of a body that trickles: less than an event of a stream.
const TRICKLED: usize = 64;

/// Sent for `"garbage"`: zeros, broken UTF-8, half a tag and half a number.
const GARBAGE: &[&[u8]] = &[b"\0\0\xff\xfe<html", b"\xc3\x28 }}]] 1e", b"\r\r\n\x80 : [,\n"];

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// What all connections of a server share.
#[derive(Debug)]
pub(crate) struct Desk {
    script: Script,
    model: String,
    record: Option<RecordFile>,
    told: Mutex<Told>,
}

#[derive(Debug)]
struct Told {
    choice: Choice,
    requests: Vec<Recorded>,
}

/// Why a request gets no reply.
#[derive(Debug)]
struct Refusal {
    status: StatusCode,
    message: String,
}

#[derive(Serialize)]
struct ModelList<'a> {
    object: &'static str,
    data: [ModelTold<'a>; 1],
}

#[derive(Serialize)]
struct ModelTold<'a> {
    id: &'a str,
    object: &'static str,
    owned_by: &'static str,
}

/// What a request asks of us.
#[derive(Clone, Copy, Debug)]
enum Route {
    Models,
    Reply(&'static dyn Wire),
}

impl Desk {
    pub fn new(script: Script, model: String, record: Option<RecordFile>) -> Self {
        let told = Mutex::new(Told { choice: Choice::new(&script), requests: Vec::new() });
        Self { script, model, record, told }
    }

    pub fn requests(&self) -> Vec<Recorded> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).requests.clone()
    }

    /// Answers a request, whatever it is.
    pub async fn answer(self: Arc<Self>, request: Request<Incoming>, flushes: Flushes) -> Response<Paced> {
        let (head, body) = request.into_parts();
        let asked = route(&head.method, head.uri.path());
        let wire = wire_of(head.uri.path()).unwrap_or(PLAIN);
        let refused = |refusal: &Refusal, flushes| refused(wire, refusal, flushes);
        let Some(body) = whole_body(body).await else {
            // It is not kept: a client that is killed while it writes has asked for nothing.
            let message = "the body of the request ends before its length".into();
            return refused(&Refusal { status: StatusCode::BAD_REQUEST, message }, flushes);
        };
        let mut recorded = Recorded {
            at: now(),
            method: head.method.to_string(),
            path: masked_path(head.uri.path_and_query().map_or("", |path| path.as_str())),
            headers: masked_headers(&head.headers),
            body: body.as_ref().map(Bytes::clone).unwrap_or_default(),
            answered: Answered::Refused,
        };
        if let Some(record) = &self.record
            && let Err(error) = record.append(&recorded)
        {
            let message = format!("the record cannot be written ({error}); make room or start without it");
            return refused(&Refusal { status: StatusCode::INTERNAL_SERVER_ERROR, message }, flushes);
        }
        match (body, asked) {
            (Err(refusal), _) | (_, Err(refusal)) => self.keep(recorded, |_, _| refused(&refusal, flushes)),
            (Ok(_), Ok(Route::Models)) => {
                recorded.answered = Answered::Models;
                self.keep(recorded, |_, _| self.models(flushes))
            }
            (Ok(body), Ok(Route::Reply(wire))) => match wire.read(&body) {
                Err(what) => {
                    let message = format!("the body is no request of {}: {what}", wire.name());
                    let refusal = Refusal { status: StatusCode::BAD_REQUEST, message };
                    self.keep(recorded, |_, _| refused(&refusal, flushes))
                }
                Ok(asked) => self.keep(recorded, |told, recorded| {
                    let Some(place) = told.choice.next(asked.results) else {
                        recorded.answered = Answered::NothingLeft;
                        return refused(&nothing_left(&self.script, asked.results), flushes);
                    };
                    recorded.answered = Answered::Reply(place);
                    let Some(reply) = self.script.replies().get(place) else {
                        return refused(&nothing_left(&self.script, asked.results), flushes);
                    };
                    let telling = Telling {
                        reply,
                        model: asked.model.as_deref().unwrap_or(&self.model),
                        request: u64::try_from(told.requests.len()).unwrap_or(u64::MAX).saturating_add(1),
                        asked_bytes: body.len(),
                        seal: asked.seal,
                    };
                    told_reply(wire, &telling, asked.delivery, flushes)
                }),
            },
        }
    }

    /// Makes an answer and keeps the request in one go, so that requests stand in the order of their replies.
    fn keep(
        &self,
        mut recorded: Recorded,
        make: impl FnOnce(&mut Told, &mut Recorded) -> Response<Paced>,
    ) -> Response<Paced> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = make(&mut told, &mut recorded);
        told.requests.push(recorded);
        answer
    }

    fn models(&self, flushes: Flushes) -> Response<Paced> {
        let model = ModelTold { id: &self.model, object: "model", owned_by: "petasos" };
        let list = serde_json::to_vec(&ModelList { object: "list", data: [model] });
        json(StatusCode::OK, list, flushes)
    }
}

fn route(method: &Method, path: &str) -> Result<Route, Refusal> {
    let refuse = |status, message| Err(Refusal { status, message });
    let (route, wanted) = match wire_of(path) {
        Some(wire) => (Route::Reply(wire), Method::POST),
        None if path.ends_with("/models") => (Route::Models, Method::GET),
        None => {
            let known: Vec<String> =
                WIRES.iter().map(|wire| format!("POST …{} ({})", wire.path(), wire.name())).collect();
            let known = known.join(", ");
            return refuse(
                StatusCode::NOT_FOUND,
                format!("nothing is served at {path}; there are {known} and GET …/models"),
            );
        }
    };
    if *method != wanted {
        return refuse(StatusCode::METHOD_NOT_ALLOWED, format!("{path} takes {wanted}, not {method}"));
    }
    Ok(route)
}

fn wire_of(path: &str) -> Option<&'static dyn Wire> {
    WIRES.iter().find(|wire| path.ends_with(wire.path())).copied()
}

/// None if the client went away before its body was whole.
async fn whole_body(body: Incoming) -> Option<Result<Bytes, Refusal>> {
    let too_large = || Refusal {
        status: StatusCode::PAYLOAD_TOO_LARGE,
        message: format!("the body of a request is at most {LARGEST_BODY} bytes"),
    };
    let largest = u64::try_from(LARGEST_BODY).unwrap_or(u64::MAX);
    if body.size_hint().lower() > largest {
        return Some(Err(too_large()));
    }
    match Limited::new(body, LARGEST_BODY).collect().await {
        Ok(whole) => Some(Ok(whole.to_bytes())),
        Err(error) => error.is::<LengthLimitError>().then(|| Err(too_large())),
    }
}

fn nothing_left(script: &Script, results: u64) -> Refusal {
    let lines = script.replies().len();
    let message = format!(
        "the script has no reply left: its {lines} lines hold none for this request, which has {results} tool results"
    );
    Refusal { status: StatusCode::INTERNAL_SERVER_ERROR, message }
}

fn told_reply(
    wire: &dyn Wire,
    telling: &Telling<'_>,
    delivery: Delivery,
    flushes: Flushes,
) -> Response<Paced> {
    if let Some(Fault::Status { status, headers, body }) = &telling.reply.fault {
        return status_fault(wire, *status, headers, body, flushes);
    }
    let (content_type, frames) = match delivery {
        Delivery::Stream => (EVENTS, wire.stream(telling)),
        Delivery::Whole => (JSON, wire.whole(telling).map(|body| vec![body])),
    };
    let mut frames = match frames {
        Ok(frames) => frames,
        Err(error) => return json(StatusCode::OK, Err(error), flushes),
    };
    let fault = telling.reply.fault.as_ref();
    if matches!(fault, Some(Fault::Garbage)) {
        frames = GARBAGE.iter().map(|piece| Bytes::from_static(piece)).collect();
    }
    let length = match delivery {
        Delivery::Stream => Length::Open,
        Delivery::Whole => Length::of(&frames),
    };
    let body = Paced::new(frames, length, flushes);
    let body = match fault {
        Some(Fault::Stall) => body.stalled(),
        Some(Fault::CutAfterBytes(bytes)) => body.cut_after(*bytes),
        Some(Fault::TrickleMs(pace)) => body.trickled(TRICKLED, Duration::from_millis(*pace)),
        None | Some(Fault::Garbage | Fault::Status { .. }) => body,
    };
    response(StatusCode::OK, content_type, body)
}

fn status_fault(
    wire: &dyn Wire,
    status: StatusCode,
    headers: &[(HeaderName, HeaderValue)],
    body: &FaultBody,
    flushes: Flushes,
) -> Response<Paced> {
    let mut answer = match body {
        FaultBody::Usual => {
            let reason = status.canonical_reason().unwrap_or("no known status");
            refused(wire, &Refusal { status, message: format!("{reason} (as the script says)") }, flushes)
        }
        FaultBody::Text(text) => {
            response(status, "text/plain; charset=utf-8", told_body(text.clone().into(), flushes))
        }
        FaultBody::Json(json) => response(status, JSON, told_body(json.clone().into(), flushes)),
    };
    // A name that stands twice is sent twice, but the content type of the script replaces ours.
    if headers.iter().any(|(name, _)| name == CONTENT_TYPE) {
        answer.headers_mut().remove(CONTENT_TYPE);
    }
    for (name, value) in headers {
        answer.headers_mut().append(name.clone(), value.clone());
    }
    answer
}

/// An error in the form of its wire.
fn refused(wire: &dyn Wire, refusal: &Refusal, flushes: Flushes) -> Response<Paced> {
    json(refusal.status, wire.error(refusal.status.as_u16(), &refusal.message), flushes)
}

fn json(status: StatusCode, body: Result<Vec<u8>, serde_json::Error>, flushes: Flushes) -> Response<Paced> {
    match body {
        Ok(body) => response(status, JSON, told_body(body.into(), flushes)),
        Err(error) => {
            let body = told_body(error.to_string().into(), flushes);
            response(StatusCode::INTERNAL_SERVER_ERROR, "text/plain; charset=utf-8", body)
        }
    }
}

fn told_body(body: Bytes, flushes: Flushes) -> Paced {
    let frames = vec![body];
    let length = Length::of(&frames);
    Paced::new(frames, length, flushes)
}

fn response(status: StatusCode, content_type: &'static str, body: Paced) -> Response<Paced> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
