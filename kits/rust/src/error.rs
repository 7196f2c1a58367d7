use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;

use crate::lead::FIELD_NAMES;

/// Why a call came to nothing.
///
/// Neither `Debug` nor `Display` shows a key, a lead or what an answer held, and there is no
/// [`source`](std::error::Error::source): the errors below this crate may quote what was sent.
///
/// Source: the service's error table; every kit has these kinds.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Error {
    /// 401: the key is missing, mistyped, revoked or for another host. Alert a person.
    Unauthorized(Failure),
    /// 422: the lead has failing fields. Correct them and post the lead with the same idempotency key.
    #[non_exhaustive]
    InvalidLead {
        /// Each failing field, and its reason: `required`, `too_long` or `out_of_range`.
        fields: Fields,
        /// What is known of the call.
        failure: Failure,
    },
    /// Any other answer that must not be repeated. Read its status and code.
    Refused(Failure),
    /// Tries or deadline are spent. Try later, with the same idempotency key.
    Unavailable(Failure),
    /// The caller cancelled. As for `Unavailable`: the lead may be posted again with the same idempotency key.
    Cancelled(Failure),
    /// Found before anything was sent. Mend key, address or argument.
    Misconfigured(Misconfigured),
}

/// The kind of an [`Error`], without what came with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// See [`Error::Unauthorized`].
    Unauthorized,
    /// See [`Error::InvalidLead`].
    InvalidLead,
    /// See [`Error::Refused`].
    Refused,
    /// See [`Error::Unavailable`].
    Unavailable,
    /// See [`Error::Cancelled`].
    Cancelled,
    /// See [`Error::Misconfigured`].
    Misconfigured,
}

impl Kind {
    /// The kind's name in every kit: `unauthorized`, `invalid_lead`, `refused`, `unavailable`, `cancelled` or
    /// `misconfigured`. Good for logs and counters.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unauthorized => "unauthorized",
            Self::InvalidLead => "invalid_lead",
            Self::Refused => "refused",
            Self::Unavailable => "unavailable",
            Self::Cancelled => "cancelled",
            Self::Misconfigured => "misconfigured",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Error {
    pub(crate) fn misconfigured(message: &'static str) -> Self {
        Self::Misconfigured(Misconfigured { message })
    }

    /// The kind of this error.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Unauthorized(_) => Kind::Unauthorized,
            Self::InvalidLead { .. } => Kind::InvalidLead,
            Self::Refused(_) => Kind::Refused,
            Self::Unavailable(_) => Kind::Unavailable,
            Self::Cancelled(_) => Kind::Cancelled,
            Self::Misconfigured(_) => Kind::Misconfigured,
        }
    }

    /// What is known of the call; `None` when nothing was sent because something is misconfigured.
    #[must_use]
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Unauthorized(failure)
            | Self::InvalidLead { failure, .. }
            | Self::Refused(failure)
            | Self::Unavailable(failure)
            | Self::Cancelled(failure) => Some(failure),
            Self::Misconfigured(_) => None,
        }
    }

    /// The failing fields of an invalid lead; `None` for any other kind.
    #[must_use]
    pub fn fields(&self) -> Option<&Fields> {
        match self {
            Self::InvalidLead { fields, .. } => Some(fields),
            _ => None,
        }
    }

    /// The status of the last try's answer; `None` where none came.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.failure().and_then(Failure::status)
    }

    /// The machine code of the last try's answer, such as `rate_limited`; `None` where none of the service's came.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.failure().and_then(Failure::code)
    }

    /// What that answer says is wrong, in a sentence for people; `None` where it says nothing. Do not parse it. Neither
    /// `Display` nor `Debug` shows it.
    #[must_use]
    pub fn detail(&self) -> Option<&str> {
        self.failure().and_then(Failure::detail)
    }

    /// The `X-Request-Id` that was sent. Log it: the service's operator finds the request by it.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        self.failure().map(Failure::request_id)
    }

    /// How many tries were spent. A 429 spends none.
    #[must_use]
    pub fn tries(&self) -> u32 {
        self.failure().map_or(0, Failure::tries)
    }

    /// Whether the lead may have been stored although this is an error: bytes of the post went out, and no whole
    /// answer came, or one that cannot be the service's. Posting it again with the same idempotency key is safe.
    /// Always false for key check and vocabulary.
    #[must_use]
    pub fn unknown_outcome(&self) -> bool {
        self.failure().is_some_and(Failure::unknown_outcome)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unauthorized(_) => f.write_str("the key is not accepted")?,
            Self::InvalidLead { fields, .. } => write!(f, "the lead is invalid: {fields}")?,
            Self::Refused(_) => f.write_str("the request is refused")?,
            Self::Unavailable(_) => f.write_str("the service is not available, try later")?,
            Self::Cancelled(_) => f.write_str("the call was cancelled")?,
            Self::Misconfigured(fault) => fault.fmt(f)?,
        }
        self.failure().map_or(Ok(()), |failure| failure.tell(f))
    }
}

