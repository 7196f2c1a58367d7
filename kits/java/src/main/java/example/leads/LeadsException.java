package example.leads;

import java.util.Optional;
import java.util.OptionalInt;

/**
 * A call that did not get what it asked for. Its {@link #kind} says what to do, and each kind has a
 * class of its own to catch.
 *
 * <p>Neither the key nor the lead nor a foreign answer's text is in it. That is why it never has a
 * cause: the exceptions underneath quote what they could not read.
 */
public abstract class LeadsException extends RuntimeException {

  private static final long serialVersionUID = 1;

  /** What went wrong, by what there is to do. */
  public enum Kind {
    /** The key is not accepted: alert a person. */
    UNAUTHORIZED,
    /** Fields are wrong: correct the lead and post it with the same idempotency key. */
    INVALID_LEAD,
    /** An answer that must not be repeated: read status and code. */
    REFUSED,
    /** Tries or deadline are spent: try later, with the same idempotency key. */
    UNAVAILABLE,
    /** The caller cancelled: try later, with the same idempotency key. */
    CANCELLED,
    /** Found before anything was sent: mend key, address or argument. */
    MISCONFIGURED
  }

  /** What is known of a call when it ends. */
  static final class Facts {
    static final Facts NOTHING_SENT = new Facts(0, null, null, null, 0, false);

    final int status;
    final String code;
    final String detail;
    final String requestId;
    final int tries;
    final boolean unknownOutcome;

    Facts(
        int status,
        String code,
        String detail,
        String requestId,
        int tries,
        boolean unknownOutcome) {
      this.status = status;
      this.code = code;
      this.detail = detail;
      this.requestId = requestId;
      this.tries = tries;
      this.unknownOutcome = unknownOutcome;
    }

    /** "503 not_accepting", "503" or "no answer". */
    String answer() {
      return status == 0 ? "no answer" : code == null ? "" + status : status + " " + code;
    }
  }

  /** What went wrong. */
  private final Kind kind;

  /** Of the last try's answer; zero if there was none. */
  private final int status;

  /** Of the last try's answer; null if there was none. */
  private final String code;

  /** Of the last try's answer; null if it says nothing. */
  private final String detail;

  /** What was sent; null if nothing was. */
  private final String requestId;

  /** Those that were spent. */
  private final int tries;

  /** Whether the lead may be stored. */
  private final boolean unknownOutcome;

  LeadsException(Kind kind, String message, Facts facts) {
    super(message + ending(facts), null);
    this.kind = kind;
    this.status = facts.status;
    this.code = facts.code;
    this.detail = facts.detail;
    this.requestId = facts.requestId;
    this.tries = facts.tries;
    this.unknownOutcome = facts.unknownOutcome;
  }

  private static String ending(Facts facts) {
    String unknown = facts.unknownOutcome ? "; the lead may be stored nevertheless" : "";
    return facts.requestId == null ? "" : unknown + " (request " + facts.requestId + ")";
  }

  /**
   * Tells the kind.
   *
   * @return one for each subclass
   */
  public final Kind kind() {
    return kind;
  }

  /**
   * Tells the status of the last try's answer.
   *
   * @return the status, or nothing if none came
   */
  public final OptionalInt status() {
    return status == 0 ? OptionalInt.empty() : OptionalInt.of(status);
  }

  /**
   * Tells the service's code in the last try's answer, for example {@code not_accepting}.
   *
   * @return the code, or nothing if no answer came or it was not the service's
   */
  public final Optional<String> code() {
    return Optional.ofNullable(code);
  }

  /**
   * Tells what the last try's answer says is wrong, in a sentence for people. Do not parse it. It
   * is not in the message.
   *
   * @return the sentence, or nothing if the answer says nothing or was not the service's
   */
  public final Optional<String> detail() {
    return Optional.ofNullable(detail);
  }

  /**
   * Names the call in the logs of both sides.
   *
   * @return the request id that was sent, or nothing if nothing was
   */
  public final Optional<String> requestId() {
    return Optional.ofNullable(requestId);
  }

  /**
   * Tells how many tries were spent; answers 429 spend none.
   *
   * @return zero or more
   */
  public final int tries() {
    return tries;
  }

  /**
   * Tells whether the lead may be stored in spite of this exception: a post went out, and no answer
   * of the service came back. Posting it again with the same idempotency key settles it.
   *
   * @return false for key check and vocabulary
   */
  public final boolean unknownOutcome() {
    return unknownOutcome;
  }
}
