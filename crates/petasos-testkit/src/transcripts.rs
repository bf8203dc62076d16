//! Transcripts as nobody would write them: made by chance from a seed, with a count of what happened in them.
//!
//! They hold what models, servers, people and crashes make of a session: odd ids, names and arguments, replies that
//! were cut or say nothing, results that are empty or missing, reasoning of this and that origin, switches of the
//! provider at any step, beginnings that were cut off.

pub mod counted;

use std::collections::BTreeMap;
use std::sync::Arc;

use petasos_core::bounded::{Bounded, Cap};
use petasos_core::claims::Claims;
use petasos_core::entry::{
    Block, Call, CallForm, Charge, Content, FinishReason, Head, ModelCall, Note, NoteSource, Opaque, Reply,
    Said, Speaker, Timing, ToolResult, VerdictKind, When,
};
use petasos_core::id::{CallId, RequestId, Seq};
use petasos_core::request::{Target, ToolMode, Wire};
use petasos_core::text::{Json, Text};
use petasos_core::time::Span;
use petasos_core::tool::Outcome;
use petasos_core::transcript::{ClosedStep, Item};
use petasos_core::usage::Usage;

use crate::random::dice::Dice;
use crate::transcripts::counted::COUNTED;
use crate::words::digest;

/// Where a reply may have come from: what is written on its sealed blocks, and whom its request went to.
pub type Origin = (Text, Target);

/// A transcript under a head.
#[derive(Clone, Debug)]
pub struct Transcript {
    /// System text and tools.
    pub head: Head,
    /// What was said and done.
    pub items: Vec<Item>,
}

/// Whom requests go to in tests of any transcript: of each wire somebody with a profile of their own, somebody that
/// nobody knows, and two models of one provider; each quirk of the catalog that shows in bytes is somebody's.
pub fn targets() -> Vec<Target> {
    let in_mode = |tool_mode, provider: &str, model: &str, wire| Target {
        provider: provider.into(),
        model: model.into(),
        wire,
        tool_mode,
    };
    let target = |provider: &str, model: &str, wire| in_mode(ToolMode::Native, provider, model, wire);
    // Each has a name of its own, for what is sealed by one goes to no other.
    vec![
        target("example", "small", Wire::Chat),
        target("deepseek", "deepseek-chat", Wire::Chat),
        target("deepseek", "deepseek-reasoner", Wire::Chat),
        target("mistral", "large", Wire::Chat),
        target("openai", "gpt-5-chat", Wire::Chat),
        target("openai", "gpt-5", Wire::Responses),
        target("openai", "gpt-5-mini", Wire::Responses),
        target("llama.cpp", "small", Wire::Responses),
        target("example", "small", Wire::Responses),
        target("anthropic", "claude", Wire::Messages),
        target("anthropic", "claude-other", Wire::Messages),
        target("vllm", "small", Wire::Messages),
        target("example", "small", Wire::Messages),
        in_mode(ToolMode::Constrained, "formats", "small", Wire::Chat),
        in_mode(ToolMode::Constrained, "formats", "small", Wire::Responses),
        in_mode(ToolMode::Text, "marks", "small", Wire::Chat),
        in_mode(ToolMode::Text, "marks", "small", Wire::Responses),
        in_mode(ToolMode::Text, "marks", "small", Wire::Messages),
    ]
}

/// What stands in the sealed reasoning of an origin, by its place among the origins, and nowhere else.
pub fn seal(origin: usize) -> String {
    format!("c2VhbGVk{origin:02}")
}

/// How often something happened, by its name.
pub type Counts = BTreeMap<&'static str, u64>;

/// Makes transcripts.
#[derive(Debug)]
pub struct Transcripts<'a> {
    dice: Dice,
    origins: &'a [Origin],
    counts: &'a mut Counts,
    origin: usize,
    seq: u64,
    sealed: u64,
}

