//! What opening does with a damaged log: first the damaged bytes are copied, then the end is cut.

use std::io;

use petasos_core::entry::Damage;
use petasos_core::id::Epoch;
use petasos_core::text::Text;

use super::{Place, write_all};
use crate::disk::DiskFile;
use crate::error::StoreError;
use crate::log::{Ending, Found, Log, Loss, end_of};

/// How many places an `open` entry names. A log with more is named as a whole from there on: a line must not
/// grow with the damage.
const NAMED: usize = 64;

/// Makes the log end with a whole line, and answers with the damage that the `open` entry of `epoch` is to name:
/// all that no entry before has named. Its lost bytes are on the disk beside the log before any of them is cut.
pub(super) fn repair(
    place: &Place,
    log_file: &mut dyn DiskFile,
    log: &Log,
    epoch: Epoch,
) -> Result<Vec<Damage>, StoreError> {
    let news = log.news();
    let mut named = set_aside(place, &news, log.stays, epoch)?;
    named.extend(news.into_iter().map(|found| found.damage));
    let of_log = |error| place.of_log(error);
    if log_file.length().map_err(of_log)? > log.stays {
        log_file.cut(log.stays).map_err(of_log)?;
    }
    if log.ending == Ending::Bare {
        write_all(log_file, b"\n").map_err(of_log)?;
    }
    Ok(bounded(named))
}

/// Copies the lost bytes, one place after the other, to a file beside the log that no opening before has
/// written, and syncs it.
///
/// An opening that ended before its `open` entry was kept has left a file of this epoch behind. If it holds
/// other bytes than these, they were cut off and never named: they are answered.
fn set_aside(place: &Place, news: &[Found], end: u64, epoch: Epoch) -> Result<Vec<Damage>, StoreError> {
    let mut lost = Vec::new();
    for found in news.iter().filter(|found| found.loss == Loss::Bytes) {
        let range = found.damage.from..end_of(&found.damage);
        lost.extend(place.disk.read(&place.log(), range).map_err(|error| place.of_log(error))?);
    }
    let mut unnamed = Vec::new();
    for try_number in 1.. {
        let name = file_name(epoch, try_number);
        let path = place.folder.join(&name);
        match place.disk.read(&path, 0..u64::MAX) {
            Ok(there) if there == lost => break,
            Ok(there) => unnamed.push(Damage {
                from: end,
                bytes: there.len() as u64,
                why: Text::from(format!("set aside in {name} by an opening that did not end")),
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound && lost.is_empty() => break,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                place.write_new_file(&place.folder.join("damaged.new"), &path, &lost)?;
                break;
            }
            Err(error) => return Err(StoreError::of_disk(&path, error)),
        }
    }
    Ok(unnamed)
}

fn file_name(epoch: Epoch, try_number: u64) -> String {
    match try_number {
        1 => format!("damaged-{}.bin", epoch.0),
        _ => format!("damaged-{}-{try_number}.bin", epoch.0),
    }
}

fn bounded(mut damage: Vec<Damage>) -> Vec<Damage> {
    if damage.len() <= NAMED {
        return damage;
    }
    let rest = damage.split_off(NAMED - 1);
    let from = rest.iter().map(|one| one.from).min().unwrap_or_default();
    let end = rest.iter().map(end_of).max().unwrap_or(from);
    let why = format!("{} more places from here on", rest.len());
    damage.push(Damage { from, bytes: end.saturating_sub(from), why: Text::from(why) });
    damage
}
