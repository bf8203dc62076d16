//! How fast the store is, beside plain SQLite in the same run: `bench FOLDER [appends] [resume] [search] [--entries N]`.
//!
//! Everything is made in FOLDER/bench, which is emptied first; whose disk that is, is what is measured. SQLite is one
//! database in WAL mode with `synchronous=FULL`. `cargo xtask bench store` builds and starts it. The figures are of this
//! machine as it is just now: run it when nothing else runs.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::wildcard_enum_match_arm,
    let_underscore_drop
)]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use petasos_core::entry::{Entry, Keep, Origin, SessionStart};
use petasos_core::id::{Seq, SessionId};
use petasos_core::session::Session;
use petasos_core::time::Time;
use petasos_store::{
    Durability, FolderStore, Holder, Index, LAYOUT, Query, Search, Store, Within, closed_line,
};
use petasos_testkit::words::terms;
use rusqlite::{Connection, TransactionBehavior, params};
use serde_json::{Value, json};

/// How long appends are made for each number of sessions.
const A_WHILE: Duration = Duration::from_secs(3);
/// Sessions in which a search looks.
const SESSIONS: u64 = 100;

fn main() {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == "measure-one") {
        return measure_one(&words[1], Path::new(&words[2]));
    }
    let entries = match words.iter().position(|word| word == "--entries") {
        Some(place) => words.drain(place..place + 2).nth(1).unwrap().parse().unwrap(),
        None => 1_000_000,
    };
    let folder =
        PathBuf::from(words.first().expect("bench FOLDER [appends] [resume] [search]")).join("bench");
    let is_wanted = |name: &str| words.len() == 1 || words[1..].iter().any(|word| word == name);
    std::fs::remove_dir_all(&folder).ok();
    std::fs::create_dir_all(&folder).unwrap();
    println!("folder {} on {}", folder.display(), file_system(&folder));
    if is_wanted("appends") {
        appends(&folder);
    }
    if is_wanted("resume") {
        resume(&folder);
    }
    if is_wanted("search") {
        search(&folder, entries);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The file system that a folder is on, and its options.
fn file_system(folder: &Path) -> String {
    let folder = folder.canonicalize().unwrap();
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap_or_default();
    let rows = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let row = rows.filter(|row| row.len() > 3 && folder.starts_with(row[1])).max_by_key(|row| row[1].len());
    row.map_or_else(|| "an unknown file system".to_owned(), |row| format!("{} ({})", row[2], row[3]))
}

fn sqlite(file: &Path) -> Connection {
    let database = Connection::open(file).unwrap();
    database.busy_timeout(Duration::from_secs(60)).unwrap();
    database.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;").unwrap();
    database
        .execute_batch(
            "CREATE TABLE IF NOT EXISTS entry (session INTEGER, seq INTEGER, line TEXT, PRIMARY KEY (session, seq))
             WITHOUT ROWID",
        )
        .unwrap();
    database
}

fn session_id(number: u64) -> SessionId {
    SessionId::of_number(u128::from(number) + (1 << 80))
}

fn start(number: u64) -> SessionStart {
    SessionStart {
        format: LAYOUT,
        id: session_id(number),
        workspace: "/srv/bench".into(),
        origin: Origin::New,
        depth: 0,
    }
}

fn holder() -> Holder {
    Holder { text: "bench".into(), program: "0".into() }
}

fn per_second(count: u64, took: Duration) -> f64 {
    count as f64 / took.as_secs_f64()
}

fn appends(folder: &Path) {
    println!("\nsynced appends a second, one entry each");
    println!("| sessions at once | Petasos | SQLite |\n|---|---|---|");
    for sessions in [1, 8, 64] {
        let home = folder.join(format!("appends-{sessions}"));
        let store = FolderStore::new(&home, Durability::Power);
        let ours = at_once(sessions, |number| {
            let mut writer = store.create(start(number), &holder(), Time(1)).unwrap().writer;
            let mut corpus = Corpus::new(number);
            move || {
                let entry = corpus.said(writer.next());
                writer.append(entry.seq, &[entry], Keep::Synced).unwrap();
            }
        });
        let file = home.join("plain.sqlite");
        drop(sqlite(&file));
        let theirs = at_once(sessions, |number| {
            let mut database = sqlite(&file);
            let mut corpus = Corpus::new(number);
            let mut seq = 0;
            move || {
                let line = closed_line(&corpus.said(Seq(seq))).unwrap();
                let transaction = database.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
                let row = params![number as i64, seq as i64, line];
                transaction.execute("INSERT INTO entry VALUES (?1, ?2, ?3)", row).unwrap();
                transaction.commit().unwrap();
                seq += 1;
            }
        });
        println!("| {sessions} | {ours:.0} | {theirs:.0} |");
    }
}

/// How often a second something is done by so many threads.
fn at_once<F: FnMut()>(threads: u64, begin: impl Fn(u64) -> F + Sync) -> f64 {
    let barrier = Barrier::new(threads as usize);
    let work = |number| {
        let mut act = begin(number);
        barrier.wait();
        let (from, mut done) = (Instant::now(), 0);
        while from.elapsed() < A_WHILE {
            act();
            done += 1;
        }
        done
    };
    let done: Vec<u64> = std::thread::scope(|scope| {
        let work = &work;
        let running: Vec<_> = (0..threads).map(|number| scope.spawn(move || work(number))).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    per_second(done.iter().sum(), A_WHILE)
}

/// Opens and folds a session of so many entries, each in a process of its own, so that its peak of memory is that of the
/// session.
fn resume(folder: &Path) {
    println!("\nresume: open and fold");
    println!("| entries | log | Petasos | peak memory | SQLite | peak memory |\n|---|---|---|---|---|---|");
    for entries in [10_000, 100_000] {
        let home = folder.join(format!("resume-{entries}"));
        let bytes = write_log(&home, 0, entries);
        let log = std::fs::read_to_string(log_of(&home, 0)).unwrap();
        let mut database = sqlite(&home.join("plain.sqlite"));
        let transaction = database.transaction().unwrap();
        for (seq, line) in (0_i64..).zip(log.lines()) {
            transaction.execute("INSERT INTO entry VALUES (0, ?1, ?2)", params![seq, line]).unwrap();
        }
        transaction.commit().unwrap();
        drop(database);
        let measured = |how: &str| {
            let program = std::env::current_exe().unwrap();
            let output = Command::new(program).args(["measure-one", how]).arg(&home).output().unwrap();
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        // Once before, so that both find their files in memory.
        measured("petasos");
        let (ours, theirs) = (measured("petasos"), measured("sqlite"));
        println!("| {entries} | {} | {ours} | {theirs} |", megabytes(bytes));
    }
}

fn measure_one(how: &str, home: &Path) {
    let from = Instant::now();
    let entries = if how == "petasos" {
        let store = FolderStore::new(home, Durability::Power);
        store.open(&session_id(0), &holder(), Time(2)).unwrap().entries
    } else {
        let database = sqlite(&home.join("plain.sqlite"));
        let mut rows = database.prepare("SELECT line FROM entry WHERE session = 0 ORDER BY seq").unwrap();
        let lines = rows.query_map([], |row| row.get::<_, String>(0)).unwrap();
        lines.map(|line| Entry::read(&line.unwrap()).unwrap()).collect()
    };
    let session = Session::fold(&entries, terms(90));
    let took = from.elapsed();
    assert!(session.transcript().items().len() > entries.len() / 4);
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap().trim();
    let peak: u64 = peak.trim_end_matches(" kB").parse().unwrap();
    println!("{} | {}", milliseconds(took), megabytes(peak * 1024));
}

fn search(folder: &Path, entries: u64) {
    let home = folder.join("search");
    let made: u64 = (0..SESSIONS).map(|number| write_log(&home, number, entries / SESSIONS)).sum();
    println!("\nsearch: {entries} entries in {SESSIONS} sessions, {} of logs", megabytes(made));
    // One of its kind, in the middle.
    let store = FolderStore::new(&home, Durability::Power);
    let mut opened = store.open(&session_id(SESSIONS / 2), &holder(), Time(2)).unwrap();
    let next = opened.writer.next();
    let once = json!({"from": "person", "content": [{"text": "大海捞针: C++"}], "when": "now"});
    opened.writer.append(next, &[entry(next.0, "said", &once)], Keep::Synced).unwrap();
    drop(opened);
    let index = Index::of(&store);
    let from = Instant::now();
    index.list().unwrap();
    println!("list, the first: {}", milliseconds(from.elapsed()));
    let from = Instant::now();
    assert_eq!(index.list().unwrap().sessions.len() as u64, SESSIONS);
    println!("list, the next: {}", milliseconds(from.elapsed()));
    let from = Instant::now();
    let rebuilt = index.rebuild().unwrap();
    println!("the index made anew: {}, {}", milliseconds(from.elapsed()), megabytes(rebuilt.bytes));
    let database = filled(&home);
    println!("\nthe newest 20 entries that hold it; SQLite by LIKE over the lines");
    println!("| query | found | Petasos | SQLite |\n|---|---|---|---|");
    for typed in [
        "库",
        "数据库",
        "index",
        "foo_bar",
        "std::io",
        "->",
        "?;",
        "搜索 index",
        "针",
        "C++",
        "=>>",
        "nowhere",
    ] {
        let query = Query::read(typed).unwrap();
        let search = Search { query: &query, within: Within::All, limit: 20 };
        let from = Instant::now();
        let hits = index.search(&search).unwrap();
        let ours = from.elapsed();
        assert_eq!(hits.logs_read, 0);
        let from = Instant::now();
        let like: Vec<String> = typed.split(' ').map(|term| format!("line LIKE '%{term}%'")).collect();
        let sql = format!(
            "SELECT session, seq FROM entry WHERE {} ORDER BY session DESC, seq DESC LIMIT 20",
            like.join(" AND ")
        );
        let mut rows = database.prepare(&sql).unwrap();
        let count = rows.query_map([], |row| row.get::<_, i64>(0)).unwrap().count();
        let theirs = from.elapsed();
        let more = if hits.is_more { " and more" } else { "" };
        println!(
            "| `{typed}` | {}{more} ({count}) | {} | {} |",
            hits.hits.len(),
            milliseconds(ours),
            milliseconds(theirs)
        );
    }
    let from = Instant::now();
    let mut opened =
        FolderStore::new(&home, Durability::Power).open(&session_id(0), &holder(), Time(3)).unwrap();
    let next = opened.writer.next();
    opened.writer.append(next, &[Corpus::new(7).said(next)], Keep::Synced).unwrap();
    println!("\nan entry more: opened and kept in {}", milliseconds(from.elapsed()));
    let query = Query::read("数据库").unwrap();
    let from = Instant::now();
    index.search(&Search { query: &query, within: Within::All, limit: 20 }).unwrap();
    println!("the search after it: {}", milliseconds(from.elapsed()));
}

/// All lines of the sessions in SQLite.
fn filled(home: &Path) -> Connection {
    let file = home.join("plain.sqlite");
    let from = Instant::now();
    let mut database = sqlite(&file);
    for number in 0..SESSIONS {
        let transaction = database.transaction().unwrap();
        let log = std::fs::read_to_string(log_of(home, number)).unwrap();
        for (seq, line) in (0_i64..).zip(log.lines()) {
            let row = params![number as i64, seq, line];
            transaction.execute("INSERT INTO entry VALUES (?1, ?2, ?3)", row).unwrap();
        }
        transaction.commit().unwrap();
    }
    database.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let bytes = std::fs::metadata(&file).unwrap().len();
    println!("SQLite filled: {}, {}", milliseconds(from.elapsed()), megabytes(bytes));
    database
}

fn log_of(home: &Path, session: u64) -> PathBuf {
    home.join("sessions").join(session_id(session).as_str()).join("log.jsonl")
}

/// Writes the log of a session and answers its bytes: turns of eight steps that read files.
fn write_log(home: &Path, number: u64, entries: u64) -> u64 {
    let path = log_of(home, number);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    let mut corpus = Corpus::new(number);
    let mut written = 0;
    let mut seq = 0;
    let mut write = |entry: &Entry| {
        let line = closed_line(entry).unwrap();
        file.write_all(line.as_bytes()).unwrap();
        written += line.len() as u64;
    };
    write(&Entry { seq: Seq(0), at: Time(1), body: start(number).into() });
    let open = json!({"epoch": 1, "holder": "bench", "program": "0"});
    write(&entry(1, "open", &open));
    write(&entry(
        2,
        "head",
        &json!({
            "system": "You work in one folder.", "tools": "[]", "toolset": "default", "reason": "new session", "hash": hash(1),
        }),
    ));
    seq += 3;
    let mut turn = Vec::new();
    while seq < entries {
        if turn.is_empty() {
            turn = corpus.turn(seq);
            turn.reverse();
        }
        write(&turn.pop().unwrap());
        seq += 1;
    }
    file.into_inner().unwrap().sync_all().unwrap();
    written
}

fn hash(number: u8) -> String {
    format!("{number:02x}").repeat(32)
}

fn entry(seq: u64, kind: &str, body: &Value) -> Entry {
    let at = 1_764_412_345_678 + seq;
    Entry::read(&format!(r#"{{"v":1,"seq":{seq},"at":{at},"kind":"{kind}","body":{body}}}"#)).unwrap()
}

/// Texts by chance: lines of this repository, and Chinese sentences.
struct Corpus {
    lines: Vec<&'static str>,
    state: u64,
}

/// Rust and English, as they stand here.
const SOURCES: [&str; 4] = [
    include_str!("../../src/index/known.rs"),
    include_str!("../../src/folder.rs"),
    include_str!("../../src/index/rows.rs"),
    include_str!("../../../../ARCHITECTURE.md"),
];
const CHINESE: &str = "数据库 索引 搜索 会话 日志 工具 模型 请求 回答 错误 文件 目录 北京 天气 今天 我们 可以 需要 运行 命令 \
                       测试 失败 成功 时间 内存 磁盘 写入 读取 同步 恢复 崩溃 进程 的 了 是 在 和 不 有 这 请 把 银行 学习 \
                       机器 网络 服务器 配置 参数 函数 变量 类型 结构 接口 实现 代码 注释 文档 版本 更新 删除 修改 结果 列表";

impl Corpus {
    fn new(seed: u64) -> Self {
        let lines = SOURCES.iter().flat_map(|text| text.lines()).filter(|line| !line.is_empty()).collect();
        Self { lines, state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 }
    }

    fn below(&mut self, most: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state % most as u64) as usize
    }

    fn code(&mut self, lines: usize) -> String {
        let from = self.below(self.lines.len() - lines);
        self.lines[from..from + lines].join("\n")
    }

    fn chinese(&mut self, words: usize) -> String {
        let all: Vec<&str> = CHINESE.split_whitespace().collect();
        (0..words).map(|_| all[self.below(all.len())]).collect::<String>() + "。"
    }

    fn said(&mut self, seq: Seq) -> Entry {
        let text = format!("{} {}", self.chinese(20), self.code(2));
        entry(seq.0, "said", &json!({"from": "person", "content": [{"text": text}], "when": "now"}))
    }

    /// A turn whose first entry has this seq.
    fn turn(&mut self, first: u64) -> Vec<Entry> {
        let mut entries = vec![self.said(Seq(first))];
        let next = |entries: &[Entry]| first + entries.len() as u64;
        let target = json!({"provider": "p", "model": "m", "wire": "chat", "tool_mode": "native"});
        let begun = first + 1;
        entries.push(entry(begun, "turn_start", &json!({
            "cause": {"said": {"said": first}}, "limits": {"steps": 90}, "mode": {"serial": false, "on_ask": "ask"},
            "target": target,
        })));
        for step in 1..=9_u64 {
            let request = next(&entries);
            entries.push(entry(request, "request", &json!({
                "turn": begun, "step": step, "attempt": 1, "purpose": "step", "target": target, "head": 2,
                "upto": request - 1, "params": {"tool_choice": "auto"}, "parts": [hash(2), hash(3)], "prefix": hash(4),
                "body": hash(5), "bytes": 20_000, "tokens": 5_000,
                "reserved": {"purpose": "step", "tokens": 9_000, "micro_usd": null},
            })));
            let mut blocks = vec![json!({"text": self.chinese(12)})];
            if step < 9 {
                let path = format!("src/part_{}/foo_bar.rs", self.below(1_000));
                let arguments = json!({"path": path, "from": self.below(500)}).to_string();
                let call = json!({"wire_id": "c1", "name": "read_file", "arguments": arguments, "form": "native", "complete": true});
                blocks.push(json!({"call": call}));
            }
            let reply = next(&entries);
            entries.push(entry(reply, "reply", &json!({
                "request": request, "blocks": blocks, "finish": if step < 9 { "tool_use" } else { "stop" },
                "usage": {"reported": {"input": 5_000, "output": 60, "cached": 4_000, "reasoning": 0}},
                "micro_usd": 900, "timing": {"first": 400, "whole": 1_500},
            })));
            if step < 9 {
                let lines = 3 + self.below(9);
                let text = self.code(lines);
                entries.push(entry(next(&entries), "tool_result", &json!({
                    "call": format!("{reply}.0"), "outcome": "ok", "text": text, "bytes": text.len(), "took": 3,
                })));
            }
        }
        let reply = next(&entries) - 1;
        entries.push(entry(next(&entries), "turn_end", &json!({
            "turn": begun, "reason": "completed", "reply": {"entries": [reply]}, "steps": 9,
            "usage": {"input": 45_000, "output": 540, "cached": 36_000, "reasoning": 0}, "micro_usd": 8_100, "worked": 14_000,
        })));
        entries
    }
}

fn milliseconds(took: Duration) -> String {
    format!("{:.1} ms", took.as_secs_f64() * 1_000.0)
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
