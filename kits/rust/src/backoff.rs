use std::time::{Duration, SystemTime};

use crate::http_date;

/// Source: SPEC, Client retry policy.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// What is waited after a 429 at least. Source: SPEC, Limits.
const LIMITED_WAIT_MIN: Duration = Duration::from_secs(1);

/// The wait after the `spent`-th spent try: one second, doubled each time, at most 30, of which a half to all is
/// waited. `random` is drawn from 0 to 1. What the service asked for is a floor, without jitter.
pub(crate) fn after_spent_try(spent: u32, random: f64, asked: Option<Duration>) -> Duration {
    let full = doubled(Duration::from_secs(1), spent);
    full.mul_f64(f64::midpoint(1.0, random)).max(asked.unwrap_or_default())
}

/// The wait after the `in_a_row`-th 429 in a row. It grows from what the service asked for, up to 30 seconds or that,
/// whichever is longer, and jitter only adds to it.
pub(crate) fn after_429(in_a_row: u32, random: f64, asked: Option<Duration>) -> Duration {
    let least = asked.unwrap_or(LIMITED_WAIT_MIN).max(LIMITED_WAIT_MIN);
    let wait = doubled(least, in_a_row).max(least);
    // Digits too big to hold are past any deadline: they must not overflow on the way there.
    Duration::try_from_secs_f64(wait.as_secs_f64() * (1.0 + random / 4.0)).unwrap_or(Duration::MAX)
}

/// `first` doubled from the second time on, at most 30 seconds.
fn doubled(first: Duration, time: u32) -> Duration {
    let factor = 1_u32.checked_shl(time.saturating_sub(1)).unwrap_or(u32::MAX);
    first.checked_mul(factor).unwrap_or(WAIT_MAX).min(WAIT_MAX)
}

/// Reads a `Retry-After`: whole seconds, or the time until an HTTP date. `None` when it cannot be read, as with
/// fractions and signs; a date that is past is no time at all.
pub(crate) fn read_retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(value.parse().map_or(Duration::MAX, Duration::from_secs));
    }
    let date = http_date::parse(value)?;
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::{after_429, after_spent_try, read_retry_after};
    use std::time::{Duration, UNIX_EPOCH};

    fn seconds(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    #[test]
    fn waits_double_up_to_thirty_seconds_and_a_half_of_them_is_jitter() {
        for (spent, full) in [(1, 1.0), (2, 2.0), (3, 4.0), (5, 16.0), (6, 30.0), (40, 30.0), (u32::MAX, 30.0)] {
            assert_eq!(after_spent_try(spent, 0.0, None), seconds(full / 2.0));
            assert_eq!(after_spent_try(spent, 0.5, None), seconds(full * 0.75));
            assert_eq!(after_spent_try(spent, 1.0, None), seconds(full));
        }
        assert_eq!(after_spent_try(1, 1.0, Some(seconds(7.0))), seconds(7.0));
        assert_eq!(after_spent_try(5, 1.0, Some(seconds(7.0))), seconds(16.0));
    }

    #[test]
    fn waits_after_429s_grow_from_what_was_asked_for_and_never_fall_below_it() {
        for (in_a_row, asked, wait) in [
            (1, None, 1.0),
            (3, None, 4.0),
            (9, None, 30.0),
            (1, Some(0.2), 1.0),
            (2, Some(20.0), 30.0),
            (3, Some(45.0), 45.0),
        ] {
            assert_eq!(after_429(in_a_row, 0.0, asked.map(seconds)), seconds(wait));
            assert_eq!(after_429(in_a_row, 1.0, asked.map(seconds)), seconds(wait * 1.25));
        }
        assert_eq!(after_429(70, 1.0, Some(Duration::MAX)), Duration::MAX);
    }

    #[test]
    fn retry_after_is_whole_seconds_or_a_date() {
        let now = UNIX_EPOCH + seconds(784_111_770.0);
        for (value, read) in [
            ("0", Some(0.0)),
            ("007", Some(7.0)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(7.0)),
            ("Sun, 06 Nov 1994 08:49:07 GMT", Some(0.0)),
            ("", None),
            ("1.5", None),
            ("+1", None),
            ("-1", None),
            ("1 ", None),
            ("one", None),
        ] {
            assert_eq!(read_retry_after(value, now), read.map(seconds), "{value}");
        }
        assert_eq!(read_retry_after("99999999999999999999999", now), Some(Duration::MAX));
    }
}
