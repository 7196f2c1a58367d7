package example.leads;

/** What a key check found. Immutable. */
public final class KeyCheck {

  /** What the service says of the key. */
  public enum Verdict {
    /** It is known and active. */
    VALID,
    /** It is unknown, revoked, or one of another host. */
    INVALID
  }

  private final Verdict verdict;
  private final String requestId;
  private final int tries;

  KeyCheck(Verdict verdict, String requestId, int tries) {
    this.verdict = verdict;
    this.requestId = requestId;
    this.tries = tries;
  }

  /**
   * Tells the verdict.
   *
   * @return valid or invalid
   */
  public Verdict verdict() {
    return verdict;
  }

  /**
   * Names the call in the logs of both sides.
   *
   * @return the request id that was sent
   */
  public String requestId() {
    return requestId;
  }

  /**
   * Tells how many tries the call took; answers 429 are not counted.
   *
   * @return at least 1
   */
  public int tries() {
    return tries;
  }

  @Override
  public String toString() {
    return "KeyCheck[verdict=" + verdict + ", requestId=" + requestId + ", tries=" + tries + "]";
  }
}
