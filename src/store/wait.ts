/** Waits for promises with a time limit. */

/** Settles as the promise does, or resolves with `fallback` after `afterMs`. */
export function withFallback<T, F>(
  promise: Promise<T>,
  { fallback, afterMs }: { readonly fallback: F; readonly afterMs: number },
): Promise<T | F> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, afterMs, fallback);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** Waits for a promise, but at most `ms` milliseconds. */
export async function waitAtMost(ms: number, promise: Promise<unknown>): Promise<void> {
  await withFallback(promise, { fallback: undefined, afterMs: ms });
}
