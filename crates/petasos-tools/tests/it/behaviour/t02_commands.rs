//! Commands that run.

use petasos_core::text::Text;
use petasos_core::tool::{Fact, Outcome};

use crate::say::Room;

#[tokio::test]
async fn t02_a_command_tells_its_exit_code_and_both_outputs_in_order() {
    let room = Room::new();
    let output = room.call("run_command", r#"{"command":"echo a; echo b >&2; echo c; exit 3"}"#).await;
    assert_eq!(&**output.for_model.text(), "exit code 3 (failed)\na\nb\nc\n");
    assert_eq!(output.outcome, Outcome::Error);
    let argv = ["sh", "-c", "echo a; echo b >&2; echo c; exit 3"].map(Text::from).to_vec();
    assert_eq!(output.facts, [Fact::Ran { argv, exit: Some(3) }]);
}

/// The whole is kept, and can be read on from where the result was cut.
#[tokio::test]
async fn t08_a_result_of_80_kb_of_json_is_cut_and_kept() {
    let room = Room::new();
    let json = format!("{{\"rows\":[{}\"last\"]}}", "\"value 1234\",".repeat(6_200));
    assert!(json.len() > 80_000);
    room.put("big.json", &json);
    let output = room.call("run_command", r#"{"command":"cat big.json"}"#).await;
    let text = output.for_model.text();
    assert!(text.starts_with("exit code 0\n{\"rows\":["), "{text}");
    assert!(text.ends_with("\"last\"]}"), "{text}");
    assert!(text.chars().count() <= 50_000);
    assert_eq!(output.bytes, json.len() as u64);
    assert_eq!(room.blobs.only(), json.as_bytes());
    let name: String = output.blob.unwrap().hash.to_string().chars().take(8).collect();
    assert!(text.contains(&format!("the whole is in blob:{name}; read it with read_file")), "{text}");
    let first = room.text("read_file", &format!(r#"{{"path":"blob:{name}"}}"#)).await;
    let (shown, footer) = first.rsplit_once("\n[").unwrap();
    let next = footer.split("from=").nth(1).unwrap().split(',').next().unwrap();
    let second = room.text("read_file", &format!(r#"{{"path":"blob:{name}","from":{next}}}"#)).await;
    let (rest, _) = second.rsplit_once("\n[").unwrap();
    assert_eq!(format!("{shown}{rest}"), json);
}

#[tokio::test]
async fn t08_a_small_result_makes_no_blob() {
    let room = Room::new();
    room.sh("seq 1 9000 > a.txt");
    room.call("run_command", r#"{"command":"cat a.txt"}"#).await;
    room.call("read_file", r#"{"path":"a.txt"}"#).await;
    assert!(room.blobs.is_empty());
}
