//! What is told while a model is silent. Time is tokio's own, paused: it goes on when all wait.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{StreamExt as _, stream};
use petasos_core::entry::{CallForm, FinishReason, Head, When};
use petasos_core::learnt::Learnt;
use petasos_core::request::Target;
use petasos_core::stop::FailureKind;
use petasos_core::text::Text;
use petasos_core::time::Span;
use petasos_core::turn::{Delta, Failure};
use petasos_providers::{Encoder, Outgoing, Provider, ReplyEvent, ReplyStream, Timeouts, Waits};
use petasos_runtime::{Agent, Bound, Event, Op, Parts, SessionHandle, WaitedFor};
use petasos_testkit::words::{ends, failure, terms};
use tokio::time::{Instant, sleep};

use crate::around::{Around, Only, Paused, types};

/// What a model does, after so many seconds each.
type Steps = Vec<(u64, ReplyEvent)>;

/// A model that takes its time.
#[derive(Debug)]
struct Slow {
    replies: Mutex<VecDeque<Steps>>,
    call: Option<Duration>,
}

impl Provider for Slow {
    fn encoder(&self, target: &Target, head: &Head, learnt: &Learnt) -> Box<dyn Encoder> {
        petasos_providers::encoder_knowing(target, head, learnt)
    }

    fn waits(&self, _target: &Target) -> Option<Waits> {
        let timeouts = Timeouts { call: self.call, ..Timeouts::default() };
        Some(Waits { host: "models.example".into(), timeouts })
    }

