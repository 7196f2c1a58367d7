/**
 * Cleans up after the tests of a file, in reverse order, even if a step fails or hangs. Node's `after` skips the
 * hooks that follow one that throws.
 */

import { after } from "node:test";

/** The maximum duration of a step. Chosen: 60 s, so that it holds on a machine ten times slower. */
const stepMsMax = 60_000;

const steps = new AsyncDisposableStack();
after(async () => {
  const errors: unknown[] = [];
  let thrown = await steps.disposeAsync().then(() => undefined, (error) => error);
  // Each error wraps the previous ones.
  for (; thrown instanceof SuppressedError; thrown = thrown.suppressed) errors.push(thrown.error);
  if (thrown !== undefined) errors.push(thrown);
  if (errors.length === 1) throw errors[0];
  if (errors.length > 1) throw new AggregateError(errors.reverse(), "Several steps of the end failed");
});

/** Registers a step to run after the tests of this file. Register it after creating what it needs. */
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
