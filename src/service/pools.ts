/**
 * The connections of a service process to PostgreSQL, by purpose, so that none queues behind another's slow statements.
 *
 * @module
 */

import { searchSettings } from "../store/operator/search.ts";
import type { StoreObservation } from "../store/observation.ts";
import { Pool, type PoolOptions } from "../store/pool.ts";
import type { Primary } from "../store/primary.ts";
import { type SurfaceName, surfaceNames } from "../settings/surface_names.ts";

/** What a pool is for, and its bounds. */
interface Purpose extends Pick<PoolOptions, "connectionsMax" | "settings"> {
  /**
   * The server gives a statement up after this long, before whoever waits for it does, so that what we gave up does not
   * take effect much later, and a lock that was waited for costs no connection.
   */
  readonly statementTimeoutMs: number;
  readonly purpose: string;
  /**
   * It goes on at its own pace while the store is away, and keeps its connections when the same server is back. All others
   * ask for half a second then, and get new connections.
   */
  readonly isPatient?: true;
  /** What waits here fails at once when the store stops taking writes: somebody waits for it. */
  readonly failsFast?: true;
  /** It connects before it is used where one of these is served: the first request would wait for it. */
  readonly connectsFor?: readonly SurfaceName[];
}

/** Every pool, in the order of the harm that waiting does. */
export const pools = {
  // The commit's deadline is 9.5 s (src/service/store.ts).
  commit: {
    connectionsMax: 1,
    statementTimeoutMs: 9_000,
    connectsFor: ["intake", "forms"],
    purpose: "commits posts, which wait for nothing else",
  },
  heartbeat: {
    connectionsMax: 1,
    connectsFor: surfaceNames,
    // The time of three beats.
    statementTimeoutMs: 1_500,
    isPatient: true,
    purpose:
      "finds out whether the store takes writes: behind a slow statement it would find that it does not",
  },
  reads: {
    connectionsMax: 2,
    // Less than a lookup's deadline (src/store/serving/lookup.ts).
    statementTimeoutMs: 4_500,
    failsFast: true,
    connectsFor: ["intake", "forms", "subscription"],
    purpose: "reads the keys and forms that posts name, and the plans: short reads that a request waits for",
  },
  delivery: {
    connectionsMax: 2,
    statementTimeoutMs: 10_000,
    isPatient: true,
    purpose: "claims and settles deliveries, so that a burst of posts does not delay them",
  },
  // Two pages and a report, and a checkout that waits for a lock. A statement that fails does so within the 20 s of its request.
  pages: {
    connectionsMax: 4,
    statementTimeoutMs: 15_000,
    failsFast: true,
    purpose:
      "serves the operator's pages and report, the checkout, and the links of digests: slow statements that keep no lead waiting",
  },
  // It takes milliseconds; what takes this long is given up before the one who waits gives up.
  search: {
    connectionsMax: 2,
    statementTimeoutMs: 4_500,
    settings: searchSettings,
    purpose: "serves the operator's search, whose connections plan along the indexes",
  },
  // Four, so that a roll-up of an old database, which takes a minute, keeps no other job waiting.
  jobs: {
    connectionsMax: 4,
    statementTimeoutMs: 58_000,
    isPatient: true,
    purpose:
      "runs what repeats: folds the counts, sums up the hours, clears away, files whom leads name, reads the vocabulary; nobody waits for it",
  },
} as const satisfies Readonly<Record<string, Purpose>>;

const rows = Object.entries(pools) as [keyof typeof pools, Purpose][];

/** The pools of a process. */
export type Pools = Readonly<Record<keyof typeof pools, Pool>>;

/** All connections of a process at most: those of {@linkcode pools}, and the one that listens for notifications. */
export const connectionsMax: number = rows.reduce((sum, [, { connectionsMax }]) => sum + connectionsMax, 1);

/** How they are opened. */
interface OpenPoolsOptions {
  readonly primary: Primary;
  readonly isAway: () => boolean;
  readonly observe: (observation: StoreObservation) => void;
}

/** Opens them all. */
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
 * Begins to connect those that are needed soon, all at once: one after the other they cost the start of a process, and its
 * first post, five round trips each.
 */
export function connectEarly(opened: Pools, surfaces: ReadonlySet<SurfaceName>): void {
  for (const [name, { connectsFor = [] }] of rows) {
    if (connectsFor.some((surface) => surfaces.has(surface))) void opened[name].connect();
  }
}

// After an outage, a statement that is still silent this long sits on a dead connection.
const renewGraceMs = 500;

/** The store takes writes again: connections from before the outage may be dead without having said so. */
export function renewConnections(opened: Pools): void {
  for (const [name, { isPatient }] of rows) {
    if (isPatient) opened[name].followPrimary();
    else opened[name].renew(renewGraceMs);
  }
}

/** The store stops taking writes: whoever waits for an answer is told at once. */
export function failWaiting(opened: Pools): void {
  for (const [name, { failsFast }] of rows) if (failsFast) opened[name].leaveStuck(0);
}
