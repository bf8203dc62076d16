//! Case G-12: keys, hidden in texts of every kind, and what only names one left as it is.

use std::sync::Arc;

use petasos_tools::{Hiding, Mask, Origin, is_secret, placeholder_in};
use proptest::prelude::*;

const KEY: &str = "sk-test-abcdefghijklmnopqrstuvwx1234";

fn mask() -> Mask {
    let named = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    Mask::new([
        named("OPENAI_API_KEY", KEY),
        named("OTHER_API_KEY", "correct horse/battery\"staple"),
        named("LONGER", "abcdefgh-ijkl"),
        named("SHORTER", "abcdefgh"),
        named("TOO_SHORT", "abc"),
        named("AGAIN", KEY),
        named("CHINESE", "北京密码很长"),
    ])
}

/// All of a text at once.
fn hidden(text: &str) -> String {
    mask().hide(text).into_owned()
}

#[track_caller]
fn check(text: &str, shown: &str) {
    assert_eq!(hidden(text), shown);
}

#[track_caller]
fn stays(text: &str) {
    check(text, text);
}

#[test]
fn case_g12_a_value_that_is_known_is_hidden_wherever_it_stands() {
    check(KEY, "«hidden:OPENAI_API_KEY»");
    check(&format!("a{KEY}b{KEY}"), "a«hidden:OPENAI_API_KEY»b«hidden:OPENAI_API_KEY»");
    check(&format!("OPENAI_API_KEY={KEY}\nPATH=/bin"), "OPENAI_API_KEY=«hidden:OPENAI_API_KEY»\nPATH=/bin");
    check("x correct horse/battery\"staple y", "x «hidden:OTHER_API_KEY» y");
    check(r#"{"a":"correct horse/battery\"staple"}"#, r#"{"a":"«hidden:OTHER_API_KEY»"}"#);
    check("?q=correct%20horse%2Fbattery%22staple&b", "?q=«hidden:OTHER_API_KEY»&b");
    check("abcdefgh abcdefgh-ijkl abc", "«hidden:SHORTER» «hidden:LONGER» abc");
    check("是北京密码很长吗", "是«hidden:CHINESE»吗");
    check(&format!("Authorization: Bearer {KEY}"), "Authorization: Bearer «hidden:OPENAI_API_KEY»");
    check(&format!("https://a.test/?key={KEY}&x=1"), "https://a.test/?key=«hidden:OPENAI_API_KEY»&x=1");
}

/// A setting among keys is none, nor is the word that stands for a key where none is wanted.
#[test]
fn case_g12_a_setting_among_keys_is_no_key() {
    use Origin::{File, Named, Process};
    let keys = [
        (Named, "OPENAI_API_KEY", "sk-0123456789"),
        (Named, "OPENAI_API_KEY", "/Xb3dEf6hIj9lMn2pQr5/tUv8x"),
        (Named, "MY_VARIABLE", "kJhGfDsAqW"),
        (File, "OTHER_SECRET", "hunter2hunter2"),
        (File, "AWS_SECRET_ACCESS_KEY", "/Xb3dEf6hIj9lMn2pQr5/tUv8x"),
        (File, "DATABASE_URL", "postgres://me:passw0rd@db.test/a"),
        (File, "SENTRY_DSN", "https://0123abcd@o1.test/2"),
        (File, "SLACK", "https://hooks.slack.com/services/T0/B0/a1B2c3D4e5F6g7H8i9J0k1L2"),
        (File, "WHATEVER", "a1B2c3D4e5F6g7H8i9J0k1L2"),
        (Process, "DB_PASSWORD", "correct-horse-1"),
        (Process, "AWS_SECRET_ACCESS_KEY", "a1B2c3D4e5F6g7H8i9J0k1L2"),
    ];
    for (origin, name, value) in keys {
        assert!(is_secret(origin, name, value), "{name}={value}");
    }
    let settings = [
        (Named, "OPENAI_API_KEY", "lm-studio"),
        (Named, "OPENAI_API_KEY", "not_needed"),
        (File, "NODE_ENV", "production"),
        (File, "OLLAMA_HOST", "127.0.0.1:11434"),
        (File, "GREETING", "Good morning to all"),
        (File, "SECRET_FILE", "/run/secrets/db1"),
        (File, "TOKEN_URL", "https://login.test/token"),
        (Process, "SSH_AUTH_SOCK", "/tmp/ssh-x1y2z3/agent.77"),
        (Process, "WHATEVER", "a1B2c3D4e5F6g7H8i9J0k1L2"),
        (Process, "TOKENIZERS_PARALLELISM", "false"),
        (Process, "KEYMAP", "us-dvorak1"),
    ];
    for (origin, name, value) in settings {
        assert!(!is_secret(origin, name, value), "{name}={value}");
    }
}

#[test]
fn case_g12_what_has_the_shape_of_a_key_is_hidden() {
    let table = [
        ("sk-proj-Ab3dEf6hIj9lMn2pQr5tUv8x_Yz", "«hidden:sk-…", "»"),
        ("key: sk-ant-api03-Ab3dEf6hIj9lMn2pQr5tUv8x-Yz.", "key: «hidden:sk-ant-…", "»."),
        ("\"ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8\"", "\"«hidden:gh_…", "»\""),
        ("gho_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8", "«hidden:gh_…", "»"),
        (
            "github_pat_11ABCDEFG0a1b2c3d4e5f6_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8a1B2c3D4e5F6g7H8i9J0k",
            "«hidden:github_pat_…",
            "»",
        ),
        ("glpat-a1B2-c3D4_e5F6g7H8i9", "«hidden:glpat-…", "»"),
        ("xoxb-123456789012-1234567890123-a1B2c3D4e5F6g7H8i9J0k1L2", "«hidden:xox-…", "»"),
        ("AKIAQ3ZRWT7KFMVBX2LD", "«hidden:AKIA…", "»"),
        ("id=ASIAQ3ZRWT7KFMVBX2LD;", "id=«hidden:AKIA…", "»;"),
        ("AIzaSyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7", "«hidden:AIza…", "»"),
        ("hf_aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgH", "«hidden:hf_…", "»"),
        (
            "//registry/:_authToken=npm_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
            "//registry/:_authToken=«hidden:npm_…",
            "»",
        ),
        (r#"{"env":"A=1\nsk-Ab3dEf6hIj9lMn2pQr5tUv8x"}"#, r#"{"env":"A=1\n«hidden:sk-…"#, r#"»"}"#),
        ("gsk_abcdefGHIJKL0123456789abcdefGHIJKL0123456789abcdef", "«hidden:gsk_…", "»"),
        ("xai-abcdefGHIJKL0123456789abcdefGHIJKL0123456789abcdef", "«hidden:xai-…", "»"),
        ("sk_live_4eC39HqLyjWDarjtT1zdp7dc", "«hidden:sk_live_…", "»"),
        (
            "t = eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c;",
            "t = «hidden:jwt…",
            "»;",
        ),
        ("api-key: 0123456789abcdef0123456789abcdef", "api-key: «hidden:api-key…", "»"),
        ("Authorization: Bearer tokenwith1digit", "Authorization: Bearer «hidden:authorization…", "»"),
        ("> authorization: Basic dXNlcjpwYXNz", "> authorization: Basic «hidden:authorization…", "»"),
        (
            r#"{"Authorization": "Bearer a.b-c_d0e~f"}"#,
            r#"{"Authorization": "Bearer «hidden:authorization…"#,
            r#"»"}"#,
        ),
        (
            "setHeader('Authorization', 'token a1b2c3d4')",
            "setHeader('Authorization', 'token «hidden:authorization…",
            "»')",
        ),
        ("Authorization: 0123456789abcdef01234567", "Authorization: «hidden:authorization…", "»"),
        ("x-api-key: abcd1234", "x-api-key: «hidden:api-key…", "»"),
        ("-H \"X-API-Key: abcd1234\"", "-H \"X-API-Key: «hidden:api-key…", "»\""),
        ("postgres://me:s3cret!x@db.test/a", "postgres://me:«hidden:login…", "»@db.test/a"),
        ("postgres://me:pa$$w0rd1@db.test/a", "postgres://me:«hidden:login…", "»@db.test/a"),
        ("mysql://root:Str0ng,Pass;(1)!@db/a", "mysql://root:«hidden:login…", "»@db/a"),
        ("postgres://me:p@ssw0rd1@db.test/a", "postgres://me:«hidden:login…", "»@db.test/a"),
        ("Authorization: Bearer test-a1b2c3d4e5f6g7h8", "Authorization: Bearer «hidden:authorization…", "»"),
        ("https://0123456789abcdef0123@github.com/a", "https://«hidden:login…", "»@github.com/a"),
        ("https://a.test/x?key=0123456789abcdef0&b=1", "https://a.test/x?key=«hidden:url-key…", "»&b=1"),
        (
            "https://a.test/x?b=1&access_token=0123456789abcdef0",
            "https://a.test/x?b=1&access_token=«hidden:url-key…",
            "»",
        ),
    ];
    for (text, before, after) in table {
        let shown = hidden(text);
        let digits = shown.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
        let is_told =
            digits.is_some_and(|digits| digits.len() == 4 && digits.chars().all(|c| c.is_ascii_hexdigit()));
        assert!(is_told, "{text}\n{shown}");
        assert_eq!(hidden(&shown), shown);
        assert!(mask().holds(text) && placeholder_in(&shown).is_some());
    }
}

/// Programs write the same letters in many ways.
#[test]
fn case_g12_a_value_is_hidden_in_each_form_in_which_programs_write_it() {
    let mask = Mask::new([("K".to_owned(), "correct horse/bat'tery é".to_owned())]);
    let forms = [
        "correct horse/bat'tery é",
        "correct horse\\/bat'tery é",
        "correct horse/bat'tery \\u00e9",
        "correct horse\\/bat'tery \\u00e9",
        "correct%20horse%2Fbat%27tery%20%C3%A9",
        "correct%20horse%2fbat%27tery%20%c3%a9",
        "correct+horse%2Fbat%27tery+%C3%A9",
        "correct%20horse%2Fbat'tery%20%C3%A9",
    ];
    for form in forms {
        assert_eq!(mask.hide(form), "«hidden:K»", "{form}");
    }
}

/// Where it stands alone, in a header and in a URL.
#[test]
fn case_g12_a_key_has_one_placeholder_wherever_it_stands() {
    let key = "sk-proj-Ab3dEf6hIj9lMn2pQr5tUv8xYz12345";
    let alone = hidden(key);
    check(&format!("Authorization: Bearer {key}"), &format!("Authorization: Bearer {alone}"));
    check(&format!("https://a.test/?key={key}&x=1"), &format!("https://a.test/?key={alone}&x=1"));
    check(&format!("https://me:{key}@a.test"), &format!("https://me:{alone}@a.test"));
}

#[test]
fn case_g12_a_key_has_the_same_placeholder_again_and_another_key_another() {
    let (one, other) = ("hf_aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgH", "hf_bBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgH");
    assert_eq!(hidden(one), hidden(one));
    assert_ne!(hidden(one), hidden(other));
}

/// A text that names a key, asks for one or shows where one goes says nothing that has to be hidden.
#[test]
fn case_g12_text_that_only_names_a_key_stays() {
    let texts = [
        "$OPENAI_API_KEY",
        "OPENAI_API_KEY=",
        "OPENAI_API_KEY=\nANTHROPIC_API_KEY=\"\"",
        "os.getenv(\"OPENAI_API_KEY\")",
        "key = os.environ['X_API_KEY']",
        "password: ***",
        "password = hunter2hunter2hunter2",
        "api_key: str = Field(min_length=20)",
        "sk-",
        "sk-...",
        "sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "sk-your-api-key-goes-here-please",
        ".sk-folding-cube-animation-wrapper-1 { }",
        "task-0123456789abcdef0123456789abcdef",
        "the risk-0123456789abcdef0123456789abcdef",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "ghp_short1234",
        "AKIA",
        "AKIAQ3ZRWT7KFMVBX2LD1234",
        "MAKIAQ3ZRWT7KFMVBX2LD",
        "AKIAIOSFODNN7EXAMPLE",
        "eyJhbGciOiJIUzI1NiJ9",
        "{\"a\":\"eyJhbGciOiJIUzI1NiJ9.map.eyJzdWIiOiIxIn0eyJzdWIiOiIxIn0\"}",
        "--api-key my-key-name-1",
        "npm_config_registry_and_many_other_words_in_a_name_1",
        "hf_hub_download",
        "Authorization: Bearer $TOKEN",
        "Authorization: Bearer ${TOKEN}",
        "Authorization: Bearer <token-1234567890>",
        "Authorization: Bearer YOUR_API_KEY",
        "\"Authorization\": f\"Bearer {token}\"",
        "authorization: string;",
        "Authorization is checked by rbac-v1beta1",
        "authorization: rbac-v1beta1",
        "x-api-key: YOUR_API_KEY",
        "x-api-key",
        "'x-api-key': config.apiKeyV2,",
        "req.Header.Set(\"X-Api-Key\", cfg.Oauth2Key)",
        "\"x-api-key\": sha256_hex(key)",
        "headers['x-api-key'] = keys_v2['a']",
        "x-api-key: test-key-1",
        "Authorization: Bearer test-token-1",
        "headers = {'Authorization': 'Bearer ' + token1}",
        "docker://alpine:3.19.1@sha256:c5b1261d6d3e43071626931fc004f70149baeba2c8ec672bd4f27761f8e1ad6b",
        "http://a.test:8080,user1@mail.test",
        "postgres://user:$PASS1234@host/db",
        "https://docs.test/a?key=value",
        "https://docs.test/a?key=some-long-kebab-2024-name",
        "https://a.test/?key=550e8400-e29b-41d4-a716-446655440000",
        "https://user@host/path",
        "postgres://postgres:postgres@localhost:5432/db",
        "postgres://user:${PASS1234}@host/db",
        "ssh://git@github.com/a/b",
        "http://localhost:8080/a@1",
        "http://localhost:8080",
        "-----BEGIN PRIVATE KEY-----",
        "grep -r \"-----BEGIN RSA PRIVATE KEY-----\" .",
        "looks for -----BEGIN PRIVATE KEY----- and stops",
        "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUf7kXz0000000000000000000\n-----END CERTIFICATE-----",
        "«hidden:OPENAI_API_KEY»",
    ];
    for text in texts {
        stays(text);
        assert!(!mask().holds(text));
    }
}

const LINE: &str = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";

#[test]
fn case_g12_a_private_key_is_hidden_and_its_lines_still_count() {
    let body = format!("{LINE}\n{LINE}\nMzEfYyjiWA4R4/M2bS1GB4t7NXp98C3S==");
    let key = |body: &str| {
        format!("a\n-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----\nb\n")
    };
    let shown = hidden(&key(&body));
    assert_eq!(shown.lines().count(), key(&body).lines().count());
    let shown_key = shown.lines().nth(2).unwrap();
    assert!(shown_key.starts_with("«hidden:private-key…") && shown_key.ends_with('»'), "{shown}");
    assert_eq!(shown, key(&format!("{shown_key}\n\n")));
    // With headers, in a string, cut off, as a difference and with the numbers of its lines.
    let table = [
        format!(
            "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n{LINE}\n-----END"
        ),
        format!(
            r#"{{"private_key": "-----BEGIN PRIVATE KEY-----\n{LINE}\n{LINE}\n-----END PRIVATE KEY-----\n"}}"#
        ),
        format!("-----BEGIN PRIVATE KEY-----\n{LINE}\n{LINE}"),
        format!("+-----BEGIN PRIVATE KEY-----\n+{LINE}\n+{LINE}\n+-----END PRIVATE KEY-----"),
        format!("--- a\n------BEGIN PRIVATE KEY-----\n-{LINE}\n------END PRIVATE KEY-----"),
        format!("  1\t-----BEGIN PRIVATE KEY-----\n  2\t{LINE}\n  3\t{LINE}\n"),
        format!("1:-----BEGIN PRIVATE KEY-----\n2:{LINE}\n3:{LINE}\n4:-----END"),
        format!(
            "K = (\n    \"-----BEGIN PRIVATE KEY-----\\n\"\n    \"{LINE}\\n\"\n    \"{LINE}\\n\"\n    \"-----END\"\n)"
        ),
        format!("k = '-----BEGIN PRIVATE KEY-----\\n' +\n  '{LINE}\\n' +\n  '{LINE}\\n' +\n  '-----END'"),
        format!("k.pem:1: -----BEGIN PRIVATE KEY-----\nk.pem:2: {LINE}\nk.pem:3: {LINE}\n[3 matches]"),
    ];
    for text in table {
        let shown = hidden(&text);
        assert!(!shown.contains("MIIEvQ") && shown.contains("«hidden:private-key…"), "{text}\n{shown}");
        let ends = |text: &str| text.matches('\n').count();
        assert_eq!(ends(&shown), ends(&text), "{shown}");
    }
}

/// A private key that is longer than what is kept back is hidden to its end, line by line.
#[test]
fn case_g12_a_long_private_key_is_hidden_to_its_end() {
    let lines = format!("{LINE}\n").repeat(2_000);
    let text = format!("a\n-----BEGIN PRIVATE KEY-----\n{lines}-----END PRIVATE KEY-----\nb\n");
    for size in [text.len(), 64 * 1024, 8 * 1024, 1_000] {
        let shown = in_pieces(text.as_bytes(), size);
        assert!(!shown.contains("MIIEv") && shown.ends_with("\n-----END PRIVATE KEY-----\nb\n"), "{size}");
        assert_eq!(shown.matches('\n').count(), text.matches('\n').count(), "{size}");
    }
}

#[test]
fn case_g12_a_key_without_end_is_hidden_to_its_end() {
    let text = format!("before sk-{} after", "a1b2c3d4".repeat(50_000));
    for size in [text.len(), 64 * 1024, 5_000] {
        let shown = in_pieces(text.as_bytes(), size);
        assert!(shown.starts_with("before «hidden:sk-…") && shown.ends_with("» after"), "{}", shown.len());
        assert!(shown.len() < 60, "{}", shown.len());
    }
}

/// Texts that begin a key again and again are gone through a few times, not once for each beginning.
#[test]
fn case_g12_no_text_is_looked_at_again_and_again() {
    let texts = [
        "sk-".repeat(60_000),
        "sk-ant-glpat-xoxb-AIza-".repeat(9_000),
        "Authorization=".repeat(14_000),
        "x-api-key: Bearer ".repeat(11_000),
        "://".repeat(60_000),
        "?key=".repeat(40_000),
        "-----BEGIN ".repeat(18_000),
        "X: -----BEGIN PRIVATE KEY-----\n".repeat(6_000),
        format!("-----BEGIN PRIVATE KEY-----\n{}", "123 ".repeat(50_000)),
        "postgres://me:passw0rd@db.test/a\n".repeat(6_000),
        format!("sk-{}", "a1b2c3d4".repeat(24_000)),
    ];
    for text in texts {
        // 32 times is much for a text that was made for it; once for each beginning would be thousands.
        let most = 32 * text.len() as u64;
        for size in [text.len(), 64 * 1024, 8 * 1024] {
            let mut hiding = Hiding::new(Arc::new(mask()));
            let mut shown = Vec::new();
            for piece in text.as_bytes().chunks(size) {
                hiding.push(piece, &mut shown);
            }
            hiding.finish(&mut shown);
            let looked = hiding.looked_at();
            assert!(looked <= most, "{:?} {size}: {looked} > {most}", text.get(..40));
        }
    }
}

/// The same text in pieces of a size.
fn in_pieces(text: &[u8], size: usize) -> String {
    let mut hiding = Hiding::new(Arc::new(mask()));
    let mut shown = Vec::new();
    for piece in text.chunks(size) {
        hiding.push(piece, &mut shown);
    }
    hiding.finish(&mut shown);
    String::from_utf8(shown).unwrap()
}

fn words() -> impl Strategy<Value = Vec<String>> {
    let word = prop_oneof![
        Just(KEY.to_owned()),
        Just("abcdefgh-ijkl".to_owned()),
        Just("abcdefgh".to_owned()),
        Just("北京密码很长".to_owned()),
        Just("sk-proj-Ab3dEf6hIj9lMn2pQr5tUv8x".to_owned()),
        Just("AKIAQ3ZRWT7KFMVBX2LD".to_owned()),
        Just("Authorization: Bearer tokenwith1digit".to_owned()),
        Just("://user:passw0rd@host".to_owned()),
        Just("?key=0123456789abcdef0".to_owned()),
        Just(format!("-----BEGIN PRIVATE KEY-----\n{LINE}\n{LINE}\n-----END PRIVATE KEY-----")),
        Just("-----BEGIN ".to_owned()),
        Just("sk-".to_owned()),
        "[a-z0-9 =\n\"北:-]{0,12}",
    ];
    prop::collection::vec(word, 0..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// However a text is split, the same is hidden; and what was hidden once stays as it is.
    #[test]
    fn case_g12_any_split_hides_the_same(words in words(), size in 1_usize..40) {
        let text = words.concat();
        let whole = hidden(&text);
        prop_assert_eq!(in_pieces(text.as_bytes(), size), whole.clone());
        for value in [KEY, "abcdefgh", "北京密码很长"] {
            prop_assert!(!whole.contains(value), "{}", whole);
        }
        let whole = hidden(&words.join(" "));
        prop_assert_eq!(hidden(&whole), whole.clone());
    }

    /// Bytes that are no text come out as they went in, where there is no key in them.
    #[test]
    fn case_g12_other_bytes_are_passed_on(bytes in prop::collection::vec(any::<u8>(), 0..300), size in 1_usize..40) {
        let mut hiding = Hiding::new(Arc::new(mask()));
        let mut shown = Vec::new();
        for piece in bytes.chunks(size) {
            hiding.push(piece, &mut shown);
        }
        hiding.finish(&mut shown);
        prop_assert_eq!(shown, bytes);
    }
}
