package example.leads;

import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import javax.net.ssl.SSLContext;

/**
 * A client of the Lead Intake Service: it checks the key, posts leads and reads the vocabulary.
 *
 * <p>One client is meant to be shared by all threads of a program: it keeps its connections alive
 * and uses them again. It opens nothing until its first call, and there is nothing to close: its
 * threads are daemons, and they and its connections go when the client is no longer reachable.
 *
 * <p>Each call is there twice. The plain one blocks; interrupting its thread ends the call at once,
 * with a {@link CancelledException} and the thread still interrupted. The one whose name ends in
 * {@code Async} returns a future, which fails with the same exceptions as its cause; cancelling
 * that future ends the wait or the try that is under way.
 *
 * <p>A call repeats what may be repeated (5xx, time-outs, failures of the connection, 429), always
 * with the same bytes, idempotency key and request id, until its tries or its deadline are spent.
 */
public final class LeadsClient {

  /** The name and version of this kit, as the service reads them in {@code User-Agent}. */
  static final String VERSION = "0.1.0";

  static final String NAME = "leads-java";

  private static final String KEY_VARIABLE = "LEADS_API_KEY";
  private static final String BASE_URL_VARIABLE = "LEADS_BASE_URL";

  private static final int IDEMPOTENCY_KEY_CHARS_MAX = 200;

  private final ApiKey key;
  private final BaseUrl baseUrl;
  private final Duration deadline;
  private final Retries retries;
  private final Observer observer;
  private final Supplier<? extends Timing> timing;
  private final Transport transport;
  private final VocabularyCache vocabularyCache = new VocabularyCache();

  private LeadsClient(Builder builder) {
    key = ApiKey.of(given(builder.apiKey, builder.environment, KEY_VARIABLE, "key"));
    baseUrl =
        BaseUrl.of(given(builder.baseUrl, builder.environment, BASE_URL_VARIABLE, "base address"));
    deadline = builder.deadline;
    retries = new Retries(builder.tries, builder.tryTimeout);
    observer = builder.observer;
    timing = builder.timing;
    transport = new Transport(builder.sslContext, baseUrl.isEncrypted());
  }

  private static String given(
      String argument, UnaryOperator<String> environment, String variable, String what) {
    String value = argument == null ? environment.apply(variable) : argument;
    if (value == null || value.isEmpty()) {
      throw new MisconfiguredException("No " + what + ": pass one, or set " + variable);
    }
    return value;
  }

  /**
   * Makes a client with the key in {@code LEADS_API_KEY} and the address in {@code LEADS_BASE_URL}.
   *
   * @return a client with the defaults of {@link Builder}
   * @throws MisconfiguredException if one of them is missing or cannot be right
   */
  public static LeadsClient fromEnvironment() {
    return builder().build();
  }

  /**
   * Begins a client.
   *
   * @return a builder in which nothing is set
   */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * Puts an idempotency key together. The service knows one key for all sources of a customer, so
   * the namespace (the name of your system, for example) keeps yours apart from those of others.
   *
   * @param namespace what your keys have in common, never blank
   * @param id your own id of the lead, never blank, and the same whenever this lead is posted
   * @return {@code namespace:id}
   * @throws MisconfiguredException if a part is blank, or if together they are over 200 characters
   *     or not printable ASCII, or begin or end with a blank
   */
  public static String idempotencyKey(String namespace, String id) {
    if (Text.isBlank(namespace) || Text.isBlank(id)) {
      throw new MisconfiguredException("An idempotency key needs a namespace and an id");
    }
    String joined = namespace + ":" + id;
    requireIdempotencyKey(joined);
    return joined;
  }

  /**
   * Asks whether the key is valid and active. Nothing is stored, and no idempotency key is used up.
   *
   * @return the verdict: {@link KeyCheck.Verdict#INVALID} is a result here and not an exception
   * @throws LeadsException if something kept the service from answering that
   */
  public KeyCheck checkKey() {
    return checkKey(CallOptions.NONE);
  }

  /**
   * {@link #checkKey()} with options of this call.
   *
   * @param options deadline and request id
   * @return the verdict
   * @throws LeadsException as {@link #checkKey()} throws it
   */
  public KeyCheck checkKey(CallOptions options) {
    return newKeyCheck(options).await();
  }

  /**
   * {@link #checkKey()} without blocking.
   *
   * @return what {@link #checkKey()} returns or throws
   */
  public CompletableFuture<KeyCheck> checkKeyAsync() {
    return checkKeyAsync(CallOptions.NONE);
  }

  /**
   * {@link #checkKey(CallOptions)} without blocking.
   *
   * @param options deadline and request id
   * @return what {@link #checkKey(CallOptions)} returns or throws
   */
  public CompletableFuture<KeyCheck> checkKeyAsync(CallOptions options) {
    return later(() -> newKeyCheck(options));
  }

