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
