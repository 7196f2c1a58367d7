package example.leads;

import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.List;
import java.util.OptionalDouble;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads {@code Retry-After}: whole seconds, or a date in one of the three forms of HTTP. */
final class RetryAfter {

  private static final Pattern SECONDS = Pattern.compile("\\d+");

  /** Sun, 06 Nov 1994 08:49:37 GMT */
  private static final Pattern IMF_FIXDATE =
      Pattern.compile(
          "[A-Z][a-z]{2}, (?<day>\\d\\d) (?<month>[A-Z][a-z]{2}) (?<year>\\d{4})"
              + " (?<hour>\\d\\d):(?<minute>\\d\\d):(?<second>\\d\\d) GMT");

  /** Sunday, 06-Nov-94 08:49:37 GMT */
  private static final Pattern RFC_850 =
      Pattern.compile(
          "[A-Z][a-z]{5,8}, (?<day>\\d\\d)-(?<month>[A-Z][a-z]{2})-(?<year>\\d\\d)"
              + " (?<hour>\\d\\d):(?<minute>\\d\\d):(?<second>\\d\\d) GMT");

  /** Sun Nov 6 08:49:37 1994, its day with a space or a digit before it */
  private static final Pattern ASCTIME =
      Pattern.compile(
          "[A-Z][a-z]{2} (?<month>[A-Z][a-z]{2}) (?<day>[ \\d]\\d)"
              + " (?<hour>\\d\\d):(?<minute>\\d\\d):(?<second>\\d\\d) (?<year>\\d{4})");

  private static final List<String> MONTHS =
      List.of("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec");

  private RetryAfter() {}

  /**
   * Reads the header's value.
   *
   * @return milliseconds from now on, zero for a date that is past and infinity for more digits
   *     than anybody waits; nothing if it is missing or unreadable
   */
  static OptionalDouble millis(String value, Instant now) {
    if (value == null) {
      return OptionalDouble.empty();
    }
    String trimmed = value.strip();
    if (SECONDS.matcher(trimmed).matches()) {
      return OptionalDouble.of(Double.parseDouble(trimmed) * 1000);
    }
    for (Pattern form : List.of(IMF_FIXDATE, RFC_850, ASCTIME)) {
      Matcher date = form.matcher(trimmed);
      if (date.matches()) {
        return millisUntil(date, now);
      }
    }
    return OptionalDouble.empty();
  }

  private static OptionalDouble millisUntil(Matcher date, Instant now) {
    int month = MONTHS.indexOf(date.group("month")) + 1;
    int year = Integer.parseInt(date.group("year"));
    if (date.pattern() == RFC_850) {
      // Two digits mean the year that is less than 50 years ahead (RFC 9110, 5.6.7).
      int thisYear = now.atOffset(ZoneOffset.UTC).getYear();
      year += thisYear - thisYear % 100;
      year -= year > thisYear + 50 ? 100 : 0;
    }
    try {
      Instant at =
          LocalDateTime.of(
                  year,
                  month,
                  Integer.parseInt(date.group("day").strip()),
                  Integer.parseInt(date.group("hour")),
                  Integer.parseInt(date.group("minute")),
                  // A leap second is the one before it: a second later or earlier is all the same.
                  Math.min(59, Integer.parseInt(date.group("second"))))
              .toInstant(ZoneOffset.UTC);
      return OptionalDouble.of(Math.max(0, Duration.between(now, at).toNanos() / 1e6));
    } catch (DateTimeException | ArithmeticException e) {
      return OptionalDouble.empty();
    }
  }
}
