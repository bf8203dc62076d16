//! The messages on the way to the leaf, as the model sees them.

use std::sync::Arc;

use crate::entry::{Call, Note, Reply, Said, ToolResult};
use crate::id::Seq;
use crate::request::Target;

/// A step that is whole: a reply and one result for each of its calls, in the order of the calls.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClosedStep {
    /// The `reply` entry.
    pub reply_seq: Seq,
    /// Whom its request went to; none if that line is damaged.
    pub target: Option<Arc<Target>>,
    /// What the model answered.
    pub reply: Arc<Reply>,
    /// Of each call what it ran as, if a repair or a hook made that differ from what the model wrote.
    pub changed: Vec<Option<Arc<Call>>>,
    /// What came of its calls.
    pub results: Vec<Arc<ToolResult>>,
    /// The last entry of the step.
    pub last: Seq,
}

/// One message, or a reply with its results.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Item {
    /// What a person, job, parent or program said.
    Said(Arc<Said>),
    /// What the program added.
    Note(Arc<Note>),
    /// A closed step.
    Step(ClosedStep),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Node {
    item: Item,
    /// The last entry of it: where the leaf can go, if the item is a step or was said.
    last: Seq,
    parent: Option<usize>,
}

impl Node {
    /// True if the leaf may rest on it.
    fn is_place(&self) -> bool {
        match self.item {
            Item::Said(_) | Item::Step(_) => true,
            Item::Note(_) => false,
        }
    }
}

/// A tree of items with a current leaf. Undo moves the leaf; nothing is ever taken out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Transcript {
    nodes: Vec<Node>,
    leaf: Option<usize>,
}

impl Transcript {
    /// The items on the way to the leaf, first to last, each with its last entry.
    pub fn items(&self) -> Vec<(Seq, &Item)> {
        let mut way = Vec::new();
        let mut at = self.leaf;
        while let Some(node) = at.and_then(|index| self.nodes.get(index)) {
            way.push((node.last, &node.item));
            at = node.parent;
        }
        way.reverse();
        way
    }

    /// The item at the leaf.
    pub fn last(&self) -> Option<&Item> {
        self.leaf.and_then(|index| self.nodes.get(index)).map(|node| &node.item)
    }

    pub(crate) fn push(&mut self, last: Seq, item: Item) {
        self.nodes.push(Node { item, last, parent: self.leaf });
        self.leaf = Some(self.nodes.len() - 1);
    }

    /// True if the leaf may go there: something said, or the end of a closed step.
    pub fn is_place(&self, seq: Seq) -> bool {
        self.find(seq).is_some()
    }

    /// The last thing said on the way to the leaf.
    pub(crate) fn last_said(&self) -> Option<Seq> {
        self.way().find(|node| matches!(node.item, Item::Said(_))).map(|node| node.last)
    }

    /// The last place on the way to the leaf; none is the empty transcript.
    pub(crate) fn last_place(&self) -> Option<Seq> {
        self.way().find(|node| node.is_place()).map(|node| node.last)
    }

    /// The place before something that was said on the way to the leaf.
    pub(crate) fn place_before(&self, said: Seq) -> Option<Seq> {
        let before = self.way().skip_while(|node| node.last != said).skip(1);
        before.filter(|node| node.is_place()).map(|node| node.last).next()
    }

    /// From the leaf back to the beginning.
    fn way(&self) -> impl Iterator<Item = &Node> {
        let node = |index: usize| self.nodes.get(index);
        std::iter::successors(self.leaf.and_then(node), move |node| self.nodes.get(node.parent?))
    }

    fn find(&self, seq: Seq) -> Option<usize> {
        self.nodes.iter().rposition(|node| node.is_place() && node.last == seq)
    }

    /// Moves the leaf; the empty transcript is `None`. A place that is not there changes nothing.
    pub(crate) fn go_to(&mut self, to: Option<Seq>) {
        match to {
            None => self.leaf = None,
            Some(seq) => {
                if let Some(index) = self.find(seq) {
                    self.leaf = Some(index);
                }
            }
        }
    }
}
