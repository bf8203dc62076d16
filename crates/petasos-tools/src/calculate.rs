//! `calculate`: arithmetic that a model should not do in its head.

mod number;

use std::iter::Peekable;
use std::vec::IntoIter;

use petasos_core::claims::{Claims, Place};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::output::{Problem, Told};
use crate::tool::Context;
use crate::typed::{TypedTool, reads};
use number::{Number, Trouble};

/// Characters of an expression.
const LONGEST: usize = 10_000;
/// Parentheses in parentheses.
const DEEPEST: usize = 64;
/// What can be called.
const FUNCTIONS: &str = "sqrt, abs, min, max, round, floor, ceil, ln, log10, exp, sin, cos, tan";

/// `calculate`.
#[derive(Debug)]
pub(crate) struct Calculate;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// Such as (2+3)*4^2 or sqrt(2); + - * / % ^, sqrt abs min max round floor ceil ln log10 exp sin cos tan, pi, e.
    expression: String,
}

impl TypedTool for Calculate {
    const NAME: &'static str = "calculate";
    const DESCRIPTION: &'static str = "Work out an arithmetic expression, exactly where possible (38 digits). For \
        more than one expression use run_command with python3.";
    const EXAMPLE: &'static str = r#"{"expression":"(2+3)*4^2"}"#;
    type Arguments = Arguments;
    type Target = ();

    fn claims(&self, _: Arguments) -> Result<Claims, Problem> {
        Ok(reads(Vec::new()))
    }

    fn find(&self, _: &Arguments) -> Result<((), Vec<Place>), Problem> {
        Ok(((), Vec::new()))
    }

    async fn work(&self, arguments: Arguments, (): (), _: &Context) -> Result<Told, Problem> {
        Ok(Told::ok(value(&arguments.expression)?.to_string()))
    }
}

fn value(expression: &str) -> Result<Number, Problem> {
    let mut reader = Reader { tokens: tokens(expression)?.into_iter().peekable(), depth: 0 };
    let number = reader.sum()?;
    match reader.tokens.next() {
        None => Ok(number),
        Some((at, token)) => Err(unreadable(at, &format!("{token} does not belong there"))),
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Number(Number),
    Name(String),
    Sign(char),
}

impl std::fmt::Display for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Name(name) => f.write_str(name),
            Self::Sign(sign) => write!(f, "{sign:?}"),
        }
    }
}

/// The tokens with their places, counted from 1.
fn tokens(expression: &str) -> Result<Vec<(usize, Token)>, Problem> {
    if expression.chars().nth(LONGEST).is_some() {
        let hint = "work it out in parts, or use run_command with python3";
        return Err(Problem::new("too long", format!("the expression has over {LONGEST} characters"), hint));
    }
    let letters: Vec<char> = expression.chars().map(plain).collect();
    let mut rest = (1..).zip(letters.iter().copied()).peekable();
    let mut tokens = Vec::new();
    while let Some((at, letter)) = rest.next() {
        if letter.is_whitespace() {
            continue;
        }
        let mut word = String::from(letter);
        let token = if letter.is_ascii_digit() || letter == '.' {
            while let Some((_, next)) = rest.peek().copied() {
                let after_e = word.ends_with(['e', 'E']) && matches!(next, '+' | '-');
                // An e begins a power of ten only if digits follow.
                let is_e = matches!(next, 'e' | 'E')
                    && letters
                        .get(at + word.chars().count())
                        .is_some_and(|after| after.is_ascii_digit() || matches!(after, '+' | '-'));
                if !(next.is_ascii_digit() || matches!(next, '.' | '_') || is_e || after_e) {
                    break;
                }
                word.push(next);
                rest.next();
            }
            Token::Number(Number::read(&word).map_err(|trouble| told(trouble, at))?)
        } else if letter.is_alphabetic() {
            while let Some((_, next)) = rest.next_if(|(_, next)| next.is_alphanumeric()) {
                word.push(next);
            }
            Token::Name(word.to_lowercase())
        } else {
            // ** is how some languages write a power.
            let is_power = letter == '*' && rest.next_if(|(_, next)| *next == '*').is_some();
            Token::Sign(if is_power { '^' } else { letter })
        };
        tokens.push((at, token));
    }
    Ok(tokens)
}

/// Signs and digits as they are typed in other places of the world.
fn plain(letter: char) -> char {
    match letter {
        '×' | '·' | '⋅' => '*',
        '÷' | '∕' => '/',
        '−' | '–' => '-',
        '、' => ',',
        'π' => 'π',
        '\u{ff01}'..='\u{ff5e}' => {
            u32::from(letter).checked_sub(0xfee0).and_then(char::from_u32).unwrap_or(letter)
        }
        other => other,
    }
}

struct Reader {
    tokens: Peekable<IntoIter<(usize, Token)>>,
    depth: usize,
}

