package example.leads;

import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/**
 * Clock, sleep and randomness of one call, so that a test can replace them (see {@link
 * LeadsClient.Builder#timing}). The time-out of a try is always real.
 */
public interface Timing {

  /**
   * Tells the time: deadlines, dates in {@code Retry-After} and the age of the vocabulary are read
   * by it.
   *
   * @return the current time, which never goes back during a call
   */
  Instant now();

  /**
   * Begins a wait.
   *
   * @param wait zero or more
   * @return a future that completes when the wait is over; the call cancels it when it ends before
   */
  CompletableFuture<Void> sleep(Duration wait);

  /**
   * Draws jitter.
   *
   * @return a number from 0 to 1
   */
  double random();

  /**
   * Gives the real ones. The clock starts at the system's and goes on steadily from there, so that
   * a call keeps its deadline when somebody sets the system's clock.
   *
   * @return the timing of one call
   */
  static Timing system() {
    Instant start = Instant.now();
    long startNanos = System.nanoTime();
    return new Timing() {
      @Override
      public Instant now() {
        return start.plusNanos(System.nanoTime() - startNanos);
      }

      @Override
      public CompletableFuture<Void> sleep(Duration wait) {
        return new CompletableFuture<Void>()
            .completeOnTimeout(null, wait.toNanos(), TimeUnit.NANOSECONDS);
      }

      @Override
      public double random() {
        return ThreadLocalRandom.current().nextDouble();
      }
    };
  }
}
