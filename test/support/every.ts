import type { TestContext } from "node:test";

/** Calls `call` every `ms` milliseconds until the returned function is called or the test ends. */
export function every(t: TestContext, ms: number, call: () => unknown): () => void {
  const timer = setInterval(call, ms);
  const stop = () => clearInterval(timer);
  t.after(stop);
  return stop;
}
