//! A turn ends when a finished reply holds no call, results stand under their calls, and only what a wire knows is
//! sent.

use petasos_testkit::model_server::ModelServer;

use crate::program::Place;

#[test]
fn l01_words_never_end_a_turn_and_calls_never_fail_to_go_on() {
    let script = r#"{"text":"完成","calls":[{"name":"read_file","arguments":{"path":"notes.txt"}}]}
{"text":"There are three lines."}"#;
    let server = ModelServer::start(script);
    let place = Place::new();
    place.write("notes.txt", "one\ntwo\nthree\n");
    let ended = place.run(&server, &["How many lines has notes.txt?"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "There are three lines.\n"));
    assert_eq!(server.finish().len(), 2);
}
