/**
 * A snapshot, reread every second, of what the intake reads often and operators seldom change: the vocabulary and the
 * raised limits of networks.
 */

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
  /** In alphabetical order, without retired terms. */
  readonly areas: readonly Area[];
  /** From folded spelling to the vocabulary's own. */
  readonly areaIndex: Areas;
  /** The narrowest network first. */
  readonly ipLimits: readonly IpLimit[];
  /** On the clock that was passed in. */
  readonly readAtMs: number;
}

// The promise is 5 s.
const intervalMs = 1_000;
const deadlineMs = 2_000;

/** Reads the snapshot. */
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

/** Keeps the last snapshot while the store is unavailable. */
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

  /** Rereads the snapshot if the store answers. */
  async runOnce(): Promise<void> {
    try {
      this.#current = await readReference(this.#pool, this.#nowMs);
    } catch {
      // The heartbeat reports the outage; `readAtMs` shows the age.
    }
  }
}
