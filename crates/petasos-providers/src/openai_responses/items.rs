//! The items of a reply while they come. Servers disagree on what tells one from the next: the index may be
//! missing or the same for several, the id missing or another in each event. What decides is written once, in
//! [`GrowingItems::find`]. What came piece by piece also comes whole, up to three times; it is said once.

use std::collections::BTreeMap;

use petasos_core::entry::Opaque;
use petasos_core::text::{Json, Text};
use petasos_core::turn::Delta;
use serde_json::value::RawValue;

use super::call::GrowingCall;
use super::event::{Item, Kind, Manner, Named, Slot, Words};
use super::is_sealed_reasoning;
use super::words::GrowingWords;
use crate::answer::BLOCK;

/// Stands between two messages, two summaries, two reasonings: each is a text of its own.
const GAP: &str = "\n\n";

/// The items of a reply.
#[derive(Clone, Debug)]
pub(super) struct GrowingItems {
    /// Who can open sealed reasoning.
    origin: Text,
    items: Vec<GrowingItem>,
    /// Which item was named so; the newest, where several were.
    places: BTreeMap<Key, usize>,
    /// Those of a kind that are not done; the last one is open.
    open: BTreeMap<Kind, Vec<usize>>,
    last: Last,
    begun: u16,
    refusal: Refusal,
    size: usize,
}

/// What is known of whether the model refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    Unsaid,
    Said,
}

/// Which calls count as complete at the end of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Completing {
    /// All that do not say otherwise.
    All,
    /// None: the reply was cut.
    Nothing,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Index(Kind, i64),
    Id(Kind, String),
    Call(String),
}

#[derive(Clone, Debug)]
struct GrowingItem {
    named: Named,
    stage: Stage,
    of: Growing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Something of it came, and nobody had said that it would.
    Unannounced,
    Open,
    Done,
}

#[derive(Clone, Debug)]
enum Growing {
    Message(GrowingWords),
    Reasoning { words: GrowingWords, seal: Seal },
    Call(GrowingCall),
}

/// Whether the sealed form of a reasoning was handed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seal {
    NotYet,
    HandedOn,
}

/// What was handed on last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    Other,
    Text { item: usize },
    Reasoning { item: usize, slot: Slot },
}

impl GrowingItems {
    /// Those of a reply from this origin.
    pub(super) fn new(origin: Text) -> Self {
        Self {
            origin,
            items: Vec::new(),
            places: BTreeMap::new(),
            open: BTreeMap::new(),
            last: Last::Other,
            begun: 0,
            refusal: Refusal::Unsaid,
            size: 0,
        }
    }

