/**
 * The connection pools of a service process, by purpose, so that no request queues behind another's slow statements.
 */

import { searchSettings } from "../store/operator/search.ts";
import type { StoreObservation } from "../store/observation.ts";
import { Pool, type PoolOptions } from "../store/pool.ts";
import type { Primary } from "../store/primary.ts";
import { type SurfaceName, surfaceNames } from "../settings/surface_names.ts";

/** A pool's purpose and limits. */
interface Purpose extends Pick<PoolOptions, "connectionsMax" | "settings"> {
  /**
   * The server's limit for a statement. It is shorter than the caller's deadline, so that an abandoned statement neither takes
   * effect later nor keeps its connection waiting for a lock.
   */
  readonly statementTimeoutMs: number;
  readonly purpose: string;
  /**
   * Whether the pool keeps its connections over an outage if the same server is back. All others open new ones.
   */
  readonly isPatient?: true;
  /** Waiting statements fail at once when the store stops taking writes, because a request waits for them. */
  readonly failsFast?: true;
  /** Surfaces for which the pool connects at the start, so that the first request does not wait. */
  readonly connectsFor?: readonly SurfaceName[];
}

/** Every pool, the most urgent first. */
export const pools = {
  // The commit's deadline is 9.5 s (src/service/store.ts).
  commit: {
    connectionsMax: 1,
    statementTimeoutMs: 9_000,
    connectsFor: ["intake", "forms"],
    purpose: "commits posts, and nothing else",
  },
  heartbeat: {
    connectionsMax: 1,
    connectsFor: surfaceNames,
    // Three heartbeats.
    statementTimeoutMs: 1_500,
    isPatient: true,
    purpose: "checks that the store takes writes; a slow statement ahead of it would look like an outage",
  },
  reads: {
    connectionsMax: 2,
    // Less than a lookup's deadline (src/store/serving/lookup.ts).
    statementTimeoutMs: 4_500,
    failsFast: true,
    connectsFor: ["intake", "forms", "subscription"],
    purpose: "reads keys, forms and plans: short reads that a request waits for",
  },
  delivery: {
    connectionsMax: 2,
    statementTimeoutMs: 10_000,
    isPatient: true,
    purpose: "claims and settles deliveries, so that bursts of posts do not delay them",
  },
  // Enough for two pages, a report, and a checkout that waits for a lock. Statements end within their request's 20 s.
  pages: {
    connectionsMax: 4,
    statementTimeoutMs: 15_000,
    failsFast: true,
    purpose:
      "serves the console, the report, the checkout and the links of digests: slow statements, apart from leads",
  },
  // A search takes milliseconds. The limit is shorter than the caller's deadline.
  search: {
    connectionsMax: 2,
    statementTimeoutMs: 4_500,
    settings: searchSettings,
    purpose: "serves the operator's search, with planner settings that favour indexes",
  },
  // Four, so that a roll-up of an old database, which takes a minute, does not delay other jobs.
  jobs: {
    connectionsMax: 4,
    statementTimeoutMs: 58_000,
    isPatient: true,
    purpose: "runs background jobs: counts, hourly sums, clean-up, contacts for the search, vocabulary",
  },
} as const satisfies Readonly<Record<string, Purpose>>;

const rows = Object.entries(pools) as [keyof typeof pools, Purpose][];

/** The pools of a process. */
export type Pools = Readonly<Record<keyof typeof pools, Pool>>;

/** The most connections of a process: those of {@linkcode pools}, and one that listens for notifications. */
export const connectionsMax: number = rows.reduce((sum, [, { connectionsMax }]) => sum + connectionsMax, 1);

/** Options of {@linkcode openPools}. */
interface OpenPoolsOptions {
  readonly primary: Primary;
  readonly isAway: () => boolean;
  readonly observe: (observation: StoreObservation) => void;
}

/** Opens every pool. */
export function openPools({ primary, isAway, observe }: OpenPoolsOptions): Pools {
  const onWarning = (text: string) => observe({ kind: "commit_warning", text });
  const open = (name: string, { connectionsMax, statementTimeoutMs, isPatient, ...rest }: Purpose) =>
    new Pool({
      primary,
      name,
      connectionsMax,
      statementTimeoutMs,
      settings: rest.settings ?? {},
      ...(isPatient ? {} : { isAway }),
      ...(name === "commit" ? { onWarning } : {}),
    });
  return Object.fromEntries(rows.map(([name, row]) => [name, open(name, row)])) as Pools;
}

/**
 * Connects the pools that are needed soon, in parallel: each takes five round trips, which the first post would wait for.
 */
export function connectEarly(opened: Pools, surfaces: ReadonlySet<SurfaceName>): void {
  for (const [name, { connectsFor = [] }] of rows) {
    if (connectsFor.some((surface) => surfaces.has(surface))) void opened[name].connect();
  }
}

// After an outage, a statement without an answer for this long is on a dead connection.
const renewGraceMs = 500;

/** Replaces connections when the store takes writes again: old ones may be dead without notice. */
export function renewConnections(opened: Pools): void {
  for (const [name, { isPatient }] of rows) {
    if (isPatient) opened[name].followPrimary();
    else opened[name].renew(renewGraceMs);
  }
}

/** Fails waiting statements when the store stops taking writes. */
export function failWaiting(opened: Pools): void {
  for (const [name, { failsFast }] of rows) if (failsFast) opened[name].replaceStuck(0);
}
