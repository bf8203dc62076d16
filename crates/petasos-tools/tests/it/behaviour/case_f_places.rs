//! Cases F-17 to F-22 and G-13: where files are.

use petasos_core::tool::Outcome;
use petasos_tools::{Options, Registry, Workspace, builtin};

use crate::say::{Room, arguments};

fn path(path: &str) -> String {
    arguments(&[("path", path)])
}

#[tokio::test]
async fn case_f17_paths_that_lead_out_are_refused_and_none_is_decided_by_its_letters() {
    let room = Room::new();
    room.sh("mkdir ../proj-evil; echo TOPSECRET > ../proj-evil/s.txt; echo fine > ok.txt; mkdir sub");
    let root = room.path("").to_str().unwrap().trim_end_matches('/').to_owned();
    let absolute = |path: &str| path.replacen("/w/proj", &root, 1);
    let out = [
        "../proj-evil/s.txt".to_owned(),
        absolute("/w/proj-evil/s.txt"),
        "a/../../proj-evil/s.txt".to_owned(),
        "./x/../../../etc/passwd".to_owned(),
        absolute("/w/proj/../proj-evil/s.txt"),
        "/etc/passwd".to_owned(),
        "/proc/self/environ".to_owned(),
    ];
    for out in &out {
        for tool in ["read_file", "list_files"] {
            room.refused(tool, &path(out), "leads out of the workspace").await;
        }
        room.refused("write_file", &arguments(&[("path", out), ("content", "x")]), "leads out").await;
        let cwd = arguments(&[("command", "cat s.txt"), ("cwd", out)]);
        room.refused("run_command", &cwd, "leads out").await;
        room.refused("search_files", &arguments(&[("pattern", "."), ("path", out)]), "leads out").await;
    }
    room.refused("read_file", &path("%2e%2e/proj-evil/s.txt"), "there is no %2e%2e/proj-evil/s.txt").await;
    room.refused("read_file", &path("~/secret"), "there is no ~/secret").await;
    let inside = root.replace('/', "//") + "//ok.txt";
    room.check("read_file", &path(&inside), Outcome::Ok, "fine\n").await;
    assert_eq!(std::fs::read_dir(room.outside.path().join("w/proj-evil")).unwrap().count(), 1);
}

