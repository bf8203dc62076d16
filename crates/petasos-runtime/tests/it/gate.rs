//! Many sessions with one key, and targets that are out of order. Time is tokio's own, paused: it goes on when all wait.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream;
use petasos_core::entry::{FinishReason, Head};
use petasos_core::learnt::Learnt;
use petasos_core::request::Target;
use petasos_core::session::Terms;
use petasos_core::stop::FailureKind;
use petasos_core::text::Text;
use petasos_core::time::Span;
use petasos_core::turn::{Delta, Failure};
use petasos_providers::{Encoder, Outgoing, Provider, ReplyEvent, ReplyStream};
use petasos_runtime::{Agent, Event, Op, Parts, Providers, SessionHandle};
use petasos_testkit::words::{ends, failure, target, terms};
use tokio::time::Instant;

use crate::around::{Around, Only, Paused, to_the_end};
use petasos_core::entry::When;

/// The failure that a request meets at this time, after these, to this target.
type Answer = dyn Fn(u64, &[(u64, Text)], &Target) -> Option<Failure> + Send + Sync;

/// A provider that answers as this says, by when and whom it is asked.
struct Answering {
    began: Instant,
    asked: Mutex<Vec<(u64, Text)>>,
    answer: Box<Answer>,
}

impl std::fmt::Debug for Answering {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Answering")
    }
}

impl Provider for Answering {
    fn encoder(&self, target: &Target, head: &Head, learnt: &Learnt) -> Box<dyn Encoder> {
        petasos_providers::encoder_knowing(target, head, learnt)
    }

