/**
 * The client kit of the lead intake for edge runtimes, servers and workers: everything that has `fetch`.
 *
 * It holds a key, so it is never part of a page: a page uses `@leads-example/leads-js/page`, and an edge function in front of it
 * `@leads-example/leads-js/relay`.
 *
 * @module
 */

import { type ClientSettings, IntakeClient } from "./core/client.ts";
import { MisconfiguredError } from "./core/errors.ts";
import { fetchTransport } from "./fetch.ts";

export * from "./core/exports.ts";

/** What a client is made of. */
export interface ClientOptions extends ClientSettings {
  /** The key of the lead source, from the platform's store of secrets. */
  readonly key: string;
  /** The address of the intake: `https://`, or `http://` to this machine. */
  readonly baseUrl: string;
  /** In place of the platform's, for a service binding or a proxy. It has to follow the standard. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

/** A client of the lead intake on the platform's `fetch`. It opens nothing until it is called. */
export class LeadsClient extends IntakeClient {
  /**
   * Makes a client.
   *
   * @throws {MisconfiguredError} when key, address or a setting cannot be right, or this is a page
   */
  constructor(options: ClientOptions) {
    if (typeof window !== "undefined" && typeof document !== "undefined") {
      throw new MisconfiguredError(
        "A key must not be in a page: use @leads-example/leads-js/page there, with a relay",
      );
    }
    const { key, baseUrl, fetch, ...settings } = options;
    super({ name: "leads-js", key, baseUrl, transport: fetchTransport(fetch), ensureSafe }, settings);
  }
}

/** What Node and Bun have of an environment; edge runtimes have none. */
interface Environment {
  readonly process?: { readonly env?: { readonly NODE_TLS_REJECT_UNAUTHORIZED?: string } };
}

/**
 * `fetch` can be told neither that certificates are verified nor whether they are, only what turns it off.
 *
 * @throws {MisconfiguredError} when certificates are not verified
 */
function ensureSafe(baseUrl: string): void {
  // Deno verifies them all the same, and would ask the user whether its environment may be read.
  if (!baseUrl.startsWith("https:") || "Deno" in globalThis) return;
  if ((globalThis as Environment).process?.env?.NODE_TLS_REJECT_UNAUTHORIZED === "0") {
    throw new MisconfiguredError(
      "NODE_TLS_REJECT_UNAUTHORIZED=0 turns the verification of certificates off: take it out",
    );
  }
}
