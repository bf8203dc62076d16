//! Row L10: a reply that repeats itself is cut; one that merely looks alike is not.

use petasos_core::entry::{Block, Body, FinishReason, Reply};
use petasos_core::guard::Finding;
use petasos_core::session::Terms;
use petasos_core::stop::{Limit, StopReason};
use petasos_core::turn::{Delta, Effect, Guards, Mode};
use petasos_testkit::script::{Ran, Saying, Script, calls, calls_with, pieces, text};
use petasos_testkit::words::terms;

fn saying(replies: impl IntoIterator<Item = Saying>) -> Ran {
    Script::new(terms(9)).replies(replies).replies([text("done")]).say("do it").run()
}

fn replies(ran: &Ran) -> Vec<&Reply> {
    let reply = |entry| match entry {
        &petasos_core::entry::Entry { body: Body::Reply(ref reply), .. } => Some(reply),
        _ => None,
    };
    ran.entries.iter().filter_map(reply).collect()
}

/// How many bytes of it came before it was cut.
#[track_caller]
fn cut_at(block: &str, piece: usize) -> usize {
    let ran = saying([pieces(&block.repeat(40_000 / block.len() + 1), piece)]);
    let reply = replies(&ran)[0];
    assert_eq!((ran.status, &reply.finish), (Some(StopReason::Completed), &FinishReason::Cut), "{block:?}");
    let notes: Vec<&String> = ran.told.iter().filter(|line| line.starts_with("note")).collect();
    assert_eq!(notes, ["note: Guard"], "{block:?}");
    assert_eq!(ran.reply, "done");
    assert_eq!(ran.effects.iter().filter(|effect| matches!(effect, Effect::CancelModel(_))).count(), 1);
    let Block::Text(text) = &reply.blocks[0] else { panic!("{reply:?}") };
    text.len()
}

#[test]
fn l10_a_reply_that_repeats_itself_is_cut_and_told() {
    let paragraph: String = (0..190).map(|number| format!("{number} ")).collect();
    let long: String = (0..700).map(|number| format!("{number} ")).collect();
    // A short block is seen once it fills 4 KiB, at the next look; a longer one once it came four times.
    for (block, most) in [
        ("x", 5 << 10),
        ("\n", 5 << 10),
        ("I will try again. ", 5 << 10),
        ("好的，", 5 << 10),
        ("| | |\n", 5 << 10),
        (&*paragraph, 5 << 10),
        (&*long, 17 << 10),
    ] {
        for piece in [1, 7, 1000] {
            let came = cut_at(block, piece);
            assert!(came <= most + 3 * piece, "{block:?} in pieces of {piece}: {came} bytes");
        }
    }
}

/// Wherever the pieces end, it is the same look at the same text.
#[test]
fn l10_the_pieces_of_a_stream_do_not_matter() {
    let said = format!("Let me see. {}", "And so on. ".repeat(900));
    let seen: Vec<usize> = [1, 2, 64, 512]
        .map(|piece| {
            let ran = saying([pieces(&said, piece)]);
            let Block::Text(text) = &replies(&ran)[0].blocks[0] else { panic!() };
            text.len() / 1024
        })
        .into();
    assert_eq!(seen, [5, 5, 5, 5]);
}

#[test]
fn l10_a_second_reply_that_repeats_itself_ends_the_turn() {
    let loops = || text(&"and again ".repeat(900));
    let ran = saying([loops(), calls(["write"]), loops()]);
    assert_eq!(ran.status, Some(StopReason::Stuck));
    assert_eq!((ran.requests().len(), ran.ran()), (3, vec!["write".to_owned()]));
    assert_eq!(ran.session.turn().unwrap().told().finding(), Some(&Finding::Reply));
}

#[test]
fn l10_no_call_of_a_reply_that_repeats_itself_is_run() {
    let mut said = calls(["write"]);
    said = said.then_text(&"and again ".repeat(900));
    let ran = saying([said]);
    assert_eq!((ran.status, ran.ran()), (Some(StopReason::Completed), Vec::new()));
    assert_eq!(ran.results().len(), 1);
    assert!(ran.results()[0].ends_with(" never_began"), "{:?}", ran.results());
    // Nor are sixteen calls of one kind in a row.
    let ran = saying([calls(["read"; 40])]);
    assert_eq!((ran.status, ran.ran(), ran.results().len()), (Some(StopReason::Completed), Vec::new(), 16));
    let ran = saying([calls(["read"; 15])]);
    assert_eq!((ran.status, ran.ran().len()), (Some(StopReason::Completed), 15));
}

/// Blanks without end are what a server makes that must write JSON and has nothing to say.
#[test]
fn l10_arguments_without_end_are_cut() {
    let endless = format!("{{\"path\":{}", " \n".repeat(20_000));
    let deltas = endless
        .as_bytes()
        .chunks(100)
        .map(|piece| Delta::Arguments { place: 0, text: std::str::from_utf8(piece).unwrap().into() });
    let ran =
        saying([calls(["write"]).with_half_a_call("write").with_deltas(deltas.map(|delta| match delta {
            Delta::Arguments { text, .. } => Delta::Arguments { place: 1, text },
            other => other,
        }))]);
    assert_eq!((ran.status, ran.ran()), (Some(StopReason::Completed), Vec::new()));
    let Block::Call(call) = &replies(&ran)[0].blocks[1] else { panic!() };
    assert!(call.arguments.len() < 18 << 10, "{}", call.arguments.len());
}

