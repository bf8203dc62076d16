//! Row T08: a result that is too large for the model.

use petasos_testkit::model_server::ModelServer;
use serde_json::{Value, json};

use crate::program::{Place, bodies, of_kind, results};

/// Output of a command, in MiB; by hand, more: `PETASOS_OUTPUT_MIB=1024`.
fn output_mib() -> usize {
    std::env::var("PETASOS_OUTPUT_MIB").map_or(64, |mib| mib.parse().unwrap())
}

/// The memory that the program had at most is read by its own next command: the parent of a shell is its guardian, and
/// the parent of that is the program.
#[cfg(target_os = "linux")]
#[test]
fn t08_a_large_output_takes_no_memory_of_its_length() {
    let bytes = output_mib() << 20;
    let print = format!("seq 1 1000000000 | head -c {bytes}");
    let peak = "awk '/VmHWM/ {print $2}' /proc/$(awk '/PPid/ {print $2}' /proc/$PPID/status)/status";
    let call = |command: &str| {
        let arguments = json!({ "command": command, "timeout_s": 3600 });
        json!({ "calls": [{ "name": "run_command", "arguments": arguments }] })
    };
    let server = ModelServer::start(&format!("{}\n{}\n{{\"text\":\"much\"}}", call(&print), call(peak)));
    let place = Place::new();
    let run = place.run_json(&server, &["--allow-commands", "hello"]);
    assert_eq!(run.code, 0, "{run:?}");
    let sent = bodies(&server.finish());
    let told = results(&sent[1])[0].1;
    assert!(told.chars().count() <= 50_000, "{}", told.chars().count());
    let result = run.events().into_iter().find(|event| event["type"] == "tool_result").unwrap();
    let hash = result["blob"]["hash"].as_str().unwrap();
    let blob = place.home().join("sessions").join(&place.sessions()[0]).join("blobs").join(hash);
    assert_eq!(std::fs::metadata(blob).unwrap().len(), bytes as u64);
    let peak = results(&sent[2])[1].1.strip_prefix("exit code 0\n").unwrap();
    let peak: usize = peak.trim().parse().unwrap_or_else(|_| panic!("{peak}"));
    println!("{} MiB of output: at most {} MiB of memory", output_mib(), peak >> 10);
    assert!((1 << 10..64 << 10).contains(&peak), "{peak} KiB");
}

/// 80 KB from a command: what is sent is capped and says so, the whole is kept, and the model can page through it.
#[test]
fn t08_the_whole_of_a_large_output_can_be_paged() {
    let command = "i=0; while [ $i -lt 8000 ]; do echo line-$i-x; i=$((i+1)); done";
    let first = format!(r#"{{"calls":[{{"name":"run_command","arguments":{{"command":"{command}"}}}}]}}"#);
    let place = Place::new();
    let server = ModelServer::start(&format!("{first}\n{{\"text\":\"long\"}}"));
    let run = place.run_json(&server, &["--allow-commands", "hello"]);
    assert_eq!(run.code, 0, "{run:?}");
    let whole: String = (0..8000).map(|line| format!("line-{line}-x\n")).collect();
    let sent = bodies(&server.finish());
    let told = results(&sent[1])[0].1;
    assert!(told.chars().count() <= 50_000, "{}", told.chars().count());
    assert!(told.contains("line-0-x") && told.contains("line-7999-x") && !told.contains("line-4000-x"));
    let result = run.events().into_iter().find(|event| event["type"] == "tool_result").unwrap();
    assert_eq!(result["text"], told);
    let hash = result["blob"]["hash"].as_str().unwrap();
    assert!(told.contains(&format!("blob:{}", &hash[..8])), "{}", &told[..200]);
    let blob = place.home().join("sessions").join(&place.sessions()[0]).join("blobs").join(hash);
    assert_eq!(std::fs::read_to_string(&blob).unwrap(), whole);
    assert_eq!(of_kind(&place.entries(), "tool_result")[0]["body"]["bytes"], json!(whole.len()));

    // A later process pages through it.
    let read = format!(
        r#"{{"calls":[{{"name":"read_file","arguments":{{"path":"blob:{}","from":4000,"lines":3}}}}]}}"#,
        &hash[..8]
    );
    let server = ModelServer::start(&format!("{read}\n{{\"text\":\"found\"}}"));
    let base = server.base_url();
    let run =
        place.petasos_does(&["resume", "--json", "--base-url", &base, "--model", "m", "-m", "line 4000?"]);
    assert_eq!((run.code, &run.result()["reply"]), (0, &json!("found")), "{run:?}");
    let page: Value = run.events().into_iter().find(|event| event["type"] == "tool_result").unwrap();
    let text = page["text"].as_str().unwrap();
    assert!(
        text.contains("line-3999-x") && text.contains("line-4001-x") && !text.contains("line-4002-x"),
        "{text}"
    );
    assert_eq!(std::fs::read_dir(blob.parent().unwrap()).unwrap().count(), 1, "paging makes no blob");
}

/// What a person set is what the model reads; the log has it too, and the whole is kept beside it.
#[test]
fn t08_condense_picks_fields_of_what_a_command_prints() {
    let items: Vec<Value> = (0..2_000).map(|id| json!({"id": id, "note": "x".repeat(30)})).collect();
    let whole = json!({"items": items, "next": null}).to_string();
    assert!(whole.len() > 80_000);
    let place = Place::new();
    place.write("list.json", &whole);
    place.settings(
        "tools: {condense: [{tool: run_command, match: list.json, pick: [\".items[:2].id\", .next]}]}\n",
    );
    let call = r#"{"calls":[{"name":"run_command","arguments":{"command":"cat list.json"}}]}"#;
    let server = ModelServer::start(&format!("{call}\n{{\"text\":\"two\"}}"));
    let run = place.run_json(&server, &["--allow-commands", "hello"]);
    assert_eq!(run.code, 0, "{run:?}");
    let sent = bodies(&server.finish());
    let told = results(&sent[1])[0].1;
    let picked = "exit code 0\n{\"items\":[{\"id\":0},{\"id\":1}],\"next\":null}\n[fields picked by tools.condense; the whole is in blob:";
    assert!(told.starts_with(picked), "{told}");
    let result = run.events().into_iter().find(|event| event["type"] == "tool_result").unwrap();
    assert_eq!(result["text"], told);
    let hash = result["blob"]["hash"].as_str().unwrap();
    let blob = place.home().join("sessions").join(&place.sessions()[0]).join("blobs").join(hash);
    assert_eq!(std::fs::read_to_string(&blob).unwrap(), format!("exit code 0\n{whole}"));

    // A name that no tool has is told before there is a session.
    place.settings("tools: {condense: [{tool: run_comand, pick: [.a]}]}\n");
    let server = ModelServer::start(r#"{"text":"unasked"}"#);
    let run = place.run(&server, &["hello"]);
    assert_eq!((run.code, place.sessions().len()), (2, 1), "{run:?}");
    assert!(
        run.stderr.contains("`tools.condense` names \"run_comand\"") && run.stderr.contains("`run_command`"),
        "{run:?}"
    );
    assert_eq!(server.finish().len(), 0);
}
