/**
 * What is taken down after the tests of a file: everything, the last that was set up first, whatever fails or hangs
 * meanwhile. Node's `after` leaves out all hooks behind one that throws.
 */

import { after } from "node:test";

/** A step that takes longer has hung, on a machine ten times slower than ours too. */
const stepMsMax = 60_000;

const steps = new AsyncDisposableStack();
after(async () => {
  const errors: unknown[] = [];
  let thrown = await steps.disposeAsync().then(() => undefined, (error) => error);
  // Each wraps those before it.
  for (; thrown instanceof SuppressedError; thrown = thrown.suppressed) errors.push(thrown.error);
  if (thrown !== undefined) errors.push(thrown);
  if (errors.length === 1) throw errors[0];
  if (errors.length > 1) throw new AggregateError(errors.reverse(), "Several steps of the end failed");
});

/** Has something done after the tests of this file; what must be there for it is set up before. */
export function atEnd(step: () => unknown): void {
  steps.defer(async () => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`Not ended after ${stepMsMax} ms: ${step}`)), stepMsMax);
    });
    try {
      await Promise.race([step(), late]);
    } finally {
      clearTimeout(timer);
    }
  });
}
