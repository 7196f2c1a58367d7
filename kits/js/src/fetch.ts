/**
 * A try with the platform's `fetch`. This module is browser compatible.
 *
 * @module
 */

import { limits } from "./core/limits.ts";
import { safeCode, tooLarge, type Transport, type TryOutcome } from "./core/transport.ts";
import { nothingWasSent } from "./node_causes.ts";

/** Makes tries with `fetch`, the platform's when none is given. */
export function fetchTransport(fetch: typeof globalThis.fetch | undefined): Transport {
  return async ({ method, url, headers, body, signal }) => {
    let response: Response;
    try {
      // Looked up at each try, so that a page or a test may replace it. No credentials, mode or cache are named:
      // edge runtimes refuse what they have no use for.
      response = await (fetch ?? globalThis.fetch)(url, {
        method,
        headers,
        body: body as BodyInit | null,
        signal,
        redirect: "manual",
      });
    } catch (error) {
      return lost(error);
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
  return { kind: "answer", answer: { status, header: (name) => headers.get(name), body } };
}

/** All bytes of a stream; `null` as soon as there are more than `bytesMax`, and the rest is not read. */
export async function readBody(
  stream: ReadableStream<Uint8Array> | null,
  bytesMax: number,
): Promise<Uint8Array | null> {
  if (stream === null) return new Uint8Array(0);
  const reader = stream.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > bytesMax) {
      // Nobody waits for the rest to be thrown away, and it may fail.
      reader.cancel().catch(() => {});
      return null;
    }
    chunks.push(value);
  }
  if (chunks.length === 1) return chunks[0] as Uint8Array;
  const whole = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.length;
  }
  return whole;
}

function lost(error: unknown): TryOutcome {
  const cause = causeOf(error);
  return { kind: "lost", sent: !nothingWasSent(cause), reason: safeCode(cause) };
}

/** What is behind the platform's "fetch failed"; the error itself where nothing is. */
function causeOf(error: unknown): unknown {
  return (error as { cause?: unknown } | null | undefined)?.cause ?? error;
}