/// What may be a call written as text is held back until it is whole, so there is no block of it yet.
#[test]
fn l10_what_is_held_back_of_a_reply_is_looked_at_as_well() {
    let held = || {
        let begun = r#"<tool_call>{"name":"write","arguments":{"content":""#;
        let endless = format!("{begun}{}", "a".repeat(40_000));
        let deltas =
            endless.as_bytes().chunks(100).map(|piece| std::str::from_utf8(piece).unwrap().to_owned());
        text("").with_deltas(deltas.map(|piece| Delta::Raw(piece.into())))
    };
    let ran = saying([held()]);
    assert_eq!((ran.status, ran.reply.as_str()), (Some(StopReason::Completed), "done"));
    let reply = replies(&ran)[0].clone();
    assert_eq!(reply.finish, FinishReason::Cut);
    let raw = reply.raw.unwrap();
    assert!(raw.starts_with("<tool_call>") && raw.len() < 18 << 10, "{}", raw.len());
    let ran = saying([held(), calls(["write"]), held()]);
    assert_eq!(ran.status, Some(StopReason::Stuck));
}

/// It is kept where it says more than the blocks: not of what turned out to be plain text.
#[test]
fn l10_what_was_held_back_and_is_text_is_not_kept_twice() {
    let ran = saying([text("not a call").with_deltas([Delta::Raw("not a call".into())])]);
    assert_eq!((ran.reply.as_str(), &replies(&ran)[0].raw), ("not a call", &None));
}

#[test]
fn l10_reasoning_that_repeats_itself_is_cut() {
    let ran = saying([text("So.").after_reasoning(&"Wait, let me think again. ".repeat(400))]);
    assert_eq!((ran.status, ran.reply.as_str()), (Some(StopReason::Completed), "done"));
    assert_eq!(replies(&ran)[0].finish, FinishReason::Cut);
}

/// A closing call ends the turn whatever it says.
#[test]
fn l10_a_closing_call_that_repeats_itself_is_cut_and_is_the_end() {
    let script = Script::new(terms(1)).replies([calls(["read"]), text(&"so on, ".repeat(2_000))]);
    let ran = script.say("do it").run();
    assert_eq!(ran.status, Some(StopReason::BudgetExhausted(Limit::Steps)));
    assert_eq!(replies(&ran)[1].finish, FinishReason::Cut);
}

#[test]
fn l10_without_guards_no_reply_is_cut() {
    let terms = Terms { mode: Mode { guards: Guards::Off, ..Mode::default() }, ..terms(9) };
    let said = "and again ".repeat(2_000);
    let ran = Script::new(terms).replies([text(&said)]).say("do it").run();
    assert_eq!((ran.status, ran.reply), (Some(StopReason::Completed), said));
}

/// A few numbers that look like chance.
fn numbers(count: usize) -> Vec<u64> {
    let mut state = 88_172_645_463_325_252_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..count).map(|_| next()).collect()
}

fn base64(length: usize) -> String {
    let letters: Vec<char> = ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(['+', '/']).collect();
    numbers(length).iter().map(|number| letters[(number % 64) as usize]).collect()
}

/// What people really ask for, and what repeats itself in parts.
#[test]
fn l10_long_texts_that_look_alike_are_left_alone() {
    let table: String = (0..600)
        .map(|row| format!("| host-{row:03} | 10.0.{}.{} | up | 0 |\n", row / 250, row % 250))
        .collect();
    let rule = format!("{}\n{}\n{}\n", "-".repeat(200), "=".repeat(400), "─".repeat(120));
    let empty_table = "|     |     |     |\n".repeat(150);
    let minified: String = numbers(1500)
        .iter()
        .map(|number| format!("function a{}(b){{return b?c({}):d}}", number % 9973, number % 17))
        .collect();
    let zeros = format!("static TABLE: [u8; 1024] = [{}];", "0, ".repeat(1024));
    let image = format!("data:image/png;base64,{}{}{}", base64(9_000), "A".repeat(2_500), base64(9_000));
    let song = format!("{}\n{}", "Around the world, around the world\n".repeat(72), "La la la ".repeat(150));
    let list: String =
        (0..800).map(|id| format!("{{\"id\": {id}, \"ok\": true, \"tags\": []}},\n")).collect();
    let poem = "床前明月光，疑是地上霜。举头望明月，低头思故乡。\n".repeat(40);
    let hex: String = (0..200).map(|row| format!("{:08x}  00 00 00 00 00 00 00 00\n", row * 8)).collect();
    let fixtures: String = (0..90)
        .map(|number| {
            format!("#[test]\nfn case_{number}() {{\n    assert_eq!(run({number}), Ok(()));\n}}\n\n")
        })
        .collect();
    for said in [table, rule, empty_table, minified, zeros, image, song, list, poem, hex, fixtures] {
        let ran = saying([pieces(&said, 11)]);
        let start: String = said.chars().take(40).collect();
        assert!(ran.status == Some(StopReason::Completed) && ran.reply == said, "{start}");
    }
    // A file of zeros is a file.
    let file = format!("{{\"path\":\"zeros\",\"content\":\"{}\"}}", "0,".repeat(7_000));
    let ran = saying([calls_with([("write", &*file)])]);
    assert_eq!((ran.status, ran.ran()), (Some(StopReason::Completed), vec!["write".to_owned()]));
}
