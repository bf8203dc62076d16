//! flag > environment > workspace file > home file > default; a workspace only lowers.

use petasos_core::time::Span;
use petasos_runtime::config::{Flags, ModelNamed, Settings};
use petasos_tools::CondenseRule;

use super::Layers;

const NAMES: [&str; 4] = ["flag", "environment", "workspace", "home"];

/// The name of the model and the step budget, where these layers say something. Each says another number.
fn said_by(layers: &[&str]) -> Settings {
    let mut place = Layers::new();
    for layer in layers {
        place = match *layer {
            "flag" => {
                place.flags(Flags { model: Some("flag".into()), max_steps: Some(44), ..Flags::default() })
            }
            "environment" => {
                place.variable("PETASOS_MODEL", "environment").variable("PETASOS_MAX_STEPS", "43")
            }
            "workspace" => place.workspace("model: {name: workspace}\nmax_steps: 12\n"),
            "home" => place.home("model: {name: home}\nmax_steps: 41\n"),
            other => panic!("{other}"),
        };
    }
    place.setup().unwrap().settings
}

#[test]
fn the_first_layer_that_says_something_counts() {
    for above in 0..NAMES.len() {
        for below in above + 1..=NAMES.len() {
            // All from the one on, and each pair.
            let pair: Vec<&str> = NAMES
                .iter()
                .enumerate()
                .filter(|(at, _)| *at == above || *at == below)
                .map(|(_, name)| *name)
                .collect();
            for layers in [&NAMES[above..], &pair] {
                let settings = said_by(layers);
                assert_eq!(settings.model.name.as_deref(), Some(NAMES[above]), "{layers:?}");
                let steps = [44, 43, 12, 41][above];
                assert_eq!(settings.limits.steps, Some(steps), "{layers:?}");
            }
        }
    }
    let none = said_by(&[]);
    assert_eq!((none.model.name, none.limits.steps), (None, Some(90)));
}

#[test]
fn a_workspace_lowers_and_never_raises() {
    for (home, workspace, steps, tokens, time) in [
        ("", "max_steps: 100\nlimits: {tokens: 5, time: 6}\n", 90, Some(5), Some(6)),
        (
            "max_steps: 50\nlimits: {tokens: 4, time: 5}\n",
            "max_steps: 60\nlimits: {tokens: 9, time: 9}\n",
            50,
            Some(4),
            Some(5),
        ),
        (
            "max_steps: 50\nlimits: {tokens: 4, time: 5}\n",
            "max_steps: 1\nlimits: {tokens: 1, time: 1}\n",
            1,
            Some(1),
            Some(1),
        ),
        ("max_steps: 200\n", "", 200, None, None),
        ("max_turns: 30\n", "max_iterations: 20\n", 20, None, None),
    ] {
        let limits = Layers::new().home(home).workspace(workspace).setup().unwrap().settings.limits;
        let time = time.map(Span::seconds);
        assert_eq!(
            (limits.steps, limits.tokens, limits.time),
            (Some(steps), tokens, time),
            "{home:?} {workspace:?}"
        );
    }
    let off = Layers::new()
        .home("tools: {disabled: [run_command]}\n")
        .workspace("tools: {disabled: [write_file]}\n");
    assert_eq!(off.setup().unwrap().settings.disabled, ["run_command", "write_file"]);
}

/// A rule is read with the settings: what is wrong with it is told with its place, before there is a session.
#[test]
fn t08_condense_rules_are_checked_when_they_are_read() {
    let with = |rule: &str| {
        Layers::new().home(&format!("tools: {{condense: [{{tool: fetch_url, pick: [.a]}}, {rule}]}}\n"))
    };
    let good = with("{tool: run_tests, match: x, pick: [\".b[].c\", .d]}").setup().unwrap();
    let rule = |tool: &str, only: Option<&str>, paths: &[&str]| {
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        CondenseRule::new(tool.to_owned(), only.map(str::to_owned), &paths).unwrap()
    };
    let wanted = [rule("fetch_url", None, &[".a"]), rule("run_tests", Some("x"), &[".b[].c", ".d"])];
    assert_eq!(good.settings.condense, wanted);
    for (wrong, what) in [
        (
            "{tool: fetch_url, pick: [.a.b..c]}",
            "rule 2 of `tools.condense` cannot be used: the path \".a.b..c\" is wrong at character 6",
        ),
        ("{tool: fetch_url, pick: []}", "rule 2 of `tools.condense` cannot be used: `pick` has no path"),
        ("{tool: fetch_url, pick: [\".a | length\"]}", "wrong at character 3"),
        ("{tool: fetch_url, jq: .a}", "unknown field `jq`"),
        ("{tool: fetch_url}", "missing field `pick`"),
    ] {
        let told = with(wrong).setup().unwrap_err().to_string();
        assert!(told.contains(what), "{wrong}: {told}");
    }
}

/// A name may be another address tomorrow, and a port is a server: both have to be said.
#[test]
fn pages_near_by_are_listed_by_address_and_port() {
    let listed = |list: &str| Layers::new().home(&format!("tools: {{fetch_private: {list}}}\n")).setup();
    let found = listed("[\"127.0.0.1:8080\", \" [::1]:80\"]").unwrap().settings.fetch_private;
    assert_eq!(found, ["127.0.0.1:8080".parse().unwrap(), "[::1]:80".parse().unwrap()]);
    for wrong in ["localhost:8080", "127.0.0.1", "http://127.0.0.1:80/", "::1:80", "127.0.0.1:99999", ""] {
        let error = listed(&format!("[\"127.0.0.1:1\", \"{wrong}\"]")).unwrap_err().to_string();
        assert!(error.contains("`tools.fetch_private`") && error.contains(&format!("{wrong:?}")), "{error}");
        assert!(error.contains("such as 127.0.0.1:8080"), "{error}");
    }
}

