package example.leads;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;

class WatchingTest {

  private static final Lead LEAD = Lead.builder().firstName("Ada").build();

  private static final class Recorder implements Observer {
    final List<TryEvent> tries = new CopyOnWriteArrayList<>();
    final List<WaitEvent> waits = new CopyOnWriteArrayList<>();

    @Override
    public void onTry(TryEvent event) {
      tries.add(event);
    }

    @Override
    public void onWait(WaitEvent event) {
      waits.add(event);
    }
  }

  @Test
  void anObserverHearsOfEveryTryAndEveryWait() throws Exception {
    try (IntakeServer server =
        IntakeServer.answering(
            "nonsense\r\n\r\n",
            IntakeServer.answer("429 Too Many Requests", "", "Retry-After: 2"),
            IntakeServer.accepted("e1"))) {
      Recorder recorder = new Recorder();
      server.client().timing(FakeTiming::new).observer(recorder).build().postLead(LEAD, "acme:1");

      assertEquals(3, recorder.tries.size());
      assertEquals(OptionalInt.empty(), recorder.tries.get(0).status());
      assertEquals(OptionalInt.of(429), recorder.tries.get(1).status());
      assertEquals(OptionalInt.of(202), recorder.tries.get(2).status());
      for (Observer.TryEvent event : recorder.tries) {
        assertEquals("POST", event.method());
        assertFalse(event.duration().isNegative());
      }
      assertEquals(2, recorder.waits.size());
      assertEquals(Duration.ofMillis(750), recorder.waits.get(0).duration());
      assertFalse(recorder.waits.get(0).rateLimited());
      assertEquals(Duration.ofMillis(2250), recorder.waits.get(1).duration());
      assertTrue(recorder.waits.get(1).rateLimited());
    }
  }

  @Test
  void anObserverHearsOfTheSameInACallThatDoesNotBlock() throws Exception {
    try (IntakeServer server =
        IntakeServer.answering(IntakeServer.unavailable(), IntakeServer.accepted("e1"))) {
      Recorder recorder = new Recorder();
      server
          .client()
          .timing(FakeTiming::new)
          .observer(recorder)
          .build()
          .postLeadAsync(LEAD, "acme:1")
          .get();
      assertEquals("TryEvent[POST, 503, ", recorder.tries.get(0).toString().substring(0, 20));
      assertEquals(2, recorder.tries.size());
      assertEquals("WaitEvent[PT0.75S]", recorder.waits.get(0).toString());
    }
  }

  @Test
  void anObserverThatThrowsChangesNothing() throws Exception {
    try (IntakeServer server =
        IntakeServer.answering(IntakeServer.unavailable(), IntakeServer.accepted("e1"))) {
      Observer broken =
          new Observer() {
            @Override
            public void onTry(TryEvent event) {
              throw new IllegalStateException("broken");
            }

            @Override
            public void onWait(WaitEvent event) {
              throw new IllegalStateException("broken");
            }
          };
      LeadsClient client = server.client().timing(FakeTiming::new).observer(broken).build();
      assertEquals(2, client.postLead(LEAD, "acme:1").tries());
    }
  }
}
