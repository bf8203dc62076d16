//! Row S03: a session goes from one home to another, in one file.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use petasos_testkit::model_server::ModelServer;

use crate::program::{Place, ended, model};

/// A place with one finished session, whose log names a blob of some 340 KB.
fn with_blob() -> (Place, String) {
    let server = ModelServer::start(
        r#"{"calls":[{"name":"run_command","arguments":{"command":"seq 1 60000"}}]}
{"text":"Counted."}"#,
    );
    let place = Place::new();
    assert_eq!(place.run(&server, &["--allow-commands", "count"]).code, 0);
    let session = place.sessions().remove(0);
    (place, session)
}

fn blobs(place: &Place, session: &str) -> Vec<(String, usize)> {
    let folder = fs::read_dir(place.home().join("sessions").join(session).join("blobs")).unwrap();
    let about = |file: std::io::Result<fs::DirEntry>| {
        let file = file.unwrap();
        (file.file_name().into_string().unwrap(), fs::read(file.path()).unwrap().len())
    };
    folder.map(about).collect()
}

#[test]
fn s03_a_session_goes_to_another_home_and_goes_on_there() {
    let (here, session) = with_blob();
    let exported = here.petasos_does(&["sessions", "export"]);
    assert_eq!(exported.code, 0, "{exported:?}");
    let log = fs::read_to_string(here.log(&session)).unwrap();
    assert!(exported.stdout.starts_with(&log), "the lines of the log stand as they are");
    let file = here.work().join("session.jsonl");
    let to_file = here.petasos_does(&["sessions", "export", &session[..12], "-o", "session.jsonl"]);
    assert_eq!((to_file.code, to_file.stdout.as_str()), (0, ""), "{to_file:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), exported.stdout);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600, "it is its person's own");
    assert_eq!(fs::read_dir(here.work()).unwrap().count(), 1, "nothing half-made is left");

    let there = Place::new();
    let imported = there.petasos_does(&["sessions", "import", file.to_str().unwrap()]);
    assert_eq!(imported.code, 0, "{imported:?}");
    let new = there.sessions().remove(0);
    assert_eq!(imported.stdout, format!("{new}\n"));
    assert_ne!(new, session);
    assert_eq!(blobs(&there, &new), blobs(&here, &session));
    let ours = fs::read_to_string(there.log(&new)).unwrap();
    let count = log.lines().count();
    let last = format!("\"origin\":{{\"import\":{{\"from\":\"{session}\",\"seq\":{}}}}}", count - 1);
    assert!(ours.lines().next().unwrap().contains(&last), "{ours}");
    assert_eq!(
        ours.lines().skip(1).take(count - 1).collect::<Vec<_>>(),
        log.lines().skip(1).collect::<Vec<_>>()
    );

    // It belongs to the folder that it was brought into, and goes on with the server of here.
    let server = ModelServer::start(r#"{"text":"On."}"#).with_breaks();
    let resumed = ended(there.petasos().arg("resume").args(model(&server)).args(["-m", "go on"]));
    assert_eq!((resumed.code, resumed.stdout.as_str()), (0, "On.\n"), "{resumed:?}");

    // From stdin, too, and for a folder that is named.
    let other = Place::new();
    let work = there.work();
    let import = ["sessions", "import", "-", "--workspace", work.to_str().unwrap()];
    let imported = other.with_stdin(&import, exported.stdout.as_bytes());
    assert_eq!(imported.code, 0, "{imported:?}");
    assert!(imported.stderr.contains(&format!("it works in {}", work.canonicalize().unwrap().display())));
}

#[test]
fn s03_what_is_no_whole_exported_session_is_refused_and_nothing_is_kept() {
    let (here, _) = with_blob();
    let exported = here.petasos_does(&["sessions", "export"]).stdout;
    let there = Place::new();
    let half = &exported[..exported.len() / 2];
    let refused = there.with_stdin(&["sessions", "import", "-"], half.as_bytes());
    assert_eq!((refused.code, refused.stdout.as_str()), (2, ""));
    assert!(refused.stderr.contains("stdin is no whole exported session: line "), "{}", refused.stderr);
    assert!(refused.stderr.contains("it is cut"), "{}", refused.stderr);
    assert_eq!(there.sessions(), Vec::<String>::new());
}

#[test]
fn s03_of_a_damaged_session_the_rest_is_exported_and_what_is_lost_is_said() {
    let (here, session) = with_blob();
    let log = fs::read_to_string(here.log(&session)).unwrap();
    fs::write(here.log(&session), log.replacen("\"kind\":\"said\"", "\"kind\":\"siad\"", 1)).unwrap();
    let name = blobs(&here, &session)[0].0.clone();
    fs::remove_file(here.home().join("sessions").join(&session).join("blobs").join(&name)).unwrap();
    let exported = here.petasos_does(&["sessions", "export", &session]);
    assert_eq!(exported.code, 0);
    for told in
        ["the log is damaged: ", "entry 2 is not in the file", &format!("blob {name} is not in the file")]
    {
        assert!(exported.stderr.contains(told), "{told}: {}", exported.stderr);
    }
    let there = Place::new();
    let imported = there.with_stdin(&["sessions", "import", "-"], exported.stdout.as_bytes());
    assert_eq!(imported.code, 0, "{imported:?}");
    assert!(
        imported.stderr.contains("where it was exported entry 2 is not in the file"),
        "{}",
        imported.stderr
    );
}
