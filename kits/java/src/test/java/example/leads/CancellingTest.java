package example.leads;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class CancellingTest {

  private static final Lead LEAD = Lead.builder().firstName("Ada").build();

  /** Makes a blocking call on a thread of its own, and what became of it. */
  private static final class Caller {
    final AtomicReference<LeadsException> thrown = new AtomicReference<>();
    volatile boolean stillInterrupted;
    final Thread thread;

    Caller(LeadsClient client) {
      thread =
          new Thread(
              () -> {
                try {
                  client.postLead(LEAD, "acme:1");
                } catch (LeadsException e) {
                  thrown.set(e);
                }
                stillInterrupted = Thread.currentThread().isInterrupted();
              });
      thread.setDaemon(true);
      thread.start();
    }

    LeadsException interrupt() throws InterruptedException {
      thread.interrupt();
      thread.join(TimeUnit.SECONDS.toMillis(IntakeServer.PATIENCE_SECONDS));
      return thrown.get();
    }
  }

  /** Waits that do not end by themselves. */
  private static final class EndlessWaits extends FakeTiming {
    final CountDownLatch begun = new CountDownLatch(1);
    final CompletableFuture<Void> wait = new CompletableFuture<>();

    @Override
    public CompletableFuture<Void> sleep(Duration duration) {
      waits.add(duration);
      begun.countDown();
      return wait;
    }
  }

  @Test
  void anInterruptEndsATryClosesItsConnectionAndStaysSet() throws Exception {
    try (IntakeServer server = IntakeServer.answering(IntakeServer.SILENCE)) {
      Caller caller = new Caller(server.client().build());
      IntakeServer.await(server.asked);
      LeadsException e = caller.interrupt();
      assertInstanceOf(CancelledException.class, e);
      assertTrue(e.unknownOutcome(), "the post went out and nobody knows what became of it");
      assertTrue(caller.stillInterrupted);
      IntakeServer.await(server.closedByClient);
    }
  }

  @Test
  void anInterruptEndsAWait() throws Exception {
    try (IntakeServer server = IntakeServer.answering(IntakeServer.unavailable())) {
      EndlessWaits timing = new EndlessWaits();
      Caller caller = new Caller(server.client().timing(() -> timing).build());
      IntakeServer.await(timing.begun);
      LeadsException e = caller.interrupt();
      assertInstanceOf(CancelledException.class, e);
      assertEquals(1, e.tries());
      assertEquals(503, e.status().getAsInt());
      assertFalse(e.unknownOutcome());
      assertTrue(caller.stillInterrupted);
      assertTrue(timing.wait.isCancelled());
    }
  }

  @Test
  void anInterruptThatCameBeforeTheCallSendsNothing() throws Exception {
    try (IntakeServer server = IntakeServer.answering(IntakeServer.accepted("e1"))) {
      LeadsClient client = server.client().build();
      Thread.currentThread().interrupt();
      try {
        assertThrows(CancelledException.class, () -> client.postLead(LEAD, "acme:1"));
      } finally {
        assertTrue(Thread.interrupted());
      }
      assertEquals(0, server.connections.get());
    }
  }

  @Test
  void cancellingTheFutureEndsATryAndClosesItsConnection() throws Exception {
    try (IntakeServer server = IntakeServer.answering(IntakeServer.SILENCE)) {
      CompletableFuture<Acknowledgement> later =
          server.client().build().postLeadAsync(LEAD, "acme:1");
      IntakeServer.await(server.asked);
      later.cancel(true);
      assertThrows(CancellationException.class, later::join);
      IntakeServer.await(server.closedByClient);
      assertEquals(1, server.requests.size());
    }
  }

  @Test
  void cancellingTheFutureEndsAWait() throws Exception {
    try (IntakeServer server = IntakeServer.answering(IntakeServer.unavailable())) {
      EndlessWaits timing = new EndlessWaits();
      CompletableFuture<Acknowledgement> later =
          server.client().timing(() -> timing).build().postLeadAsync(LEAD, "acme:1");
      IntakeServer.await(timing.begun);
      later.cancel(true);
      CountDownLatch cancelled = new CountDownLatch(1);
      timing.wait.whenComplete((over, failure) -> cancelled.countDown());
      IntakeServer.await(cancelled);
      assertTrue(timing.wait.isCancelled());
    }
  }

  /** A client of short patience, in a program that has loaded what a post needs. */
  private static LeadsClient onceWarm(IntakeServer server) {
    server.client().build().postLead(LEAD, "acme:0");
    return server.client().tries(1).tryTimeout(Duration.ofSeconds(2)).build();
  }

  @Test
  void theTimeOutOfATryClosesItsConnection() throws Exception {
    try (IntakeServer server =
        IntakeServer.answering(
            IntakeServer.accepted("e1"),
            "HTTP/1.1 202 Accepted\r\nContent-Length: 100\r\n\r\n{\"event_")) {
      LeadsClient client = onceWarm(server);
      UnavailableException e =
          assertThrows(UnavailableException.class, () -> client.postLead(LEAD, "acme:1"));
      assertTrue(e.unknownOutcome());
      assertTrue(e.status().isEmpty());
      IntakeServer.await(server.closedByClient);
    }
  }

  @Test
  void theTimeOutOfATryWorksWithoutBlockingToo() throws Exception {
    try (IntakeServer server =
        IntakeServer.answering(IntakeServer.accepted("e1"), IntakeServer.SILENCE)) {
      LeadsClient client = onceWarm(server);
      ExecutionException e =
          assertThrows(
              ExecutionException.class,
              () ->
                  client
                      .postLeadAsync(LEAD, "acme:1")
                      .get(IntakeServer.PATIENCE_SECONDS, TimeUnit.SECONDS));
      assertInstanceOf(UnavailableException.class, e.getCause());
      IntakeServer.await(server.closedByClient);
    }
  }
}