/// The key, the name and the sizes of one place never go to another.
#[test]
fn what_is_said_of_a_model_belongs_to_its_place() {
    let home = "model: {provider: openai, name: big, api_key_env: WORK_KEY, window: 1000, max_output: 100}\n";
    let elsewhere = Flags { base_url: Some("http://other.example/v1".into()), ..Flags::default() };
    let settings = Layers::new().home(home).flags(elsewhere.clone()).setup().unwrap().settings;
    let only = ModelNamed { base_url: elsewhere.base_url.clone(), ..ModelNamed::default() };
    assert_eq!(settings.model, only, "nor its window and its output cap");
    // A layer between, with a place of its own.
    let between = Layers::new().home(home).flags(elsewhere.clone());
    let between = between
        .variable("PETASOS_BASE_URL", "http://third.example/v1")
        .variable("PETASOS_API_KEY_ENV", "THIRD");
    assert_eq!(between.setup().unwrap().settings.model.api_key_env, None);
    // The same place, and one that names none.
    let same = Flags { base_url: Some("http://own.example/v1".into()), ..Flags::default() };
    let own = "model: {base_url: \"http://own.example/v1\", name: own, api_key_env: OWN, window: 7}\n";
    let settings = Layers::new().home(own).flags(same).setup().unwrap().settings;
    assert_eq!((settings.model.api_key_env.as_deref(), settings.model.set.window), (Some("OWN"), Some(7)));
    let settings = Layers::new()
        .home("model: {name: any, api_key_env: ANY}\n")
        .flags(elsewhere)
        .setup()
        .unwrap()
        .settings;
    assert_eq!(
        (settings.model.name.as_deref(), settings.model.api_key_env.as_deref()),
        (Some("any"), Some("ANY"))
    );
}

#[test]
fn a_variable_of_the_process_is_above_the_file_of_variables() {
    let text = "# keys\n\nexport A=1\nB = \"two words\"\nC='3=4'\nD=\nE=5\n";
    let layers = Layers::new().env_file(text).variable("E", "own");
    let environment = layers.setup().unwrap().environment;
    let wanted =
        [("A", Some("1")), ("B", Some("two words")), ("C", Some("3=4")), ("D", None), ("E", Some("own"))];
    for (name, value) in wanted {
        assert_eq!(environment.get(name), value, "{name}");
    }
}

#[test]
fn a_number_that_is_none_is_told() {
    let told = Layers::new().variable("PETASOS_MAX_STEPS", "many").refusal();
    assert_eq!(told, "PETASOS_MAX_STEPS is \"many\"; it is a number of steps, such as 90");
    let told = Layers::new().variable("PETASOS_API_MODE", "chatt").refusal();
    assert_eq!(told, "PETASOS_API_MODE is \"chatt\"; it may be chat, responses or messages");
}

/// With fewer no error fits, with more the whole would be in memory.
#[test]
fn t08_the_cap_of_results_has_bounds() {
    let set = |characters: &str| Layers::new().home(&format!("tools: {{result_chars: {characters}}}\n"));
    for characters in [2_000, 1_000_000] {
        assert_eq!(set(&characters.to_string()).setup().unwrap().settings.result_cap.0, characters);
    }
    for characters in ["0", "1999", "1000001"] {
        let told = format!(
            "`tools.result_chars` is {characters}, in the config.yaml of the home folder; write a number from 2000 to \
             1000000, or leave it out for 50000"
        );
        assert_eq!(set(characters).refusal(), told);
    }
}

/// Nothing that a file can hold ends the program.
#[test]
fn a_config_file_of_any_bytes_is_read_or_refused() {
    let bytes: [&[u8]; 9] = [
        b"",
        b"# only a comment\n",
        b"\xff\xfe\n",
        b"model:\n",
        b"a: &a [*a]\n",
        b"- 1\n- 2\n",
        b"max_steps: -1\n",
        b"max_steps: 99999999999999999999\n",
        b"\0",
    ];
    for (at, text) in bytes.iter().enumerate() {
        let layers = Layers::new();
        std::fs::write(layers.path().join("home/config.yaml"), text).unwrap();
        let is_good = layers.setup().is_ok();
        assert_eq!(is_good, at < 2, "{text:?}: {:?}", layers.setup().err());
    }
    let told = Layers::new().home("model: qwen\n").refusal();
    assert!(
        told.contains("`model` is no setting but a group of them") && told.contains("`model.provider`"),
        "{told}"
    );
    // Deep, and doubling at each line.
    let deep = "[".repeat(100_000);
    let mut laughs = "a: &a [x,x]\n".to_owned();
    for (from, to) in ('a'..'y').zip('b'..'z') {
        laughs.push_str(&format!("{to}: &{to} [*{from},*{from}]\n"));
    }
    for text in [deep, laughs] {
        assert!(Layers::new().home(&text).refusal().contains("config.yaml"));
    }
}
