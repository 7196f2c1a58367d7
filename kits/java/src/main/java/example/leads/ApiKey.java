package example.leads;

import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32;

/** A key whose form and checksum are right. Whether the service knows it is another question. */
final class ApiKey {

  private static final String DIGITS =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  private static final String LIVE = "lead_live_";
  private static final String TEST = "lead_test_";
  private static final int RANDOM_CHARS = 32;
  private static final int CHECKSUM_CHARS = 6;

  private final String value;

  private ApiKey(String value) {
    this.value = value;
  }

  static ApiKey of(String value) {
    if (value.startsWith("form_live_") || value.startsWith("form_test_")) {
      throw new MisconfiguredException(
          "This is a forms key: posting leads takes one that starts with lead_live_ or lead_test_");
    }
    if (!value.startsWith(LIVE) && !value.startsWith(TEST)) {
      throw new MisconfiguredException(
          "This is no key for leads: one starts with lead_live_ or lead_test_");
    }
    int checkedChars = LIVE.length() + RANDOM_CHARS;
    boolean whole =
        value.length() == checkedChars + CHECKSUM_CHARS
            && value.chars().skip(LIVE.length()).allMatch(c -> DIGITS.indexOf(c) >= 0);
    if (!whole || !value.endsWith(checksum(value.substring(0, checkedChars)))) {
      throw new MisconfiguredException("The key is mistyped or cut off");
    }
    return new ApiKey(value);
  }

  private static String checksum(String text) {
    CRC32 crc = new CRC32();
    crc.update(text.getBytes(StandardCharsets.US_ASCII));
    char[] digits = new char[CHECKSUM_CHARS];
    long rest = crc.getValue();
    for (int place = CHECKSUM_CHARS - 1; place >= 0; place--) {
      digits[place] = DIGITS.charAt((int) (rest % DIGITS.length()));
      rest /= DIGITS.length();
    }
    return new String(digits);
  }

  /** The key itself, for the one header that carries it. */
  String reveal() {
    return value;
  }

  @Override
  public String toString() {
    return value.startsWith(LIVE) ? "live key" : "test key";
  }
}