#[tokio::test]
async fn case_f18_links_that_lead_out_give_nothing() {
    let room = Room::new();
    room.sh(r"mkdir ../out; printf 'TOPSECRET\n' > ../out/s.txt
              ln -s ../out linkdir; ln -s ../out/new.txt dangling; ln -s ../out/s.txt leak.txt");
    room.refused("read_file", &path("linkdir/s.txt"), "leads out").await;
    room.refused("write_file", &arguments(&[("path", "dangling"), ("content", "x")]), "leads out").await;
    room.refused("read_file", &path("leak.txt"), "leads out").await;
    room.refused("list_files", &path("linkdir"), "leads out").await;
    let found = room.call("search_files", &arguments(&[("pattern", "TOPSECRET")])).await;
    assert_eq!(found.outcome, Outcome::Empty);
    assert!(!room.path("../out/new.txt").exists());
    let text = "dangling -> ../out/new.txt\nleak.txt -> ../out/s.txt\nlinkdir -> ../out\n";
    room.check("list_files", "{}", Outcome::Ok, text).await;
}

#[tokio::test]
async fn case_f19_what_is_no_regular_file_is_named_and_never_waited_for() {
    let room = Room::new();
    room.sh("mkfifo logs.pipe; ln -s /dev/zero zero.txt");
    room.sh("python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('s.sock')\"");
    room.refused("read_file", &path("logs.pipe"), "logs.pipe is a FIFO, not a regular file").await;
    room.refused("read_file", &path("s.sock"), "s.sock is a socket, not a regular file").await;
    room.refused("read_file", &path("zero.txt"), "leads out").await;
    room.refused("write_file", &arguments(&[("path", "logs.pipe"), ("content", "x")]), "is a FIFO").await;
    let found = room.call("search_files", &arguments(&[("pattern", "x")])).await;
    assert_eq!(found.outcome, Outcome::Empty);
    let text = "logs.pipe (FIFO)\ns.sock (socket)\nzero.txt -> /dev/zero\n";
    room.check("list_files", "{}", Outcome::Ok, text).await;
}

#[tokio::test]
async fn case_f21_a_pattern_that_begins_with_a_dash_is_text() {
    let room = Room::holding("a.txt", "usage: --help\n-needle\n--pre=./evil.sh\nx\n");
    room.put("evil.sh", "#!/bin/sh\ntouch ran\n");
    room.sh("chmod 755 evil.sh");
    let found = "[1 matches in 1 files]\n";
    let check = async |arguments: &str, line: &str| {
        room.check("search_files", arguments, Outcome::Ok, &format!("{line}\n{found}")).await;
    };
    check(r#"{"pattern":"--help"}"#, "a.txt:1: usage: --help").await;
    check(r#"{"pattern":"-needle"}"#, "a.txt:2: -needle").await;
    check(r#"{"pattern":"--pre=./evil.sh"}"#, "a.txt:3: --pre=./evil.sh").await;
    let glob = room.call("search_files", r#"{"pattern":"x","glob":"--ignore-file=/etc/passwd"}"#).await;
    assert_eq!(glob.outcome, Outcome::Empty);
    room.refused("search_files", r#"{"pattern":"x","path":"-rf"}"#, "there is no -rf").await;
    assert!(!room.path("ran").exists());
}

#[tokio::test]
async fn case_f22_what_nobody_looks_for_is_left_out_and_counted() {
    let room = Room::new();
    room.sh(r"mkdir -p node_modules/p src loop; echo needle > node_modules/p/j.js; echo needle > src/a.txt
              printf 'needle\0\1\2' > src/b.bin; ln -s .. loop/up; printf 'dist/\n' > .gitignore; mkdir dist; echo needle > dist/o.js");
    let text = "src/a.txt:1: needle\n[1 matches in 1 files; 2 ignored (.gitignore, .git, node_modules and the like); \
                1 binary]\n";
    room.check("search_files", r#"{"pattern":"needle"}"#, Outcome::Ok, text).await;
    let text = "dist/o.js:1: needle\n[1 matches in 1 files]\n";
    room.check("search_files", r#"{"pattern":"needle","path":"dist/o.js"}"#, Outcome::Ok, text).await;
    room.check("search_files", r#"{"pattern":"needle","path":"dist"}"#, Outcome::Ok, text).await;
    room.check("read_file", &path("dist/o.js"), Outcome::Ok, "needle\n").await;
    let listed = room.text("list_files", r#"{"depth":9}"#).await;
    let wanted = ".gitignore (6 bytes)\nloop/\nloop/up -> ..\nsrc/\nsrc/a.txt (7 bytes)\nsrc/b.bin (9 bytes)\n[2 \
                  ignored (.gitignore, .git, node_modules and the like)]\n";
    assert_eq!(listed, wanted);
}

#[tokio::test]
async fn case_g13_a_workspace_that_is_reached_by_a_link_is_one_folder() {
    let mut room = Room::holding("a.txt", "x");
    let link = room.outside.path().join("ws");
    std::os::unix::fs::symlink(room.path(""), &link).unwrap();
    let workspace = std::sync::Arc::new(Workspace::open(&link).unwrap());
    room.registry = Registry::new(builtin(workspace, Options::default()));
    let (by_link, by_name) = (link.join("a.txt"), room.path("a.txt"));
    for given in [by_link.to_str().unwrap(), "a.txt", by_name.to_str().unwrap()] {
        room.check("read_file", &path(given), Outcome::Ok, "x").await;
    }
    // The link leads elsewhere now; the workspace is still the folder that was opened.
    std::fs::remove_file(&link).unwrap();
    std::fs::create_dir(&link).unwrap();
    std::fs::write(link.join("a.txt"), "other").unwrap();
    room.check("read_file", &path("a.txt"), Outcome::Ok, "x").await;
    room.check("read_file", &path(by_link.to_str().unwrap()), Outcome::Ok, "x").await;
}
