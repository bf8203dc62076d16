//! What belongs to a file beside its content, and is given to the one that replaces it: owner and group, mode, and
//! attributes, among which are the rights of single users (ACLs).

use std::io;

use cap_std::fs::{File, Metadata, MetadataExt as _, Permissions, PermissionsExt as _};
use rustix::fs::{Gid, Uid, XattrFlags, fchown, fgetxattr, flistxattr, fsetxattr};

/// Bytes of one attribute, and of the names of all: Linux takes no more.
const LARGEST: usize = 64 * 1024;
/// The rights of single users and groups, on Linux.
const ACL: &str = "system.posix_acl_access";

/// Gives all of it, and adds to a note what could not be given.
pub(super) fn give(
    file: &File,
    before: &Metadata,
    old: Option<&std::fs::File>,
    note: &mut String,
) -> io::Result<()> {
    let group = own(file, before, note)?;
    let mode = mode_after(before, group, note);
    file.set_permissions(Permissions::from_mode(mode))?;
    let mut lost = Vec::new();
    for name in old.map(attributes).unwrap_or_default() {
        // What an ACL says of the group of a file would be said of another.
        let is_of_other = name == ACL && group == Group::Other;
        if is_of_other || old.is_none_or(|old| carry_over(old, file, &name).is_err()) {
            lost.push(name);
        }
    }
    if lost.iter().any(|name| name == ACL) {
        // With an ACL the bits of the group are what the rights of single users may be at most.
        file.set_permissions(Permissions::from_mode(mode & !0o070))?;
    }
    if !lost.is_empty() {
        note.push_str(&format!("; not kept of it: {}", lost.join(", ")));
    }
    Ok(())
}

/// The attributes of a file that are kept. Others are the system's: it gives a label to a new file itself, and takes
/// the rights of a program away when another is put in its place.
fn attributes(file: &std::fs::File) -> Vec<String> {
    let mut names = vec![0; LARGEST];
    let Ok(length) = flistxattr(file, names.as_mut_slice()) else { return Vec::new() };
    let names = names.get(..length).unwrap_or_default();
    let names = names.split(|byte| *byte == 0).map(|name| String::from_utf8_lossy(name).into_owned());
    names.filter(|name| name.starts_with("user.") || name == ACL).collect()
}

fn carry_over(old: &std::fs::File, new: &File, name: &str) -> rustix::io::Result<()> {
    let mut value = vec![0; LARGEST];
    let length = fgetxattr(old, name, value.as_mut_slice())?;
    fsetxattr(new, name, value.get(..length).unwrap_or_default(), XattrFlags::empty())
}

/// Whose group a file has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Group {
    Same,
    Other,
}

/// Gives a file to whom the one before belonged, as far as this user may.
fn own(file: &File, before: &Metadata, note: &mut String) -> io::Result<Group> {
    let metadata = file.metadata()?;
    let (user, group) = (Uid::from_raw(before.uid()), Gid::from_raw(before.gid()));
    // The group first, since who may not give it to another user may still choose among own groups.
    let is_kept = metadata.gid() == before.gid() || fchown(file, None, Some(group)).is_ok();
    if metadata.uid() != before.uid() && fchown(file, Some(user), None).is_err() {
        let (now, before) = (metadata.uid(), before.uid());
        note.push_str(&format!(
            "; it belongs to user {now} now, not to {before}, whom this user may not give it to"
        ));
    }
    if !is_kept {
        let (now, before) = (metadata.gid(), before.gid());
        note.push_str(&format!("; its group is {now} now, not {before}, which this user is not in"));
    }
    Ok(if is_kept { Group::Same } else { Group::Other })
}

/// The mode that a file has after another content was put into it.
fn mode_after(before: &Metadata, group: Group, note: &mut String) -> u32 {
    let mode = before.permissions().mode() & 0o7777;
    // Whoever trusted the old program with these rights did not see the new one; the system takes them away too.
    let plain = mode & !0o6000;
    if plain != mode {
        note.push_str("; its setuid or setgid bit was taken away");
    }
    match group {
        Group::Same => plain,
        // What one group might do is not for another: it gets what all others have.
        Group::Other => plain & (!0o070 | (plain & 0o007) << 3),
    }
}
