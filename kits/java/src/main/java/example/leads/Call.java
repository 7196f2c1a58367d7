package example.leads;

import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

/**
 * One call: tries and waits, one after the other, until there is a result or an exception.
 *
 * <p>It is carried out in one of two ways: {@link #await} blocks the caller's thread; after {@link
 * #startAsync}, each step is started by the end of the one before, on whatever thread that ended.
 * What an answer means, and how long to wait, is decided in one place for both.
 */
final class Call<T> {

  private final Operation<T> operation;
  private final Transport transport;
  private final Retries retries;
  private final Duration deadline;
  private final String requestId;
  private final Observer observer;
  private final Timing timing;

  private volatile boolean cancelled;

  /** Ends the step under way, where none of our threads waits for it. */
  private volatile Runnable endStep = () -> {};

  // These belong to the step under way.
  private Instant start;
  private Duration wait;
  private int tries;
  private int rateLimitsInARow;
  private int status;
  private String code;
  private String detail;
  private boolean unknownOutcome;

  Call(
      Operation<T> operation,
      Transport transport,
      Retries retries,
      Duration deadline,
      String requestId,
      Observer observer,
      Timing timing) {
    this.operation = operation;
    this.transport = transport;
    this.retries = retries;
    this.deadline = deadline;
    this.requestId = requestId;
    this.observer = observer;
    this.timing = timing;
  }

