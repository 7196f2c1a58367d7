/**
 * What the intake reads often and the operator changes seldom: the vocabulary and the raised limits
 * of addresses, as a snapshot that is read again every second.
 *
 * @module
 */

import type { Rate } from "../../contract/limits.ts";
import type { Areas } from "../../lead/lead.ts";
import { foldArea } from "../../lead/place.ts";
import type { Pool } from "../pool.ts";

/** A term of the vocabulary. */
export interface Area {
  readonly area: string;
  readonly status: "confirmed" | "proposed";
}

/** A raised limit for a network, in force until its time. */
export interface IpLimit {
  /** CIDR text. */
  readonly network: string;
  readonly rate: Rate;
}

/** The snapshot. */
export interface Reference {
  /** In alphabetical order; retired terms are not in it. */
  readonly areas: readonly Area[];
  /** For the validator: folded spelling to the vocabulary's own. */
  readonly areaIndex: Areas;
  /** The narrowest network first. */
  readonly ipLimits: readonly IpLimit[];
  /** When it was read, on the clock that was passed in. */
  readonly readAtMs: number;
}

// At most 5 s old is promised; a second keeps an operator from wondering.
const intervalMs = 1_000;
const deadlineMs = 2_000;

/** Reads the snapshot now. Throws what {@linkcode Pool.run} throws. */
export async function readReference(pool: Pool, nowMs: () => number): Promise<Reference> {
  const readAtMs = nowMs();
  const [row] = await pool.run(
    deadlineMs,
    (sql) =>
      sql<{ areas: Area[]; ip_limits: { network: string; per_minute: number; burst: number }[] }[]>`
      select
        (select coalesce(json_agg(json_build_object('area', area, 'status', status) order by area), '[]')
         from area where status <> 'retired') as areas,
        (select coalesce(json_agg(json_build_object(
           'network', network, 'per_minute', per_minute, 'burst', burst) order by masklen(network) desc), '[]')
         from ip_limit where until > service_clock()) as ip_limits`,
  );
  const areas = row?.areas ?? [];
  return {
    areas,
    areaIndex: new Map(areas.map(({ area }) => [foldArea(area), area])),
    ipLimits: (row?.ip_limits ?? []).map((limit) => ({
      network: limit.network,
      rate: { perMinute: limit.per_minute, burst: limit.burst },
    })),
    readAtMs,
  };
}

/** The snapshot, read again and again; while the store is away the last one stays. */
export class ReferenceReader {
  readonly #pool: Pool;
  readonly #nowMs: () => number;
  #current: Reference;

  constructor(pool: Pool, nowMs: () => number, first: Reference) {
    this.#pool = pool;
    this.#nowMs = nowMs;
    this.#current = first;
  }

  /** The last snapshot that could be read. */
  get current(): Reference {
    return this.#current;
  }

  /** Until the next run. */
  pauseMs(): number {
    return intervalMs;
  }

  /** Reads the snapshot, if it can be read. */
  async runOnce(): Promise<void> {
    try {
      this.#current = await readReference(this.#pool, this.#nowMs);
    } catch {
      // The heartbeat reports that the store is away; the age of the snapshot tells the rest.
    }
  }
}
