package example.leads;

/** The caller cancelled. Try later, with the same idempotency key. */
public final class CancelledException extends LeadsException {

  private static final long serialVersionUID = 1;

  CancelledException(String message, Facts facts) {
    super(Kind.CANCELLED, message, facts);
  }
}
