//! Cases F-05 to F-09 and G-12: commands. The others are in `case_f_endings.rs`.

use petasos_core::bounded::Cap;
use petasos_core::tool::Outcome;

use crate::say::{Room, arguments};

/// The arguments of a command.
fn command(command: &str) -> String {
    arguments(&[("command", command)])
}

#[tokio::test]
async fn case_f05_the_exit_code_and_the_last_line_reach_the_model() {
    let room = Room::new();
    for n in [100, 27_000, 29_000, 31_000, 500_000] {
        let script =
            "python3 -c \"import sys; sys.stdout.write('x'*29000+'\\nERROR: last line\\n'); sys.exit(3)\"";
        let script = script.replace("29000", &n.to_string());
        let output = room.call("run_command", &command(&script)).await;
        assert_eq!(output.outcome, Outcome::Error);
        let text = output.for_model.text();
        assert!(text.starts_with("exit code 3 (failed)\nx"), "{n}");
        assert!(text.ends_with("x\nERROR: last line\n"), "{n}");
        assert_eq!(text.matches("left out").count(), usize::from(n > 50_000), "{n}");
        assert_eq!(output.bytes, n + 18);
    }
}

#[tokio::test]
async fn case_f06_a_command_without_output_says_so() {
    let room = Room::new();
    let check =
        async |script, outcome, text| room.check("run_command", &command(script), outcome, text).await;
    check("false", Outcome::Error, "exit code 1 (failed)\n(no output)").await;
    check("true", Outcome::Empty, "exit code 0\n(no output)").await;
    check("kill -9 $$", Outcome::Error, "killed by signal 9 (failed)\n(no output)").await;
}

#[tokio::test]
async fn case_f07_redraws_are_one_line() {
    let room = Room::new();
    room.put(
        "case.sh",
        r"for i in $(seq 1 100); do printf '\033[2K\rGetting image: %d%%' $i; done; printf '\033[32m done\033[0m\n\033]0;title\007'",
    );
    let text = "exit code 0\nGetting image: 100% done\n";
    room.check("run_command", &command("bash case.sh"), Outcome::Ok, text).await;
    // Programs set the colour back between the two parts of a line end, or wipe the line before the next.
    let text = "exit code 0\nred\n\nnew\nabX\n";
    let script =
        r"printf '\033[31mred\r\033[0m\n'; printf 'old\r\033[K\nold\r\033[2Knew\n'; printf 'old\r\babc\bX\n'";
    room.check("run_command", &command(script), Outcome::Ok, text).await;
    let text = "exit code 0\none\ntwo\n";
    room.check("run_command", &command(r"printf 'one\r\ntwo\r\n'"), Outcome::Ok, text).await;
}

#[tokio::test]
async fn case_f08_output_that_is_no_text_becomes_text() {
    let mut room = Room::new();
    room.put("case.sh", r#"printf 'caf\xe9 \x00 \xff\xfe ok\n'; python3 -c "print('北'*40000)""#);
    for cap in [2_000, 2_001, 2_002, 30_000, 50_000] {
        room.cap = Cap(cap);
        let text = room.text("run_command", &command("bash case.sh")).await;
        let text = text.strip_prefix("exit code 0\ncaf\u{fffd} \u{2400} \u{fffd}\u{fffd} ok\n").unwrap();
        assert!(!text.contains('\u{fffd}') && text.ends_with("北北\n"), "{cap}");
        assert!(text.chars().count() <= cap);
    }
}

#[tokio::test]
async fn case_f09_a_folder_that_goes_away_costs_only_the_calls_in_it() {
    let room = Room::new();
    let text = room.text("run_command", &command("mkdir -p w/sub && cd w/sub && pwd")).await;
    assert!(text.ends_with("/w/proj/w/sub\n"), "{text}");
    let here = |script| arguments(&[("command", script), ("cwd", "w/sub")]);
    let text = "exit code 0\nremoved\n";
    room.check("run_command", &here(r#"rm -rf "$PWD"; echo removed"#), Outcome::Ok, text).await;
    room.refused("run_command", &here("echo still alive"), "there is no w/sub").await;
    let text = "exit code 0\nstill alive\n";
    room.check("run_command", &command("echo still alive"), Outcome::Ok, text).await;
}

/// Cargo tells its tests where their crate is, so a name that must not get through is always there.
#[tokio::test]
async fn case_g12_no_name_but_those_allowed_is_in_the_environment() {
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let room = Room::new();
    let text = room.text("run_command", &command("env | sort")).await;
    let allowed = "PATH HOME LANG TZ USER LOGNAME SHELL TMPDIR TERM PAGER GIT_PAGER GIT_TERMINAL_PROMPT GIT_EDITOR EDITOR \
                   VISUAL PWD OLDPWD SHLVL _ GIT_SEQUENCE_EDITOR GIT_ASKPASS SSH_ASKPASS DEBIAN_FRONTEND PIP_NO_INPUT \
                   RUSTUP_HOME RUSTUP_TOOLCHAIN CARGO_HOME CARGO_TARGET_DIR LD_LIBRARY_PATH GOPATH GOROOT JAVA_HOME \
                   VIRTUAL_ENV CONDA_PREFIX PYENV_ROOT NVM_DIR PKG_CONFIG_PATH NIX_PATH NIX_SSL_CERT_FILE SSL_CERT_FILE \
                   SSL_CERT_DIR XDG_CONFIG_HOME XDG_CACHE_HOME XDG_DATA_HOME XDG_STATE_HOME http_proxy https_proxy \
                   HTTP_PROXY HTTPS_PROXY no_proxy NO_PROXY";
    for line in text.lines().skip(1) {
        let name = line.split('=').next().unwrap();
        assert!(allowed.split_whitespace().any(|known| known == name) || name.starts_with("LC_"), "{line}");
    }
    assert!(text.contains("\nTERM=dumb\n"), "{text}");
}
