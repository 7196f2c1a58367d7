package example.leads;

import java.io.ByteArrayOutputStream;
import java.net.ProtocolException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpResponse.BodySubscriber;
import java.net.http.HttpResponse.ResponseInfo;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Flow;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;

/** One try on the wire: its bytes go out once at most, and its answer comes in time. */
final class Exchange {

  private static final int BODY_BYTES_MAX = 1_048_576;

  /** How many classes of a chain of causes are told. */
  private static final int CAUSES_MAX = 6;

  private static final String TIMED_OUT = "timed out";

  private enum Departure {
    NOT_YET,
    SENT,
    /** Given up before anything was sent: nothing will be. */
    NEVER
  }

  private final AtomicReference<Departure> departure = new AtomicReference<>(Departure.NOT_YET);
  private final CompletableFuture<Answer> answer = new CompletableFuture<>();
  private final byte[] body;

  private volatile boolean givenUp;
  private volatile Future<?> sending;
  private volatile Flow.Subscription reading;

  Exchange(byte[] body) {
    this.body = body;
  }

  /** Sends on a thread of its own, which it blocks: what costs least where the caller blocks. */
  void send(HttpClient client, HttpRequest request, ExecutorService threads) {
    sending(threads.submit(() -> failing(() -> client.send(request, Reader::new))));
  }

  /** Sends without blocking any thread, and gives up when the time is over. */
  void sendAsync(HttpClient client, HttpRequest request, Duration timeout, Executor threads) {
    CompletableFuture<Void> timer =
        new CompletableFuture<Void>()
            .completeOnTimeout(null, timeout.toNanos(), TimeUnit.NANOSECONDS);
    // Neither on the one thread that serves all timers of the program, nor in the common pool,
    // which
    // others may keep busy.
    timer.thenRunAsync(() -> giveUp(TIMED_OUT), threads);
    answer.thenRun(() -> timer.cancel(false));
    // The platform tells failures by the common pool. While that is busy, the time-out is faster.
    CompletableFuture<?> response = client.sendAsync(request, Reader::new);
    sending(response);
    response.exceptionally(
        failure -> {
          fail(failure);
          return null;
        });
  }

  private <T> T failing(Callable<T> step) throws Exception {
    try {
      return step.call();
    } catch (Throwable e) {
      fail(e);
      throw e;
    }
  }

  private void sending(Future<?> future) {
    sending = future;
    if (givenUp) {
      release();
    }
  }

  /** Waits for the answer, and gives up when the time is over. */
  Answer await(Duration timeout) throws InterruptedException {
    try {
      return answer.get(timeout.toNanos(), TimeUnit.NANOSECONDS);
    } catch (TimeoutException e) {
      giveUp(TIMED_OUT);
    } catch (ExecutionException e) {
      throw new IllegalStateException("An answer cannot fail", e);
    }
    return answer.join();
  }

  /** Completes with an answer of some extent, and never exceptionally. */
  CompletableFuture<Answer> answer() {
    return answer;
  }

  /**
   * Whether bytes of the request went out on an established connection. It is final once the answer
   * is there.
   */
  boolean sent() {
    return departure.get() == Departure.SENT;
  }

  /** Ends the try, if it is still under way. */
  void giveUp(String why) {
    departure.compareAndSet(Departure.NOT_YET, Departure.NEVER);
    if (answer.complete(Answer.none(why))) {
      givenUp = true;
      release();
    }
  }

  void fail(Throwable failure) {
    departure.compareAndSet(Departure.NOT_YET, Departure.NEVER);
    answer.complete(describe(failure));
  }

  /** Closes the connection: what is still to come on it would be taken for the next answer. */
  private void release() {
    Future<?> future = sending;
    if (future != null) {
      future.cancel(true);
    }
    Flow.Subscription subscription = reading;
    if (subscription != null) {
      subscription.cancel();
    }
  }

  /**
   * Tells a failure by the classes of its causes: their messages quote what came, which may be what
   * was sent.
   */
  private static Answer describe(Throwable failure) {
    StringBuilder classes = new StringBuilder();
    Throwable cause = failure;
    for (int i = 0; i < CAUSES_MAX && cause != null; i++, cause = cause.getCause()) {
      String message = String.valueOf(cause.getMessage());
      if (cause instanceof SentAlready) {
        return Answer.none("the connection ended without an answer");
      }
      // Java 17 on takes these two itself, and tells them by their messages only.
      if (cause instanceof ProtocolException && message.startsWith("Too many interim")) {
        return Answer.partial(Answer.Extent.TOO_MANY_INTERIM, 0);
      }
      if (cause instanceof ProtocolException && message.startsWith("Unexpected 101")) {
        return Answer.partial(Answer.Extent.SWITCHED, 101);
      }
      String name = cause.getClass().getSimpleName();
      // The platform wraps an exception in one of the same class, to show the caller's stack too.
      if (!(cause instanceof CompletionException) && !classes.toString().endsWith(name)) {
        classes.append(classes.length() == 0 ? "" : " by ").append(name);
      }
    }
    return Answer.none(classes.toString());
  }

  /**
   * Hands the bytes out once. The length is asked for when the connection stands, TLS included, and
   * right before the first bytes are written: so it tells whether anything went out, and refusing
   * it the second time keeps the platform from silently sending again. (That is why a GET has one,
   * too, and with it a {@code Content-Length} of 0.)
   */
  BodyPublisher publisher() {
    BodyPublisher bytes = HttpRequest.BodyPublishers.ofByteArray(body);
    return new BodyPublisher() {
      @Override
      public long contentLength() {
        if (!departure.compareAndSet(Departure.NOT_YET, Departure.SENT)) {
          throw new SentAlready();
        }
        return bytes.contentLength();
      }

      @Override
      public void subscribe(Flow.Subscriber<? super ByteBuffer> subscriber) {
        bytes.subscribe(subscriber);
      }
    };
  }

  /** What the platform meets where it would send again, having got nothing for the first time. */
  private static final class SentAlready extends IllegalStateException {
    private static final long serialVersionUID = 1;
  }

  /** Reads an answer's body up to its bound. */
  private final class Reader implements BodySubscriber<Void> {
    private final CompletableFuture<Void> done = new CompletableFuture<>();
    private final ByteArrayOutputStream received = new ByteArrayOutputStream();
    private final ResponseInfo info;

    Reader(ResponseInfo info) {
      this.info = info;
    }

    @Override
    public void onSubscribe(Flow.Subscription subscription) {
      reading = subscription;
      if (info.statusCode() == 101) {
        stop(Answer.Extent.SWITCHED);
      } else {
        subscription.request(Long.MAX_VALUE);
      }
    }

    @Override
    public void onNext(List<ByteBuffer> buffers) {
      for (ByteBuffer buffer : buffers) {
        if (received.size() + buffer.remaining() > BODY_BYTES_MAX) {
          stop(Answer.Extent.TOO_LARGE);
          return;
        }
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        received.write(bytes, 0, bytes.length);
      }
    }

    private void stop(Answer.Extent extent) {
      if (answer.complete(Answer.partial(extent, info.statusCode()))) {
        givenUp = true;
        done.cancel(false);
        release();
      }
    }

    @Override
    public void onError(Throwable failure) {
      done.completeExceptionally(failure);
    }

    @Override
    public void onComplete() {
      done.complete(null);
      answer.complete(Answer.whole(info.statusCode(), info.headers(), received.toByteArray()));
    }

    @Override
    public CompletionStage<Void> getBody() {
      return done;
    }
  }
}
