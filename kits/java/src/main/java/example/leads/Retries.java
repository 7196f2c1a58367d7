package example.leads;

import java.time.Duration;
import java.util.OptionalDouble;

/** How often and how long after a call tries again. All waits are in milliseconds. */
final class Retries {

  private static final double FIRST_WAIT = 1_000;
  private static final double WAIT_MAX = 30_000;

  /** The least that {@code Retry-After} can mean on a 429, and what it means when it is missing. */
  private static final double RATE_LIMIT_WAIT_MIN = 1_000;

  final int tries;
  final Duration tryTimeout;

  Retries(int tries, Duration tryTimeout) {
    this.tries = tries;
    this.tryTimeout = tryTimeout;
  }

  /** The wait after the n-th spent try; what the service asked for is a floor, without jitter. */
  static double afterSpentTry(int n, double random, OptionalDouble retryAfter) {
    double backoff = Math.min(WAIT_MAX, FIRST_WAIT * Math.pow(2, n - 1)) * (1 + random) / 2;
    return Math.max(backoff, retryAfter.orElse(0));
  }

  /** The wait after the k-th 429 in a row. */
  static double afterRateLimit(int k, double random, OptionalDouble retryAfter) {
    double asked = Math.max(RATE_LIMIT_WAIT_MIN, retryAfter.orElse(RATE_LIMIT_WAIT_MIN));
    return Math.max(asked, Math.min(WAIT_MAX, asked * Math.pow(2, k - 1))) * (1 + random / 4);
  }
}
