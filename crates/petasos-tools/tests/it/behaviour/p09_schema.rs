//! Row P09: arguments are made to fit the schema where they mean one thing, and told with field and schema where not.

use crate::bench::{registry, taken};
use crate::say::trouble;

const SCHEMA: &str = r##"{"type":"object","required":["need"],
    "properties":{"need":{"type":["string","integer"]},"count":{"type":"integer"},"share":{"type":"number"},
        "flag":{"type":"boolean"},"list":{"type":"array","items":{"type":"integer"}},
        "pair":{"type":"array","prefixItems":[{"type":"integer"},{"type":"boolean"}]},
        "edits":{"type":"array","items":{"type":"object","required":["old"],
            "properties":{"old":{"type":"string"},"all":{"type":"boolean"}}}},
        "either":{"anyOf":[{"type":"integer"},{"type":"boolean"}]},
        "may":{"type":["integer","null"]},"by":{"$ref":"#/$defs/by"},"loop":{"$ref":"#/properties/loop"}},
    "additionalProperties":{"type":"integer"},
    "$defs":{"by":{"type":"object","properties":{"n":{"type":"integer"}}}}}"##;

#[test]
fn p09_what_means_one_thing_is_made_to_fit() {
    let table = [
        (r#""count":"200""#, r#""count":200"#, "text of a value"),
        (r#""count":" -7 ""#, r#""count":-7"#, "text of a value"),
        (r#""count":"3.0""#, r#""count":3"#, "text of a value"),
        (r#""count":3.0"#, r#""count":3"#, "whole number"),
        (r#""count":-1.20e1"#, r#""count":-12"#, "whole number"),
        (r#""count":120e-1"#, r#""count":12"#, "whole number"),
        (r#""count":1e21"#, r#""count":1000000000000000000000"#, "whole number"),
        (r#""count":-0"#, r#""count":0"#, "whole number"),
        (r#""share":"1.50""#, r#""share":1.50"#, "text of a value"),
        (r#""flag":"true""#, r#""flag":true"#, "text of a value"),
        (r#""flag":"False""#, r#""flag":false"#, "python word, text of a value"),
        (r#""list":"[1, 2]""#, r#""list":[1,2]"#, "text of a value"),
        (
            r#""list":"['1', 2.0,]""#,
            r#""list":[1,2]"#,
            "trailing comma, single quotes, text of a value, whole number",
        ),
        (r#""list":["1"]"#, r#""list":[1]"#, "text of a value"),
        (r#""pair":["1","true"]"#, r#""pair":[1,true]"#, "text of a value"),
        (r#""edits":{"old":"x"}"#, r#""edits":[{"old":"x"}]"#, "one of an array"),
        (r#""edits":[{"old":"1","all":"true"}]"#, r#""edits":[{"old":"1","all":true}]"#, "text of a value"),
        (r#""edits":[{"old":"x","all":null}]"#, r#""edits":[{"old":"x"}]"#, "null left out"),
        (r#""either":"true""#, r#""either":true"#, "text of a value"),
        (r#""by":"{\"n\":\"1\"}""#, r#""by":{"n":1}"#, "text of a value"),
        (r#""other":"1""#, r#""other":1"#, "text of a value"),
        (r#""may":null"#, r#""may":null"#, ""),
        (r#""loop":"1""#, r#""loop":"1""#, ""),
        (r#""share":3"#, r#""share":3"#, ""),
    ];
    let registry = registry(&[("t", SCHEMA)]);
    for (written, wanted, repairs) in table {
        let whole = |member: &str| format!("{{\"need\":\"1\",{member}}}");
        let (json, by) =
            taken(&registry, "t", &whole(written)).unwrap_or_else(|error| panic!("{written}: {error}"));
        assert_eq!((json, &*by.join(", ")), (whole(wanted), repairs), "{written}");
    }
    for nothing in ["null", "\"null\"", "\"None\""] {
        let written = format!(r#"{{"count":{nothing},"need":"null","list":{nothing}}}"#);
        let wanted = (r#"{"need":"null"}"#.to_owned(), vec!["null left out".to_owned()]);
        assert_eq!(taken(&registry, "t", &written), Ok(wanted), "{written}");
    }
}

/// What looks like a comment may be a part of what is said: a share, a count of so many.
#[test]
fn p09_a_text_of_a_value_with_a_comment_in_it_is_not_read() {
    let registry = registry(&[("t", SCHEMA)]);
    let not_read = "; a text with a comment is not read";
    for (field, text, why) in [
        ("count", "10 // 2", ": a comment, or something to reckon"),
        ("count", "5 # of 10", not_read),
        ("share", "1 /* or 2 */", not_read),
        ("flag", "true # or not", not_read),
        ("list", "[1] // and 2", not_read),
        ("list", "[1, # 2,\\n 3]", not_read),
    ] {
        let written = format!(r#"{{"need":"1","{field}":"{text}"}}"#);
        let parts = trouble(&taken(&registry, "t", &written).expect_err(&written));
        assert!(parts["cause"].starts_with(&format!("{field}: invalid type: string")), "{parts:?}");
        assert!(parts["cause"].ends_with(why), "{parts:?}");
    }
}

#[test]
fn p09_what_does_not_fit_is_told_with_its_field_and_the_schema() {
    let table = [
        (
            r#""count":"lots""#,
            "count: invalid type: string \"lots\", expected an integer; read as JSON, at line 1",
        ),
        (r#""count":3.5"#, "count: invalid type: number `3.5`, expected an integer"),
        (r#""count":"3.5""#, "count: invalid type: string \"3.5\", expected an integer"),
        (r#""count":"1,000""#, "count: invalid type: string \"1,000\", expected an integer"),
        (r#""count":1e999999999"#, "count: invalid type: number `1e999999999`, expected an integer"),
        (r#""count":1e-999999999"#, "count: invalid type: number `1e-999999999`, expected an integer"),
        (r#""count":1e99999999999"#, "count: invalid type: number `1e99999999999`, expected an integer"),
        (r#""count":true"#, "count: invalid type: boolean `true`, expected an integer"),
        (r#""count":[]"#, "count: invalid type: array, expected an integer"),
        (r#""flag":"yes""#, "flag: invalid type: string \"yes\", expected a boolean"),
        (r#""flag":1"#, "flag: invalid type: integer `1`, expected a boolean"),
        (r#""list":"1, 2""#, "list: invalid type: string \"1, 2\", expected an array [integer]"),
        (r#""list":1"#, "list: invalid type: integer `1`, expected an array [integer]"),
        (r#""list":[1,"x"]"#, "list[1]: invalid type: string \"x\", expected an integer"),
        (r#""list":"[1,{}]""#, "list[1]: invalid type: object, expected an integer"),
        (
            r#""edits":{"new":"x"}"#,
            "edits: invalid type: object, expected an array [{all?: boolean, old: string}]",
        ),
        (r#""edits":[{"old":1}]"#, "edits[0].old: invalid type: integer `1`, expected a string"),
        (r#""either":"x""#, "either: invalid type: string \"x\", expected an integer or a boolean"),
        (r#""need":null"#, "need: invalid type: null, expected a string or an integer"),
        (
            r#""by":"{n:1}""#,
            "by: invalid type: string \"{n:1}\", expected an object {n?: integer}; read as JSON, at line 1, column 2",
        ),
    ];
    let registry = registry(&[("t", SCHEMA)]);
    for (written, wanted) in table {
        let parts = trouble(&taken(&registry, "t", &format!("{{{written}}}")).expect_err(written));
        assert!(parts["cause"].starts_with(wanted), "{written}: {}", parts["cause"]);
        assert_eq!(parts["error"], "an argument does not fit");
        assert!(
            parts["hint"].starts_with("call t(by?: {n?: integer}, count?: integer, edits?: [{all"),
            "{parts:?}"
        );
    }
}
