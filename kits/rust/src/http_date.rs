use std::time::{Duration, SystemTime, UNIX_EPOCH};

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// Reads a date as HTTP writes it today: `Sun, 22 Nov 2026 09:49:46 GMT`. The two obsolete forms of RFC 9110 are not
/// read: the service never sent them. `None` for anything else, and for dates before 1970.
pub(crate) fn parse(text: &str) -> Option<SystemTime> {
    let [weekday, day, month, year, time, "GMT"] = text.split(' ').collect::<Vec<_>>()[..] else {
        return None;
    };
    if !WEEKDAYS.contains(&weekday.strip_suffix(',')?) {
        return None;
    }
    let month = MONTHS.iter().position(|each| *each == month)?;
    let [hour, minute, second] = time.split(':').collect::<Vec<_>>()[..] else {
        return None;
    };
    let (day, year) = (digits(day, 2)?, digits(year, 4)?);
    let (hour, minute, second) = (digits(hour, 2)?, digits(minute, 2)?, digits(second, 2)?);
    // 60 is a leap second, and is taken for the first of the next minute.
    if !(1..=days_in(month, year)).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let days = days_before_year(year).checked_sub(days_before_year(1970))?
        + (0..month).map(|each| days_in(each, year)).sum::<u64>()
        + (day - 1);
    UNIX_EPOCH.checked_add(Duration::from_secs(days * 86_400 + hour * 3600 + minute * 60 + second))
}

fn digits(text: &str, length: usize) -> Option<u64> {
    (text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

/// From the first day of a year 1 of today's calendar.
fn days_before_year(year: u64) -> u64 {
    let past = year.saturating_sub(1);
    past * 365 + past / 4 - past / 100 + past / 400
}

fn days_in(month: usize, year: u64) -> u64 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    [31, if is_leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month]
}

#[cfg(test)]
mod tests {
    use super::parse;
    use std::time::UNIX_EPOCH;

    #[test]
    fn dates_are_read_as_http_writes_them() {
        for (text, seconds) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
            ("Tue, 29 Feb 2000 23:59:59 GMT", 951_868_799),
            ("Sun, 22 Nov 2026 09:49:46 GMT", 1_795_340_986),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
        ] {
            assert_eq!(parse(text).unwrap().duration_since(UNIX_EPOCH).unwrap().as_secs(), seconds, "{text}");
        }
    }

    #[test]
    fn what_is_no_date_is_not_read() {
        for text in [
            "",
            "soon",
            "Wed, 31 Dec 1969 23:59:59 GMT",
            "Mon, 30 Feb 2026 00:00:00 GMT",
            "Thu, 29 Feb 1900 00:00:00 GMT",
            "Sun, 22 Nov 2026 24:00:00 GMT",
            "Sun, 22 Nov 2026 09:49:46 UTC",
            "Sun, 22 Nov 2026 09:49:46 GMT ",
            "Sun, 2 Nov 2026 09:49:46 GMT",
            "Sun, +2 Nov 2026 09:49:46 GMT",
            "Sun, 22 Nov 2026 9:49:46 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "2026-11-22T09:49:46Z",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
