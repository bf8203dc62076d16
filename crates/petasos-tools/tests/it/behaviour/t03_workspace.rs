//! Row T03: which place a path is, and what a probe sees.

use petasos_core::claims::{Access, Place, PlaceKind, Rerun};
use petasos_core::text::Text;
use petasos_core::tool::Outcome;
use petasos_tools::Workspace;

use crate::say::{Room, arguments, edit};

fn place(name: &str, access: Access) -> Place {
    Place { kind: PlaceKind::Path, name: Text::from(name), access }
}

#[test]
fn t03_two_spellings_of_a_file_are_one_place() {
    let room = Room::new();
    room.sh(
        "mkdir -p real/deep; touch real/a; ln -s real r; ln -s ../real/a real/b; ln -s \"$PWD/real\" whole",
    );
    let root = room.path("").to_str().unwrap().to_owned();
    for spelling in
        ["real/a", "./real//a", "r/a", "real/b", "real/deep/../a", "whole/a", &format!("{root}real/a")]
    {
        let claims = room.propose("read_file", &arguments(&[("path", spelling)])).unwrap().claims;
        assert_eq!(claims.places, [place("real/a", Access::Read)], "{spelling}");
        assert_eq!((claims.rerun, claims.alone), (Rerun::Free, false));
    }
    for spelling in ["r/new/file", "real/new/file"] {
        let call = arguments(&[("path", spelling), ("content", "x")]);
        let claims = room.propose("write_file", &call).unwrap().claims;
        assert_eq!(claims.places, [place("real/new/file", Access::Write)], "{spelling}");
        assert_eq!((claims.rerun, claims.alone), (Rerun::Never, false));
    }
}

#[test]
fn t03_a_command_is_in_the_way_of_what_touches_files() {
    let room = Room::new();
    let claims = room.propose("run_command", r#"{"command":"ls -l","cwd":"."}"#).unwrap().claims;
    assert_eq!(claims.places, [place("", Access::Write)]);
    assert_eq!(claims.argv, [["sh", "-c", "ls -l"].map(Text::from).to_vec()]);
    assert_eq!((&claims.rerun, claims.alone), (&Rerun::Never, false));
    let read = room.propose("read_file", r#"{"path":"a"}"#).unwrap().claims;
    assert!(claims.are_in_the_way_of(&read) && claims.are_in_the_way_of(&claims));
    assert!(!read.are_in_the_way_of(&room.propose("calculate", r#"{"expression":"1"}"#).unwrap().claims));
}

/// A call began and nobody knows how it ended: what is on disk tells.
#[tokio::test]
async fn t03_a_probe_sees_whether_a_file_was_written() {
    let write = arguments(&[("path", "a.txt"), ("content", "new\n")]);
    for (tool, call) in [("write_file", write), ("edit_file", edit("a.txt", "old", "new"))] {
        let room = Room::holding("a.txt", "old\n");
        let probe = room.propose(tool, &call).unwrap().claims.probe.unwrap();
        let seen = async || room.tool(tool).probe(&probe).await;
        assert_eq!(seen().await, Outcome::NeverBegan, "{tool}");
        room.call(tool, &call).await;
        assert_eq!(room.get("a.txt"), b"new\n");
        assert_eq!(seen().await, Outcome::Ok, "{tool}");
        room.put("a.txt", "another hand was here");
        assert_eq!(seen().await, Outcome::Unknown, "{tool}");
        room.sh("rm a.txt");
        assert_eq!(seen().await, Outcome::Unknown, "{tool}");
    }
    let room = Room::new();
    let call = arguments(&[("path", "b/c.txt"), ("content", "new\n")]);
    let probe = room.propose("write_file", &call).unwrap().claims.probe.unwrap();
    assert_eq!(room.tool("write_file").probe(&probe).await, Outcome::NeverBegan);
    room.call("write_file", &call).await;
    assert_eq!(room.tool("write_file").probe(&probe).await, Outcome::Ok);
}

/// A call that is stopped before it writes says so, and is known not to have written.
#[tokio::test]
async fn t03_a_stopped_write_changes_nothing() {
    let room = Room::holding("a.txt", "old");
    let (raise, context) = room.context();
    raise.send(true).unwrap();
    let call = arguments(&[("path", "a.txt"), ("content", "new")]);
    let output = room.call_in("write_file", &call, context).await;
    assert_eq!(output.outcome, Outcome::CutShort);
    assert_eq!(output.facts, [petasos_core::tool::Fact::NotWritten { path: Text::from("a.txt") }]);
    assert_eq!(room.get("a.txt"), b"old");
}

#[tokio::test]
async fn t03_links_in_a_circle_end() {
    let room = Room::new();
    room.sh("ln -s b a; ln -s a b; ln -s . here");
    room.refused("read_file", r#"{"path":"a"}"#, "circle").await;
    let deep = "here/".repeat(39) + "x";
    room.refused("read_file", &arguments(&[("path", &deep)]), "there is no x").await;
}

#[test]
fn t03_what_is_no_folder_is_no_workspace() {
    let room = Room::holding("a.txt", "x");
    for (name, why) in [("a.txt", "Not a directory"), ("none", "No such file")] {
        let error = Workspace::open(room.path(name)).unwrap_err().to_string();
        assert!(error.contains("cannot be the workspace") && error.contains(why), "{error}");
    }
}
