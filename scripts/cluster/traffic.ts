/**
 * Partners who post at a steady pace, whatever becomes of it, and try again as the specification asks them to; some post
 * once more what was taken.
 *
 * @module
 */

import type { Chance } from "../../test/support/faults/random.ts";
import type { History, Request } from "../../test/support/faults/history.ts";
import { leadBody } from "../../test/support/faults/load.ts";
import type { Service } from "./service.ts";

/** How they post. */
export interface TrafficOptions {
  readonly services: readonly Service[];
  readonly apiKey: string;
  readonly history: History;
  readonly chance: Chance;
  /** First posts of a lead, in all. */
  readonly perSecond: number;
  /** Begins each Idempotency-Key. */
  readonly prefix: string;
}

const triesMax = 4;
const backoffMs = 800;
// One address, so that few connections are kept for as many answers.
const from = { localAddress: "127.0.0.1" };
// One in so many is posted again after it was taken.
const againOneIn = 20;
const tickMs = 20;
// Requests without an answer: more partners than that wait their turn, or the load would keep the cluster from healing.
const openMax = 1_000;

/** Runs until it is stopped. */
export class Traffic {
  readonly #options: TrafficOptions;
  readonly #underWay = new Set<Promise<void>>();
  readonly #timer: ReturnType<typeof setInterval>;
  readonly #startedAtMs = performance.now();
  #posted = 0;
  #open = 0;

  constructor(options: TrafficOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#post(), tickMs);
  }

  #post(): void {
    const due = Math.floor((performance.now() - this.#startedAtMs) / 1_000 * this.#options.perSecond);
    for (; this.#posted < due; this.#posted += 1) {
      const lead = this.#lead().catch(() => {}).finally(() => this.#underWay.delete(lead));
      this.#underWay.add(lead);
    }
  }

  async #lead(): Promise<void> {
    const { services, apiKey, history, chance, prefix } = this.#options;
    const idempotencyKey = history.freshKey(prefix);
    // Its own key in it, so that what is delivered can be told.
    const body = leadBody(chance, this.#posted).replace(/\}\s*$/, `,"external_id":"${idempotencyKey}"}`);
    const request: Request = { apiKey, idempotencyKey, body };
    for (let nth = 0; nth < triesMax; nth += 1) {
      if (this.#open < openMax) {
        this.#open += 1;
        const { kind } = await history.post(chance.pick(services).url, request, from);
        this.#open -= 1;
        if (kind === "accepted" && !chance.oneIn(againOneIn)) return;
        if (kind === "duplicate" || kind === "refused") return;
      }
      await new Promise((settle) =>
        setTimeout(settle, backoffMs * 2 ** nth * (0.5 + chance.below(100) / 100))
      );
    }
  }

  /** Posts no further lead. */
  halt(): void {
    clearInterval(this.#timer);
  }

  /** The same, and returns when all have been answered for. */
  async stop(): Promise<void> {
    this.halt();
    await Promise.all(this.#underWay);
  }
}
