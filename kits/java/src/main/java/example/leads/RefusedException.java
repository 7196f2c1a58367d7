package example.leads;

/** An answer that must not be repeated. {@link #status} and {@link #code} say which. */
public final class RefusedException extends LeadsException {

  private static final long serialVersionUID = 1;

  RefusedException(String message, Facts facts) {
    super(Kind.REFUSED, message, facts);
  }
}
