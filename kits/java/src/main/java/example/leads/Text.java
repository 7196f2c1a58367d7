package example.leads;

import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;

/** What arguments have to look like. No message here shows the argument: it may be a secret. */
final class Text {

  private static final String LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz";

  /** Nothing waits for ever, and no sum of durations overflows. */
  private static final Duration DURATION_MAX = Duration.ofDays(365);

  private Text() {}

  static boolean isBlank(String text) {
    return text == null || text.isBlank();
  }

  /** Whether it has only characters from space to {@code ~}: what a header carries unharmed. */
  static boolean isPrintableAscii(String text) {
    return text.chars().allMatch(c -> c >= ' ' && c <= '~');
  }

  /** HTTP cuts such blanks off a header: {@code a:1 } would be the lead {@code a:1}. */
  static boolean hasBlankEnd(String text) {
    return text.startsWith(" ") || text.endsWith(" ");
  }

  static String randomLetters(int count) {
    ThreadLocalRandom random = ThreadLocalRandom.current();
    StringBuilder letters = new StringBuilder(count);
    for (int i = 0; i < count; i++) {
      letters.append(LETTERS.charAt(random.nextInt(LETTERS.length())));
    }
    return letters.toString();
  }

  static Duration requireBounded(Duration duration, String what) {
    if (duration == null
        || duration.isZero()
        || duration.isNegative()
        || duration.compareTo(DURATION_MAX) > 0) {
      throw new MisconfiguredException(
          "The "
              + what
              + " has to be more than zero and at most "
              + DURATION_MAX.toDays()
              + " days");
    }
    return duration;
  }
}