    fn call(&self, _target: &Target, _body: Outgoing) -> ReplyStream {
        let steps = self.replies.lock().unwrap().pop_front().expect("the script is over");
        let after = |(seconds, event)| async move {
            sleep(Duration::from_secs(seconds)).await;
            event
        };
        stream::iter(steps).then(after).chain(stream::pending()).boxed()
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<Text>, Failure>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

/// An agent whose model answers so.
fn agent(around: &Around, replies: impl IntoIterator<Item = Steps>, call: Option<Duration>) -> Agent {
    let model = Slow { replies: Mutex::new(replies.into_iter().collect()), call };
    let providers = Arc::new(Only(Arc::new(model)));
    Agent::new(Parts { providers, clock: Arc::new(Paused(Instant::now())), ..around.parts() })
}

/// A session of an agent, asked already.
async fn asked(agent: &Agent) -> SessionHandle {
    let session = agent.create(terms(9)).await.unwrap();
    session.ask(Op::say("go", When::Now)).await.unwrap();
    session
}

fn text() -> ReplyEvent {
    ReplyEvent::Delta(Delta::Text("a".into()))
}

fn done() -> ReplyEvent {
    ReplyEvent::Done(ends(FinishReason::Stop))
}

/// The events up to and with the first that fits. The guard is of the paused clock: it goes on when nothing happens.
async fn until(session: &mut SessionHandle, fits: impl Fn(&Event) -> bool) -> Vec<Event> {
    let mut events = Vec::new();
    loop {
        let next = tokio::time::timeout(Duration::from_secs(3_600), session.next_event());
        events.push(next.await.expect("nothing more came").expect("it is open"));
        if fits(events.last().unwrap()) {
            return events;
        }
    }
}

async fn to_the_end(session: &mut SessionHandle) -> Vec<Event> {
    until(session, |event| matches!(event, Event::Result(_))).await
}

/// The waits of some events, with what else was told, in order.
fn told(events: &[Event]) -> Vec<String> {
    let line = |event: &Event| match event {
        Event::Waiting { what, seconds, host, model, bound, ends_in } => {
            assert_eq!((&**host, model.is_empty()), ("models.example", false));
            assert_eq!(bound.is_some(), ends_in.is_some());
            let end = bound.zip(*ends_in).map(|(bound, left)| format!(" {bound:?} {left}"));
            format!("{what:?} {seconds}{}", end.unwrap_or_default())
        }
        other => types(std::slice::from_ref(other))[0].to_owned(),
    };
    events.iter().map(line).collect()
}

#[tokio::test(start_paused = true)]
async fn p05_each_30_s_of_silence_it_is_told_what_is_waited_for_and_what_ends_it() {
    let around = Around::new([]);
    let mut session =
        asked(&agent(&around, [vec![(70, text()), (29, text()), (65, text()), (1, done())]], None)).await;
    let events = to_the_end(&mut session).await;
    let wanted = [
        "said",
        "turn_start",
        "step_start",
        "Model 30 FirstByte 90",
        "Model 60 FirstByte 60",
        "delta",
        "delta",
        "Model 30 Idle 90",
        "Model 60 Idle 60",
        "delta",
        "reply",
        "turn_end",
        "result",
    ];
    assert_eq!(told(&events), wanted);
}

/// Arguments of a call are not shown, but they are pieces of the reply.
#[tokio::test(start_paused = true)]
async fn p05_what_is_not_shown_breaks_no_silence_but_puts_off_its_end() {
    let around = Around::new([]);
    let call = Delta::Call { wire_id: None, name: "reads".into(), form: CallForm::Native };
    let more = Delta::Arguments { place: 0, text: "{".into() };
    let steps = vec![(20, ReplyEvent::Delta(call)), (20, ReplyEvent::Delta(more)), (30, text())];
    let mut session = asked(&agent(&around, [steps], None)).await;
    let events = until(&mut session, |event| matches!(event, Event::Delta { .. })).await;
    assert_eq!(told(&events)[3..], ["Model 30 Idle 110", "Model 60 Idle 100", "delta"]);
}

#[tokio::test(start_paused = true)]
async fn p05_the_bound_that_is_told_is_the_one_that_ends_it_first() {
    let around = Around::new([]);
    let steps = vec![(20, text()), (70, done())];
    let mut session = asked(&agent(&around, [steps], Some(Duration::from_secs(100)))).await;
    let events = to_the_end(&mut session).await;
    assert_eq!(told(&events)[3..6], ["delta", "Model 30 Call 50", "Model 60 Call 20"]);
}

#[tokio::test(start_paused = true)]
async fn p05_a_wait_before_another_try_is_told_as_such_and_after_it_the_model_is_waited_for_anew() {
    let around = Around::new([]);
    let limited = Failure { retry_after: Some(Span::seconds(90)), ..failure(FailureKind::RateLimit) };
    let replies = [vec![(5, ReplyEvent::Failed(limited))], vec![(40, text()), (0, done())]];
    let mut session = asked(&agent(&around, replies, None)).await;
    let events = to_the_end(&mut session).await;
    let wanted = [
        "retrying",
        "Retry 30 Retry 60",
        "Retry 60 Retry 30",
        "step_start",
        "Model 30 FirstByte 90",
        "delta",
        "reply",
        "turn_end",
        "result",
    ];
    let told = told(&events);
    // At the very moment of the try either may come first.
    let told: Vec<&str> =
        told.iter().map(String::as_str).filter(|line| *line != "Retry 90 Retry 0").collect();
    assert_eq!(told[3..], wanted);
    let waits = events.iter().find_map(|event| match event {
        Event::Retrying { wait, .. } => *wait,
        _ => None,
    });
    assert_eq!(waits, Some(Span::seconds(90)));
}

/// Another session of the same process met a limit, so those after it wait before they are sent, one by one.
#[tokio::test(start_paused = true)]
async fn p05_a_request_that_waits_for_its_turn_is_told_as_such() {
    let around = Around::new([]);
    let limited = Failure { retry_after: Some(Span::seconds(30)), ..failure(FailureKind::RateLimit) };
    let answer = || vec![(40, text()), (0, done())];
    let replies = [vec![(5, ReplyEvent::Failed(limited))], answer(), answer(), answer(), answer()];
    let agent = agent(&around, replies, None);
    let mut first = asked(&agent).await;
    until(&mut first, |event| matches!(event, Event::Retrying { .. })).await;
    let mut others = Vec::new();
    for _ in 0..3 {
        others.push(asked(&agent).await);
    }
    let mut last = others.pop().unwrap();
    let events = to_the_end(&mut last).await;
    let told = told(&events);
    assert_eq!(told[3], "Gate 30", "{told:?}");
    // It passed a little later, and from then on the time of the first byte counts.
    assert!(told[4].starts_with("Model 60 FirstByte "), "{told:?}");
    assert_eq!(told[told.len() - 4..], ["delta", "reply", "turn_end", "result"]);
}

/// L12: the silence ends with the turn, and an interrupt is heard in it.
#[tokio::test(start_paused = true)]
async fn case_d12_a_stall_is_told_and_an_interrupt_ends_it_at_once() {
    let around = Around::new([]);
    let mut session = asked(&agent(&around, [vec![(1, text())], vec![(1, text()), (0, done())]], None)).await;
    until(&mut session, |event| matches!(event, Event::Waiting { seconds: 60, .. })).await;
    session.ask(Op::Interrupt).await.unwrap();
    let events = to_the_end(&mut session).await;
    assert_eq!(types(&events), ["reply", "turn_end", "result"], "what came is kept");
    sleep(Duration::from_secs(300)).await;
    session.ask(Op::say("again", When::Now)).await.unwrap();
    let events = to_the_end(&mut session).await;
    assert_eq!(types(&events), ["said", "turn_start", "step_start", "delta", "reply", "turn_end", "result"]);
}

const PAGE: &str = include_str!("../../../../docs/format/events.md");

/// The tests of the program take no 30 s, so this type is held to its page here.
#[test]
fn the_samples_of_the_page_are_written_so() {
    let sample = |what, (seconds, host, model): (u64, &str, &str), bound, ends_in| Event::Waiting {
        what,
        seconds,
        host: host.into(),
        model: model.into(),
        bound: Some(bound),
        ends_in: Some(ends_in),
    };
    let here = (60, "127.0.0.1:8080", "qwen");
    let model = sample(WaitedFor::Model, here, Bound::FirstByte, 1740);
    let retry = sample(WaitedFor::Retry, (30, "models.example", "m"), Bound::Retry, 60);
    for event in [model, retry] {
        let line = event.line().unwrap();
        assert!(PAGE.lines().any(|sample| sample.trim_start() == line), "{line} is not on the page");
    }
    for bound in [Bound::FirstByte, Bound::Idle, Bound::Call, Bound::Retry] {
        let line = sample(WaitedFor::Model, here, bound, 1).line().unwrap();
        let name = line.split("\"bound\":\"").nth(1).unwrap().split('"').next().unwrap();
        assert!(PAGE.contains(&format!("| `{name}` |")), "{name}");
        let setting = bound.setting().map(|setting| format!("the setting `{setting}`:"));
        assert!(setting.is_none_or(|setting| PAGE.contains(&setting)), "{name}");
    }
}
