package example.leads;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The service found fields of the lead that have to be corrected (422). It stored nothing, and the
 * idempotency key is not used up: post the corrected lead with the same one.
 */
public final class InvalidLeadException extends LeadsException {

  private static final long serialVersionUID = 1;

  private static final int SHOWN_MAX = 20;

  /** How the service writes names and reasons. What looks different may be anything: not shown. */
  private static final Pattern OURS = Pattern.compile("[a-z_]{1,32}");

  /** Names and reasons. */
  private final LinkedHashMap<String, String> fields;

  InvalidLeadException(Map<String, String> fields, Facts facts) {
    super(Kind.INVALID_LEAD, "The lead has to be corrected: " + show(fields), facts);
    this.fields = new LinkedHashMap<>(fields);
  }

  private static String show(Map<String, String> fields) {
    String shown =
        fields.entrySet().stream()
            .filter(f -> OURS.matcher(f.getKey()).matches() && OURS.matcher(f.getValue()).matches())
            .limit(SHOWN_MAX)
            .map(f -> f.getKey() + " " + f.getValue())
            .collect(Collectors.joining(", "));
    return shown.isEmpty() ? "see fields()" : shown;
  }

  /**
   * Tells each failing field and why it fails.
   *
   * @return names of fields with {@code required}, {@code too_long}, {@code out_of_range}, or what
   *     may come later; unmodifiable
   */
  public Map<String, String> fields() {
    return Collections.unmodifiableMap(fields);
  }
}
