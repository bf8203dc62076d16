//! Row S02 and cases H-01, H-02 through the binary: whatever happened to a log is told in plain words, costs as little as
//! it can, and nothing of it is thrown away; the other sessions are as they were.

use std::fs;

use petasos_testkit::model_server::ModelServer;
use serde_json::{Value, json};

use crate::program::{Ended, Place, bodies, content, ended, messages, model};

/// A turn with calls of all ways, and one more reply each time somebody says something.
const SCRIPT: &str = r#"{"calls":[{"name":"write_file","arguments":{"path":"out.txt","content":"x"}},{"name":"run_command","arguments":{"command":"true"}}],"when":{"results":0}}
{"text":"It is done.","when":{"results":2}}"#;

/// A home with a session to damage and another one.
struct Home {
    place: Place,
    model: [String; 4],
    damaged: String,
    other: String,
    log: Vec<u8>,
}

impl Home {
    fn new(server: &ModelServer) -> Self {
        let place = Place::new();
        let run = place.run(server, &["--allow-commands", "the other job"]);
        assert_eq!(run.code, 0, "{run:?}");
        let run = place.run(server, &["--allow-commands", "do it"]);
        assert_eq!(run.code, 0, "{run:?}");
        let [other, damaged] = place.sessions().try_into().unwrap();
        let log = fs::read(place.log(&damaged)).unwrap();
        Self { place, model: model(server), damaged, other, log }
    }

    fn lines(&self) -> Vec<&[u8]> {
        self.log.split_inclusive(|byte| *byte == b'\n').collect()
    }

    fn put(&self, log: &[u8]) {
        let folder = self.place.log(&self.damaged).parent().unwrap().to_owned();
        for found in fs::read_dir(&folder).unwrap() {
            let path = found.unwrap().path();
            let is_aside = path.extension().is_some_and(|end| end == "bin");
            is_aside.then(|| fs::remove_file(path).unwrap());
        }
        fs::write(self.place.log(&self.damaged), log).unwrap();
    }

    fn show(&self) -> Ended {
        self.place.petasos_does(&["sessions", "show", "--json", &self.damaged])
    }

    fn go_on(&self) -> Ended {
        // Which model it was may be on the line that is lost.
        ended(self.place.petasos().args(["resume", &self.damaged, "-m", "and more"]).args(&self.model))
    }

    /// What was set aside.
    fn aside(&self) -> Vec<Vec<u8>> {
        let folder = self.place.log(&self.damaged).parent().unwrap().to_owned();
        let names = fs::read_dir(folder).unwrap().map(|found| found.unwrap().path());
        names
            .filter(|path| path.extension().is_some_and(|end| end == "bin"))
            .map(|path| fs::read(path).unwrap())
            .collect()
    }

    fn check_other(&self) {
        let other = self.place.petasos_does(&["sessions", "show", &self.other]);
        assert_eq!(other.code, 0, "{other:?}");
        assert!(other.stdout.contains("said: the other job") && other.stderr.is_empty(), "{other:?}");
    }
}

fn entry(line: &[u8]) -> Value {
    serde_json::from_slice(line).unwrap()
}

/// Each field of a line of each kind: name, first byte of the value, last byte.
fn places(line: &[u8]) -> Vec<usize> {
    let text = std::str::from_utf8(line).unwrap();
    let mut places = Vec::new();
    for field in ["v", "seq", "at", "kind", "body", "sum"] {
        let name = format!("\"{field}\":");
        let at = if field == "sum" { text.rfind(&name) } else { text.find(&name) }.unwrap();
        places.extend([at + 1, at + name.len()]);
    }
    places.push(line.len() - 2);
    places
}

