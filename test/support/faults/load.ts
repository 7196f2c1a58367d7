/**
 * Clients that post leads continuously and retry as the specification says, but wait for the service to accept
 * again instead of backing off.
 */

import type { TestContext } from "node:test";
import { get } from "../client.ts";
import { until } from "../until.ts";
import type { History, Request } from "./history.ts";
import type { Random } from "./random.ts";

/** Options of the load. */
export interface LoadOptions {
  readonly history: History;
  readonly chance: Random;
  readonly apiKeys: readonly string[];
  /** The base addresses of the servers that can be posted to; may be empty. */
  readonly intakeUrls: () => readonly string[];
  /** The number of concurrent clients. */
  readonly clients: number;
}

// Clients sometimes give up, so that some requests stay without a known outcome.
const giveUpOneIn = 8;
// Longer than any outage of these tests.
const outageMaxMs = 60_000;

/** A running load. */
export class Load {
  readonly #options: LoadOptions;
  readonly #clients: Promise<void>[];
  #stopping = false;
  #posted = 0;

  /** Starts the load; it ends with the test at the latest. */
  constructor(t: TestContext, options: LoadOptions) {
    t.after(() => this.stop());
    this.#options = options;
    this.#clients = Array.from({ length: options.clients }, () => this.#client());
  }

  /** Waits until `more` further leads have been answered with 202. */
  async accepted(more: number): Promise<void> {
    const { history } = this.#options;
    const wanted = history.count("accepted") + more;
    await until(() => history.count("accepted") >= wanted, { what: `${more} more leads are accepted` });
  }

  /** Waits for the requests in flight and stops. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.all(this.#clients);
  }

  async #client(): Promise<void> {
    const { chance, apiKeys, history } = this.#options;
    while (!this.#stopping) {
      this.#posted += 1;
      const request: Request = {
        apiKey: chance.pick(apiKeys),
        idempotencyKey: history.freshKey("lead"),
        body: leadBody(chance, this.#posted),
      };
      while (true) {
        const url = await this.#somewhere();
        if (url === undefined) break;
        const outcome = await history.post(url, request);
        const answered = outcome.kind !== "not_accepting" && outcome.kind !== "no_answer";
        if (answered || chance.oneIn(giveUpOneIn)) break;
      }
    }
  }

  /** Returns a server that accepts, or `undefined` when the load stops first. */
  async #somewhere(): Promise<string | undefined> {
    return await until(async () => {
      if (this.#stopping) return "stopping";
      const urls = this.#options.intakeUrls();
      if (urls.length === 0) return false;
      const url = this.#options.chance.pick(urls);
      return this.#isFresh(url) || (await get(`${url}/healthz`)).status === 200 ? url : false;
    }, { deadlineMs: outageMaxMs, what: "a server accepts", intervalMs: 50 })
      .then((url) => url === "stopping" ? undefined : url);
  }

  // A health check before every post would halve the load.
  #isFresh(url: string): boolean {
    const last = this.#options.history.latest(url);
    return last === undefined || last.kind === "accepted" || last.kind === "duplicate";
  }
}

const names = ["Ada", "José", "Zoë", "李", "O’Neil", "Анна", "🦄"];

/** Returns a valid lead as JSON text, in one of many spellings. */
export function leadBody(chance: Random, number: number): string {
  const lead = {
    first_name: `${chance.pick(names)} ${number}`,
    last_name: chance.pick(names),
    phone: `555-${String(number).padStart(7, "0")}`,
    ...(chance.oneIn(2) ? { project_area: chance.pick(["roof", "Kitchen ", "moon base", "sauna"]) } : {}),
    ...(chance.oneIn(2) ? { cost: (1 + chance.below(99_998)) / 100 } : {}),
    ...(chance.oneIn(4) ? { project_details: "Line\r\n\tline \u0000 ".repeat(1 + chance.below(200)) } : {}),
    ...(chance.oneIn(4) ? { crm_id: number, nested: { deep: [1, "two", null] } } : {}),
  };
  const text = JSON.stringify(lead, null, chance.below(3));
  return chance.oneIn(4) ? ` ${text}\n` : text;
}
