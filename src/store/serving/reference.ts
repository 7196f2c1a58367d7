/** Reads a snapshot of the vocabulary and of the networks' raised limits every second. */

import type { Rate } from "../../contract/limits.ts";
import type { Areas } from "../../lead/lead.ts";
import { foldArea } from "../../lead/place.ts";
import type { Pool } from "../pool.ts";

export interface Area {
  readonly area: string;
  readonly status: "confirmed" | "proposed";
}

/** A raised limit for a network. */
export interface IpLimit {
  /** CIDR notation. */
  readonly network: string;
  readonly rate: Rate;
}

export interface Reference {
  /** The vocabulary in alphabetical order, without retired terms. */
  readonly areas: readonly Area[];
  /** Maps each term's spelling under {@linkcode foldArea} to the term. */
  readonly areaIndex: Areas;
  /** The raised limits, those for the narrowest networks first. */
  readonly ipLimits: readonly IpLimit[];
  /** The time just before the read, on the clock passed to {@linkcode readReference}. */
  readonly readAtMs: number;
}

// As documented, a change takes effect within 5 s.
const intervalMs = 1_000;
const deadlineMs = 2_000;

export async function readReference(pool: Pool, nowMs: () => number): Promise<Reference> {
  const readAtMs = nowMs();
  const [row] = await pool.run(
    deadlineMs,
    (sql) =>
      sql<Pick<Reference, "areas" | "ipLimits">[]>`
      select
        (select coalesce(json_agg(json_build_object('area', area, 'status', status) order by area), '[]')
         from area where status <> 'retired') as areas,
        (select coalesce(json_agg(json_build_object(
           'network', network, 'rate', json_build_object('perMinute', per_minute, 'burst', burst)
         ) order by masklen(network) desc), '[]')
         from ip_limit where until > service_clock()) as "ipLimits"`,
  );
  const areas = row?.areas ?? [];
  return {
    areas,
    areaIndex: new Map(areas.map(({ area }) => [foldArea(area), area])),
    ipLimits: row?.ipLimits ?? [],
    readAtMs,
  };
}

/** Reads snapshots, and retains the last one while the store is unavailable. */
export class ReferenceReader {
  readonly #pool: Pool;
  readonly #nowMs: () => number;
  #current: Reference;

  constructor(pool: Pool, nowMs: () => number, first: Reference) {
    this.#pool = pool;
    this.#nowMs = nowMs;
    this.#current = first;
  }

  get current(): Reference {
    return this.#current;
  }

  pauseMs(): number {
    return intervalMs;
  }

  async runOnce(): Promise<void> {
    try {
      this.#current = await readReference(this.#pool, this.#nowMs);
    } catch {
      // The heartbeat reports the outage; `readAtMs` shows how old the snapshot is.
    }
  }
}
