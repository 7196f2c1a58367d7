/**
 * The client kit of the lead intake for Node.js.
 *
 * @module
 */

import { type ClientSettings, IntakeClient } from "../../js/src/core/client.ts";
import { type Authorities, type HttpTransport, httpTransport } from "./http_transport.ts";

export * from "../../js/src/core/exports.ts";
export type { Authorities } from "./http_transport.ts";

/** What a client is made of. Key and address come from the environment where they are not given. */
export interface ClientOptions extends ClientSettings {
  /** The key of the lead source; `LEADS_API_KEY` when left out. */
  readonly key?: string | undefined;
  /** The address of the intake: `https://`, or `http://` to this machine; `LEADS_BASE_URL` when left out. */
  readonly baseUrl?: string | undefined;
  /** Authorities in PEM that this client trusts besides the platform's. */
  readonly ca?: Authorities | undefined;
}

/** A client of the lead intake with kept connections of its own. It opens nothing until it is called. */
export class LeadsClient extends IntakeClient {
  readonly #transport: HttpTransport;

  /**
   * Makes a client.
   *
   * @throws {MisconfiguredError} when key, address or a setting cannot be right
   */
  constructor(options: ClientOptions = {}) {
    const { key = process.env.LEADS_API_KEY, baseUrl = process.env.LEADS_BASE_URL, ca, ...settings } =
      options;
    const transport = httpTransport(ca);
    super({ name: "leads-node", key, baseUrl, transport: transport.send }, settings);
    this.#transport = transport;
  }

  /**
   * Closes all connections, those of calls under way too. A program need not call it to end: idle connections keep no
   * process alive.
   */
  close(): void {
    this.#transport.close();
  }
}
