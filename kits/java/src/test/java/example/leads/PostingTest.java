package example.leads;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetSocketAddress;
import java.net.ProxySelector;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class PostingTest {

  private static final Lead LEAD =
      Lead.builder().firstName("Ada").lastName("Lovelace").phone("+1 415 555 0100").build();

  @Test
  void postsTheLeadWithKeyIdempotencyKeyAndRequestId() throws Exception {
    try (IntakeServer server = IntakeServer.answering(IntakeServer.accepted("e1"))) {
      CallOptions options = CallOptions.builder().requestId("mine").build();
      Acknowledgement ack = server.client().build().postLead(LEAD, "acme:1", options);

      assertEquals("e1", ack.eventId());
      assertEquals(Acknowledgement.Status.ACCEPTED, ack.status());
      assertEquals("2026-01-02T03:04:05Z", ack.receivedAt());
      assertEquals("acme", ack.source());
      assertEquals(List.of("phone_unnormalized"), ack.flags());
      assertEquals("mine", ack.requestId());
      assertEquals(1, ack.tries());
      IntakeServer.Request request = server.requests.get(0);
      assertEquals("POST /v1/intake HTTP/1.1", request.line);
      assertEquals(
          "{\"first_name\":\"Ada\",\"last_name\":\"Lovelace\",\"phone\":\"+1 415 555 0100\"}",
          request.body);
      assertEquals(IntakeServer.KEY, request.headers.get("x-api-key"));
      assertEquals("acme:1", request.headers.get("idempotency-key"));
      assertEquals("mine", request.headers.get("x-request-id"));
      assertEquals("leads-java/0.1.0", request.headers.get("user-agent"));
    }
  }

  @Test
  void opensNothingBeforeItsFirstCallAndUsesOneConnectionForManyPosts() throws Exception {
    try (IntakeServer server = IntakeServer.answering(IntakeServer.accepted("e1"))) {
      LeadsClient client = server.client().build();
      assertEquals(0, server.connections.get());
      for (int i = 0; i < 20; i++) {
        client.postLead(LEAD, "acme:" + i);
      }
      assertEquals(1, server.connections.get());
      assertEquals(20, server.requests.size());
    }
  }

  @Test
  void isSharedByThreadsEachOfWhichGetsItsOwnAnswer() throws Exception {
    int threads = 8;
    int posts = 25;
    try (IntakeServer server =
        new IntakeServer(r -> IntakeServer.accepted(r.headers.get("idempotency-key")))) {
      LeadsClient client = server.client().build();
      ExecutorService pool = Executors.newFixedThreadPool(threads);
      List<Future<Set<String>>> all = new ArrayList<>();
      for (int t = 0; t < threads; t++) {
        int thread = t;
        all.add(
            pool.submit(
                () -> {
                  Set<String> wrong = new HashSet<>();
                  for (int i = 0; i < posts; i++) {
                    String key = LeadsClient.idempotencyKey("thread-" + thread, "" + i);
                    String answered = client.postLead(LEAD, key).eventId();
                    if (!answered.equals(key)) {
                      wrong.add(key);
                    }
                  }
                  return wrong;
                }));
      }
      for (Future<Set<String>> one : all) {
        assertEquals(Set.of(), one.get(IntakeServer.PATIENCE_SECONDS, TimeUnit.SECONDS));
      }
      pool.shutdown();
      assertEquals(threads * posts, server.requests.size());
      assertTrue(server.connections.get() <= threads, "connections: " + server.connections);
    }
  }

  @Test
  void oneTryNeverTriesAgain() throws Exception {
    try (IntakeServer server = IntakeServer.answering(IntakeServer.unavailable())) {
      FakeTiming timing = new FakeTiming();
      LeadsClient client = server.client().tries(1).timing(() -> timing).build();
      UnavailableException e =
          assertThrows(UnavailableException.class, () -> client.postLead(LEAD, "acme:1"));
      assertEquals(1, e.tries());
      assertEquals(503, e.status().getAsInt());
      assertEquals("not_accepting", e.code().get());
      assertFalse(e.unknownOutcome());
      assertEquals(1, server.requests.size());
      assertEquals(List.of(), timing.waits);
    }
  }

  @Test
  void everyTryHasTheSameBytesKeyAndRequestId() throws Exception {
    try (IntakeServer server =
        IntakeServer.answering(
            IntakeServer.unavailable(), IntakeServer.unavailable(), IntakeServer.accepted("e1"))) {
      FakeTiming timing = new FakeTiming();
      Acknowledgement ack = server.client().timing(() -> timing).build().postLead(LEAD, "acme:1");
      assertEquals(3, ack.tries());
      assertEquals(List.of(Duration.ofMillis(750), Duration.ofMillis(1500)), timing.waits);
      assertEquals(1, server.requests.stream().map(r -> r.body).distinct().count());
      assertEquals(1, server.requests.stream().map(r -> r.headers).distinct().count());
    }
  }

  @Test
  void aWaitThatWouldEndAtTheDeadlineIsNotBegun() throws Exception {
    try (IntakeServer server = IntakeServer.answering(IntakeServer.unavailable())) {
      FakeTiming timing = new FakeTiming();
      LeadsClient client = server.client().timing(() -> timing).build();
      CallOptions options = CallOptions.builder().deadline(Duration.ofMillis(2250)).build();
      UnavailableException e =
          assertThrows(UnavailableException.class, () -> client.postLead(LEAD, "acme:1", options));
      assertEquals(List.of(Duration.ofMillis(750)), timing.waits);
      assertEquals(2, e.tries());
      assertEquals(2, server.requests.size());
    }
  }

  @Test
  void onlyAnAnswer5xxSaysHowLongToWait() throws Exception {
    try (IntakeServer server =
        IntakeServer.answering(
            IntakeServer.answer("200 OK", "Welcome", "Retry-After: 10"),
            IntakeServer.answer("503 Service Unavailable", "", "Retry-After: 11"),
            IntakeServer.accepted("e1"))) {
      FakeTiming timing = new FakeTiming();
      server.client().timing(() -> timing).build().postLead(LEAD, "acme:1");
      assertEquals(List.of(Duration.ofMillis(750), Duration.ofSeconds(11)), timing.waits);
    }
  }

  @Test
  void aDeadlineIsReadFromTheReplacedClock() throws Exception {
    try (IntakeServer server = IntakeServer.answering(IntakeServer.unavailable())) {
      FakeTiming timing = new FakeTiming();
      LeadsClient client =
          server.client().timing(() -> timing).deadline(Duration.ofSeconds(2)).build();
      UnavailableException e =
          assertThrows(UnavailableException.class, () -> client.postLead(LEAD, "acme:1"));
      assertEquals(2, e.tries());
      assertEquals(List.of(Duration.ofMillis(750)), timing.waits);
    }
  }

  @Test
  void anInvalidLeadTellsItsFieldsAndCanBeCorrected() throws Exception {
    try (IntakeServer server =
        IntakeServer.answering(
            IntakeServer.answer(
                "422 Unprocessable Entity",
                "{\"error\":\"validation_failed\",\"fields\":{\"phone\":\"required\"}}"),
            IntakeServer.accepted("e1"))) {
      LeadsClient client = server.client().build();
      Lead wrong = LEAD.toBuilder().phone(null).build();
      InvalidLeadException e =
          assertThrows(InvalidLeadException.class, () -> client.postLead(wrong, "acme:1"));
      assertEquals(Map.of("phone", "required"), e.fields());
      assertEquals(LeadsException.Kind.INVALID_LEAD, e.kind());
      assertEquals(422, e.status().getAsInt());
      client.postLead(wrong.toBuilder().phone("4155550100").build(), "acme:1");
      assertTrue(server.requests.get(1).body.endsWith("\"phone\":\"4155550100\"}"));
    }
  }

  @Test
  void anExceptionShowsWhereTheCallerCalled() throws Exception {
    try (IntakeServer server = IntakeServer.answering(IntakeServer.answer("403 Forbidden", ""))) {
      RefusedException e =
          assertThrows(
              RefusedException.class, () -> server.client().build().postLead(LEAD, "acme:1"));
      assertTrue(
          List.of(e.getStackTrace()).stream()
              .anyMatch(frame -> frame.getClassName().equals(PostingTest.class.getName())));
    }
  }

  @Test
  void theKeyCheckTellsValidFromInvalid() throws Exception {
    try (IntakeServer server =
        IntakeServer.answering(
            IntakeServer.answer("422 Unprocessable Entity", "{\"error\":\"validation_failed\"}"),
            IntakeServer.answer("401 Unauthorized", "{\"error\":\"unauthorized\"}"))) {
      LeadsClient client = server.client().build();
      assertEquals(KeyCheck.Verdict.VALID, client.checkKey().verdict());
      assertEquals(KeyCheck.Verdict.INVALID, client.checkKeyAsync().get().verdict());
      assertEquals("{}", server.requests.get(0).body);
    }
  }

  @Test
  void theVocabularyIsKeptAsLongAsTheClockSaysAndThenAskedForByItsEtag() throws Exception {
    String fresh =
        IntakeServer.answer(
            "200 OK",
            "{\"project_area\":[{\"area\":\"roof\",\"status\":\"confirmed\"}],"
                + "\"project_service\":[\"repair\"],\"required\":[\"phone\"]}",
            "ETag: \"v1\"",
            "Cache-Control: public, max-age=300");
    try (IntakeServer server = IntakeServer.answering(fresh, "HTTP/1.1 304 Not Modified\r\n\r\n")) {
      FakeTiming timing = new FakeTiming();
      LeadsClient client = server.client().timing(() -> timing).build();
      Vocabulary first = client.vocabulary();
      assertEquals("roof", first.areas().get(0).area());
      timing.now = timing.now.plusSeconds(299);
      assertEquals(first, client.vocabularyAsync().get());
      assertEquals(1, server.requests.size());
      timing.now = timing.now.plusSeconds(1);
      assertEquals(first, client.vocabulary());
      assertEquals(first, client.vocabulary());
      assertEquals(2, server.requests.size());
      assertEquals("\"v1\"", server.requests.get(1).headers.get("if-none-match"));
      assertFalse(server.requests.get(1).headers.containsKey("x-api-key"));
    }
  }

  @Test
  void thePlatformDoesNotSendAgainOnItsOwn() throws Exception {
    try (IntakeServer server = IntakeServer.answering(IntakeServer.CLOSE)) {
      LeadsClient client = server.client().tries(1).build();
      // What java.net.http repeats without a word is a GET.
      UnavailableException e = assertThrows(UnavailableException.class, client::vocabulary);
      assertEquals(1, server.requests.size());
      assertFalse(e.unknownOutcome());
      UnavailableException post =
          assertThrows(UnavailableException.class, () -> client.postLead(LEAD, "acme:1"));
      assertEquals(2, server.requests.size());
      assertTrue(post.unknownOutcome());
    }
  }

  @Test
  void nothingIsUnknownWhereNobodyListens() throws Exception {
    String address;
    try (IntakeServer server = IntakeServer.answering(IntakeServer.CLOSE)) {
      address = server.url();
    }
    LeadsClient client =
        LeadsClient.builder()
            .apiKey(IntakeServer.KEY)
            .baseUrl(address)
            .timing(FakeTiming::new)
            .tries(2)
            .build();
    UnavailableException e =
        assertThrows(UnavailableException.class, () -> client.postLead(LEAD, "acme:1"));
    assertEquals(2, e.tries());
    assertTrue(e.status().isEmpty());
    assertFalse(e.unknownOutcome());
  }

  @Test
  void proxiesAreThoseOfThePlatformAndHearNothingWithoutTls() throws Exception {
    ProxySelector before = ProxySelector.getDefault();
    try (IntakeServer proxy = IntakeServer.answering(IntakeServer.unavailable());
        IntakeServer server = IntakeServer.answering(IntakeServer.accepted("e1"))) {
      URI address = URI.create(proxy.url());
      ProxySelector.setDefault(
          ProxySelector.of(new InetSocketAddress(address.getHost(), address.getPort())));
      server.client().build().postLead(LEAD, "acme:1");
      assertEquals(0, proxy.connections.get());
      LeadsClient client =
          LeadsClient.builder()
              .apiKey(IntakeServer.KEY)
              .baseUrl("https://leads.example")
              .tries(1)
              .build();
      assertThrows(UnavailableException.class, () -> client.postLead(LEAD, "acme:2"));
      assertEquals("CONNECT leads.example:443 HTTP/1.1", proxy.requests.get(0).line);
      assertFalse(proxy.requests.get(0).headers.containsKey("x-api-key"));
    } finally {
      ProxySelector.setDefault(before);
    }
  }

  @Test
  void aReplacedSleepThatFailsDoesNotLeaveTheCallerWaiting() throws Exception {
    try (IntakeServer server = IntakeServer.answering(IntakeServer.unavailable())) {
      FakeTiming timing =
          new FakeTiming() {
            @Override
            public CompletableFuture<Void> sleep(Duration wait) {
              return CompletableFuture.failedFuture(new ArithmeticException("broken"));
            }
          };
      LeadsClient client = server.client().timing(() -> timing).build();
      assertThrows(IllegalStateException.class, () -> client.postLead(LEAD, "acme:1"));
      CompletableFuture<Acknowledgement> later = client.postLeadAsync(LEAD, "acme:2");
      assertThrows(
          Exception.class, () -> later.get(IntakeServer.PATIENCE_SECONDS, TimeUnit.SECONDS));
      assertTrue(later.isCompletedExceptionally());
    }
  }
}