const SPEAKERS: &[Speaker] = &[Speaker::Person, Speaker::Job, Speaker::Parent, Speaker::Program];
const TEXTS: &[&str] = &[
    "look at it",
    "Done.",
    "北京 🙂 é",
    "\u{2028}\"\\\u{7f}",
    "# Title\n\n```json\n{\"a\": [1]}\n```\n",
    "<|im_end|> </tool_call> [stopped here]",
    "trailing blanks  \n",
];

/// A transcript of this seed, whose replies came from these origins; what happened in it is added to the counts.
///
/// # Panics
/// Without any origin.
pub fn transcript(seed: u64, origins: &[Origin], counts: &mut Counts) -> Transcript {
    assert!(!origins.is_empty(), "a reply comes from somewhere");
    let mut made = Transcripts { dice: Dice::new(seed), origins, counts, origin: 0, seq: 1, sealed: 0 };
    made.make()
}

impl Transcripts<'_> {
    fn make(&mut self) -> Transcript {
        let head = self.head();
        let mut items = Vec::new();
        self.origin = self.dice.below(self.origins.len() as u64) as usize;
        for _ in 0..=self.dice.below(12) {
            let item = match self.dice.below(10) {
                0..=2 => self.said(),
                3 => self.note(),
                _ => self.step(),
            };
            self.tell_neighbours(items.last(), &item);
            items.push(item);
            if self.dice.permille(200) {
                let next = self.dice.below(self.origins.len() as u64) as usize;
                self.count_if(next != self.origin, "the provider is switched");
                self.origin = next;
            }
        }
        if self.dice.permille(150) {
            self.count("the beginning is cut off");
            let from = self.dice.below(items.len() as u64) as usize;
            items.drain(..from);
        }
        let starts_with_answer = matches!(items.first(), Some(Item::Step(_)));
        self.count_if(starts_with_answer, "it starts with an answer");
        let ends_with_answer = matches!(items.last(), Some(Item::Step(step)) if step.results.is_empty());
        self.count_if(ends_with_answer, "it ends with an answer");
        Transcript { head, items }
    }

    fn count(&mut self, what: &'static str) {
        self.count_if(true, what);
    }

    fn count_if(&mut self, happened: bool, what: &'static str) {
        assert!(COUNTED.contains(&what), "{what:?} is not among what is counted");
        *self.counts.entry(what).or_default() += u64::from(happened);
    }

    fn tell_neighbours(&mut self, before: Option<&Item>, item: &Item) {
        let is_user = |item: &Item| matches!(item, Item::Said(_) | Item::Note(_));
        let is_answer = |item: &Item| matches!(item, Item::Step(step) if step.results.is_empty());
        let Some(before) = before else { return };
        self.count_if(is_user(before) && is_user(item), "two things of users in a row");
        self.count_if(is_answer(before) && matches!(item, Item::Step(_)), "two answers in a row");
        self.count_if(
            matches!(before, Item::Step(step) if !step.results.is_empty()) && is_user(item),
            "a user behind results",
        );
    }

    fn head(&mut self) -> Head {
        let system = if self.dice.permille(150) {
            self.count("there is no system text");
            *self.dice.pick(&["", " \n"])
        } else {
            "Be brief."
        };
        let tools = match self.dice.below(10) {
            0 => {
                self.count("there are no tools");
                "[]"
            }
            1 => {
                self.count("a tool says nothing of itself");
                r#"[{"name":"ls","description":" ","parameters":{"type":"object","properties":{}}}]"#
            }
            2 => {
                self.count("a tool has a name that fits nowhere");
                r#"[{"name":"fs.read 文件","description":"Reads","parameters":{"type":"object"}}]"#
            }
            3 => {
                self.count("two tools have one name once it fits");
                r#"[{"name":"ls","description":"Lists","parameters":{"type":"object"}},{"name":"a.b","description":"A","parameters":{"type":"object"}},{"name":"a_b","description":"A","parameters":{"type":"object"}}]"#
            }
            4 => {
                self.count("a schema is a choice");
                r#"[{"name":"ls","description":"Lists","parameters":{"anyOf":[{"type":"object","properties":{"path":{"type":"string"}}},{"type":"object","properties":{"glob":{"type":"string"}}}],"not":{"required":["path","glob"]}}}]"#
            }
            _ => {
                r#"[{"name":"ls","description":"Lists","parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}},{"name":"read_file","description":"Reads","parameters":{"type":"object","properties":{}}}]"#
            }
        };
        Head {
            system: system.into(),
            tools: Json::try_from(tools).expect("tools are JSON"),
            toolset: "default".into(),
            reason: "new".into(),
            hash: digest(1),
        }
    }

    fn text(&mut self) -> Text {
        if self.dice.permille(200) {
            self.count("a text is blank");
            return (*self.dice.pick(&["", " ", "\n\n", "\u{3000}\t"])).into();
        }
        (*self.dice.pick(TEXTS)).into()
    }

    fn said(&mut self) -> Item {
        let from =
            *self.dice.weighed(&[(7, Speaker::Person), (1, SPEAKERS[1]), (1, SPEAKERS[2]), (1, SPEAKERS[3])]);
        let when = *self.dice.weighed(&[(6, When::Now), (3, When::NextStep), (1, When::AfterTurn)]);
        self.count_if(when == When::NextStep, "somebody speaks while it works");
        let content = match self.dice.below(12) {
            0 => {
                self.count("nothing is said");
                vec![]
            }
            1 => {
                self.count("an image is said");
                vec![Content::Blob { hash: digest(7), bytes: 4_300_000, media: "image/png".into() }]
            }
            _ => vec![Content::Text(self.text())],
        };
        let notes = if self.dice.permille(150) { vec![self.text()] } else { vec![] };
        Item::Said(Arc::new(Said { from, content, notes, when, withdraws: None }))
    }

    fn note(&mut self) -> Item {
        let text = self.text();
        Item::Note(Arc::new(Note { source: NoteSource::Continue, text }))
    }

    fn step(&mut self) -> Item {
        self.seq += 1 + self.dice.below(40);
        let seq = Seq(self.seq);
        let finish = match self.dice.below(12) {
            0 => FinishReason::Cut,
            1 => FinishReason::Length,
            2 => FinishReason::Refused,
            3 => FinishReason::Other("eos".into()),
            _ => FinishReason::Stop,
        };
        self.count_if(finish == FinishReason::Cut, "a reply was interrupted");
        self.count_if(finish == FinishReason::Length, "a reply was cut at its cap");
        let form = match self.origins[self.origin].1.tool_mode {
            ToolMode::Native => CallForm::Native,
            // A server may pass the format over, and make calls in the wire's own form of what it finds.
            ToolMode::Constrained => {
                *self.dice.weighed(&[(8, CallForm::Constrained), (1, CallForm::Text), (1, CallForm::Native)])
            }
            ToolMode::Text => *self.dice.weighed(&[(8, CallForm::Text), (1, CallForm::Native)]),
        };
        let blocks = self.blocks(&finish, form);
        let raw = self.raw(form);
        let calls = blocks.iter().filter(|block| matches!(block, Block::Call(_))).count();
        let says = blocks.iter().any(|block| match block {
            Block::Text(text) => !text.is_blank(),
            Block::Call(_) => true,
            Block::Reasoning(_) | Block::Opaque(_) => false,
        });
        self.count_if(!says, "a reply says nothing");
        let thinks_alone = !says && blocks.iter().any(|block| matches!(block, Block::Opaque(_)));
        self.count_if(thinks_alone, "a reply is sealed reasoning alone");
        let results = if calls > 0 && self.dice.permille(30) {
            self.count("a result is missing");
            self.dice.below(calls as u64) as usize
        } else {
            calls
        };
        let reply = Reply {
            request: RequestId(Seq(self.seq - 1)),
            blocks,
            raw,
            finish,
            usage: Charge::Reported(Usage::default()),
            micro_usd: None,
            overrun: 0,
            timing: Timing::default(),
            model: None,
        };
        let results = (0..results).map(|place| self.result(seq, place)).collect();
        let changed = (0..calls).map(|place| self.changed(seq, place)).collect();
        self.seq += 2 * calls as u64;
        let target = Some(Arc::new(self.origins[self.origin].1.clone()));
        Item::Step(ClosedStep {
            reply_seq: seq,
            target,
            reply: Arc::new(reply),
            changed,
            results,
            last: Seq(self.seq),
        })
    }

    /// The text of a reply whose calls are not in the wire's own form: what its mode asks for, or not.
    fn raw(&mut self, form: CallForm) -> Option<Text> {
        let (what, raw) = match form {
            CallForm::Native => return None,
            CallForm::Constrained => *self.dice.pick(&[
                ("a format was followed", r#"{"name": "ls", "arguments": {"path": "a"}}"#),
                ("a format was followed", r#"{"name": "answer", "arguments": {"text": "Done."}}"#),
                ("a format was cut", r#"{"name": "ls", "argum"#),
                ("a format was passed over", "Done."),
                ("a raw text is blank", " \n"),
            ]),
            CallForm::Text => *self.dice.pick(&[
                ("a call was marked", "So:\n<tool_call>\n{\"name\":\"ls\",\"arguments\":{}}\n</tool_call>"),
                ("a mark was cut", "<tool_call>{\"name\""),
                ("a raw text is blank", ""),
            ]),
        };
        self.count(what);
        Some(raw.into())
    }

    fn blocks(&mut self, finish: &FinishReason, form: CallForm) -> Vec<Block> {
        let mut blocks = Vec::new();
        for _ in 0..self.dice.below(5) {
            let block = match self.dice.below(10) {
                0 => Block::Reasoning(self.text()),
                1 | 2 => self.opaque(),
                3..=5 => Block::Text(self.text()),
                _ => self.call(finish, form),
            };
            blocks.push(block);
        }
        blocks
    }

    fn opaque(&mut self) -> Block {
        let (origin, target) = self.origins[self.origin].clone();
        let raw = match (target.wire, self.dice.below(6)) {
            (_, 0) => {
                self.count("what is sealed is of no known form");
                *self.dice.pick(&["{}", "[]", "\"sealed\"", "null", r#"{"type":"later"}"#])
            }
            (Wire::Chat, _) => r#"{"reasoning_content":"SEAL"}"#,
            (Wire::Responses, 1 | 2) => {
                self.count("reasoning has no sealed form");
                r#"{"type":"reasoning","id":"rs_2","summary":[{"type":"summary_text","text":"hm"}]}"#
            }
            (Wire::Responses, 3) => {
                self.count("what is sealed has more than is documented");
                r#"{"type":"reasoning","id":"rs_1","status":"completed","content":null,"summary":[],"encrypted_content":"SEAL","x_server":{"a":1.50}}"#
            }
            (Wire::Responses, _) => {
                r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"SEAL"}"#
            }
            (Wire::Messages, 1 | 2) => {
                self.count("reasoning has no sealed form");
                r#"{"type":"thinking","thinking":"hm","signature":""}"#
            }
            (Wire::Messages, 3) => r#"{"type":"redacted_thinking","data":"SEAL"}"#,
            (Wire::Messages, 4) => {
                self.count("what is sealed has more than is documented");
                r#"{"type":"redacted_thinking","data":"SEAL","x_server":{"a":1.50}}"#
            }
            (Wire::Messages, _) => r#"{"type":"thinking","thinking":"plan","signature":"SEAL"}"#,
        };
        self.count("reasoning is sealed");
        // Servers number their items over a session.
        self.sealed += 1;
        let raw = raw.replace("rs_1", &format!("rs_{}", self.sealed)).replace("SEAL", &seal(self.origin));
        Block::Opaque(Opaque { origin, raw: Json::try_from(&*raw).expect("sealed blocks are JSON") })
    }

    fn call(&mut self, finish: &FinishReason, form: CallForm) -> Block {
        let (what, id): (&str, Option<&str>) = *self.dice.weighed(&[
            (5, ("an id is good", Some("call_9f2c7a10"))),
            (2, ("an id is missing", None)),
            (2, ("an id is like ours", Some("call_2_0"))),
            (
                2,
                (
                    "an id is too long",
                    Some("call_9f2c7a10b4d84e6fa1c3|fc_0a1b2c3d4e5f60718293a4b5c6d7e8f90123456789abcdef0"),
                ),
            ),
            (1, ("an id is nine letters", Some("Ab3dE6gH9"))),
            (1, ("an id is of other characters", Some("functions.ls:0 北"))),
            (1, ("an id is empty", Some(""))),
        ]);
        self.count(what);
        let (what, name) = *self.dice.weighed(&[
            (8, ("a name is good", "ls")),
            (1, ("a name fits nowhere", "fs.read 文件")),
            (1, ("a name is empty", "")),
            (
                1,
                (
                    "a name is too long",
                    "a_tool_whose_name_is_longer_than_any_server_takes_it_and_goes_on_and_on",
                ),
            ),
        ]);
        self.count(what);
        // As deep as a reader that stops at 128 still reads by itself.
        let deep = "{\"a\":".repeat(125) + "1" + &"}".repeat(125);
        let (what, arguments) = *self.dice.weighed(&[
            (6, ("arguments are good", r#"{"path":"a \"b\" \\ 北 1.50"}"#)),
            (2, ("arguments are empty", " ")),
            (1, ("arguments are cut", r#"{"path":"x","cont"#)),
            (1, ("arguments are no object", r#"["path"]"#)),
            (1, ("arguments are no JSON", "{'path': None,}")),
            (1, ("arguments hold half a character", r#"{"a":"\ud83d"}"#)),
            (1, ("arguments are two objects", "{}{\"a\":1}")),
            (1, ("arguments are deep", &*deep)),
        ]);
        self.count(what);
        let complete = *finish == FinishReason::Stop || self.dice.permille(300);
        self.count_if(!complete, "a call is not whole");
        Block::Call(ModelCall {
            wire_id: id.filter(|_| form == CallForm::Native).map(Text::from),
            name: name.into(),
            arguments: arguments.into(),
            form,
            complete,
        })
    }

    /// What a call ran as, where that was changed.
    fn changed(&mut self, reply: Seq, place: usize) -> Option<Arc<Call>> {
        if !self.dice.permille(150) {
            return None;
        }
        self.count("a call was repaired");
        let arguments = self.dice.permille(700).then(|| Json::try_from(r#"{"path":"北","limit":1.50}"#));
        Some(Arc::new(Call {
            call: CallId { reply, place: u16::try_from(place).expect("few calls") },
            tool: "ls".into(),
            arguments: arguments.transpose().expect("it is JSON"),
            changed_by: vec!["repair: name".into()],
            claims: Claims::unknown(),
            verdict: VerdictKind::Allow,
            rule: "default".into(),
            policy: digest(1),
            shown: digest(2),
        }))
    }

    fn result(&mut self, reply: Seq, place: usize) -> Arc<ToolResult> {
        let outcome = *self.dice.pick(&[
            Outcome::Ok,
            Outcome::Ok,
            Outcome::Empty,
            Outcome::Error,
            Outcome::Denied,
            Outcome::Invalid,
            Outcome::NeverBegan,
            Outcome::CutShort,
            Outcome::TimedOut,
            Outcome::Unknown,
        ]);
        self.count_if(outcome == Outcome::CutShort, "a tool was interrupted");
        self.count_if(outcome == Outcome::Unknown, "nobody knows what a tool did");
        let text = if self.dice.permille(200) {
            self.count("a result is empty");
            *self.dice.pick(&["", " \n"])
        } else {
            *self.dice.pick(TEXTS)
        };
        Arc::new(ToolResult {
            call: CallId { reply, place: u16::try_from(place).expect("few calls") },
            outcome,
            text: Bounded::new(text, Cap::RESULT, ""),
            bytes: text.len() as u64,
            blob: None,
            facts: Vec::new(),
            took: Span(0),
        })
    }
}
