package example.leads;

/**
 * A key, an address or an argument cannot be right. Nothing was sent, and {@link #tries} is 0. The
 * message says what to mend, and never shows the value.
 */
public final class MisconfiguredException extends LeadsException {

  private static final long serialVersionUID = 1;

  MisconfiguredException(String message) {
    super(Kind.MISCONFIGURED, message, Facts.NOTHING_SENT);
  }
}
