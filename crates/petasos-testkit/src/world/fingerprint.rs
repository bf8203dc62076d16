//! What of a state decides about its future. Closed steps, sums and past times do not: core holds no
//! history in a turn, and neither does the walk, or it would see each state once for each way to it.

use std::hash::{DefaultHasher, Hash, Hasher};

use petasos_core::session::Session;

use crate::world::State;

impl State {
    /// A hash of what decides about the future, up to the numbers of entries: two states are one if the
    /// same order of entries stands at the same places, for core only ever compares and counts on.
    /// A state's other numbers are zero or at least a thousand (see `words`), so the small ones are entries.
    pub fn fingerprint(&self) -> u64 {
        let mut numbers = Numbers::default();
        self.hash_future(&mut numbers);
        let mut hasher = ByRank { numbers, inner: DefaultHasher::new() };
        self.hash_future(&mut hasher);
        hasher.finish()
    }

    fn hash_future(&self, hasher: &mut impl Hasher) {
        hash_session(&self.session, hasher);
        let world = &self.world;
        if let Some(log) = world.log.as_ref().filter(|_| world.left.crashes > 0) {
            let (session, book) = log.safe();
            hash_session(session, hasher);
            book.hash(hasher);
            log.unsynced().for_each(|entry| entry.body.hash(hasher));
        }
        (&world.unanswered, &world.book, &world.measuring, world.reserving, world.building).hash(hasher);
        (world.model, &world.preparing, &world.probing, &world.asked).hash(hasher);
        (&world.running, &world.stopping, world.timer, world.ledger.held()).hash(hasher);
        (&world.allowed, &world.began, &world.never_again, &world.keyed, &world.said).hash(hasher);
        (world.stopped, world.gone, world.finished, world.broken, world.left).hash(hasher);
        world.requests.values().for_each(|(head, target, _)| (head, target).hash(hasher));
    }
}

fn hash_session(session: &Session, hasher: &mut impl Hasher) {
    session.waiting().hash(hasher);
    session.head().is_some().hash(hasher);
    if let Some(turn) = session.turn() {
        let told = turn.told();
        (&told.limits, told.mode, told.target(), told.ended, &told.step).hash(hasher);
        turn.phase().hash(hasher);
    }
}

/// The numbers below a thousand that a state holds.
#[derive(Default)]
struct Numbers([u64; 16]);

impl Numbers {
    fn rank(&self, number: u64) -> Option<u32> {
        let (word, bit) = (usize::try_from(number / 64).ok()?, number % 64);
        let below = self.0.get(..word)?.iter().map(|word| word.count_ones()).sum::<u32>();
        Some(below + (self.0.get(word)? & ((1 << bit) - 1)).count_ones())
    }
}

impl Hasher for Numbers {
    fn write(&mut self, _bytes: &[u8]) {}

    fn write_u64(&mut self, number: u64) {
        if let Some(word) = usize::try_from(number / 64).ok().and_then(|word| self.0.get_mut(word)) {
            *word |= 1 << (number % 64);
        }
    }

    fn finish(&self) -> u64 {
        0
    }
}

/// Hashes each small number by its rank among those of the state.
struct ByRank {
    numbers: Numbers,
    inner: DefaultHasher,
}

impl Hasher for ByRank {
    fn write(&mut self, bytes: &[u8]) {
        self.inner.write(bytes);
    }

    fn write_u64(&mut self, number: u64) {
        match self.numbers.rank(number) {
            Some(rank) => self.inner.write_u32(rank),
            None => self.inner.write_u64(number),
        }
    }

    fn finish(&self) -> u64 {
        self.inner.finish()
    }
}
