//! Chance from a seed: splitmix64, so that a seed says the same for ever.

/// Chance from a seed.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// The dice of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below a bound, which is not 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.roll() % bound
    }

    /// True so many times in a thousand.
    pub fn permille(&mut self, share: u64) -> bool {
        self.below(1000) < share
    }

    /// One of these.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }

    /// One of these, by weight.
    pub fn weighed<'a, T>(&mut self, from: &'a [(u64, T)]) -> &'a T {
        let sum = from.iter().map(|(weight, _)| weight).sum();
        let mut roll = self.below(sum);
        for (weight, one) in from {
            if roll < *weight {
                return one;
            }
            roll -= weight;
        }
        unreachable!("a roll is below the sum of the weights")
    }
}