  /**
   * Posts a lead. When it returns, the lead is stored: now, or by an earlier post with the same
   * idempotency key.
   *
   * @param lead sent as given: the service normalizes and validates it
   * @param idempotencyKey your id of this lead, the same on every post of it, in a namespace of
   *     your own (see {@link #idempotencyKey}): 1 to 200 characters of printable ASCII, with no
   *     blank at an end
   * @return the acknowledgement
   * @throws InvalidLeadException if fields of the lead have to be corrected
   * @throws UnavailableException if tries or deadline are spent: post it later, with the same key
   * @throws UnauthorizedException if the key is unknown, revoked or for another host
   * @throws RefusedException if the service gave another answer that must not be repeated
   * @throws CancelledException if the thread was interrupted
   * @throws MisconfiguredException if the idempotency key cannot be one; nothing was sent
   */
  public Acknowledgement postLead(Lead lead, String idempotencyKey) {
    return postLead(lead, idempotencyKey, CallOptions.NONE);
  }

  /**
   * {@link #postLead(Lead, String)} with options of this call.
   *
   * @param lead as for {@link #postLead(Lead, String)}
   * @param idempotencyKey as for {@link #postLead(Lead, String)}
   * @param options deadline and request id
   * @return the acknowledgement
   * @throws LeadsException as {@link #postLead(Lead, String)} throws it
   */
  public Acknowledgement postLead(Lead lead, String idempotencyKey, CallOptions options) {
    return newPost(lead, idempotencyKey, options).await();
  }

  /**
   * {@link #postLead(Lead, String)} without blocking.
   *
   * @param lead as for {@link #postLead(Lead, String)}
   * @param idempotencyKey as for {@link #postLead(Lead, String)}
   * @return what {@link #postLead(Lead, String)} returns or throws
   */
  public CompletableFuture<Acknowledgement> postLeadAsync(Lead lead, String idempotencyKey) {
    return postLeadAsync(lead, idempotencyKey, CallOptions.NONE);
  }

  /**
   * {@link #postLead(Lead, String, CallOptions)} without blocking.
   *
   * @param lead as for {@link #postLead(Lead, String)}
   * @param idempotencyKey as for {@link #postLead(Lead, String)}
   * @param options deadline and request id
   * @return what {@link #postLead(Lead, String, CallOptions)} returns or throws
   */
  public CompletableFuture<Acknowledgement> postLeadAsync(
      Lead lead, String idempotencyKey, CallOptions options) {
    return later(() -> newPost(lead, idempotencyKey, options));
  }

  /**
   * Reads the terms that the service knows. They are kept for as long as the service allows (5
   * minutes, usually); then it is asked whether they changed.
   *
   * @return the vocabulary
   * @throws LeadsException if the service could not be asked
   */
  public Vocabulary vocabulary() {
    return vocabulary(CallOptions.NONE);
  }

  /**
   * {@link #vocabulary()} with options of this call.
   *
   * @param options deadline and request id
   * @return the vocabulary
   * @throws LeadsException as {@link #vocabulary()} throws it
   */
  public Vocabulary vocabulary(CallOptions options) {
    Timing time = timing.get();
    Optional<Vocabulary> kept = vocabularyCache.fresh(time.now());
    return kept.isPresent() ? kept.get() : newVocabularyRead(options, time).await();
  }

  /**
   * {@link #vocabulary()} without blocking.
   *
   * @return what {@link #vocabulary()} returns or throws
   */
  public CompletableFuture<Vocabulary> vocabularyAsync() {
    return vocabularyAsync(CallOptions.NONE);
  }

  /**
   * {@link #vocabulary(CallOptions)} without blocking.
   *
   * @param options deadline and request id
   * @return what {@link #vocabulary(CallOptions)} returns or throws
   */
  public CompletableFuture<Vocabulary> vocabularyAsync(CallOptions options) {
    Timing time = timing.get();
    return vocabularyCache
        .fresh(time.now())
        .map(CompletableFuture::completedFuture)
        .orElseGet(() -> later(() -> newVocabularyRead(options, time)));
  }

  /**
   * Tells the address, and whether the key is for tests. The key itself is never shown.
   *
   * @return a text for logs
   */
  @Override
  public String toString() {
    return "LeadsClient[" + baseUrl + ", " + key + "]";
  }

  private Call<KeyCheck> newKeyCheck(CallOptions options) {
    return call(Operation.checkKey(baseUrl, key), options, timing.get());
  }

  private Call<Acknowledgement> newPost(Lead lead, String idempotencyKey, CallOptions options) {
    if (lead == null) {
      throw new MisconfiguredException("No lead to post");
    }
    requireIdempotencyKey(idempotencyKey);
    return call(
        Operation.postLead(baseUrl, key, lead.toJson(), idempotencyKey), options, timing.get());
  }

  private Call<Vocabulary> newVocabularyRead(CallOptions options, Timing time) {
    return call(Operation.vocabulary(baseUrl, vocabularyCache, time::now), options, time);
  }

