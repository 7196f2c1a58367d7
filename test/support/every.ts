/** What happens again and again in the background of a test. */

import type { TestContext } from "node:test";

/** Calls `call` every `ms` milliseconds until it is stopped by what it gives, or the test ends, however it ends. */
export function every(t: TestContext, ms: number, call: () => unknown): () => void {
  const timer = setInterval(call, ms);
  const stop = () => clearInterval(timer);
  t.after(stop);
  return stop;
}
