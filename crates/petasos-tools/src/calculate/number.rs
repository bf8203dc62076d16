//! Numbers: exact as fractions of whole numbers, else rounded.

use std::fmt;

/// Digits of a result that has no end.
const DIGITS: usize = 20;
/// Digits of one that has.
const MOST_DIGITS: usize = 40;

/// A number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    /// A fraction in lowest terms; the second is positive.
    Exact(i128, i128),
    /// What is known to about 15 digits.
    Rounded(f64),
}

/// Why there is no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    ByZero,
    TooLarge,
    NoNumber,
    Undefined,
    Values,
}

impl Number {
    pub(super) fn whole(number: i128) -> Self {
        Self::Exact(number, 1)
    }

    /// Reads digits with at most one point, and a power of ten.
    pub(super) fn read(word: &str) -> Result<Self, Trouble> {
        let word = word.replace('_', "");
        let (digits, power) = word.split_once(['e', 'E']).unwrap_or((&word, "0"));
        let power: i32 = power.parse().map_err(|_| Trouble::NoNumber)?;
        let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
        let together = format!("{whole}{part}");
        if together.is_empty() || !together.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(Trouble::NoNumber);
        }
        let number: i128 = together.parse().map_err(|_| Trouble::TooLarge)?;
        let power = power.checked_sub(i32::try_from(part.len()).map_err(|_| Trouble::TooLarge)?);
        let power = power.ok_or(Trouble::TooLarge)?;
        let ten = 10_i128.checked_pow(power.unsigned_abs()).ok_or(Trouble::TooLarge)?;
        if power < 0 { fraction(number, ten) } else { Self::whole(number).times(Self::whole(ten)) }
    }

    pub(super) fn plus(self, other: Self) -> Result<Self, Trouble> {
        match (self, other) {
            (Self::Exact(a, b), Self::Exact(c, d)) => {
                let sum = || a.checked_mul(d)?.checked_add(c.checked_mul(b)?);
                fraction(sum().ok_or(Trouble::TooLarge)?, b.checked_mul(d).ok_or(Trouble::TooLarge)?)
            }
            _ => rounded(self.float() + other.float()),
        }
    }

    pub(super) fn minus(self, other: Self) -> Result<Self, Trouble> {
        match other {
            Self::Exact(c, d) => self.plus(Self::Exact(c.checked_neg().ok_or(Trouble::TooLarge)?, d)),
            Self::Rounded(number) => self.plus(Self::Rounded(-number)),
        }
    }

    pub(super) fn times(self, other: Self) -> Result<Self, Trouble> {
        match (self, other) {
            (Self::Exact(a, b), Self::Exact(c, d)) => {
                // Shortened crosswise first, so that what fits in the end fits on the way.
                let (one, two) = (divisor(a, d), divisor(c, b));
                let above = (a / one).checked_mul(c / two).ok_or(Trouble::TooLarge)?;
                fraction(above, (b / two).checked_mul(d / one).ok_or(Trouble::TooLarge)?)
            }
            _ => rounded(self.float() * other.float()),
        }
    }

    pub(super) fn over(self, other: Self) -> Result<Self, Trouble> {
        match other {
            _ if other.float() == 0.0 => Err(Trouble::ByZero),
            Self::Exact(c, d) => {
                let flipped = if c < 0 { (d.checked_neg(), c.checked_neg()) } else { (Some(d), Some(c)) };
                let (Some(d), Some(c)) = flipped else { return Err(Trouble::TooLarge) };
                self.times(Self::Exact(d, c))
            }
            Self::Rounded(number) => rounded(self.float() / number),
        }
    }

    /// With the sign of the divisor, as in mathematics and Python.
    pub(super) fn remainder(self, other: Self) -> Result<Self, Trouble> {
        self.minus(self.over(other)?.floor()?.times(other)?)
    }

    pub(super) fn to_the(self, exponent: Self) -> Result<Self, Trouble> {
        if let (Self::Exact(a, b), Self::Exact(power, 1)) = (self, exponent) {
            let times = u32::try_from(power.unsigned_abs());
            if a == 0 && power < 0 {
                return Err(Trouble::ByZero);
            }
            if a.unsigned_abs() <= 1 && b == 1 && times.is_err() {
                return Ok(Self::whole(if a == -1 && power % 2 == 0 { 1 } else { a }));
            }
            let times = times.map_err(|_| Trouble::TooLarge)?;
            let (above, below) = (a.checked_pow(times), b.checked_pow(times));
            let (Some(above), Some(below)) = (above, below) else { return Err(Trouble::TooLarge) };
            let raised = Self::Exact(above, below);
            return if power < 0 { Self::whole(1).over(raised) } else { Ok(raised) };
        }
        rounded(self.float().powf(exponent.float()))
    }

    fn floor(self) -> Result<Self, Trouble> {
        match self {
            Self::Exact(a, b) => Ok(Self::whole(a.div_euclid(b))),
            Self::Rounded(number) => rounded(number.floor()),
        }
    }

    fn ceil(self) -> Result<Self, Trouble> {
        Self::whole(0).minus(Self::whole(0).minus(self)?.floor()?)
    }

    /// Halves go away from zero, as at school.
    fn round(self) -> Result<Self, Trouble> {
        let half = Self::Exact(1, 2);
        if self.float() < 0.0 { self.minus(half)?.ceil() } else { self.plus(half)?.floor() }
    }

    fn root(self) -> Result<Self, Trouble> {
        if let Self::Exact(a, b) = self
            && let (Some(above), Some(below)) = (a.checked_isqrt(), b.checked_isqrt())
            && above.checked_mul(above) == Some(a)
            && below.checked_mul(below) == Some(b)
        {
            return Ok(Self::Exact(above, below));
        }
        rounded(self.float().sqrt())
    }

    fn float(self) -> f64 {
        match self {
            Self::Exact(a, b) => a as f64 / b as f64,
            Self::Rounded(number) => number,
        }
    }

    fn is_less_than(self, other: Self) -> bool {
        match self.minus(other) {
            Ok(Self::Exact(a, _)) => a < 0,
            Ok(Self::Rounded(number)) => number < 0.0,
            Err(_) => self.float() < other.float(),
        }
    }
}

