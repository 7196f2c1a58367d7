package example.leads;

/** Tries or deadline are spent. Try later, with the same idempotency key. */
public final class UnavailableException extends LeadsException {

  private static final long serialVersionUID = 1;

  UnavailableException(String message, Facts facts) {
    super(Kind.UNAVAILABLE, message, facts);
  }
}