  private <T> Call<T> call(Operation<T> operation, CallOptions options, Timing time) {
    return new Call<>(
        operation,
        transport,
        retries,
        options.deadline().orElse(deadline),
        options.requestId().orElseGet(() -> NAME + "-" + Text.randomLetters(16)),
        observer,
        time);
  }

  /**
   * What an {@code Async} method throws is found in its future, too: there is one place to look.
   */
  private static <T> CompletableFuture<T> later(Supplier<Call<T>> prepared) {
    try {
      return prepared.get().startAsync();
    } catch (LeadsException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  private static void requireIdempotencyKey(String idempotencyKey) {
    if (Text.isBlank(idempotencyKey)) {
      throw new MisconfiguredException("The idempotency key is blank");
    }
    if (idempotencyKey.length() > IDEMPOTENCY_KEY_CHARS_MAX) {
      throw new MisconfiguredException(
          "The idempotency key is over " + IDEMPOTENCY_KEY_CHARS_MAX + " characters");
    }
    if (!Text.isPrintableAscii(idempotencyKey)) {
      throw new MisconfiguredException("The idempotency key is not printable ASCII");
    }
    if (Text.hasBlankEnd(idempotencyKey)) {
      throw new MisconfiguredException("The idempotency key begins or ends with a blank");
    }
  }

  /** Builds a {@link LeadsClient}. Not safe for use by several threads at once. */
  public static final class Builder {
    private String apiKey;
    private String baseUrl;
    private Duration deadline = Duration.ofMinutes(2);
    private Duration tryTimeout = Duration.ofSeconds(20);
    private int tries = 5;
    private SSLContext sslContext;
    private Observer observer = new Observer() {};
    private Supplier<? extends Timing> timing = Timing::system;
    private UnaryOperator<String> environment = System::getenv;

    private Builder() {}

    /**
     * Sets the key.
     *
     * @param apiKey the key as it was issued; null takes that of {@code LEADS_API_KEY}
     * @return this builder
     */
    public Builder apiKey(String apiKey) {
      this.apiKey = apiKey;
      return this;
    }

    /**
     * Sets the address of the service.
     *
     * @param baseUrl an {@code https://} address, with or without a path; {@code http://} is taken
     *     only to the machine itself (127.0.0.0/8, {@code [::1]}, {@code localhost}); null takes
     *     that of {@code LEADS_BASE_URL}
     * @return this builder
     */
    public Builder baseUrl(String baseUrl) {
      this.baseUrl = baseUrl;
      return this;
    }

    /**
     * Bounds each call, its waits included.
     *
     * @param deadline more than zero, at most 365 days; 2 minutes unless set
     * @return this builder
     * @throws MisconfiguredException if it is anything else
     */
    public Builder deadline(Duration deadline) {
      this.deadline = Text.requireBounded(deadline, "deadline");
      return this;
    }

    /**
     * Bounds each try, from the first packet of connecting to the last byte of the answer.
     *
     * @param tryTimeout more than zero, at most 365 days; 20 seconds unless set
     * @return this builder
     * @throws MisconfiguredException if it is anything else
     */
    public Builder tryTimeout(Duration tryTimeout) {
      this.tryTimeout = Text.requireBounded(tryTimeout, "time-out of a try");
      return this;
    }

    /**
     * Sets how many tries a call has. An answer 429 spends none of them.
     *
     * @param tries at least 1, which never tries again; 5 unless set
     * @return this builder
     * @throws MisconfiguredException if it is less than 1
     */
    public Builder tries(int tries) {
      if (tries < 1) {
        throw new MisconfiguredException("A call needs at least 1 try");
      }
      this.tries = tries;
      return this;
    }

    /**
     * Sets whose certificates are trusted. The host's name is verified in any case, and TLS is 1.2
     * or 1.3.
     *
     * @param sslContext a context with your authorities; null takes the platform's default, which
     *     {@code javax.net.ssl.trustStore} governs
     * @return this builder
     */
    public Builder sslContext(SSLContext sslContext) {
      this.sslContext = sslContext;
      return this;
    }

    /**
     * Sets who is told of tries and waits.
     *
     * @param observer called by the threads that do the work, several at once
     * @return this builder
     */
    public Builder observer(Observer observer) {
      this.observer = Objects.requireNonNull(observer, "observer");
      return this;
    }

    /**
     * Replaces clock, sleep and randomness, for tests.
     *
     * @param timing asked once at the start of each call, by the thread that makes the call
     * @return this builder
     */
    public Builder timing(Supplier<? extends Timing> timing) {
      this.timing = Objects.requireNonNull(timing, "timing");
      return this;
    }

    Builder environment(UnaryOperator<String> environment) {
      this.environment = environment;
      return this;
    }

    /**
     * Makes the client. No connection is opened.
     *
     * @return the client
     * @throws MisconfiguredException if key or address are missing or cannot be right
     */
    public LeadsClient build() {
      return new LeadsClient(this);
    }

    /**
     * Names the builder, and shows none of its values: one of them is the key.
     *
     * @return a text for logs
     */
    @Override
    public String toString() {
      return "LeadsClient.Builder";
    }
  }
}
