//! `petasos dev decode`: what a recorded stream means.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::process::ExitCode;

use petasos_core::request::Wire;
use petasos_runtime::{DecodedEnd, Decoding};

use super::Refusal;
use crate::print::{self, Printer};

/// The provider told an error, or what stands in the file is no reply.
const ERROR: u8 = 1;
/// The stream breaks off.
const CUT: u8 = 3;

/// So much is read at once.
const PIECE: usize = 64 << 10;

/// Tells what a file means.
pub(crate) fn decode(wire: Wire, path: &Path) -> ExitCode {
    let read = if path == Path::new("-") { read(wire, io::stdin().lock()) } else { open(wire, path) };
    let decoding = match read {
        Ok(decoding) => decoding,
        Err(error) => {
            let hint = "name a file that holds the body of an answer, byte for byte";
            let refusal = Refusal::usage(format!("{}: {error}", path.display()), hint);
            return refusal.tell(&mut Printer::job());
        }
    };
    let decoded = decoding.finish();
    print::data(&decoded.line());
    match decoded.ended {
        DecodedEnd::Complete => ExitCode::SUCCESS,
        DecodedEnd::Error | DecodedEnd::Unreadable => ExitCode::from(ERROR),
        DecodedEnd::Cut => ExitCode::from(CUT),
    }
}

fn open(wire: Wire, path: &Path) -> io::Result<Decoding> {
    read(wire, File::open(path)?)
}

fn read(wire: Wire, mut from: impl Read) -> io::Result<Decoding> {
    let mut decoding = Decoding::new(wire);
    let mut piece = vec![0; PIECE];
    loop {
        let count = from.read(&mut piece)?;
        decoding.feed(piece.get(..count).unwrap_or_default());
        // A pipe may stay open behind the end.
        if count == 0 || decoding.has_ended() {
            return Ok(decoding);
        }
    }
}
