"""How long to wait before the next try."""

from __future__ import annotations

import calendar
import math
import re
from typing import Optional

WAIT_SECONDS_MAX = 30.0
"""Of the growing part of a wait; a ``Retry-After`` may ask for more."""

_FIRST_WAIT_SECONDS = 1.0
_RATE_LIMITED_SECONDS_MIN = 1.0
_DOUBLINGS_MAX = 60
_DIGITS_MAX = 15

_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_MONTH = f"(?P<month>{'|'.join(_MONTHS)})"
_TIME = "(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})"
# The three forms of RFC 9110, 5.6.7. Not read by strptime, whose names of months depend on the machine's language.
_DATES = [
    re.compile(f"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (?P<day>[0-9]{{2}}) {_MONTH} (?P<year>[0-9]{{4}}) {_TIME} GMT"),
    re.compile(
        f"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (?P<day>[0-9]{{2}})-{_MONTH}-(?P<year>[0-9]{{2}}) {_TIME} GMT"
    ),
    re.compile(f"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) {_MONTH} (?P<day>[0-9 ][0-9]) {_TIME} (?P<year>[0-9]{{4}})"),
]


def after_failure(spent: int, retry_after: Optional[float], random: float) -> float:
    """Seconds to wait after so many spent tries; what the service asks for is a floor, without jitter."""
    grown = min(WAIT_SECONDS_MAX, _FIRST_WAIT_SECONDS * 2.0 ** min(spent - 1, _DOUBLINGS_MAX))
    return max(grown * (1 + random) / 2, retry_after or 0.0)


def after_rate_limit(in_a_row: int, retry_after: Optional[float], random: float) -> float:
    """Seconds to wait after the so-manieth 429 in a row."""
    asked = max(_RATE_LIMITED_SECONDS_MIN, retry_after or 0.0)
    grown = min(WAIT_SECONDS_MAX, asked * 2.0 ** min(in_a_row - 1, _DOUBLINGS_MAX))
    return max(asked, grown) * (1 + random / 4)


def read_retry_after(text: Optional[str], now: float) -> Optional[float]:
    """Seconds from now, which is told in seconds since 1970.

    ``None`` when it is missing or unreadable, infinite when it has too many digits to mean a time.
    """
    if text is None:
        return None
    if text.isascii() and text.isdigit():
        digits = text.lstrip("0")
        return math.inf if len(digits) > _DIGITS_MAX else float(digits or "0")
    for form in _DATES:
        date = form.fullmatch(text)
        if date is not None:
            return _seconds_until(date, now)
    return None


def _seconds_until(date: re.Match[str], now: float) -> Optional[float]:
    year, month, day = int(date["year"]), _MONTHS.index(date["month"]) + 1, int(date["day"])
    hour, minute, second = int(date["hour"]), int(date["minute"]), int(date["second"])
    if len(date["year"]) == 2:
        # RFC 9110: more than 50 years ahead is the century before.
        this_year = 1970 + int(now // 31_556_952)
        year += this_year - this_year % 100
        if year > this_year + 50:
            year -= 100
    if year < 1 or not 0 < day <= calendar.monthrange(year, month)[1] or hour > 23 or minute > 59 or second > 60:
        return None
    return max(0.0, calendar.timegm((year, month, day, hour, minute, second)) - now)
