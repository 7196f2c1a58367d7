package example.leads;

import java.util.List;

/** The service's word that a lead is stored. Immutable. */
public final class Acknowledgement {

  /** Whether this post stored the lead. */
  public enum Status {
    /** It did. */
    ACCEPTED,
    /** An earlier post with the same idempotency key had stored it. */
    DUPLICATE
  }

  private final String eventId;
  private final Status status;
  private final String receivedAt;
  private final String source;
  private final List<String> flags;
  private final String requestId;
  private final int tries;

  Acknowledgement(
      String eventId,
      Status status,
      String receivedAt,
      String source,
      List<String> flags,
      String requestId,
      int tries) {
    this.eventId = eventId;
    this.status = status;
    this.receivedAt = receivedAt;
    this.source = source;
    this.flags = List.copyOf(flags);
    this.requestId = requestId;
    this.tries = tries;
  }

  /**
   * Names the stored lead: keep it with your own record.
   *
   * @return an opaque id, never empty; ids sort in the order of time, and are not to be parsed
   */
  public String eventId() {
    return eventId;
  }

  /**
   * Tells whether this post stored the lead.
   *
   * @return accepted or duplicate; both are success
   */
  public Status status() {
    return status;
  }

  /**
   * Tells when the lead was stored.
   *
   * @return the service's UTC timestamp as it came, which {@link java.time.Instant#parse} reads
   */
  public String receivedAt() {
    return receivedAt;
  }

  /**
   * Tells to whom the lead is credited.
   *
   * @return the registered label of the key
   */
  public String source() {
    return source;
  }

  /**
   * Tells what the service noticed, for example {@code phone_unnormalized}. A flag is no rejection
   * and no reason to post again.
   *
   * @return the flags, known and new ones; often empty
   */
  public List<String> flags() {
    return flags;
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

  /**
   * Tells what is fit for a log.
   *
   * @return status, event id, request id and tries
   */
  @Override
  public String toString() {
    return "Acknowledgement[status="
        + status
        + ", eventId="
        + eventId
        + ", requestId="
        + requestId
        + ", tries="
        + tries
        + "]";
  }
}
