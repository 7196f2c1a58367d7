use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use serde_json::value::RawValue;

/// A number that reaches the wire digit for digit, as JSON writes numbers: `12.50`, `0.1`, `199`.
///
/// ```
/// use leads::Decimal;
///
/// assert_eq!(Decimal::from_cents(1250).to_string(), "12.50");
/// assert_eq!("0.30".parse::<Decimal>()?.to_string(), "0.30");
/// assert!("1,5".parse::<Decimal>().is_err());
/// # Ok::<(), leads::ParseDecimalError>(())
/// ```
///
/// Two are equal when their digits are: `1.5` is not `1.50`. It reads and writes JSON by `serde_json`, and no other
/// format.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Decimal(String);

impl Decimal {
    /// An amount in cents: 1250 is `12.50`.
    #[must_use]
    pub fn from_cents(cents: u64) -> Self {
        Self(format!("{}.{:02}", cents / 100, cents % 100))
    }

    /// The digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<u32> for Decimal {
    fn from(whole: u32) -> Self {
        Self(whole.to_string())
    }
}

impl FromStr for Decimal {
    type Err = ParseDecimalError;

    /// Takes what JSON takes for a number, and nothing around it.
    fn from_str(text: &str) -> Result<Self, ParseDecimalError> {
        if is_json_number(text.as_bytes()) { Ok(Self(text.to_owned())) } else { Err(ParseDecimalError(())) }
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl Serialize for Decimal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw = RawValue::from_string(self.0.clone()).map_err(|_| ser::Error::custom("not a number"))?;
        raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Decimal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        raw.get().parse().map_err(de::Error::custom)
    }
}

/// The text is no number, or not as JSON writes them. Does not quote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseDecimalError(());

impl fmt::Display for ParseDecimalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a number as JSON writes them")
    }
}

impl std::error::Error for ParseDecimalError {}

/// RFC 8259, section 6: a sign, digits without a zero before them, a fraction, an exponent.
fn is_json_number(text: &[u8]) -> bool {
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut rest = text.strip_prefix(b"-").unwrap_or(text);
    let whole = digits(rest);
    if whole == 0 || (whole > 1 && rest[0] == b'0') {
        return false;
    }
    rest = &rest[whole..];
    if let [b'.', fraction @ ..] = rest {
        let length = digits(fraction);
        if length == 0 {
            return false;
        }
        rest = &fraction[length..];
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let unsigned = exponent.strip_prefix(b"-").or(exponent.strip_prefix(b"+")).unwrap_or(exponent);
        let length = digits(unsigned);
        if length == 0 {
            return false;
        }
        rest = &unsigned[length..];
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::Decimal;

    #[test]
    fn decimals_are_what_json_takes_for_a_number() {
        for text in ["0", "-0", "12.50", "0.30000000000000004", "12345678901234567890", "1e400", "1.5E-3", "2e+1"] {
            assert_eq!(text.parse::<Decimal>().unwrap().as_str(), text);
            assert_eq!(serde_json::to_string(&text.parse::<Decimal>().unwrap()).unwrap(), text);
            assert_eq!(serde_json::from_str::<Decimal>(text).unwrap().as_str(), text);
        }
        for text in ["", "-", "01", ".5", "5.", "1e", "1e+", "+1", " 1", "1 ", "1,5", "0x1", "NaN", "\u{661}"] {
            assert!(text.parse::<Decimal>().is_err(), "{text}");
        }
        assert!(serde_json::from_str::<Decimal>("\"1\"").is_err());
    }
}