#[test]
fn s02_a_flipped_byte_in_any_field_of_any_kind_of_line_costs_that_line_and_is_told() {
    let server = ModelServer::start(SCRIPT).with_breaks();
    let home = Home::new(&server);
    let events = home.show().events();
    let (mut kinds, mut flips, mut from) = (std::collections::BTreeSet::new(), 0, 0);
    for line in home.lines() {
        let (whole, seq) = (entry(line), entry(line)["seq"].clone());
        let is_new = kinds.insert(whole["kind"].as_str().unwrap().to_owned());
        for at in places(line).into_iter().filter(|_| is_new) {
            let mut log = home.log.clone();
            log[from + at] ^= 0x01;
            home.put(&log);
            let shown = home.show();
            flips += 1;
            let what = format!("byte {at} of {whole}: {shown:?}");
            if whole["kind"] == "session" {
                assert_eq!(shown.code, 2, "{what}");
                let message = shown.result()["error"]["message"].as_str().unwrap().to_owned();
                assert!(message.contains("its first line is damaged"), "{what}");
                assert_eq!(fs::read(home.place.log(&home.damaged)).unwrap(), log, "it is left as it is");
                continue;
            }
            assert_eq!(shown.code, 0, "{what}");
            // What an event tells of another line, such as the name of a tool, may be lost with that.
            let told = |event: &Value| ["type", "entry", "text", "status"].map(|name| event[name].clone());
            let rest: Vec<_> = events.iter().filter(|event| event["entry"] != seq).map(told).collect();
            assert_eq!(shown.events().iter().map(told).collect::<Vec<_>>(), rest, "{what}");
            // The last line has no line behind it that would miss it.
            let told = format!("entry {seq} is missing");
            let is_last = from + line.len() == home.log.len();
            assert!(shown.stderr.contains("the log is damaged: "), "{what}");
            assert!(is_last || shown.stderr.contains(&told), "{what}");
        }
        from += line.len();
    }
    home.check_other();
    println!("{flips} flips in lines of {kinds:?}");
    let wanted = [
        "head",
        "open",
        "reply",
        "request",
        "said",
        "session",
        "tool_result",
        "tool_start",
        "turn_end",
        "turn_start",
    ];
    assert!(wanted.iter().all(|kind| kinds.contains(*kind)), "{kinds:?}");
}

/// Whatever line is lost, somebody who goes on is understood: the server judges what it is sent.
#[test]
fn s02_a_session_goes_on_whichever_line_is_damaged() {
    let server = ModelServer::start(SCRIPT).with_breaks();
    let home = Home::new(&server);
    let lines = home.lines();
    for (place, line) in lines.iter().enumerate().skip(1) {
        let mut log = home.log.clone();
        let from: usize = lines[..place].iter().map(|line| line.len()).sum();
        log[from + 20] ^= 0x01;
        home.put(&log);
        let run = home.go_on();
        // A model that no longer sees its calls makes them again, and gets what it asks for.
        assert!(
            [0, 15].contains(&run.code) || run.stderr.contains("next: "),
            "{} {run:?}",
            entry(line)["kind"]
        );
        assert!(run.stderr.contains("is damaged: "), "{run:?}");
        assert_eq!(home.aside().len(), 1, "{run:?}");
        assert!(home.aside()[0].ends_with(line) || home.aside()[0].len() == line.len(), "{run:?}");
    }
    home.check_other();
    server.finish();
}

#[test]
fn case_h01_a_torn_last_line_is_set_aside_and_what_comes_next_has_a_line_of_its_own() {
    let server = ModelServer::start("{\"text\":\"one\"}\n{\"text\":\"two\"}\n{\"text\":\"three\"}");
    let place = Place::new();
    assert_eq!(place.run(&server, &["first"]).code, 0);
    let log = place.log(&place.sessions()[0]);
    let whole = fs::read(&log).unwrap();
    let end = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    let torn = &whole[end..whole.len() - 30];
    fs::write(&log, &whole[..whole.len() - 30]).unwrap();
    let run = place.petasos_does(&["resume", "-m", "second"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "two\n"), "{run:?}");
    assert!(run.stderr.contains("is damaged: a torn line at the end"), "{run:?}");
    let aside = log.with_file_name("damaged-2.bin");
    assert_eq!(fs::read(aside).unwrap(), torn);
    let entries = place.entries();
    assert!(fs::read(&log).unwrap().starts_with(&whole[..end]), "what was whole stays as it was");
    let named: Vec<&Value> = entries.iter().filter(|entry| entry["kind"] == "open").collect();
    assert_eq!(named[1]["body"]["damage"][0]["why"], "a torn line at the end");
    let again = place.petasos_does(&["resume", "-m", "third"]);
    assert_eq!((again.code, again.stdout.as_str()), (0, "three\n"), "{again:?}");
    assert!(!again.stderr.contains("damaged"), "it is told once: {again:?}");
    let sent = bodies(&server.finish());
    let said: Vec<&str> = messages(&sent[2]).iter().skip(1).map(content).collect();
    assert_eq!(said, ["first", "one", "second", "two", "third"]);
}