  /** Carries the call out; an interrupt cancels it, and stays set. */
  T await() {
    start = timing.now();
    try {
      while (true) {
        Optional<T> value = judge(tryOnce());
        if (value.isPresent()) {
          return value.get();
        }
        sleep();
      }
    } finally {
      if (cancelled) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private Exchange tryOnce() {
    cancelled = Thread.interrupted();
    Duration timeout = timeForTry();
    long startNanos = System.nanoTime();
    Exchange exchange = transport.send(operation, requestId, timeout);
    try {
      exchange.await(timeout);
    } catch (InterruptedException e) {
      cancelled = true;
      exchange.giveUp("cancelled");
    }
    tellTry(exchange, startNanos);
    return exchange;
  }

  private void sleep() {
    CompletableFuture<Void> sleep = timing.sleep(wait);
    try {
      sleep.get();
    } catch (InterruptedException e) {
      cancelled = true;
      sleep.cancel(true);
      throw cancelled();
    } catch (ExecutionException | CancellationException e) {
      throw sleepFailed(e);
    }
  }

  /**
   * Begins the call. Whoever cancels the future ends it. What hangs on the future is a task of its
   * own among the transport's threads, of which there are as many as it takes: it holds up neither
   * timers nor connections, and the common pool, which may be busy, does not hold it up.
   */
  CompletableFuture<T> startAsync() {
    CompletableFuture<T> result = new CompletableFuture<>();
    start = timing.now();
    result.whenComplete(
        (value, failure) -> {
          cancelled = true;
          endStep.run();
        });
    beginTry(result);
    return result;
  }

  private void beginTry(CompletableFuture<T> result) {
    guard(
        result,
        () -> {
          Duration timeout = timeForTry();
          long startNanos = System.nanoTime();
          Exchange exchange = transport.sendAsync(operation, requestId, timeout);
          step(() -> exchange.giveUp("cancelled"));
          exchange.answer().thenRun(() -> endTry(result, exchange, startNanos));
        });
  }

  private void endTry(CompletableFuture<T> result, Exchange exchange, long startNanos) {
    guard(
        result,
        () -> {
          tellTry(exchange, startNanos);
          Optional<T> value = judge(exchange);
          if (value.isPresent()) {
            result.completeAsync(value::get, transport.threads());
          } else {
            CompletableFuture<Void> sleep = timing.sleep(wait);
            step(() -> sleep.cancel(true));
            sleep.whenCompleteAsync(
                (over, failure) -> endWait(result, failure), transport.threads());
          }
        });
  }

  private void endWait(CompletableFuture<T> result, Throwable failure) {
    if (failure == null || cancelled) {
      beginTry(result);
    } else {
      result.completeExceptionally(sleepFailed(failure));
    }
  }

  private static IllegalStateException sleepFailed(Throwable failure) {
    return new IllegalStateException("The replaced sleep failed", failure);
  }

  /** Whoever cancels sets the mark first, so that no step is missed: it is looked for here. */
  private void step(Runnable end) {
    endStep = end;
    if (cancelled) {
      end.run();
    }
  }

  /** Whatever ends the call, also a fault of ours or of a replaced clock, reaches the caller. */
  private void guard(CompletableFuture<?> result, Runnable step) {
    try {
      step.run();
    } catch (RuntimeException | Error e) {
      transport.threads().execute(() -> result.completeExceptionally(e));
    }
  }

  private Duration remaining() {
    return deadline.minus(Duration.between(start, timing.now()));
  }

  private Duration timeForTry() {
    Duration remaining = remaining();
    if (cancelled) {
      throw cancelled();
    }
    if (remaining.isZero() || remaining.isNegative()) {
      throw deadlineSpent();
    }
    return remaining.compareTo(retries.tryTimeout) < 0 ? remaining : retries.tryTimeout;
  }

  /**
   * Judges the answer of a try.
   *
   * @return the result, or nothing if {@link #wait} comes before another try
   * @throws LeadsException if the call ends without a result
   */
  private Optional<T> judge(Exchange exchange) {
    Answer answer = exchange.answer().join();
    status = answer.status;
    code = answer.code().orElse(null);
    detail = answer.detail().orElse(null);
    boolean whole = answer.extent == Answer.Extent.WHOLE;
    boolean rateLimited = whole && status == 429;
    rateLimitsInARow = rateLimited ? rateLimitsInARow + 1 : 0;
    tries += rateLimited ? 0 : 1;
    Optional<T> value = whole ? operation.result(answer, requestId, tries) : Optional.empty();
    if (value.isPresent()) {
      return value;
    }
    boolean answered = whole && !answer.isSuccess();
    unknownOutcome |= operation.storesLead() && exchange.sent() && !answered;
    if (!rateLimited && !mayBeRepeated(answer)) {
      throw refusal(answer);
    }
    if (cancelled) {
      throw cancelled();
    }
    if (!rateLimited && tries >= retries.tries) {
      throw new UnavailableException("All tries are spent, the last: " + why(answer), facts());
    }
    wait(rateLimited, answer);
    return Optional.empty();
  }

  private void wait(boolean rateLimited, Answer answer) {
    String asked = answer.headers.firstValue("Retry-After").orElse(null);
    // What answers a post with a 2xx that is not the service's has no say in when to try again.
    OptionalDouble retryAfter =
        answer.isSuccess() ? OptionalDouble.empty() : RetryAfter.millis(asked, timing.now());
    double millis =
        rateLimited
            ? Retries.afterRateLimit(rateLimitsInARow, timing.random(), retryAfter)
            : Retries.afterSpentTry(tries, timing.random(), retryAfter);
    wait = Duration.ofNanos(Math.round(millis * 1e6));
    // One up to the deadline leaves no time for a try: it is not begun either.
    if (wait.compareTo(remaining()) >= 0) {
      throw deadlineSpent();
    }
    observe(() -> observer.onWait(new Observer.WaitEvent(wait, rateLimited)));
  }

  /** No whole answer, one that cannot be the service's, or one that says that it is its fault. */
  private static boolean mayBeRepeated(Answer answer) {
    return answer.extent == Answer.Extent.NONE
        || answer.isSuccess()
        || answer.extent == Answer.Extent.WHOLE && answer.status >= 500 && answer.status < 600;
  }

  private LeadsException refusal(Answer answer) {
    switch (answer.extent) {
      case TOO_LARGE:
        return new RefusedException(
            "The answer's body (" + answer.status + ") is too long", facts());
      case SWITCHED:
        return new RefusedException("The answer switches to another protocol (101)", facts());
      case TOO_MANY_INTERIM:
        return new RefusedException("There are too many interim answers", facts());
      default:
        break;
    }
    if (status == 401) {
      return new UnauthorizedException("The key is not accepted: " + facts().answer(), facts());
    }
    if (status == 422) {
      Map<String, String> fields = failingFields(answer);
      if (fields != null && operation.storesLead()) {
        return new InvalidLeadException(fields, facts());
      }
    }
    return new RefusedException("Refused: " + facts().answer(), facts());
  }

  /** The member {@code fields}, if it is an object of strings, otherwise null. */
  private static Map<String, String> failingFields(Answer answer) {
    Object value = answer.object().map(o -> o.get("fields")).orElse(null);
    if (!(value instanceof Map)) {
      return null;
    }
    Map<String, String> fields = new LinkedHashMap<>();
    for (Map.Entry<?, ?> field : ((Map<?, ?>) value).entrySet()) {
      if (!(field.getValue() instanceof String)) {
        return null;
      }
      fields.put((String) field.getKey(), (String) field.getValue());
    }
    return fields;
  }

  private String why(Answer answer) {
    if (answer.extent == Answer.Extent.NONE) {
      return answer.failure;
    }
    return facts().answer() + (answer.isSuccess() ? ", which is not the service's" : "");
  }

  private CancelledException cancelled() {
    return new CancelledException("Cancelled; the last: " + facts().answer(), facts());
  }

  private UnavailableException deadlineSpent() {
    return new UnavailableException(
        "The deadline leaves no time for another try; the last: " + facts().answer(), facts());
  }

  private LeadsException.Facts facts() {
    return new LeadsException.Facts(status, code, detail, requestId, tries, unknownOutcome);
  }

  private void tellTry(Exchange exchange, long startNanos) {
    Duration duration = Duration.ofNanos(System.nanoTime() - startNanos);
    int answered = exchange.answer().join().status;
    observe(() -> observer.onTry(new Observer.TryEvent(operation.method, answered, duration)));
  }

  private static void observe(Runnable telling) {
    try {
      telling.run();
    } catch (RuntimeException e) {
      // Watching a call must not change it.
    }
  }
}
