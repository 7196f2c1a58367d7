package example.leads;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class FuturesTest {

  private static final Lead LEAD = Lead.builder().firstName("Ada").build();

  /** Waits by the platform's timers, and not for long. */
  private static final class ShortWaits extends FakeTiming {
    @Override
    public CompletableFuture<Void> sleep(Duration wait) {
      return Timing.system().sleep(Duration.ofMillis(1));
    }
  }

  @Test
  void manyPostsAreUnderWayAtOnceWithoutAThreadForEach() throws Exception {
    try (IntakeServer server =
        new IntakeServer(r -> IntakeServer.accepted(r.headers.get("idempotency-key")))) {
      LeadsClient client = server.client().build();
      List<CompletableFuture<Acknowledgement>> all = new ArrayList<>();
      for (int i = 0; i < 40; i++) {
        all.add(client.postLeadAsync(LEAD, "acme:" + i));
      }
      for (int i = 0; i < all.size(); i++) {
        Acknowledgement ack = all.get(i).get(IntakeServer.PATIENCE_SECONDS, TimeUnit.SECONDS);
        assertEquals("acme:" + i, ack.eventId());
      }
    }
  }

  @Test
  void retriesAndFailsAsTheBlockingCallDoes() throws Exception {
    try (IntakeServer server = IntakeServer.answering(IntakeServer.unavailable())) {
      FakeTiming timing = new FakeTiming();
      LeadsClient client = server.client().timing(() -> timing).tries(3).build();
      ExecutionException e =
          assertThrows(ExecutionException.class, client.postLeadAsync(LEAD, "acme:1")::get);
      UnavailableException cause = assertInstanceOf(UnavailableException.class, e.getCause());
      assertEquals(3, cause.tries());
      assertEquals(List.of(Duration.ofMillis(750), Duration.ofMillis(1500)), timing.waits);
    }
  }

  @Test
  void whatCannotBeSentFailsTheFutureAndDoesNotThrow() {
    LeadsClient client =
        LeadsClient.builder().apiKey(IntakeServer.KEY).baseUrl("https://leads.example").build();
    CompletableFuture<Acknowledgement> later = client.postLeadAsync(LEAD, " ");
    CompletionException e = assertThrows(CompletionException.class, later::join);
    MisconfiguredException cause = assertInstanceOf(MisconfiguredException.class, e.getCause());
    assertEquals(0, cause.tries());
    assertTrue(cause.requestId().isEmpty());
  }

  @Test
  void aBusyCommonPoolHoldsNoCallUp() throws Exception {
    CountDownLatch release = new CountDownLatch(1);
    try (IntakeServer silent = IntakeServer.answering(IntakeServer.SILENCE);
        IntakeServer server =
            IntakeServer.answering(IntakeServer.unavailable(), IntakeServer.accepted("e1"))) {
      occupyCommonPool(release);
      // A time-out, a wait, and another time-out.
      CompletableFuture<Acknowledgement> unheard =
          silent
              .client()
              .tryTimeout(Duration.ofMillis(50))
              .timing(ShortWaits::new)
              .tries(2)
              .build()
              .postLeadAsync(LEAD, "acme:1");
      // An answer, a wait, and the result.
      CompletableFuture<Acknowledgement> stored =
          server.client().timing(ShortWaits::new).build().postLeadAsync(LEAD, "acme:2");
      ExecutionException e =
          assertThrows(
              ExecutionException.class,
              () -> unheard.get(IntakeServer.PATIENCE_SECONDS, TimeUnit.SECONDS));
      UnavailableException cause = assertInstanceOf(UnavailableException.class, e.getCause());
      assertEquals(2, cause.tries());
      assertTrue(cause.unknownOutcome());
      assertEquals("e1", stored.get(IntakeServer.PATIENCE_SECONDS, TimeUnit.SECONDS).eventId());
    } finally {
      release.countDown();
    }
  }

  /** Returns when each thread of the pool waits for the latch. */
  private static void occupyCommonPool(CountDownLatch release) throws InterruptedException {
    int threads = ForkJoinPool.getCommonPoolParallelism();
    // With fewer, futures do not use the pool; see pom.xml.
    assertTrue(threads > 1);
    CountDownLatch occupied = new CountDownLatch(threads);
    for (int i = 0; i < threads; i++) {
      ForkJoinPool.commonPool()
          .execute(
              () -> {
                occupied.countDown();
                try {
                  release.await();
                } catch (InterruptedException e) {
                  Thread.currentThread().interrupt();
                }
              });
    }
    IntakeServer.await(occupied);
  }

  @Test
  void whatHangsOnAFutureRunsNeitherOnTheTimersNorOnTheSelector() throws Exception {
    try (IntakeServer server = IntakeServer.answering(IntakeServer.accepted("e1"))) {
      CompletableFuture<String> thread =
          server
              .client()
              .build()
              .postLeadAsync(LEAD, "acme:1")
              .thenApply(ack -> Thread.currentThread().getName());
      String name = thread.get(IntakeServer.PATIENCE_SECONDS, TimeUnit.SECONDS);
      assertFalse(name.contains("DelayScheduler"), name);
      assertFalse(name.contains("Selector"), name);
    }
  }

  @Test
  void anotherCallCanBeMadeFromWhatHangsOnAFuture() throws Exception {
    try (IntakeServer server = IntakeServer.answering(IntakeServer.accepted("e1"))) {
      LeadsClient client = server.client().build();
      Acknowledgement second =
          client
              .postLeadAsync(LEAD, "acme:1")
              .thenApply(first -> client.postLead(LEAD, "acme:2"))
              .get(IntakeServer.PATIENCE_SECONDS, TimeUnit.SECONDS);
      assertEquals("e1", second.eventId());
    }
  }

  @Test
  void noThreadOfAClientKeepsTheProgramAlive() throws Exception {
    try (IntakeServer server = IntakeServer.answering(IntakeServer.accepted("e1"))) {
      LeadsClient client = server.client().build();
      client.postLead(LEAD, "acme:1");
      client.postLeadAsync(LEAD, "acme:2").get();
      for (Thread thread : Thread.getAllStackTraces().keySet()) {
        boolean ours =
            thread.getName().startsWith("leads-java") || thread.getName().startsWith("HttpClient");
        assertTrue(!ours || thread.isDaemon(), thread.getName());
      }
    }
  }

  @Test
  void aClientThatNobodyHoldsGoesWithItsConnections() throws Exception {
    try (IntakeServer server = IntakeServer.answering(IntakeServer.accepted("e1"))) {
      WeakReference<LeadsClient> dropped = new WeakReference<>(usedClient(server));
      // Its connection is closed with it, some collections later.
      boolean closed = false;
      for (int round = 0; !closed && round < IntakeServer.PATIENCE_SECONDS; round++) {
        System.gc();
        closed = server.closedByClient.await(1, TimeUnit.SECONDS);
      }
      assertTrue(closed);
      assertNull(dropped.get());
    }
  }

  private static LeadsClient usedClient(IntakeServer server) {
    LeadsClient client = server.client().build();
    client.postLead(LEAD, "acme:1");
    return client;
  }
}