impl std::error::Error for Error {}

/// What is known of a call that failed.
#[derive(Clone)]
pub struct Failure {
    pub(crate) status: Option<u16>,
    pub(crate) code: Option<String>,
    pub(crate) detail: Option<Box<str>>,
    pub(crate) request_id: String,
    pub(crate) tries: u32,
    pub(crate) unknown_outcome: bool,
    pub(crate) reason: Option<&'static str>,
}

impl Failure {
    /// See [`Error::status`].
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.status
    }

    /// See [`Error::code`].
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.code.as_deref()
    }

    /// See [`Error::detail`].
    #[must_use]
    pub fn detail(&self) -> Option<&str> {
        self.detail.as_deref()
    }

    /// See [`Error::request_id`].
    #[must_use]
    pub fn request_id(&self) -> &str {
        &self.request_id
    }

    /// See [`Error::tries`].
    #[must_use]
    pub fn tries(&self) -> u32 {
        self.tries
    }

    /// See [`Error::unknown_outcome`].
    #[must_use]
    pub fn unknown_outcome(&self) -> bool {
        self.unknown_outcome
    }

    /// What went wrong with the last try, in words for a person, such as `the connection was refused`. The wording may
    /// change; do not compare it.
    #[must_use]
    pub fn reason(&self) -> Option<&'static str> {
        self.reason
    }

    /// Goes on where the text of an error ended: `: the connection was refused (request leads-rust-…, 5 tries)`.
    fn tell(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(reason) = self.reason {
            write!(f, ": {reason}")?;
        }
        f.write_str(" (")?;
        if let Some(status) = self.status {
            write!(f, "status {status}, ")?;
        }
        if let Some(code) = &self.code {
            write!(f, "{code}, ")?;
        }
        let tries = if self.tries == 1 { "try" } else { "tries" };
        write!(f, "request {}, {} {tries}", self.request_id, self.tries)?;
        if self.unknown_outcome {
            f.write_str(", outcome unknown")?;
        }
        f.write_str(")")
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failure")
            .field("status", &self.status)
            .field("code", &self.code)
            .field("request_id", &self.request_id)
            .field("tries", &self.tries)
            .field("unknown_outcome", &self.unknown_outcome)
            .field("reason", &self.reason)
            .finish_non_exhaustive()
    }
}

/// The failing fields of an invalid lead: each one's name and reason. Reads like a map of strings.
///
/// `Debug` and `Display` show the names and reasons that the service has, and count the others: an answer of a stranger
/// may hold anything, also what was sent.
#[derive(Clone, PartialEq, Eq)]
pub struct Fields(pub(crate) BTreeMap<String, String>);

/// Source: SPEC, Error body.
const REASONS: [&str; 3] = ["required", "too_long", "out_of_range"];

impl Deref for Fields {
    type Target = BTreeMap<String, String>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<'a> IntoIterator for &'a Fields {
    type Item = (&'a String, &'a String);
    type IntoIter = std::collections::btree_map::Iter<'a, String, String>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl fmt::Display for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut others = 0;
        let mut separator = "";
        for (name, reason) in &self.0 {
            if FIELD_NAMES.contains(&name.as_str()) && REASONS.contains(&reason.as_str()) {
                write!(f, "{separator}{name} {reason}")?;
                separator = ", ";
            } else {
                others += 1;
            }
        }
        match others {
            0 => Ok(()),
            1 => write!(f, "{separator}one other field"),
            _ => write!(f, "{separator}{others} other fields"),
        }
    }
}

impl fmt::Debug for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fields({self})")
    }
}

/// What is wrong with a key, an address or an argument. Nothing was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Misconfigured {
    message: &'static str,
}

impl Misconfigured {
    /// What is wrong, in words for a person. Shows neither key nor address nor argument.
    #[must_use]
    pub fn message(&self) -> &'static str {
        self.message
    }
}

impl fmt::Display for Misconfigured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "misconfigured: {}", self.message)
    }
}
