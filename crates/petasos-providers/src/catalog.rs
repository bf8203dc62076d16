//! Providers that are known, as data. A provider on a known wire is a row here and nothing else.
//!
//! The rows stand in `catalog.toml`, inside the binary.

use petasos_core::request::Wire;

/// The wires that this build can write and read.
pub fn spoken_wires() -> &'static [Wire] {
    &[Wire::Chat]
}
