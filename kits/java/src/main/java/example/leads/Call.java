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
import java.util.concurrent.Executor;

/**
 * One call: tries and waits, one after the other, until there is a result or an exception.
 *
 * <p>Each step is started by the end of the one before, on whatever thread that ended. Cancelling
 * may come from any other: it sets a mark and ends the step under way, and every step looks for the
 * mark after it has said how it can be ended.
 */
final class Call<T> {

  private final Operation<T> operation;
  private final Transport transport;
  private final Retries retries;
  private final Duration deadline;
  private final String requestId;
  private final Observer observer;
  private final Timing timing;
  private final CompletableFuture<T> result = new CompletableFuture<>();

  /** Where the call ends: what others hang on its future runs there. */
  private Executor ending = Runnable::run;

  private volatile boolean cancelled;
  private volatile Runnable endStep = () -> {};

  // These belong to the step under way.
  private Instant start;
  private int tries;
  private int rateLimitsInARow;
  private int status;
  private String code;
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

  /**
   * Begins, and returns at once. Whoever cancels the future ends the call. What hangs on it runs
   * where it does for the platform's own client, and never on a thread that serves connections.
   */
  CompletableFuture<T> startAsync() {
    ending = result.defaultExecutor();
    return start();
  }

  private CompletableFuture<T> start() {
    start = timing.now();
    result.whenComplete((value, failure) -> cancel());
    guard(this::beginTry);
    return result;
  }

  /** Begins, and blocks until the end; an interrupt cancels. */
  T await() {
    start();
    boolean interrupted = false;
    try {
      while (true) {
        try {
          return result.get();
        } catch (InterruptedException e) {
          // The step under way ends at once, and with it the call, with all that is known of it.
          interrupted = true;
          cancel();
        }
      }
    } catch (ExecutionException e) {
      throw onThisThread(e.getCause());
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Shows where the caller called, and not where on another thread the call ended. */
  private static RuntimeException onThisThread(Throwable failure) {
    if (failure instanceof LeadsException) {
      failure.fillInStackTrace();
    }
    if (failure instanceof Error) {
      throw (Error) failure;
    }
    return (RuntimeException) failure;
  }

  private void cancel() {
    cancelled = true;
    endStep.run();
  }

  private void step(Runnable end) {
    endStep = end;
    if (cancelled) {
      end.run();
    }
  }

  /** A fault of ours, or of a replaced clock, must not leave the caller waiting for ever. */
  private void guard(Runnable step) {
    try {
      step.run();
    } catch (RuntimeException | Error e) {
      result.completeExceptionally(e);
    }
  }

  private Duration remaining() {
    return deadline.minus(Duration.between(start, timing.now()));
  }

  private void beginTry() {
    Duration remaining = remaining();
    if (cancelled) {
      fail(new CancelledException("Cancelled after " + facts().answer(), facts()));
      return;
    }
    if (remaining.isZero() || remaining.isNegative()) {
      fail(deadlineSpent());
      return;
    }
    Duration timeout = remaining.compareTo(retries.tryTimeout) < 0 ? remaining : retries.tryTimeout;
    long startNanos = System.nanoTime();
    Exchange exchange = transport.start(operation, requestId, timeout);
    step(() -> exchange.giveUp("cancelled"));
    exchange
        .answer()
        .thenAccept(
            answer -> {
              Duration duration = Duration.ofNanos(System.nanoTime() - startNanos);
              observe(
                  () ->
                      observer.onTry(
                          new Observer.TryEvent(operation.method, answer.status, duration)));
              guard(() -> judge(answer, exchange.sent()));
            });
  }

  private void judge(Answer answer, boolean sent) {
    status = answer.status;
    code = answer.code().orElse(null);
    boolean rateLimited = answer.extent == Answer.Extent.WHOLE && status == 429;
    rateLimitsInARow = rateLimited ? rateLimitsInARow + 1 : 0;
    tries += rateLimited ? 0 : 1;
    Optional<T> done =
        answer.extent == Answer.Extent.WHOLE
            ? operation.result(answer, requestId, tries)
            : Optional.empty();
    if (done.isPresent()) {
      ending.execute(() -> result.complete(done.get()));
      return;
    }
    boolean answered = answer.extent == Answer.Extent.WHOLE && !answer.isSuccess();
    unknownOutcome |= operation.storesLead() && sent && !answered;

    OptionalDouble retryAfter =
        RetryAfter.millis(answer.headers.firstValue("Retry-After").orElse(null), timing.now());
    if (rateLimited) {
      beginWait(Retries.afterRateLimit(rateLimitsInARow, timing.random(), retryAfter), rateLimited);
    } else if (mayBeRepeated(answer)) {
      if (tries < retries.tries) {
        beginWait(Retries.afterSpentTry(tries, timing.random(), retryAfter), rateLimited);
      } else {
        fail(new UnavailableException("All tries are spent, the last: " + why(answer), facts()));
      }
    } else {
      fail(refusal(answer));
    }
  }

  /** No whole answer, one that cannot be the service's, or one that says that it is its fault. */
  private static boolean mayBeRepeated(Answer answer) {
    return answer.extent == Answer.Extent.NONE
        || answer.isSuccess()
        || answer.extent == Answer.Extent.WHOLE && answer.status >= 500 && answer.status < 600;
  }

  private void beginWait(double millis, boolean rateLimited) {
    if (cancelled) {
      fail(new CancelledException("Cancelled after " + facts().answer(), facts()));
      return;
    }
    if (millis > remaining().toNanos() / 1e6) {
      fail(deadlineSpent());
      return;
    }
    Duration wait = Duration.ofNanos(Math.round(millis * 1e6));
    observe(() -> observer.onWait(new Observer.WaitEvent(wait, rateLimited)));
    CompletableFuture<Void> sleep = timing.sleep(wait);
    step(() -> sleep.cancel(true));
    sleep.whenCompleteAsync(
        (over, failure) -> {
          if (failure == null || failure instanceof CancellationException) {
            guard(this::beginTry);
          } else {
            result.completeExceptionally(failure);
          }
        });
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

  private UnavailableException deadlineSpent() {
    return new UnavailableException(
        "The deadline leaves no time for another try; the last: " + facts().answer(), facts());
  }

  private LeadsException.Facts facts() {
    return new LeadsException.Facts(status, code, requestId, tries, unknownOutcome);
  }

  private void fail(LeadsException failure) {
    ending.execute(() -> result.completeExceptionally(failure));
  }

  private static void observe(Runnable telling) {
    try {
      telling.run();
    } catch (RuntimeException e) {
      // Watching a call must not change it.
    }
  }
}
