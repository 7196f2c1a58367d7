/** The base of the test servers that behave as a CRM's documents say: HTTPS, JSON, a record of the calls, and faults. */

import { atEnd } from "../at_end.ts";
import type { Issued } from "../authority.ts";
import { openSink, type WebhookCall } from "../../../scripts/mail_catcher/webhook_sink.ts";

/** A request received in full. */
export interface VendorCall extends WebhookCall {
  readonly path: string;
  readonly query: URLSearchParams;
}

/** A response; an object is sent as JSON, a string as text, and nothing as an empty body. */
export interface VendorAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** What happens once, to the first call that matches. */
export interface Fault {
  readonly when: (call: VendorCall) => boolean;
  /** `lose` handles the call and then closes the connection without a response. */
  readonly act: "lose" | VendorAnswer;
}

/** A listening test server. */
export interface Vendor {
  readonly port: number;
  /** The base URL, `https://localhost:PORT`. */
  readonly url: string;
  readonly calls: readonly VendorCall[];
  /** Faults that are still to happen. */
  readonly faults: Fault[];
}

/** Starts a test server on loopback, which passes each call to `handle` unless a fault answers it. */
export async function startVendor(
  certificate: Pick<Issued, "cert" | "key">,
  handle: (call: VendorCall) => VendorAnswer,
): Promise<Vendor> {
  const calls: VendorCall[] = [];
  const faults: Fault[] = [];
  const { port, close } = await openSink({
    cert: certificate.cert,
    key: certificate.key,
    onCall: (received, response) => {
      const { pathname: path, searchParams: query } = new URL(received.url, "https://localhost");
      const call: VendorCall = { ...received, path, query };
      calls.push(call);
      const index = faults.findIndex(({ when }) => when(call));
      const act = index === -1 ? null : faults.splice(index, 1)[0]?.act ?? null;
      const answer = act === null || act === "lose" ? handle(call) : act;
      if (act === "lose") {
        response.destroy();
        return;
      }
      const isText = typeof answer.body === "string";
      const type = isText ? "text/plain; charset=utf-8" : "application/json";
      response.writeHead(answer.status, { "Content-Type": type, ...answer.headers });
      response.end(isText || answer.body === undefined ? answer.body as string : JSON.stringify(answer.body));
    },
  });
  atEnd(close);
  return { port, url: `https://localhost:${port}`, calls, faults };
}

/** Parses a call's JSON body; `null` if it is not JSON. */
// deno-lint-ignore no-explicit-any
export function jsonBody(call: VendorCall): any {
  try {
    return JSON.parse(call.body);
  } catch {
    return null;
  }
}

/** Parses a call's form-encoded body. */
export function formBody(call: VendorCall): URLSearchParams {
  return new URLSearchParams(call.body);
}
