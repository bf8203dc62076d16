//! Row T03: whose a written file is, who may use it, and under which names.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::sync::Arc;

use petasos_core::tool::Outcome;

use crate::say::{Room, arguments, edit, trouble};
#[cfg(target_os = "linux")]
use crate::say::{unprivileged, wait};

fn write(path: &str, content: &str) -> String {
    arguments(&[("path", path), ("content", content)])
}

fn mode(room: &Room, path: &str) -> u32 {
    std::fs::metadata(room.path(path)).unwrap().permissions().mode() & 0o7777
}

/// Files of a folder that is mounted into a container often belong to a user outside.
#[tokio::test]
async fn t03_a_file_keeps_its_owner() {
    let room = Room::holding("a.txt", "one\n");
    if chown(room.path("a.txt"), Some(1234), Some(4321)).is_err() {
        // Only root may make such a file.
        return;
    }
    room.sh("chmod 640 a.txt");
    for (tool, call, text) in [
        ("write_file", write("a.txt", "two\n"), "wrote 4 bytes, 1 lines to a.txt (replaced)"),
        ("edit_file", edit("a.txt", "two", "three"), "edited 1 place in a.txt (line 1)"),
    ] {
        room.check(tool, &call, Outcome::Ok, text).await;
        let after = std::fs::metadata(room.path("a.txt")).unwrap();
        assert_eq!((after.uid(), after.gid(), mode(&room, "a.txt")), (1234, 4321, 0o640), "{tool}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn t03_an_owner_that_cannot_be_kept_is_told() {
    let room = Arc::new(Room::holding("a.txt", "one\n"));
    room.sh("chmod 777 .; chmod 666 a.txt");
    if chown(room.path("a.txt"), Some(1234), Some(4321)).is_err() {
        return;
    }
    let ours = Arc::clone(&room);
    unprivileged(move || {
        let text = wait(ours.text("write_file", &write("a.txt", "two\n")));
        assert!(text.starts_with("wrote 4 bytes, 1 lines to a.txt (replaced); "), "{text}");
        assert!(text.contains("it belongs to user 65534 now, not to 1234"), "{text}");
        assert!(text.contains("not 4321, which this user is not in"), "{text}");
    });
    assert_eq!(room.get("a.txt"), b"two\n");
}

/// What a group might do is not for the group that the file has now.
#[cfg(target_os = "linux")]
#[test]
fn t03_rights_of_a_group_do_not_pass_to_another() {
    let room = Arc::new(Room::holding("a.txt", "one\n"));
    room.sh("chmod 777 .");
    if chown(room.path("a.txt"), Some(65_534), Some(4321)).is_err() {
        return;
    }
    room.sh("chmod 664 a.txt");
    let ours = Arc::clone(&room);
    unprivileged(move || {
        wait(ours.text("write_file", &write("a.txt", "two\n")));
    });
    assert_eq!(mode(&room, "a.txt"), 0o644);
}

/// Notes of programs, and the rights of single users, which a usual mode would widen: its group part is their limit.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn t03_attributes_and_rights_of_single_users_stay() {
    use rustix::fs::{XattrFlags, getxattr, setxattr};
    const ACL: &str = "system.posix_acl_access";
    let room = Room::holding("a.txt", "one\n");
    let path = room.path("a.txt");
    // Version 2; the owner rw, user 1234 rw, the group nothing, all of those rw at most, others nothing.
    let none = u32::MAX;
    let mut acl = 2_u32.to_le_bytes().to_vec();
    for (whose, may, id) in [(1_u16, 6_u16, none), (2, 6, 1234), (4, 0, none), (16, 6, none), (32, 0, none)] {
        acl.extend([&whose.to_le_bytes()[..], &may.to_le_bytes(), &id.to_le_bytes()].concat());
    }
    let set = |name: &str, value: &[u8]| setxattr(&path, name, value, XattrFlags::empty()).is_ok();
    if !set("user.note", b"kept") || !set(ACL, &acl) {
        // This disk has neither.
        return;
    }
    let get = |name: &str| {
        let mut value = vec![0; 1_000];
        let length = getxattr(&path, name, value.as_mut_slice()).unwrap();
        value[..length].to_vec()
    };
    assert_eq!(mode(&room, "a.txt"), 0o660);
    let text = "wrote 4 bytes, 1 lines to a.txt (replaced)";
    room.check("write_file", &write("a.txt", "two\n"), Outcome::Ok, text).await;
    assert_eq!((get("user.note"), get(ACL), mode(&room, "a.txt")), (b"kept".to_vec(), acl, 0o660));
}

/// An ACL has rights of the group in it, whichever group that is.
#[cfg(target_os = "linux")]
#[test]
fn t03_an_acl_does_not_pass_to_another_group() {
    use rustix::fs::{XattrFlags, getxattr, setxattr};
    const ACL: &str = "system.posix_acl_access";
    let room = Arc::new(Room::holding("a.txt", "one\n"));
    room.sh("chmod 777 .");
    // Version 2; the owner, user 1234 and the group rw, all of those rw at most, others nothing.
    let none = u32::MAX;
    let mut acl = 2_u32.to_le_bytes().to_vec();
    for (whose, may, id) in [(1_u16, 6_u16, none), (2, 6, 1234), (4, 6, none), (16, 6, none), (32, 0, none)] {
        acl.extend([&whose.to_le_bytes()[..], &may.to_le_bytes(), &id.to_le_bytes()].concat());
    }
    let path = room.path("a.txt");
    let is_set = setxattr(&path, ACL, &acl, XattrFlags::empty()).is_ok();
    if !is_set || chown(&path, Some(65_534), Some(4321)).is_err() {
        // This disk has none, or only root may make such a file.
        return;
    }
    let ours = Arc::clone(&room);
    unprivileged(move || {
        let text = wait(ours.text("write_file", &write("a.txt", "two\n")));
        assert!(text.contains("not kept of it: system.posix_acl_access"), "{text}");
    });
    let mut value = [0; 1_000];
    assert!(getxattr(&path, ACL, &mut value).is_err());
    assert_eq!((room.get("a.txt"), mode(&room, "a.txt")), (b"two\n".to_vec(), 0o600));
}

#[tokio::test]
async fn t03_rights_of_the_old_program_are_not_given_to_a_new_one() {
    let room = Room::holding("a.sh", "one\n");
    room.sh("chmod 6755 a.sh");
    let text = "wrote 4 bytes, 1 lines to a.sh (replaced); its setuid or setgid bit was taken away";
    room.check("write_file", &write("a.sh", "two\n"), Outcome::Ok, text).await;
    assert_eq!(mode(&room, "a.sh"), 0o755);
}

/// Atomic and under all its names cannot be had together; neither is given up without a word.
#[tokio::test]
async fn case_f16_a_file_with_several_names_is_not_parted() {
    let room = Room::holding("h1", "one\n");
    room.sh("ln h1 h2");
    room.refused("write_file", &write("h1", "two\n"), "h1 is one file under 2 names (hard links)").await;
    let output = room.call("edit_file", &edit("h1", "one", "two")).await;
    assert_eq!((room.get("h1"), room.get("h2")), (b"one\n".to_vec(), b"one\n".to_vec()));
    // Both ways on that the hint names.
    let hint = &trouble(output.for_model.text())["hint"];
    assert!(hint.contains("cat NEW > h1 && rm NEW") && hint.contains("cp h1 NEW && mv NEW h1"), "{hint}");
    room.call("write_file", &write("NEW", "two\n")).await;
    room.call("run_command", r#"{"command":"cat NEW > h1 && rm NEW"}"#).await;
    assert_eq!((room.get("h1"), room.get("h2")), (b"two\n".to_vec(), b"two\n".to_vec()));
    room.call("run_command", r#"{"command":"cp h1 NEW && mv NEW h1"}"#).await;
    room.check("edit_file", &edit("h1", "two", "three"), Outcome::Ok, "edited 1 place in h1 (line 1)").await;
    assert_eq!((room.get("h1"), room.get("h2")), (b"three\n".to_vec(), b"two\n".to_vec()));
}

/// A name is one word of the commands that are proposed.
#[tokio::test]
async fn case_f16_a_strange_name_is_one_word_of_the_hint() {
    let room = Room::holding("it's a file", "one\n");
    room.sh("ln \"it's a file\" h2");
    let output = room.call("write_file", &write("it's a file", "two\n")).await;
    let hint = trouble(output.for_model.text())["hint"].clone();
    let command = hint.split("run_command: ").nth(2).unwrap().split(", then").next().unwrap();
    room.sh(command);
    room.call("write_file", &write("it's a file", "two\n")).await;
    assert_eq!((room.get("it's a file"), room.get("h2")), (b"two\n".to_vec(), b"one\n".to_vec()));
}

#[tokio::test]
async fn t03_what_a_killed_process_left_of_its_writes_is_removed() {
    let room = Room::new();
    let old = ".petasos-unfinished-0123456789abcdef";
    let others = [
        ".petasos-unfinished-fedcba9876543210",
        ".petasos-unfinished-0123",
        ".petasos-unfinished-0123456789abcdeg",
    ];
    for name in others.iter().chain([&old]) {
        room.put(name, "x");
    }
    room.sh(&format!(
        "mkdir below; cp {old} below; touch -d '2 hours ago' {old} below/{old} {}",
        others[1..].join(" ")
    ));
    let listed = room.text("list_files", r#"{"depth":1}"#).await;
    assert!(listed.contains(others[1]) && !listed.contains(old) && listed.contains("2 ignored"), "{listed}");
    room.call("write_file", &write("a.txt", "x")).await;
    let mut names: Vec<String> = std::fs::read_dir(room.path(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, [others[1], others[2], others[0], "a.txt", "below"]);
    // Only the folder that is written to is looked at.
    assert!(room.path(&format!("below/{old}")).exists());
}

#[tokio::test]
async fn t03_a_path_that_names_a_folder_is_no_file() {
    let room = Room::holding("a.txt", "one");
    for path in ["newdir/", "newdir//", "a.txt/"] {
        room.refused("write_file", &write(path, "x"), "names a folder").await;
    }
    assert!(!room.path("newdir").exists());
    assert_eq!(room.get("a.txt"), b"one");
}

#[cfg(target_os = "linux")]
#[test]
fn t03_a_folder_that_nothing_may_be_put_into_is_named() {
    unprivileged(|| {
        let room = Room::holding("d/a.txt", "old");
        room.sh("chmod 555 d");
        let output = wait(room.call("write_file", &write("d/a.txt", "new")));
        let parts = trouble(output.for_model.text());
        assert_eq!(parts["error"], "the folder is read only");
        assert!(
            parts["cause"].starts_with("d/a.txt may be written, but nothing may be put beside it in d: ")
        );
        wait(room.refused("write_file", &write("d/b.txt", "new"), "nothing may be put into d: "));
        room.sh("chmod 755 d");
        assert_eq!(room.get("d/a.txt"), b"old");
        assert!(!room.path("d/b.txt").exists());
    });
}
