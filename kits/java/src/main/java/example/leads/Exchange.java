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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/** One try on the wire: its bytes go out once at most, and its answer comes in time. */
final class Exchange {

  private static final int BODY_BYTES_MAX = 1_048_576;

  /** How many classes of a chain of causes are told. */
  private static final int CAUSES_MAX = 6;

  private enum Departure {
    NOT_YET,
    SENT,
    /** Given up before anything was sent: nothing will be. */
    NEVER
  }

  private final AtomicReference<Departure> departure = new AtomicReference<>(Departure.NOT_YET);
  private final CompletableFuture<Answer> answer = new CompletableFuture<>();
  private final CompletableFuture<Void> timer = new CompletableFuture<>();
  private final byte[] body;

  private volatile CompletableFuture<?> response;
  private volatile Flow.Subscription reading;

  Exchange(byte[] body) {
    this.body = body;
  }

  void start(HttpClient client, HttpRequest request, Duration timeout) {
    timer.completeOnTimeout(null, timeout.toNanos(), TimeUnit.NANOSECONDS);
    // Elsewhere than on the one thread that serves all timers of the program.
    timer.thenRunAsync(() -> giveUp("timed out"));
    answer.whenComplete((done, never) -> timer.cancel(false));
    CompletableFuture<?> sending = client.sendAsync(request, Reader::new);
    response = sending;
    sending.whenComplete(
        (received, failure) -> {
          if (failure != null) {
            fail(failure);
          }
        });
    if (answer.isDone()) {
      release();
    }
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
      release();
    }
  }

  void fail(Throwable failure) {
    departure.compareAndSet(Departure.NOT_YET, Departure.NEVER);
    answer.complete(describe(failure));
  }

  /** Closes the connection: what is still to come on it would be taken for the next answer. */
  private void release() {
    CompletableFuture<?> sending = response;
    if (sending != null) {
      sending.cancel(true);
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
    Throwable cause = failure;
    while (cause instanceof CompletionException && cause.getCause() != null) {
      cause = cause.getCause();
    }
    if (cause instanceof ProtocolException && cause.getMessage() != null) {
      // Java 17 on takes these two itself, and tells them by their messages only.
      if (cause.getMessage().startsWith("Too many interim")) {
        return Answer.partial(Answer.Extent.TOO_MANY_INTERIM, 0);
      }
      if (cause.getMessage().startsWith("Unexpected 101")) {
        return Answer.partial(Answer.Extent.SWITCHED, 101);
      }
    }
    if (cause instanceof SentAlready) {
      return Answer.none("the connection ended without an answer");
    }
    StringBuilder classes = new StringBuilder();
    for (int i = 0; i < CAUSES_MAX && cause != null; i++, cause = cause.getCause()) {
      classes.append(i == 0 ? "" : " by ").append(cause.getClass().getSimpleName());
    }
    return Answer.none(classes.toString());
  }

  /**
   * Hands the bytes out once. The length is asked for when the connection stands, TLS included, and
   * right before the first bytes are written: so it tells whether anything went out, and refusing
   * it the second time keeps the platform from silently sending again.
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
