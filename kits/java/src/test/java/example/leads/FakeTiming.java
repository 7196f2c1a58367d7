package example.leads;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;

/** A clock that stands still but for the waits, which take no time. */
class FakeTiming implements Timing {

  final List<Duration> waits = new CopyOnWriteArrayList<>();
  volatile Instant now = Instant.parse("2026-01-02T03:04:05Z");

  @Override
  public Instant now() {
    return now;
  }

  @Override
  public CompletableFuture<Void> sleep(Duration wait) {
    waits.add(wait);
    now = now.plus(wait);
    return CompletableFuture.completedFuture(null);
  }

  @Override
  public double random() {
    return 0.5;
  }
}
