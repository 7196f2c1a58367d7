use crate::Error;

/// A prefix of ten characters, 32 of base62, and a checksum of six.
pub(crate) const KEY_LENGTH: usize = 48;

const CHECKSUM_LENGTH: usize = 6;
const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Source: SPEC, Limits.
const IDEMPOTENCY_KEY_CHARACTERS_MAX: usize = 200;
const REQUEST_ID_CHARACTERS_MAX: usize = 64;

/// Refuses a key that cannot be one for leads, before it travels.
pub(crate) fn check_key(key: &str) -> Result<(), Error> {
    if key.starts_with("form_live_") || key.starts_with("form_test_") {
        return Err(Error::misconfigured("this is a forms key, and leads take a key of their own"));
    }
    if !key.starts_with("lead_live_") && !key.starts_with("lead_test_") {
        return Err(Error::misconfigured("this is no key for leads: those start with lead_live_ or lead_test_"));
    }
    let is_whole = key.len() == KEY_LENGTH && key.bytes().skip(10).all(|byte| byte.is_ascii_alphanumeric());
    if !is_whole || checksum(&key.as_bytes()[..KEY_LENGTH - CHECKSUM_LENGTH]) != key[KEY_LENGTH - CHECKSUM_LENGTH..] {
        return Err(Error::misconfigured("the key is mistyped or cut off"));
    }
    Ok(())
}

/// CRC-32 as in IEEE 802.3, in six digits of base62, the most significant first. Bit by bit: it runs once a client.
fn checksum(bytes: &[u8]) -> String {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { 0xedb8_8320 ^ (crc >> 1) } else { crc >> 1 };
        }
    }
    let mut rest = !crc;
    let mut digits = [b'0'; CHECKSUM_LENGTH];
    for digit in digits.iter_mut().rev() {
        *digit = BASE62[(rest % 62) as usize];
        rest /= 62;
    }
    digits.iter().map(|digit| char::from(*digit)).collect()
}

/// Joins a namespace of yours and the id of a lead there to an idempotency key: `acme` and `1843` to `acme:1843`.
///
/// All keys of one customer share their idempotency keys, so a bare id can collide with another source's. The key has
/// to be the same whenever this lead is posted: no time stamp, nothing random.
///
/// # Errors
///
/// [`Error::Misconfigured`] when a part is blank, or the key has over 200 characters, any but printable ASCII, or a blank at an
/// end.
///
/// ```
/// assert_eq!(leads::idempotency_key("acme", "1843")?, "acme:1843");
/// assert!(leads::idempotency_key("", "1843").is_err());
/// # Ok::<(), leads::Error>(())
/// ```
pub fn idempotency_key(namespace: &str, id: &str) -> Result<String, Error> {
    if namespace.trim().is_empty() || id.trim().is_empty() {
        return Err(Error::misconfigured("a part of the idempotency key is blank"));
    }
    let key = format!("{namespace}:{id}");
    check_idempotency_key(&key)?;
    Ok(key)
}

pub(crate) fn check_idempotency_key(key: &str) -> Result<(), Error> {
    if key.trim().is_empty() {
        return Err(Error::misconfigured("the idempotency key is blank"));
    }
    if key.chars().count() > IDEMPOTENCY_KEY_CHARACTERS_MAX {
        return Err(Error::misconfigured("the idempotency key has over 200 characters"));
    }
    if !is_printable_ascii(key) {
        return Err(Error::misconfigured("the idempotency key is not printable ASCII"));
    }
    if has_blank_end(key) {
        return Err(Error::misconfigured("the idempotency key begins or ends with a blank"));
    }
    Ok(())
}

pub(crate) fn check_request_id(id: &str) -> Result<(), Error> {
    if id.is_empty() || id.chars().count() > REQUEST_ID_CHARACTERS_MAX {
        return Err(Error::misconfigured("a request id has 1 to 64 characters"));
    }
    if !is_printable_ascii(id) {
        return Err(Error::misconfigured("the request id is not printable ASCII"));
    }
    if has_blank_end(id) {
        return Err(Error::misconfigured("the request id begins or ends with a blank"));
    }
    Ok(())
}

/// HTTP cuts such blanks off a header: `a:1 ` would be the lead `a:1`, and answered as its duplicate.
fn has_blank_end(text: &str) -> bool {
    text.starts_with(' ') || text.ends_with(' ')
}

fn is_printable_ascii(text: &str) -> bool {
    text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::{check_key, checksum};

    #[test]
    fn the_checksum_is_the_crc_32_of_ieee_802_3_in_base62() {
        // The check value that every catalogue of CRCs gives for these digits: 0xcbf43926, 3421780262.
        assert_eq!(checksum(b"123456789"), "3jZRME");
        assert_eq!(checksum(b"lead_test_JoIv8xyL40ekqZ3oCjH5azfkFCsmLMsN"), "3UwV2H");
    }

    #[test]
    fn keys_are_taken_only_whole_and_with_their_checksum() {
        assert!(check_key("lead_test_JoIv8xyL40ekqZ3oCjH5azfkFCsmLMsN3UwV2H").is_ok());
        assert!(check_key("lead_live_FSBrysGrwvg8JDrWLyCG6ImS27h1sR3g0fULLN").is_ok());
        for (key, why) in [
            ("lead_test_JoIv8xyL40ekqZ3oCjH5azfkFCsmLMsN3UwV2h", "mistyped or cut off"),
            ("lead_test_JoIv8xyL40ekqZ3oCjH5azfkFCsmLMsN3UwV2H\n", "mistyped or cut off"),
            ("lead_test_JoIv8xyL40ekqZ3oCjH5azfkFCsmLMsN3UwVé", "mistyped or cut off"),
            ("lead_test_", "mistyped or cut off"),
            ("form_test_YNOLPdY0Jlvd6HldTuwBy2zExsMyn3q23OqNaS", "forms key"),
            ("", "lead_live_ or lead_test_"),
        ] {
            let message = check_key(key).unwrap_err().to_string();
            assert!(message.contains(why), "{message}");
        }
    }
}
