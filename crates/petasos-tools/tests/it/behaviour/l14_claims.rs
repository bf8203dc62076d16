//! Row L14: what each call touches, and which calls may run at once.

use petasos_core::claims::{Access, Claims, Place, PlaceKind, Rerun};
use petasos_core::text::Text;
use petasos_tools::Options;

use crate::say::Room;

/// A call, and what it claims: may it be run again, is it alone, and what it touches.
struct Row {
    tool: &'static str,
    arguments: &'static str,
    is_free: bool,
    alone: bool,
    places: &'static [(PlaceKind, &'static str, Access)],
}

const fn row(
    tool: &'static str,
    arguments: &'static str,
    places: &'static [(PlaceKind, &'static str, Access)],
) -> Row {
    Row { tool, arguments, is_free: true, alone: false, places }
}

const fn once(row: Row) -> Row {
    Row { is_free: false, ..row }
}

use Access::{Read, Write};
use PlaceKind::{Host, Named, Path};

/// `r` is a link to the folder `real`, and `b` in it one to the file `real/a`.
const TABLE: [Row; 22] = [
    row("read_file", r#"{"path":"real/a"}"#, &[(Path, "real/a", Read)]),
    row("read_file", r#"{"path":"r/../r/deep/../b"}"#, &[(Path, "real/a", Read)]),
    row("read_file", r#"{"path":"c.txt"}"#, &[(Path, "c.txt", Read)]),
    row("read_file", r#"{"path":"blob:12345678","from":3}"#, &[(Named, "blob:12345678", Read)]),
    once(row("write_file", r#"{"path":"r/a","content":"x"}"#, &[(Path, "real/a", Write)])),
    once(row("write_file", r#"{"path":"./c.txt","content":"x"}"#, &[(Path, "c.txt", Write)])),
    once(row("write_file", r#"{"path":"r/new/d.txt","content":"x"}"#, &[(Path, "real/new/d.txt", Write)])),
    once(row(
        "edit_file",
        r#"{"path":"real/b","edits":[{"old":"a","new":"b"}]}"#,
        &[(Path, "real/a", Write)],
    )),
    row("list_files", r#"{"path":"r"}"#, &[(Path, "real", Read)]),
    row("list_files", "{}", &[(Path, "", Read)]),
    row("search_files", r#"{"pattern":"x","path":"r/deep"}"#, &[(Path, "real/deep", Read)]),
    row("search_files", r#"{"pattern":"x","names":true,"glob":"real/*"}"#, &[(Path, "", Read)]),
    once(row("run_command", r#"{"command":"ls","cwd":"real"}"#, &[(Path, "", Write)])),
    Row { alone: true, ..row("run_tests", "{}", &[(Path, "", Write)]) },
    row("fetch_url", r#"{"url":"https://example.org/a"}"#, &[(Host, "example.org", Read)]),
    row("fetch_url", r#"{"url":"http://EXAMPLE.org:80/b"}"#, &[(Host, "example.org", Read)]),
    row("current_time", "{}", &[]),
    row("current_time", r#"{"zone":"Asia/Shanghai"}"#, &[]),
    row("calculate", r#"{"expression":"1+1"}"#, &[]),
    row("job", r#"{"id":1,"action":"poll"}"#, &[(Named, "job:1", Write)]),
    once(row("job", r#"{"id":1,"action":"write","text":"y"}"#, &[(Named, "job:1", Write)])),
    once(row("job", r#"{"id":2,"action":"stop"}"#, &[(Named, "job:2", Write)])),
];

/// Which of the table are in each other's way (`x`), each against each, in its order.
const IN_THE_WAY: [&str; 22] = [
    "....x..x....xx........",
    "....x..x....xx........",
    ".....x......xx........",
    ".............x........",
    "xx..x..xxx.xxx........",
    "..x..x...x.xxx........",
    "......x.xx.xxx........",
    "xx..x..xxx.xxx........",
    "....x.xx....xx........",
    "....xxxx....xx........",
    "............xx........",
    "....xxxx....xx........",
    "xxx.xxxxxxxxxx........",
    "xxxxxxxxxxxxxxxxxxxxxx",
    ".............x........",
    ".............x........",
    ".............x........",
    ".............x........",
    ".............x........",
    ".............x.....xx.",
    ".............x.....xx.",
    ".............x.......x",
];

fn room() -> Room {
    let room = Room::with(Options { run_tests: Some("true".to_owned()), ..Options::default() });
    room.sh("mkdir -p real/deep; echo a > real/a; echo c > c.txt; ln -s real r; ln -s a real/b");
    room
}

fn claims(room: &Room, row: &Row) -> Claims {
    room.propose(row.tool, row.arguments).unwrap_or_else(|text| panic!("{}: {text}", row.arguments)).claims
}

#[test]
fn l14_each_call_claims_what_it_touches() {
    let room = room();
    for row in &TABLE {
        let claims = claims(&room, row);
        let place = |&(kind, name, access)| Place { kind, name: Text::from(name), access };
        let places: Vec<Place> = row.places.iter().map(place).collect();
        let rerun = if row.is_free { Rerun::Free } else { Rerun::Never };
        let wanted = (&rerun, row.alone, &places);
        assert_eq!((&claims.rerun, claims.alone, &claims.places), wanted, "{} {}", row.tool, row.arguments);
    }
}

#[test]
fn l14_which_calls_may_run_at_once() {
    let room = room();
    let all: Vec<Claims> = TABLE.iter().map(|row| claims(&room, row)).collect();
    let met: Vec<String> = all
        .iter()
        .map(|one| all.iter().map(|other| if one.are_in_the_way_of(other) { 'x' } else { '.' }).collect())
        .collect();
    assert_eq!(met, IN_THE_WAY);
}

/// A tool that comes is missed here.
#[test]
fn l14_every_tool_stands_in_the_table() {
    let room = room();
    for tool in room.registry.tools() {
        let name = &*tool.spec().name;
        assert!(TABLE.iter().any(|row| row.tool == name), "{name}");
        // What a person is shown of it is a call of it, too.
        assert!(room.propose(name, tool.example()).is_ok(), "{name} {}", tool.example());
    }
}
