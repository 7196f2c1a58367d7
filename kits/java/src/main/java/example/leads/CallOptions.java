package example.leads;

import java.time.Duration;
import java.util.Objects;
import java.util.Optional;

/** What one call may have of its own. Immutable. */
public final class CallOptions {

  static final CallOptions NONE = builder().build();

  private static final int REQUEST_ID_CHARS_MAX = 64;

  private final Duration deadline;
  private final String requestId;

  private CallOptions(Builder builder) {
    deadline = builder.deadline;
    requestId = builder.requestId;
  }

  /**
   * Begins options.
   *
   * @return a builder in which nothing is set
   */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * Tells what bounds the call, its waits included.
   *
   * @return the deadline, or nothing for that of the client
   */
  public Optional<Duration> deadline() {
    return Optional.ofNullable(deadline);
  }

  /**
   * Tells the call's name in the logs of both sides.
   *
   * @return the request id, or nothing for a new one
   */
  public Optional<String> requestId() {
    return Optional.ofNullable(requestId);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof CallOptions
        && Objects.equals(deadline, ((CallOptions) other).deadline)
        && Objects.equals(requestId, ((CallOptions) other).requestId);
  }

  @Override
  public int hashCode() {
    return Objects.hash(deadline, requestId);
  }

  @Override
  public String toString() {
    return "CallOptions[deadline=" + deadline + ", requestId=" + requestId + "]";
  }

  /** Builds {@link CallOptions}. Not safe for use by several threads at once. */
  public static final class Builder {
    private Duration deadline;
    private String requestId;

    private Builder() {}

    /**
     * Bounds the call, its waits included.
     *
     * @param deadline more than zero, at most 365 days, counted from the start of the call
     * @return this builder
     * @throws MisconfiguredException if it is anything else
     */
    public Builder deadline(Duration deadline) {
      this.deadline = Text.requireBounded(deadline, "deadline");
      return this;
    }

    /**
     * Names the call, as {@code X-Request-Id}, on every try of it.
     *
     * @param requestId 1 to 64 characters of printable ASCII, with no blank at an end
     * @return this builder
     * @throws MisconfiguredException if it is anything else
     */
    public Builder requestId(String requestId) {
      if (requestId == null
          || requestId.isEmpty()
          || requestId.length() > REQUEST_ID_CHARS_MAX
          || !Text.isPrintableAscii(requestId)
          || Text.hasBlankEnd(requestId)) {
        throw new MisconfiguredException(
            "A request id is 1 to "
                + REQUEST_ID_CHARS_MAX
                + " characters of printable ASCII, with no blank at an end");
      }
      this.requestId = requestId;
      return this;
    }

    /**
     * Makes the options.
     *
     * @return immutable options
     */
    public CallOptions build() {
      return new CallOptions(this);
    }
  }
}
