use std::collections::BTreeMap;

use crate::Fields;
use crate::members::Members;

/// What the service says of a lead that it took. The lead is stored: there is nothing to wait for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Acknowledgement {
    /// The service's id of the lead. Keep it with the lead; do not read anything out of it.
    pub event_id: String,
    /// Whether the lead is new to the service.
    pub status: Status,
    /// When the lead was first received: UTC, ISO 8601.
    pub received_at: String,
    /// The label of the key that the lead was posted with.
    pub source: String,
    /// What the service noticed, such as `phone_unnormalized`. Observations: not a reason to post again.
    pub flags: Vec<String>,
    /// The `X-Request-Id` that was sent.
    pub request_id: String,
    /// How many tries were spent, this one included. A 429 spends none.
    pub tries: u32,
}

/// Whether a lead is new to the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    /// It is.
    Accepted,
    /// A lead with this idempotency key was accepted before; the acknowledgement is of that one.
    Duplicate,
}

/// What a key check found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyCheck {
    /// Whether the service takes the key.
    pub verdict: Verdict,
    /// The `X-Request-Id` that was sent.
    pub request_id: String,
    /// How many tries were spent, this one included. A 429 spends none.
    pub tries: u32,
}

/// Whether the service takes a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It does.
    Valid,
    /// It does not: the key is unknown, revoked, or for another host.
    Invalid,
}

/// Why an answer that came whole is no result, whatever was asked.
pub(crate) enum Other {
    /// 401.
    Unauthorized,
    /// 429: to be waited for.
    Limited,
    /// 2xx, but not what the service says with it: a captive portal, for example.
    NotOurs,
    /// 5xx.
    ServerError,
    /// Must not be repeated.
    Refused,
}

/// What every answer means that is no result. Source: SPEC, Errors.
pub(crate) fn judge_other(status: u16) -> Other {
    match status {
        200..=299 => Other::NotOurs,
        401 => Other::Unauthorized,
        429 => Other::Limited,
        500..=599 => Other::ServerError,
        _ => Other::Refused,
    }
}

/// The acknowledgement in a body; `None` when it is none. Request id and tries are the call's to fill in.
pub(crate) fn read_acknowledgement(body: &[u8]) -> Option<Acknowledgement> {
    let members = Members::read(body)?;
    let status = match members.get::<String>("status")?.as_str() {
        "accepted" => Status::Accepted,
        "duplicate" => Status::Duplicate,
        _ => return None,
    };
    Some(Acknowledgement {
        event_id: members.get::<String>("event_id").filter(|id| !id.is_empty())?,
        status,
        received_at: members.get("received_at")?,
        source: members.get("source")?,
        flags: members.get("flags")?,
        request_id: String::new(),
        tries: 0,
    })
}

/// The failing fields of a 422; `None` when it does not tell them.
pub(crate) fn read_fields(body: &[u8]) -> Option<Fields> {
    let fields: Members = Members::read(body)?.get("fields")?;
    let read = fields.0.iter().map(|(name, reason)| Some((name.clone(), serde_json::from_str(reason.get()).ok()?)));
    Some(Fields(read.collect::<Option<BTreeMap<_, _>>>()?))
}

/// Chosen: 64 characters, twice the longest code that there is and then some.
const CODE_CHARACTERS_MAX: usize = 64;

/// The error code of an answer of the service's; `None` for a stranger's, which may hold anything, also what was sent.
pub(crate) fn read_code(body: &[u8]) -> Option<String> {
    let code: String = Members::read(body)?.get("error")?;
    let has_form = (1..=CODE_CHARACTERS_MAX).contains(&code.len())
        && code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    has_form.then_some(code)
}

/// What an error of the service's says is wrong.
pub(crate) fn read_detail(body: &[u8]) -> Option<String> {
    Members::read(body)?.get("detail")
}

#[cfg(test)]
mod tests {
    use super::{read_acknowledgement, read_code, read_fields};

    #[test]
    fn an_acknowledgement_has_all_of_its_members_and_may_have_more() {
        let whole = r#"{"event_id":"e","status":"accepted","received_at":"t","source":"s","flags":["f"],"own":[1]}"#;
        assert_eq!(read_acknowledgement(whole.as_bytes()).unwrap().flags, ["f"]);
        for (from, to) in [
            (r#""e""#, r#""""#),
            (r#""e""#, "1"),
            (r#""accepted""#, r#""done""#),
            (r#""t""#, "null"),
            (r#""source":"s","#, ""),
            (r#"["f"]"#, "null"),
            (r#"["f"]"#, "[1]"),
            ("{", "[{"),
            ("[1]}", "[1]"),
            ("[1]}", "[1]} x"),
        ] {
            assert!(read_acknowledgement(whole.replacen(from, to, 1).as_bytes()).is_none(), "{from} {to}");
        }
    }

    #[test]
    fn deep_nesting_is_read_over() {
        let deep = "[".repeat(200_000) + &"]".repeat(200_000);
        let whole = r#"{"event_id":"e","status":"duplicate","received_at":"t","source":"s","flags":[],"own":DEEP}"#;
        assert!(read_acknowledgement(whole.replace("DEEP", &deep).as_bytes()).is_some());
        assert!(read_acknowledgement(deep.as_bytes()).is_none());
        assert!(read_acknowledgement(whole.replace("[]", &deep).as_bytes()).is_none());
        assert!(read_fields(format!(r#"{{"fields":{deep}}}"#).as_bytes()).is_none());
        assert!(read_code(format!(r#"{{"error":{deep}}}"#).as_bytes()).is_none());
    }

    #[test]
    fn a_code_has_the_form_of_one() {
        assert_eq!(read_code(br#"{"error":"not_accepting"}"#).as_deref(), Some("not_accepting"));
        let long = format!(r#"{{"error":"{}"}}"#, "a".repeat(65));
        for body in [r#"{"error":"Ada Lovelace"}"#, r#"{"error":""}"#, r#"{"error":1}"#, "{}", "[]", "", &long] {
            assert_eq!(read_code(body.as_bytes()), None, "{body}");
        }
    }

    #[test]
    fn fields_are_an_object_of_strings() {
        assert_eq!(read_fields(br#"{"fields":{"phone":"required"}}"#).unwrap()["phone"], "required");
        for body in [r#"{"fields":{"phone":1}}"#, r#"{"fields":["phone"]}"#, r#"{"fields":null}"#, "{}"] {
            assert!(read_fields(body.as_bytes()).is_none(), "{body}");
        }
    }
}