    /// What they take of the reply's cap.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    pub(super) fn refusal(&self) -> Refusal {
        self.refusal
    }

    /// An item is about to come.
    pub(super) fn announce(&mut self, item: &Item<'_>, index: Option<i64>, deltas: &mut Vec<Delta>) {
        let Some(kind) = item.kind() else { return };
        let named = item.named(index);
        // What is announced is another one, unless it came before its announcement, or that is said twice.
        let known = self.find(kind, &named).filter(|at| {
            self.items.get(*at).is_some_and(|known| match known.stage {
                Stage::Unannounced => true,
                Stage::Open => known.named == named && named != Named::default(),
                Stage::Done => false,
            })
        });
        let at = known.unwrap_or_else(|| self.start(kind, Named::default()));
        self.name(at, named);
        let Some(growing) = self.items.get_mut(at) else { return };
        growing.stage = Stage::Open;
        if let Growing::Call(call) = &mut growing.of {
            self.size += call.take_name(item.name());
            self.size += call.offer(item.arguments().unwrap_or_default());
            self.tell(at, deltas);
        }
    }

    /// More of a text.
    pub(super) fn add_words(&mut self, kind: Kind, named: Named, words: &Words, deltas: &mut Vec<Delta>) {
        if !words.text.is_empty() {
            let at = self.place(kind, named);
            self.say(at, words, deltas);
        }
    }

    /// The whole text of a part.
    pub(super) fn end_words(&mut self, kind: Kind, named: Named, words: Words, deltas: &mut Vec<Delta>) {
        if words.text.is_empty() {
            return;
        }
        let at = self.place(kind, named);
        let Some(known) = self.words(at) else { return };
        let text = known.rest_of_part(words.slot, &words.text).to_owned();
        self.say(at, &Words { text, ..words }, deltas);
    }

    /// More of a call's arguments.
    pub(super) fn add_arguments(&mut self, named: Named, arguments: &str, deltas: &mut Vec<Delta>) {
        if !arguments.is_empty() {
            let at = self.place(Kind::Call, named);
            self.push_arguments(at, arguments, deltas);
        }
    }

    /// The whole of a call's arguments, and its name.
    pub(super) fn end_arguments(
        &mut self,
        named: Named,
        name: Option<String>,
        arguments: &str,
        deltas: &mut Vec<Delta>,
    ) {
        let at = self.place(Kind::Call, named);
        self.end_call(at, name, arguments, deltas);
    }

    /// The whole of an item.
    pub(super) fn end_item(&mut self, raw: &RawValue, index: Option<i64>, deltas: &mut Vec<Delta>) {
        let Some(item) = Item::read(raw) else { return };
        let Some(kind) = item.kind() else { return };
        let at = self.place(kind, item.named(index));
        self.end(at, &item, raw, deltas);
    }

    /// The whole of a reply's output: what did not come before comes now.
    pub(super) fn end_output(&mut self, output: &[&RawValue], deltas: &mut Vec<Delta>) {
        let items: Vec<(&RawValue, Item<'_>, Kind)> = output
            .iter()
            .filter_map(|raw| Item::read(raw).map(|item| (*raw, item)))
            .filter_map(|(raw, item)| item.kind().map(|kind| (raw, item, kind)))
            .collect();
        // Servers tell one text as several messages, or several as one, so the texts are compared as a whole.
        let texts = items.iter().filter(|(_, _, kind)| *kind == Kind::Message);
        let whole: String = texts.flat_map(|(_, item, _)| item.content()).map(|words| words.text).collect();
        let said = self.said();
        let mut known = if whole.starts_with(&said) { said.len() } else { whole.len() };
        let mut before: BTreeMap<Kind, Vec<usize>> = BTreeMap::new();
        for (at, item) in self.items.iter().enumerate() {
            before.entry(item.kind()).or_default().push(at);
        }
        let mut before: BTreeMap<Kind, _> =
            before.into_iter().map(|(kind, places)| (kind, places.into_iter())).collect();
        for (raw, item, kind) in items {
            // Ids and indices of the output differ from those before at some servers; the order does not.
            let next = before.get_mut(&kind).and_then(Iterator::next);
            match kind {
                Kind::Message => self.end_message(next, &item, &mut known, deltas),
                Kind::Reasoning => {
                    let named = item.named(None);
                    let at = self.known(kind, &named).or(next);
                    let at = at.unwrap_or_else(|| self.start(kind, named));
                    self.end(at, &item, raw, deltas);
                }
                // All calls have one id at some servers.
                Kind::Call => {
                    let named = item.named(None);
                    let at = next.filter(|at| self.fits(*at, &named)).or_else(|| self.known(kind, &named));
                    let at = at.unwrap_or_else(|| self.start(kind, named));
                    self.end(at, &item, raw, deltas);
                }
            }
        }
    }

    /// The reply is at its end; the number of its calls.
    pub(super) fn complete(&mut self, which: Completing, deltas: &mut Vec<Delta>) -> u16 {
        for at in 0..self.items.len() {
            let Some(GrowingItem { of: Growing::Call(call), .. }) = self.items.get_mut(at) else { continue };
            call.settle();
            if !call.is_nothing() {
                self.begin(at, deltas);
            }
        }
        if which == Completing::All {
            let calls = self.items.iter().filter_map(|item| match &item.of {
                Growing::Call(call) => call.completed(),
                Growing::Message(_) | Growing::Reasoning { .. } => None,
            });
            deltas.extend(calls);
        }
        self.begun
    }

    /// The item that is named so, or a new one.
    fn place(&mut self, kind: Kind, named: Named) -> usize {
        self.find(kind, &named).unwrap_or_else(|| self.start(kind, named))
    }

    /// The item that is meant: by its index, unless several are there and an id tells which; then by its id;
    /// then the last one that is open.
    fn find(&self, kind: Kind, named: &Named) -> Option<usize> {
        let known = self.known(kind, named);
        if let Some(index) = named.index {
            let is_there =
                |at: &usize| self.items.get(*at).is_some_and(|item| item.named.index == Some(index));
            let by_index = self.places.get(&Key::Index(kind, index)).copied();
            let there = known.filter(is_there).or(by_index.filter(|at| self.fits(*at, named)));
            if there.is_some() {
                return there;
            }
        }
        let is_open = |at: &usize| self.items.get(*at).is_some_and(|item| item.stage != Stage::Done);
        // Where items are announced, an index of which none was is a wrong one.
        let may_be = |at: &usize| {
            let is_other = self.items.get(*at).is_some_and(|item| {
                item.stage == Stage::Unannounced && item.named.index.is_some() && named.index.is_some()
            });
            self.fits(*at, named) && !is_other
        };
        let last = self.open.get(&kind).and_then(|open| open.last()).copied();
        known.filter(|at| named.index.is_none() || is_open(at)).or(last.filter(may_be))
    }

    /// The item that has this id.
    fn known(&self, kind: Kind, named: &Named) -> Option<usize> {
        let by = |key: Key| self.places.get(&key).copied();
        let by_call = named.call_id.clone().filter(|_| kind == Kind::Call).and_then(|id| by(Key::Call(id)));
        let by_id = || named.id.clone().and_then(|id| by(Key::Id(kind, id)));
        by_call.or_else(|| by_id().filter(|at| self.fits(*at, named)))
    }

    /// True if nothing says that it is another call.
    fn fits(&self, at: usize, named: &Named) -> bool {
        let mine = self.items.get(at).and_then(|item| item.named.call_id.as_ref());
        mine.is_none() || named.call_id.is_none() || mine == named.call_id.as_ref()
    }

    fn start(&mut self, kind: Kind, named: Named) -> usize {
        let at = self.items.len();
        let of = match kind {
            Kind::Message => Growing::Message(GrowingWords::default()),
            Kind::Reasoning => Growing::Reasoning { words: GrowingWords::default(), seal: Seal::NotYet },
            Kind::Call => Growing::Call(GrowingCall::default()),
        };
        self.items.push(GrowingItem { named: Named::default(), stage: Stage::Unannounced, of });
        self.open.entry(kind).or_default().push(at);
        self.size += BLOCK;
        self.name(at, named);
        at
    }

    /// Keeps what an item is called, where nothing was known.
    fn name(&mut self, at: usize, named: Named) {
        let Some(item) = self.items.get_mut(at) else { return };
        let kind = item.kind();
        if let Some(index) = named.index.filter(|_| item.named.index.is_none()) {
            item.named.index = Some(index);
            self.places.insert(Key::Index(kind, index), at);
        }
        if let Some(id) = named.id.filter(|_| item.named.id.is_none()) {
            self.size += id.len();
            item.named.id = Some(id.clone());
            self.places.insert(Key::Id(kind, id), at);
        }
        if let Some(id) = named.call_id.filter(|_| item.named.call_id.is_none()) {
            self.size += id.len();
            item.named.call_id = Some(id.clone());
            self.places.insert(Key::Call(id), at);
        }
    }

    /// The whole of this item.
    fn end(&mut self, at: usize, item: &Item<'_>, raw: &RawValue, deltas: &mut Vec<Delta>) {
        self.name(at, item.named(None));
        match self.items.get(at).map(GrowingItem::kind) {
            Some(Kind::Message) => self.end_text(at, item.content(), deltas),
            Some(Kind::Reasoning) => {
                let (summary, content) = (item.summary(), item.content());
                let has_content = self.words(at).is_some_and(|words| words.is_other_form(Slot::Summary(0)));
                let is_summary = !has_content && !summary.is_empty();
                self.end_text(at, if is_summary { summary } else { content }, deltas);
                self.seal(at, raw, deltas);
            }
            Some(Kind::Call) => {
                if let Some(Growing::Call(call)) = self.items.get_mut(at).map(|item| &mut item.of)
                    && item.is_incomplete()
                {
                    call.cut();
                }
                self.end_call(at, item.name(), &item.arguments().unwrap_or_default(), deltas);
            }
            None => {}
        }
        if let Some(item) = self.items.get_mut(at) {
            item.stage = Stage::Done;
            let kind = item.kind();
            let is_done = |at: &usize| self.items.get(*at).is_none_or(|item| item.stage == Stage::Done);
            let open = self.open.entry(kind).or_default();
            while open.last().is_some_and(is_done) {
                open.pop();
            }
        }
    }

    fn end_text(&mut self, at: usize, whole: Vec<Words>, deltas: &mut Vec<Delta>) {
        let rest = self.words(at).map(|known| known.rest(whole)).unwrap_or_default();
        for words in rest {
            self.say(at, &words, deltas);
        }
    }

    /// A message of the whole output, of which so many bytes are known.
    fn end_message(
        &mut self,
        at: Option<usize>,
        item: &Item<'_>,
        known: &mut usize,
        deltas: &mut Vec<Delta>,
    ) {
        let mut at = at;
        for words in item.content() {
            let skipped = words.text.len().min(*known);
            *known -= skipped;
            let text = words.text.get(skipped..).unwrap_or_default().to_owned();
            if !text.is_empty() {
                let at = *at.get_or_insert_with(|| self.start(Kind::Message, Named::default()));
                self.say(at, &Words { text, ..words }, deltas);
            }
        }
    }

    fn end_call(&mut self, at: usize, name: Option<String>, arguments: &str, deltas: &mut Vec<Delta>) {
        let Some(Growing::Call(call)) = self.items.get_mut(at).map(|item| &mut item.of) else { return };
        self.size += call.take_name(name);
        let rest = call.rest(arguments).to_owned();
        self.push_arguments(at, &rest, deltas);
    }

    fn push_arguments(&mut self, at: usize, arguments: &str, deltas: &mut Vec<Delta>) {
        let Some(Growing::Call(call)) = self.items.get_mut(at).map(|item| &mut item.of) else { return };
        call.push(arguments);
        self.size += arguments.len();
        self.tell(at, deltas);
    }

    /// Hands on what can be of a call: all, once its name is known.
    fn tell(&mut self, at: usize, deltas: &mut Vec<Delta>) {
        let Some(Growing::Call(call)) = self.items.get(at).map(|item| &item.of) else { return };
        if call.has_name() {
            self.begin(at, deltas);
        }
    }

    fn begin(&mut self, at: usize, deltas: &mut Vec<Delta>) {
        let Some(GrowingItem { named, of: Growing::Call(call), .. }) = self.items.get_mut(at) else { return };
        if !call.has_begun() {
            deltas.push(call.begin(self.begun, named.call_id.as_deref()));
            self.begun = self.begun.saturating_add(1);
            self.last = Last::Other;
        }
        deltas.extend(call.untold());
    }

    /// Hands a text on.
    fn say(&mut self, at: usize, words: &Words, deltas: &mut Vec<Delta>) {
        let (known, last) = match self.items.get_mut(at).map(|item| &mut item.of) {
            Some(Growing::Message(known)) => (known, Last::Text { item: at }),
            Some(Growing::Reasoning { words: known, .. }) => {
                (known, Last::Reasoning { item: at, slot: words.slot })
            }
            Some(Growing::Call(_)) | None => return,
        };
        if words.text.is_empty() || known.is_other_form(words.slot) {
            return;
        }
        if known.is_new_part(words.slot) {
            self.size += BLOCK;
        }
        known.push(words.slot, &words.text);
        let is_apart = match (self.last, last) {
            (Last::Text { .. }, Last::Text { .. }) | (Last::Reasoning { .. }, Last::Reasoning { .. }) => {
                self.last != last
            }
            (_, _) => false,
        };
        self.last = last;
        let gap = if is_apart { GAP } else { "" };
        self.size += gap.len() + words.text.len();
        let text: Text = format!("{gap}{}", words.text).into();
        deltas.push(match last {
            Last::Reasoning { .. } => Delta::Reasoning(text),
            Last::Text { .. } | Last::Other => Delta::Text(text),
        });
        if words.manner == Manner::Refusal && !words.text.trim().is_empty() {
            self.refusal = Refusal::Said;
        }
    }

    /// Hands on the item of a reasoning that its origin can open.
    fn seal(&mut self, at: usize, raw: &RawValue, deltas: &mut Vec<Delta>) {
        let Some(Growing::Reasoning { seal, .. }) = self.items.get_mut(at).map(|item| &mut item.of) else {
            return;
        };
        if *seal == Seal::HandedOn || !is_sealed_reasoning(raw.get()) {
            return;
        }
        let Ok(raw) = Json::try_from(raw.get()) else { return };
        *seal = Seal::HandedOn;
        self.size += BLOCK + raw.as_str().len();
        self.last = Last::Other;
        deltas.push(Delta::Opaque(Opaque { origin: self.origin.clone(), raw }));
    }

    fn words(&self, at: usize) -> Option<&GrowingWords> {
        match &self.items.get(at)?.of {
            Growing::Message(words) | Growing::Reasoning { words, .. } => Some(words),
            Growing::Call(_) => None,
        }
    }

    /// All text of messages that was said, in their order.
    fn said(&self) -> String {
        let messages = self.items.iter().filter_map(|item| match &item.of {
            Growing::Message(words) => Some(words.received()),
            Growing::Reasoning { .. } | Growing::Call(_) => None,
        });
        messages.collect()
    }
}

impl GrowingItem {
    fn kind(&self) -> Kind {
        match self.of {
            Growing::Message(_) => Kind::Message,
            Growing::Reasoning { .. } => Kind::Reasoning,
            Growing::Call(_) => Kind::Call,
        }
    }
}
