package example.leads;

import java.time.Duration;
import java.util.OptionalInt;

/**
 * Is told of every try and every wait, for logs and counters; never of what was sent or answered.
 *
 * <p>It is called by the threads that do the work, several at once for several calls, and should
 * return quickly. What it throws is dropped: watching a call must not change it.
 */
public interface Observer {

  /**
   * Called after each try, also one that was cancelled.
   *
   * @param event what became of it
   */
  default void onTry(TryEvent event) {}

  /**
   * Called as each wait begins.
   *
   * @param event how long it will be
   */
  default void onWait(WaitEvent event) {}

  /** A try that ended. */
  final class TryEvent {
    private final String method;
    private final int status;
    private final Duration duration;

    TryEvent(String method, int status, Duration duration) {
      this.method = method;
      this.status = status;
      this.duration = duration;
    }

    /**
     * Tells the method of HTTP.
     *
     * @return {@code POST}, or {@code GET} for the vocabulary
     */
    public String method() {
      return method;
    }

    /**
     * Tells the status that came.
     *
     * @return the status, or nothing if no whole answer came
     */
    public OptionalInt status() {
      return status == 0 ? OptionalInt.empty() : OptionalInt.of(status);
    }

    /**
     * Tells how long the try took, connecting included.
     *
     * @return a real duration, also where the clock is replaced
     */
    public Duration duration() {
      return duration;
    }

    @Override
    public String toString() {
      String answer = status == 0 ? "no answer" : Integer.toString(status);
      return "TryEvent[" + method + ", " + answer + ", " + duration + "]";
    }
  }

  /** A wait that begins. */
  final class WaitEvent {
    private final Duration wait;
    private final boolean rateLimited;

    WaitEvent(Duration wait, boolean rateLimited) {
      this.wait = wait;
      this.rateLimited = rateLimited;
    }

    /**
     * Tells how long the wait will be.
     *
     * @return zero or more
     */
    public Duration duration() {
      return wait;
    }

    /**
     * Tells why there is a wait.
     *
     * @return true after an answer 429, false after a spent try
     */
    public boolean rateLimited() {
      return rateLimited;
    }

    @Override
    public String toString() {
      return "WaitEvent[" + wait + (rateLimited ? ", rate limited" : "") + "]";
    }
  }
}
