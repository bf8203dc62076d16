//! Tools that only answer: the time, and sums.

use petasos_core::tool::Outcome;
use proptest::prelude::*;

use crate::say::{Room, arguments};

#[tokio::test]
async fn t02_the_time_is_that_of_the_call() {
    let room = Room::new();
    let text = "Saturday, 2025-11-29 18:32:25 +08:00 (Asia/Shanghai)";
    room.check("current_time", r#"{"zone":"Asia/Shanghai"}"#, Outcome::Ok, text).await;
    let text = "Saturday, 2025-11-29 10:32:25 +00:00 (UTC)";
    room.check("current_time", r#"{"zone":"UTC"}"#, Outcome::Ok, text).await;
    let local = room.call("current_time", "{}").await;
    assert!(local.for_model.text().contains("2025-11-"), "{:?}", local.for_model);
}

#[tokio::test]
async fn t02_sums_are_exact_where_they_can_be() {
    let room = Room::new();
    let table = [
        ("(2+3)*4^2", "80"),
        ("0.1+0.2", "0.3"),
        ("-2^2", "-4"),
        ("2^3^2", "512"),
        ("2**10", "1024"),
        ("2^-2", "0.25"),
        ("2^100", "1267650600228229401496703205376"),
        ("12345678901234567890*98765432109876543", "1219326311370217949644871231852004270"),
        ("１２３×（４＋５）", "1107"),
        ("10 ÷ 4 − 1", "1.5"),
        ("7 % 3", "1"),
        ("-7 % 3", "2"),
        ("200 * 15%", "30"),
        ("15% - 0.05", "0.1"),
        ("7 % (-3)", "-2"),
        ("1e3 + 1_000", "2000"),
        ("1/7", "0.14285714285714285714 (rounded to 20 digits)"),
        ("2/3", "0.66666666666666666667 (rounded to 20 digits)"),
        ("-1/3", "-0.33333333333333333333 (rounded to 20 digits)"),
        ("2/(3*10^30)", "0.00000000000000000000000000000066666666666666666667 (rounded to 20 digits)"),
        ("(-1)^10000000001", "-1"),
        ("1000/3", "333.33333333333333333 (rounded to 20 digits)"),
        ("sqrt(2)", "1.4142135623731 (rounded to 15 digits)"),
        ("sqrt(144)", "12"),
        ("sqrt(1/4)", "0.5"),
        ("abs(-3.5)", "3.5"),
        ("min(3, 1, 2) + max(1; 2)", "3"),
        ("round(2.5) + round(-2.5)", "0"),
        ("round(3.14159, 2)", "3.14"),
        ("floor(-1.5) + ceil(1.2)", "0"),
        ("ln(e)", "1 (rounded to 15 digits)"),
        ("log10(1000)", "3 (rounded to 15 digits)"),
        ("SIN(0) + cos(0)", "1 (rounded to 15 digits)"),
    ];
    for (expression, wanted) in table {
        let call = arguments(&[("expression", expression)]);
        room.check("calculate", &call, Outcome::Ok, wanted).await;
    }
}

#[tokio::test]
async fn t02_sums_that_cannot_be_done_say_why() {
    let room = Room::new();
    let deep = "(".repeat(100) + "1" + &")".repeat(100);
    let minus = "-".repeat(5_000) + "1";
    let power = "2^".repeat(4_000) + "1";
    let long = "1+".repeat(6_000) + "1";
    let table = [
        ("1/0", "division by zero"),
        ("5 % 0", "division by zero"),
        ("7 % -3", "7 % (-3)"),
        ("15%-3", "15% - 3"),
        ("0^-1", "division by zero"),
        ("0^-10000000000", "division by zero"),
        ("(-(2^126)*2)^2", "more than 38 digits"),
        ("10^40", "more than 38 digits"),
        ("2^1000000000000", "more than 38 digits"),
        ("1e400", "more than 38 digits"),
        ("exp(1000)", "more than 38 digits"),
        ("sqrt(-1)", "no real value"),
        ("ln(0-1)", "no real value"),
        ("1+", "ends where a number belongs"),
        ("", "ends where a number belongs"),
        ("2 3", "at character 3: 3 does not belong there"),
        ("(1", "at character 1: what is opened here is not closed"),
        ("foo(1)", "there is no \\\"foo\\\""),
        ("sqrt 2", "needs its value in parentheses"),
        ("sqrt(1, 2)", "another number of values"),
        ("1.2.3", "that is no number"),
        ("2e", "at character 2: e does not belong there"),
        ("2 & 3", "'&' does not belong there"),
        (&deep, "more than 64 levels deep"),
        (&minus, "more than 64 levels deep"),
        (&power, "more than 64 levels deep"),
        (&long, "over 10000 characters"),
    ];
    for (expression, words) in table {
        room.refused("calculate", &arguments(&[("expression", expression)]), words).await;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is asked, there is an answer.
    #[test]
    fn t02_no_expression_ends_the_program(expression in "[-0-9.()+*/%^, esqrtminxpround×（１]{0,40}|\\PC{0,40}") {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let room = Room::new();
        let output = runtime.block_on(room.call("calculate", &arguments(&[("expression", &expression)])));
        prop_assert!(matches!(output.outcome, Outcome::Ok | Outcome::Error));
    }
}