impl Reader {
    fn sum(&mut self) -> Result<Number, Problem> {
        let mut left = self.product()?;
        while let Some((at, sign)) = self.sign(&['+', '-']) {
            let right = self.product()?;
            let done = if sign == '+' { left.plus(right) } else { left.minus(right) };
            left = done.map_err(|trouble| told(trouble, at))?;
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Number, Problem> {
        let mut left = self.signed()?;
        while let Some((at, sign)) = self.sign(&['*', '/', '%']) {
            if sign == '%' && self.begins_signed_value() {
                let why = "it could mean a remainder or a percentage";
                let hint = "write 7 % (-3) for a remainder, 15% - 3 for a percentage";
                return Err(Problem::new("unclear", format!("at character {at}: {why}"), hint));
            }
            let done = if sign == '%' && !self.begins_value() {
                left.over(Number::whole(100))
            } else {
                let right = self.signed()?;
                match sign {
                    '*' => left.times(right),
                    '/' => left.over(right),
                    _ => left.remainder(right),
                }
            };
            left = done.map_err(|trouble| told(trouble, at))?;
        }
        Ok(left)
    }

    fn signed(&mut self) -> Result<Number, Problem> {
        match self.sign(&['+', '-']) {
            None => self.power(),
            Some((at, sign)) => {
                let number = self.deeper(at, Self::signed)?;
                let negative = Number::whole(0).minus(number).map_err(|trouble| told(trouble, at))?;
                Ok(if sign == '-' { negative } else { number })
            }
        }
    }

    fn power(&mut self) -> Result<Number, Problem> {
        let base = self.value()?;
        let Some((at, _)) = self.sign(&['^']) else { return Ok(base) };
        let exponent = self.deeper(at, Self::signed)?;
        base.to_the(exponent).map_err(|trouble| told(trouble, at))
    }

    fn value(&mut self) -> Result<Number, Problem> {
        match self.tokens.next() {
            Some((_, Token::Number(number))) => Ok(number),
            Some((at, Token::Sign('('))) => {
                let number = self.deeper(at, Self::sum)?;
                self.close(at)?;
                Ok(number)
            }
            Some((at, Token::Name(name))) => self.named(at, &name),
            Some((at, token @ Token::Sign(_))) => {
                Err(unreadable(at, &format!("{token} stands where a number belongs")))
            }
            None => {
                Err(Problem::new("not complete", "the expression ends where a number belongs", "complete it"))
            }
        }
    }

    fn named(&mut self, at: usize, name: &str) -> Result<Number, Problem> {
        match name {
            "pi" | "π" => return Ok(Number::Rounded(std::f64::consts::PI)),
            "e" => return Ok(Number::Rounded(std::f64::consts::E)),
            _ => {}
        }
        if !FUNCTIONS.split(", ").any(|known| known == name) {
            let hint = format!("use one of: {FUNCTIONS}, pi, e");
            let cause = format!("at character {at}: there is no {name:?}");
            return Err(Problem::new("unknown name", cause, hint));
        }
        if self.sign(&['(']).is_none() {
            return Err(unreadable(at, &format!("{name} needs its value in parentheses")));
        }
        let mut values = vec![self.deeper(at, Self::sum)?];
        while self.sign(&[',', ';']).is_some() {
            values.push(self.deeper(at, Self::sum)?);
        }
        self.close(at)?;
        number::call(name, &values).map_err(|trouble| told(trouble, at))
    }

    fn deeper(
        &mut self,
        at: usize,
        read: fn(&mut Self) -> Result<Number, Problem>,
    ) -> Result<Number, Problem> {
        if self.depth >= DEEPEST {
            let cause = format!("at character {at} it is more than {DEEPEST} levels deep");
            return Err(Problem::new("nested too deep", cause, "work out the inner parts first"));
        }
        self.depth += 1;
        let number = read(self);
        self.depth -= 1;
        number
    }

    fn close(&mut self, at: usize) -> Result<(), Problem> {
        let closed = self.sign(&[')']);
        closed.map(drop).ok_or_else(|| unreadable(at, "what is opened here is not closed"))
    }

    fn sign(&mut self, wanted: &[char]) -> Option<(usize, char)> {
        let is_wanted = |token: &Token| matches!(token, Token::Sign(sign) if wanted.contains(sign));
        let (at, token) = self.tokens.next_if(|(_, token)| is_wanted(token))?;
        if let Token::Sign(sign) = token { Some((at, sign)) } else { None }
    }

    /// True for a sign that clings to the value behind it.
    fn begins_signed_value(&self) -> bool {
        let mut tokens = self.tokens.clone();
        let Some((sign, Token::Sign('-' | '+'))) = tokens.next() else { return false };
        matches!(tokens.next(), Some((value, token)) if value == sign + 1 && !matches!(token, Token::Sign(_)))
    }

    fn begins_value(&mut self) -> bool {
        let next = self.tokens.peek();
        next.is_some_and(|(_, token)| !matches!(token, Token::Sign(sign) if *sign != '('))
    }
}

fn told(trouble: Trouble, at: usize) -> Problem {
    let (error, cause, hint) = match trouble {
        Trouble::ByZero => ("division by zero", "the divisor is 0", "check what it is divided by"),
        Trouble::TooLarge => (
            "too large",
            "the result has more than 38 digits",
            "use run_command with python3 for such numbers",
        ),
        Trouble::NoNumber => {
            ("no number", "that is no number", "write numbers such as 1234.5 or 1e6, without commas")
        }
        Trouble::Undefined => {
            ("undefined", "it has no real value there", "check the sign of what it is taken of")
        }
        Trouble::Values => {
            ("wrong number of values", "the function takes another number of values", FUNCTIONS)
        }
    };
    Problem::new(error, format!("at character {at}: {cause}"), hint)
}

fn unreadable(at: usize, why: &str) -> Problem {
    let hint = "write it as in (2+3)*4^2; functions as in sqrt(2), max(1, 2)";
    Problem::new("the expression cannot be read", format!("at character {at}: {why}"), hint)
}