    fn call(&self, target: &Target, _body: Outgoing) -> ReplyStream {
        let now = u64::try_from(self.began.elapsed().as_millis()).unwrap();
        let mut asked = self.asked.lock().unwrap();
        let failure = (self.answer)(now, &asked, target);
        asked.push((now, target.model.clone()));
        let events = match failure {
            Some(failure) => vec![ReplyEvent::Failed(failure)],
            None => vec![
                ReplyEvent::Delta(Delta::Text("done".into())),
                ReplyEvent::Done(ends(FinishReason::Stop)),
            ],
        };
        Box::pin(stream::iter(events))
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<Text>, Failure>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

type Asked = Arc<Answering>;

fn agent(
    around: &Around,
    answer: impl Fn(u64, &[(u64, Text)], &Target) -> Option<Failure> + Send + Sync + 'static,
) -> (Agent, Asked) {
    let began = Instant::now();
    let model = Arc::new(Answering { began, asked: Mutex::default(), answer: Box::new(answer) });
    let providers = Arc::new(Only(Arc::clone(&model)));
    let parts = Parts { providers, clock: Arc::new(Paused(began)), ..around.parts() };
    (Agent::new(parts), model)
}

fn limited(seconds: u64) -> Failure {
    Failure { retry_after: Some(Span::seconds(seconds)), ..failure(FailureKind::RateLimit) }
}

/// One request a second, and 429 to all others.
fn one_a_second(now: u64, asked: &[(u64, Text)], _target: &Target) -> Option<Failure> {
    let is_taken = asked.iter().any(|(before, _)| before / 1000 == now / 1000);
    is_taken.then(|| limited(1))
}

async fn status(session: &mut SessionHandle) -> String {
    session.ask(Op::say("go", When::Now)).await.unwrap();
    match to_the_end(session).await.last() {
        Some(Event::Result(result)) => result.status.to_string(),
        other => panic!("no result: {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn case_d14_many_sessions_with_one_key_make_no_storm() {
    let around = Around::new([]);
    let (agent, model) = agent(&around, one_a_second);
    let mut runs = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let mut session = agent.create(terms(9)).await.unwrap();
        let model = Arc::clone(&model);
        runs.spawn(async move {
            let mut ended = Vec::new();
            while model.began.elapsed() < Duration::from_secs(20) {
                ended.push(status(&mut session).await);
            }
            ended
        });
    }
    let ended: Vec<Vec<String>> = runs.join_all().await;
    assert!(ended.iter().flatten().all(|status| status == "completed"), "{ended:?}");
    let asked = model.asked.lock().unwrap();
    let in_time = asked.iter().filter(|(at, _)| *at < 20_000).count();
    assert!(in_time < 38, "{in_time} requests in 20 s");
    assert!(ended.iter().map(Vec::len).sum::<usize>() >= 10, "it goes on: {ended:?}");
}

#[tokio::test(start_paused = true)]
async fn case_d14_who_gives_up_frees_its_place() {
    let around = Around::new([]);
    let (agent, model) = agent(&around, |_, asked, _| asked.is_empty().then(|| limited(5)));
    let mut sessions = Vec::new();
    for _ in 0..3 {
        sessions.push(agent.create(terms(9)).await.unwrap());
    }
    let [mut first, mut second, mut third] = <[SessionHandle; 3]>::try_from(sessions).unwrap();
    first.ask(Op::say("go", When::Now)).await.unwrap();
    crate::around::until(&mut first, |event| matches!(event, Event::Retrying { .. })).await;
    second.ask(Op::say("go", When::Now)).await.unwrap();
    crate::around::until(&mut second, |event| matches!(event, Event::StepStart { .. })).await;
    second.ask(Op::Interrupt).await.unwrap();
    to_the_end(&mut second).await;
    assert_eq!(model.asked.lock().unwrap().len(), 1, "who waited was not sent");
    assert_eq!(status(&mut third).await, "completed");
    to_the_end(&mut first).await;
    let asked: Vec<u64> = model.asked.lock().unwrap().iter().map(|(at, _)| *at).collect();
    assert!(asked[1] >= 5_000, "nobody goes before the gate is open: {asked:?}");
}

fn with_fallback() -> Terms {
    Terms { fallback: vec![target("second")], ..terms(9) }
}

#[tokio::test(start_paused = true)]
async fn p04_a_target_that_was_given_up_is_passed_over_for_a_while_and_then_asked_again() {
    let around = Around::new([]);
    let out = |now: u64, _: &[(u64, Text)], target: &Target| {
        let is_out = now < 30_000 && &*target.model == "first";
        is_out.then(|| failure(FailureKind::Overloaded))
    };
    let (agent, model) = agent(&around, out);
    let mut session = agent.create(with_fallback()).await.unwrap();
    assert_eq!(status(&mut session).await, "completed");
    assert_eq!(status(&mut session).await, "completed");
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert_eq!(status(&mut session).await, "completed");
    let asked: Vec<String> = model.asked.lock().unwrap().iter().map(|(_, model)| model.to_string()).collect();
    assert_eq!(asked, ["first", "first", "first", "second", "second", "first"]);
}

#[tokio::test(start_paused = true)]
async fn p04_without_a_fallback_no_target_is_passed_over() {
    let around = Around::new([]);
    let out = |_: u64, asked: &[(u64, Text)], _: &Target| {
        (asked.len() < 3).then(|| failure(FailureKind::Overloaded))
    };
    let (agent, model) = agent(&around, out);
    let mut session = agent.create(terms(9)).await.unwrap();
    assert_eq!(status(&mut session).await, "model_failed");
    assert_eq!(status(&mut session).await, "completed");
    assert_eq!(model.asked.lock().unwrap().len(), 4);
}

/// One provider, asked with a key of its own for each model.
#[derive(Debug)]
struct Keyed(Asked);

impl Providers for Keyed {
    fn serving(&self, _target: &Target) -> Result<Arc<dyn Provider>, String> {
        Ok(Arc::<Answering>::clone(&self.0) as Arc<dyn Provider>)
    }

    fn key_number(&self, target: &Target) -> Option<usize> {
        Some(target.model.len())
    }
}

/// A limit is that of a key: who comes with another goes on.
#[tokio::test(start_paused = true)]
async fn p04_a_limit_of_one_key_holds_up_no_other_at_the_same_provider() {
    let around = Around::new([]);
    let out = |_: u64, asked: &[(u64, Text)], _: &Target| asked.is_empty().then(|| limited(20));
    let (_, model) = agent(&around, out);
    let clock = Arc::new(Paused(model.began));
    let providers = Arc::new(Keyed(Arc::clone(&model)));
    let agent = Agent::new(Parts { providers, clock, ..around.parts() });
    let mut first = agent.create(terms(9)).await.unwrap();
    first.ask(Op::say("go", When::Now)).await.unwrap();
    crate::around::until(&mut first, |event| matches!(event, Event::Retrying { .. })).await;
    let of = |model: &str| Terms { target: target(model), ..terms(9) };
    let mut other_key = agent.create(of("another")).await.unwrap();
    assert_eq!(status(&mut other_key).await, "completed");
    let mut same_key = agent.create(of("fifth")).await.unwrap();
    assert_eq!(status(&mut same_key).await, "completed");
    to_the_end(&mut first).await;
    let asked = model.asked.lock().unwrap();
    let at = |name: &str| asked.iter().rev().find(|(_, model)| &**model == name).unwrap().0;
    assert!(at("another") < 5_000 && at("fifth") >= 20_000, "{asked:?}");
}

/// Limits are often of one model: who has another at the same provider goes on at once.
#[tokio::test(start_paused = true)]
async fn p04_a_long_wait_of_one_model_holds_up_no_other() {
    let around = Around::new([]);
    let out = |_: u64, _: &[(u64, Text)], target: &Target| (&*target.model == "first").then(|| limited(3600));
    let (agent, model) = agent(&around, out);
    let mut session = agent.create(with_fallback()).await.unwrap();
    for _ in 0..2 {
        assert_eq!(status(&mut session).await, "completed");
    }
    let asked: Vec<(u64, String)> =
        model.asked.lock().unwrap().iter().map(|(at, model)| (*at, model.to_string())).collect();
    let models: Vec<&str> = asked.iter().map(|(_, model)| model.as_str()).collect();
    assert_eq!(models, ["first", "second", "second"], "it is not asked again before its time");
    assert!(asked[2].0 < 5_000, "{asked:?}");
}

/// Without another nobody waits for an hour: the turn ends and says so, and so does the next, unasked.
#[tokio::test(start_paused = true)]
async fn p04_a_wait_of_an_hour_is_told_and_not_waited_for() {
    let around = Around::new([]);
    let (agent, model) = agent(&around, |_, _, _| Some(limited(3600)));
    let mut session = agent.create(terms(9)).await.unwrap();
    for _ in 0..2 {
        assert_eq!(status(&mut session).await, "model_failed");
    }
    assert_eq!(model.asked.lock().unwrap().len(), 1);
    assert!(model.began.elapsed() < Duration::from_secs(5));
}
