use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::members::Members;

/// The controlled words of a lead, as the service had them when they were read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Vocabulary {
    /// The terms for `project_area`. Others are taken, too, and flagged.
    pub areas: Vec<Area>,
    /// The values of `project_service`.
    pub services: Vec<String>,
    /// The names of the required fields.
    pub required: Vec<String>,
}

/// A term for `project_area`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Area {
    /// The term.
    pub area: String,
    /// `confirmed` or `proposed`; both are taken alike.
    pub status: String,
}

/// A vocabulary that is kept.
#[derive(Debug, Clone)]
pub(crate) struct Kept {
    pub(crate) vocabulary: Arc<Vocabulary>,
    pub(crate) etag: Option<String>,
    pub(crate) max_age: Duration,
    pub(crate) read_at: Instant,
}

impl Kept {
    pub(crate) fn is_fresh(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.read_at) < self.max_age
    }
}

/// The vocabulary in a body; `None` when it is none.
pub(crate) fn read_vocabulary(body: &[u8]) -> Option<Vocabulary> {
    let members = Members::read(body)?;
    let areas: Vec<Members> = members.get("project_area")?;
    let area = |each: &Members| Some(Area { area: each.get("area")?, status: each.get("status")? });
    Some(Vocabulary {
        areas: areas.iter().map(area).collect::<Option<_>>()?,
        services: members.get("project_service")?,
        required: members.get("required")?,
    })
}

/// The `max-age` of a `Cache-Control`; `None` when it has none that can be read, and for an answer not to be kept.
pub(crate) fn read_max_age(cache_control: &str) -> Option<Duration> {
    let mut max_age = None;
    for directive in cache_control.split(',') {
        let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
        let name = name.trim();
        if name.eq_ignore_ascii_case("no-store") || name.eq_ignore_ascii_case("no-cache") {
            return None;
        }
        let digits = value.trim().trim_matches('"');
        let is_whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if name.eq_ignore_ascii_case("max-age") && is_whole {
            max_age = Some(digits.parse().map_or(Duration::MAX, Duration::from_secs));
        }
    }
    max_age
}

#[cfg(test)]
mod tests {
    use super::{read_max_age, read_vocabulary};
    use std::time::Duration;

    #[test]
    fn max_age_is_whole_seconds() {
        assert_eq!(read_max_age("public, max-age=300"), Some(Duration::from_secs(300)));
        assert_eq!(read_max_age("Max-Age=\"5\""), Some(Duration::from_secs(5)));
        assert_eq!(read_max_age("max-age=99999999999999999999999"), Some(Duration::MAX));
        for value in
            ["", "public", "max-age", "max-age=", "max-age=-1", "max-age=1.5", "s-maxage=9", "no-store, max-age=9"]
        {
            assert_eq!(read_max_age(value), None, "{value}");
        }
    }

    #[test]
    fn a_vocabulary_has_areas_services_and_required_fields() {
        let whole = concat!(
            r#"{"project_area":[{"area":"roof","status":"confirmed","own":1}],"#,
            r#""project_service":["repair"],"required":[]}"#
        );
        assert_eq!(read_vocabulary(whole.as_bytes()).unwrap().areas[0].area, "roof");
        for (from, to) in [(r#""confirmed""#, "1"), (r#"["repair"]"#, "[1]"), (r#","required":[]"#, ""), ("{", "[{")] {
            assert!(read_vocabulary(whole.replacen(from, to, 1).as_bytes()).is_none(), "{from} {to}");
        }
    }
}