#[test]
fn case_h02_zeros_in_the_middle_cost_nothing_of_what_stands_around_them() {
    let server = ModelServer::start("{\"text\":\"one\"}\n{\"text\":\"two\"}");
    let place = Place::new();
    assert_eq!(place.run(&server, &["first"]).code, 0);
    let log = place.log(&place.sessions()[0]);
    let text = fs::read_to_string(&log).unwrap();
    let zeros = format!("{}\n", "\0".repeat(300));
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    lines.insert(4, &zeros);
    fs::write(&log, lines.concat()).unwrap();
    let shown = place.petasos_does(&["sessions", "show"]);
    assert_eq!(shown.stderr.matches("is damaged: zeros where a line should be").count(), 1, "{shown:?}");
    assert!(shown.stdout.contains("said: first") && shown.stdout.contains("reply: one"), "{shown:?}");
    let run = place.petasos_does(&["resume", "-m", "second"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "two\n"), "{run:?}");
    assert_eq!(run.stderr.matches("is damaged: ").count(), 1, "{run:?}");
    let sent = bodies(&server.finish());
    let said: Vec<&str> = messages(&sent[1]).iter().skip(1).map(content).collect();
    assert_eq!(said, ["first", "one", "second"]);
}

/// A line with the sum that belongs to it.
fn with_sum(opened: &str) -> Vec<u8> {
    use sha2::Digest as _;
    let sum = sha2::Sha256::digest(opened.as_bytes());
    let digits: String = sum.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("{opened},\"sum\":\"{digits}\"}}\n").into_bytes()
}

/// What happens to a whole log, what is told of it, and how many files are set aside.
#[test]
fn s02_every_other_damage_is_told_in_plain_words_and_the_session_goes_on() {
    let server = ModelServer::start(SCRIPT).with_breaks();
    let home = Home::new(&server);
    let lines = home.lines();
    let last = entry(lines[lines.len() - 1])["seq"].as_u64().unwrap();
    let torn = home.log[..home.log.len() - 40].to_vec();
    let cut = lines[..lines.len() - 2].concat();
    let zeros = [home.log.clone(), vec![0; 5000]].concat();
    let mut tail = home.log.clone();
    let from = tail.len() - 60;
    tail[from..].fill(0);
    let doubled = [lines[..4].concat(), lines[3..].concat()].concat();
    let more = |v: u32, kind: &str| {
        let line =
            with_sum(&format!(r#"{{"v":{v},"seq":{},"at":1,"kind":"{kind}","body":{{"x":1.50}}"#, last + 1));
        [home.log.clone(), line].concat()
    };
    let bare = home.log[..home.log.len() - 1].to_vec();
    let alien = [home.log.clone(), fs::read(home.place.log(&home.other)).unwrap()].concat();
    for (what, log, told, aside) in [
        ("a torn line", torn, "a torn line at the end", 1),
        // Two whole lines less: nobody can know of them, and the turn is open again.
        ("whole lines cut off", cut, "", 0),
        ("zeros behind the end", zeros, "zeros where a line should be", 1),
        ("an end that became zeros", tail, "a torn line at the end", 1),
        ("a doubled line", doubled, "entry 3 stands here again; the first one counts", 0),
        ("a line of a newer version", more(2, "said"), "", 0),
        ("a kind that nobody knows", more(1, "weather"), "", 0),
        ("no newline at the end", bare, "the last whole line has no newline; it is put back", 0),
        ("another session's log", alien, "the first line of another log, and what follows it", 1),
    ] {
        home.put(&log);
        let run = home.go_on();
        assert_eq!((run.code, run.stdout.as_str()), (0, "It is done.\n"), "{what}: {run:?}");
        assert_eq!(run.stderr.contains("is damaged: "), !told.is_empty(), "{what}: {run:?}");
        assert!(run.stderr.contains(told), "{what}: {run:?}");
        assert_eq!(home.aside().len(), aside, "{what}");
        let text = fs::read(home.place.log(&home.damaged)).unwrap();
        let kept = text.split_inclusive(|byte| *byte == b'\n').all(|line| line.ends_with(b"}\n"));
        assert!(kept, "{what}: each line is whole");
        // What a newer program wrote is still there, byte for byte.
        assert!(what.contains("cut") || aside == 1 || text.starts_with(&log), "{what}");
        home.check_other();
    }
    // An empty log is no session: told, and left alone.
    home.put(b"");
    let shown = home.show();
    assert_eq!((shown.code, &shown.result()["error"]["kind"]), (2, &json!("config")), "{shown:?}");
    let listed = home.place.petasos_does(&["sessions", "list"]);
    assert!(
        listed.stderr.contains("its log is empty") && listed.stdout.contains("the other job"),
        "{listed:?}"
    );
    server.finish();
}