/// What a function gives.
pub(super) fn call(name: &str, values: &[Number]) -> Result<Number, Trouble> {
    match (name, values) {
        ("min", values) => least(values, Number::is_less_than),
        ("max", values) => least(values, |one, other| other.is_less_than(one)),
        ("round", [number, digits]) => {
            let ten = Number::whole(10).to_the(*digits)?;
            number.times(ten)?.round()?.over(ten)
        }
        ("round", [number]) => number.round(),
        ("floor", [number]) => number.floor(),
        ("ceil", [number]) => number.ceil(),
        ("sqrt", [number]) => number.root(),
        ("abs", [number]) if number.float() < 0.0 => Number::whole(0).minus(*number),
        ("abs", [number]) => Ok(*number),
        ("ln", [number]) => rounded(number.float().ln()),
        ("log10", [number]) => rounded(number.float().log10()),
        ("exp", [number]) => rounded(number.float().exp()),
        ("sin", [number]) => rounded(number.float().sin()),
        ("cos", [number]) => rounded(number.float().cos()),
        ("tan", [number]) => rounded(number.float().tan()),
        _ => Err(Trouble::Values),
    }
}

fn least(values: &[Number], is_less: fn(Number, Number) -> bool) -> Result<Number, Trouble> {
    let least = values.iter().copied().reduce(|one, other| if is_less(other, one) { other } else { one });
    least.ok_or(Trouble::Values)
}

fn rounded(number: f64) -> Result<Number, Trouble> {
    if number.is_nan() {
        return Err(Trouble::Undefined);
    }
    if number.is_infinite() { Err(Trouble::TooLarge) } else { Ok(Number::Rounded(number)) }
}

fn fraction(above: i128, below: i128) -> Result<Number, Trouble> {
    let common = divisor(above, below);
    if common == 0 { Err(Trouble::ByZero) } else { Ok(Number::Exact(above / common, below / common)) }
}

/// The greatest common divisor; the second is positive, so the result is too.
fn divisor(one: i128, other: i128) -> i128 {
    let (mut one, mut other) = (one.unsigned_abs(), other.unsigned_abs());
    while other != 0 {
        (one, other) = (other, one % other);
    }
    i128::try_from(one).unwrap_or(1)
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Exact(a, 1) => write!(f, "{a}"),
            Self::Exact(a, b) => match decimal(a.unsigned_abs(), b.unsigned_abs()) {
                Some((digits, note)) => write!(f, "{}{digits}{note}", if a < 0 { "-" } else { "" }),
                None => write!(f, "{} (rounded to 15 digits)", self.float()),
            },
            Self::Rounded(number) => {
                // Fifteen digits are right; the rest would be noise.
                let shown: f64 = format!("{number:.14e}").parse().unwrap_or(number);
                let is_plain = shown == 0.0 || (1e-6..1e21).contains(&shown.abs());
                if is_plain { write!(f, "{shown}") } else { write!(f, "{shown:e}") }?;
                f.write_str(" (rounded to 15 digits)")
            }
        }
    }
}

/// A fraction as a decimal, and what is to be said of it. None if its numbers are too large to divide so.
fn decimal(above: u128, below: u128) -> Option<(String, String)> {
    let mut rest = above % below;
    let mut digits = (above / below).to_string();
    digits.push('.');
    let mut significant = usize::from(above >= below) * (digits.len() - 1);
    let mut after = 0;
    // A small number has its digits far behind the point, and one more than is shown tells how to round.
    while rest != 0 && (after < MOST_DIGITS || significant <= DIGITS) {
        let next = rest.checked_mul(10)?;
        digits.push(char::from_digit(u32::try_from(next / below).ok()?, 10)?);
        rest = next % below;
        after += 1;
        significant += usize::from(significant > 0 || next >= below);
    }
    if rest == 0 {
        return Some((digits, String::new()));
    }
    // Without an end: cut to its digits, and the last one rounded by what follows.
    let cut = digits.len() - significant.saturating_sub(DIGITS).min(after);
    let up = digits.get(cut..).is_some_and(|rest| rest.starts_with(['5', '6', '7', '8', '9']));
    digits.truncate(cut);
    if up {
        digits = raised(&digits);
    }
    Some((digits, format!(" (rounded to {} digits)", significant.min(DIGITS))))
}

/// Digits with one more in the last place.
fn raised(digits: &str) -> String {
    let mut raised = String::new();
    let mut carry = true;
    for digit in digits.chars().rev() {
        raised.push(match digit {
            '9' if carry => '0',
            digit @ '0'..='8' if carry => {
                carry = false;
                char::from_digit(digit.to_digit(10).unwrap_or(0) + 1, 10).unwrap_or(digit)
            }
            other => other,
        });
    }
    if carry {
        raised.push('1');
    }
    raised.chars().rev().collect()
}
