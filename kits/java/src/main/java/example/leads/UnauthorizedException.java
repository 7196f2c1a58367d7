package example.leads;

/**
 * The service does not accept the key (401): unknown, revoked, or of another host. Alert a person.
 */
public final class UnauthorizedException extends LeadsException {

  private static final long serialVersionUID = 1;

  UnauthorizedException(String message, Facts facts) {
    super(Kind.UNAUTHORIZED, message, facts);
  }
}
