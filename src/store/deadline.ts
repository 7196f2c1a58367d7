// A deadline for an answer, which does not count the time in which this process itself was too busy to look for it.

// A pause of the process, however long, uses up one of these at most.
const sliceMs = 250;

/**
 * Calls `giveUp` when an answer could have been received for `ms` milliseconds and nobody has called the function
 * that is returned.
 *
 * Chosen: the time is counted in slices, and after each the sockets are looked at, because a process that was busy
 * finds its timers due before the answers that have long arrived, and may not even have sent the question.
 */
export function whenUnanswered(ms: number, giveUp: () => void): () => void {
  let leftMs = ms;
  let isOff = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const wait = () => {
    if (isOff) return;
    if (leftMs <= 0) return giveUp();
    const waitMs = Math.min(leftMs, sliceMs);
    leftMs -= waitMs;
    timer = setTimeout(() => setImmediate(() => setImmediate(wait)), waitMs);
  };
  wait();
  return () => {
    isOff = true;
    clearTimeout(timer);
  };
}
