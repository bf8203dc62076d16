//! Amounts in a file, such as `0.25`: kept as whole millionths, never as a float.

use std::fmt;

use petasos_providers::micro_usd;
use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};

/// An amount in millionths, rounded up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Millionths(pub(super) u64);

impl<'de> Deserialize<'de> for Millionths {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Amount;
        impl Amount {
            fn read<E: Error>(&self, text: &str) -> Result<Millionths, E> {
                let amount = micro_usd(text).map(Millionths);
                amount.ok_or_else(|| E::invalid_value(Unexpected::Other(text), self))
            }
        }
        impl Visitor<'_> for Amount {
            type Value = Millionths;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an amount such as 0.25")
            }

            fn visit_u64<E: Error>(self, amount: u64) -> Result<Millionths, E> {
                self.read(&amount.to_string())
            }

            fn visit_i64<E: Error>(self, amount: i64) -> Result<Millionths, E> {
                self.read(&amount.to_string())
            }

            // Its shortest digits are those that stand in the file.
            fn visit_f64<E: Error>(self, amount: f64) -> Result<Millionths, E> {
                self.read(&amount.to_string())
            }

            fn visit_str<E: Error>(self, amount: &str) -> Result<Millionths, E> {
                self.read(amount)
            }
        }
        deserializer.deserialize_any(Amount)
    }
}
