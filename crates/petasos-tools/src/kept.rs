//! Output of any length in bounded memory: its beginning, its end, and the whole in a blob.

use std::sync::Arc;

use petasos_core::tool::BlobName;

use crate::clean::Cleaner;
use crate::mask::Hiding;
use crate::output::{Shown, whole};
use crate::tool::{BlobWriter, Context};

/// Characters kept free for what is said of the output.
const AROUND: usize = 600;

/// Output as it comes.
#[derive(Debug)]
pub(crate) struct Kept {
    cleaner: Cleaner,
    hiding: Hiding,
    /// The most characters that are shown.
    room: usize,
    head: String,
    head_characters: usize,
    tail: String,
    characters: u64,
    bytes: u64,
    came: u64,
    whole: Whole,
}

/// Where the whole is.
#[derive(Debug)]
enum Whole {
    /// All of it fits.
    Head,
    /// It is being written.
    Blob(Box<dyn BlobWriter>),
    /// It could not be kept.
    Lost(String),
}

/// Whether output is being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// It is.
    Busy,
    /// Nothing came for a while.
    Quiet,
}

impl Kept {
    /// No output yet.
    pub(crate) fn new(context: &Context) -> Self {
        Self {
            cleaner: Cleaner::default(),
            hiding: Hiding::new(Arc::clone(&context.session.mask)),
            room: context.cap.0.saturating_sub(AROUND).max(AROUND),
            head: String::new(),
            head_characters: 0,
            tail: String::new(),
            characters: 0,
            bytes: 0,
            came: 0,
            whole: Whole::Head,
        }
    }

    /// Bytes that are kept: what was cleaned away does not count, and what was made readable counts as that.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// True if something came, shown or not.
    pub(crate) fn has_come(&self) -> bool {
        self.came > 0
    }

    /// Adds bytes.
    pub(crate) async fn push(&mut self, bytes: &[u8], context: &Context) {
        self.came = self.came.saturating_add(bytes.len() as u64);
        let mut text = String::new();
        self.cleaner.push(bytes, &mut text);
        let mut shown = Vec::new();
        self.hiding.push(text.as_bytes(), &mut shown);
        self.add(text_of(shown), context).await;
    }

    /// What came since the last time, after a first line; more is to come. While it is being written, what may be the
    /// beginning of a key is kept for the next time.
    pub(crate) async fn take(&mut self, first: &str, flow: Flow, context: &Context) -> (Shown, u64) {
        let mut text = String::new();
        self.cleaner.finish(&mut text);
        let mut shown = Vec::new();
        self.hiding.push(text.as_bytes(), &mut shown);
        if flow == Flow::Quiet {
            self.hiding.finish(&mut shown);
        }
        self.add(text_of(shown), context).await;
        let next = Self {
            cleaner: std::mem::take(&mut self.cleaner),
            hiding: std::mem::replace(&mut self.hiding, Hiding::new(Arc::default())),
            ..Self::new(context)
        };
        std::mem::replace(self, next).shown(first).await
    }

    /// All that is to be read of it, after a first line.
    pub(crate) async fn finish(mut self, first: &str, context: &Context) -> (Shown, u64) {
        let mut text = String::new();
        self.cleaner.finish(&mut text);
        let mut shown = Vec::new();
        self.hiding.push(text.as_bytes(), &mut shown);
        self.hiding.finish(&mut shown);
        self.add(text_of(shown), context).await;
        self.shown(first).await
    }

    async fn shown(self, first: &str) -> (Shown, u64) {
        let bytes = self.bytes;
        let blob = match self.whole {
            Whole::Head => {
                let text = format!("{first}{}", self.head);
                return (Shown::Part { text, bytes, blob: None }, bytes);
            }
            Whole::Blob(writer) => writer.finish().await.map_err(|error| error.to_string()),
            Whole::Lost(why) => Err(why),
        };
        let text = format!("{first}{}", cut(&self.head, &self.tail, self.characters, self.room, &blob));
        (Shown::Part { text, bytes, blob: blob.ok() }, bytes)
    }

    async fn add(&mut self, text: String, context: &Context) {
        if text.is_empty() {
            return;
        }
        let length = text.chars().count();
        self.characters = self.characters.saturating_add(length as u64);
        self.bytes = self.bytes.saturating_add(text.len() as u64);
        let free = self.room.saturating_sub(self.head_characters);
        if length > free && matches!(self.whole, Whole::Head) {
            let begun = self.head.clone().into_bytes();
            self.whole = match context.blobs.create().await {
                Ok(writer) => Whole::Blob(writer),
                Err(error) => Whole::Lost(error.to_string()),
            };
            self.write(begun).await;
        }
        let place = text.char_indices().nth(free).map_or(text.len(), |(place, _)| place);
        let (head, tail) = text.split_at_checked(place).unwrap_or((&text, ""));
        self.head.push_str(head);
        self.head_characters += length.min(free);
        self.tail.push_str(tail);
        // Cut now and then, not with every piece: that would be work with the square of the output.
        if self.tail.len() > self.room.saturating_mul(8) {
            let from = self.tail.char_indices().rev().nth(self.room).map_or(0, |(place, _)| place);
            self.tail.drain(..from);
        }
        self.write(text.into_bytes()).await;
    }

    async fn write(&mut self, bytes: Vec<u8>) {
        if let Whole::Blob(writer) = &mut self.whole
            && let Err(error) = writer.write(bytes).await
        {
            self.whole = Whole::Lost(error.to_string());
        }
    }
}

/// Text with its keys hidden is text: whole characters alone are given on.
fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// The beginning and the end around a line that says what is missing. The head has `room` characters.
fn cut(head: &str, tail: &str, all: u64, room: usize, blob: &Result<BlobName, String>) -> String {
    // Programs say at their end what went wrong, so that gets as much as the beginning.
    let half = room / 2;
    let in_tail = tail.chars().count();
    let beginning: String = head.chars().take(half).collect();
    let from_head: String = head.chars().skip(room - half.saturating_sub(in_tail).min(half)).collect();
    let end: String = tail.chars().skip(in_tail.saturating_sub(half)).collect();
    let shown = (half + from_head.chars().count() + end.chars().count()) as u64;
    let left_out = all.saturating_sub(shown);
    let whole = whole(blob);
    format!("{beginning}\n[… {left_out} of {all} characters left out; {whole}]\n{from_head}{end}")
}
