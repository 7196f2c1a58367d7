/**
 * A try with the platform's `fetch`. This module is browser compatible.
 *
 * @module
 */

import { readBody } from "./core/body.ts";
import { limits } from "./core/limits.ts";
import { safeCode, tooLarge, type Transport, type TryOutcome, upgraded } from "./core/transport.ts";
import { nothingWasSent, wasUpgraded } from "./node_causes.ts";

/** Makes tries with `fetch`, the platform's when none is given. */
export function fetchTransport(fetch: typeof globalThis.fetch | undefined): Transport {
  return async ({ method, url, headers, body, signal }) => {
    let response: Response;
    try {
      // Looked up at each try, so that a test may replace it. No credentials, mode or cache are named: edge runtimes
      // refuse what they have no use for.
      response = await (fetch ?? globalThis.fetch)(url, {
        method,
        headers,
        body,
        signal,
        redirect: "manual",
      });
    } catch (error) {
      const cause = causeOf(error);
      if (wasUpgraded(cause)) return upgraded;
      return { kind: "lost", sent: !nothingWasSent(cause), reason: safeCode(cause) };
    }
    return await readWhole(response);
  };
}

/** The answer with all of its body. */
async function readWhole(response: Response): Promise<TryOutcome> {
  const { status, headers } = response;
  let body: Uint8Array | null;
  try {
    body = await readBody(response.body, limits.answerBytesMax);
  } catch (error) {
    // Once a head has come, bytes have gone out.
    return { kind: "lost", sent: true, reason: safeCode(causeOf(error)) ?? "an answer that was cut short" };
  }
  if (body === null) return tooLarge(status);
  await connectionGivenBack();
  return { kind: "answer", answer: { status, header: (name) => headers.get(name), body } };
}

/**
 * Node's fetch uses a connection again only after a turn of the event loop: a post that comes sooner opens another one.
 */
function connectionGivenBack(): Promise<void> | void {
  const { setImmediate } = globalThis as { setImmediate?: (callback: () => void) => unknown };
  if (typeof setImmediate === "function") return new Promise((resolve) => setImmediate(resolve));
}

/** What is behind the platform's "fetch failed"; the error itself where nothing is. */
function causeOf(error: unknown): unknown {
  return (error as { cause?: unknown } | null | undefined)?.cause ?? error;
}
