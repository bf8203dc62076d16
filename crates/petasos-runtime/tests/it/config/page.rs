//! `docs/format/config.md` against the names that the program knows.

use petasos_runtime::config::{Flags, NAMES, WorkspaceMay};

use super::Layers;

const PAGE: &str = include_str!("../../../../../docs/format/config.md");

/// The cells of each row under a heading, without code marks.
fn rows(heading: &str) -> Vec<Vec<String>> {
    let section = PAGE.split(&format!("\n## {heading}\n")).nth(1).unwrap().split("\n## ").next().unwrap();
    let table = section.lines().filter(|line| line.starts_with('|')).skip(2);
    let cells =
        |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().replace('`', "")).collect();
    table.map(cells).collect()
}

#[test]
fn the_page_has_the_names_that_there_are_and_what_a_workspace_may_do_to_them() {
    let told: Vec<(String, String)> =
        rows("Names").into_iter().map(|row| (row[0].clone(), row[2].clone())).collect();
    let may = |may| match may {
        WorkspaceMay::Never => "no",
        WorkspaceMay::Lower => "lower only",
        WorkspaceMay::Set => "yes",
    };
    let known: Vec<(String, String)> =
        NAMES.iter().map(|name| (name.name.to_owned(), may(name.workspace).to_owned())).collect();
    assert_eq!(told, known);
}

/// A name that is in the list and not in the file's type would be refused as unknown.
#[test]
fn a_file_may_hold_every_name_and_a_workspace_those_that_the_page_says() {
    for name in NAMES {
        let value = match name.name {
            "model.api_mode" => "chat",
            "model.tool_mode" => "text",
            "fallback" | "tools.disabled" | "tools.fetch_private" | "tools.condense" => "[]",
            "tools.serial" => "true",
            "policy.on_ask" => "park",
            "durability" => "process",
            "record" => "parts",
            "guards" => "off",
            "model.price" => "{input: 0.25, output: 2}",
            "model.temperature" => "0.7",
            "tools.result_chars" => "7000",
            other if other.ends_with("name") || other.ends_with("provider") || other.ends_with("url") => {
                "text"
            }
            "model.api_key_env" | "tools.run_tests" => "text",
            _ => "7",
        };
        let text = match name.name.split_once('.') {
            Some((group, key)) => format!("{group}: {{{key}: {value}}}\n"),
            None => format!("{}: {value}\n", name.name),
        };
        Layers::new().home(&text).setup().unwrap_or_else(|error| panic!("{}: {error}", name.name));
        let in_workspace = Layers::new().workspace(&text);
        if name.workspace == WorkspaceMay::Never {
            let told = format!("`{}` may not stand in a workspace file", name.name);
            assert!(in_workspace.refusal().contains(&told), "{}", in_workspace.refusal());
        } else {
            in_workspace.setup().unwrap_or_else(|error| panic!("{}: {error}", name.name));
        }
    }
}

/// Each variable of the page says what its flag says.
#[test]
fn the_page_has_the_variables_and_their_flags() {
    let flags = |name: &str| {
        let text = Some("said".to_owned());
        match name {
            "model.base_url" => Flags { base_url: text, ..Flags::default() },
            "model.name" => Flags { model: text, ..Flags::default() },
            "model.api_mode" => {
                Flags { api_mode: Some(petasos_core::request::Wire::Messages), ..Flags::default() }
            }
            "model.api_key_env" => Flags { api_key_env: text, ..Flags::default() },
            "max_steps" => Flags { max_steps: Some(7), ..Flags::default() },
            other => panic!("{other}"),
        }
    };
    let value = |name: &str| match name {
        "model.api_mode" => "messages",
        "max_steps" => "7",
        _ => "said",
    };
    let rows = rows("Environment and flags");
    assert_eq!(rows.len(), 5);
    for row in rows {
        let by_variable = Layers::new().variable(&row[0], value(&row[2])).setup().unwrap().settings;
        let by_flag = Layers::new().flags(flags(&row[2])).setup().unwrap().settings;
        assert_eq!(by_variable, by_flag, "{row:?}");
        assert_ne!(by_flag, Layers::new().setup().unwrap().settings, "{row:?}");
    }
}

#[test]
fn the_page_has_the_defaults_that_hold() {
    let default = Layers::new().setup().unwrap().settings;
    for row in rows("Names") {
        let told = row[1].as_str();
        let held = match row[0].as_str() {
            "max_steps" => default.limits.steps.unwrap().to_string(),
            "tools.result_chars" => default.result_cap.0.to_string(),
            "tools.serial" => default.serial.to_string(),
            "durability" => format!("{:?}", default.durability).to_lowercase(),
            "limits.usd" => default.limits.micro_usd.map_or("none".to_owned(), |usd| usd.to_string()),
            "limits.tokens" => default.limits.tokens.map_or("none".to_owned(), |tokens| tokens.to_string()),
            "limits.time" => default.limits.time.map_or("none".to_owned(), |time| format!("{time:?}")),
            "tools.run_tests" => default.run_tests.clone().unwrap_or_else(|| "none".to_owned()),
            "timeouts.tool" => default.tool_limit.as_secs().to_string(),
            "timeouts.connect" => petasos_providers::Timeouts::default().connect.as_secs().to_string(),
            "timeouts.first_byte" => {
                let usual = petasos_providers::Timeouts::default().first_byte.as_secs();
                let local = petasos_providers::Timeouts::LOCAL.first_byte.as_secs();
                let thinking = petasos_providers::Timeouts::THINKING.as_secs();
                format!("{usual}; {local} near; {thinking} where models think long")
            }
            "timeouts.idle" => {
                let usual = petasos_providers::Timeouts::default().idle.as_secs();
                let local = petasos_providers::Timeouts::LOCAL.idle.as_secs();
                let thinking = petasos_providers::Timeouts::THINKING.as_secs();
                format!("{usual}; {local} near; {thinking} where models think long")
            }
            _ => continue,
        };
        assert_eq!(told, held, "{}", row[0]);
    }
}

/// To be sent to a name that nobody meant would lead astray.
#[test]
fn an_unknown_name_is_told_the_nearest_one_only_if_that_is_near() {
    for (text, name, nearest) in [
        ("max_step: 3\n", "max_step", Some("max_steps")),
        ("model: {nmae: m}\n", "model.nmae", Some("model.name")),
        ("nmae: m\n", "nmae", Some("model.name")),
        ("idel: 3\n", "idel", Some("timeouts.idle")),
        // One letter of three, and of two.
        ("tme: 3\n", "tme", Some("limits.time")),
        ("tm: 3\n", "tm", None),
        // Three letters of nine, four of nine.
        ("maxstepps: 3\n", "maxstepps", Some("max_steps")),
        ("xaxyteqs_: 3\n", "xaxyteqs_", None),
        ("hooks: []\n", "hooks", None),
        ("mcp: {servers: []}\n", "mcp.servers", None),
        ("größe: 3\n", "größe", None),
        ("\"\": 3\n", "", None),
    ] {
        let told = match nearest {
            Some(nearest) => format!("there is no setting `{name}`; the nearest is `{nearest}`"),
            None => format!("there is no setting `{name}`; docs/format/config.md lists all that there are"),
        };
        let refusal = Layers::new().home(text).refusal();
        assert!(refusal.ends_with(&told), "{refusal}");
        let refusal = Layers::new().workspace(text).refusal();
        assert!(refusal.ends_with(&told), "{refusal}");
    }
}
