/**
 * Fail-overs of a cluster under load, one after the other, and what became of what the clients were told.
 *
 * @module
 */

import { setTimeout as delay } from "node:timers/promises";
import { History } from "../../test/support/faults/history.ts";
import { type Chance, chance } from "../../test/support/faults/random.ts";
import { check, type Ground, missing } from "./check.ts";
import { again, type Cluster, withSql } from "./cluster.ts";
import { type Fault, faults } from "./faults.ts";
import type { Member } from "./member.ts";
import type { Service } from "./service.ts";
import type { Sink } from "./sink.ts";
import { Traffic } from "./traffic.ts";

/** One fail-over. Times in milliseconds from the fault on. */
export interface Round {
  readonly fault: string;
  readonly accepted: number;
  readonly refused: number;
  readonly noAnswer: number;
  /** Until a server took a write that began after the fault. */
  readonly primaryMs: number;
  /** By service: from there to its first 202. */
  readonly acceptingMs: Readonly<Record<string, number>>;
  /** By service: between its last 202 before and its first one after. */
  readonly outageMs: Readonly<Record<string, number>>;
  /** Connections of the services on the primary, at most. */
  readonly backends: number;
  /** Deliveries of an event beyond its first. */
  readonly repeats: number;
  /** Whatever should not be; empty is good. */
  readonly violations: readonly string[];
}

/** How they are run. */
export interface RoundsOptions {
  /** Of each fault. */
  readonly each: number;
  readonly only?: readonly string[];
  readonly seed: number;
  readonly perSecond: number;
  readonly onRound: (round: Round) => void;
}

const beforeMs = 2_000;
const afterMs = 2_000;
const againMaxMs = 120_000;

/** Runs the rounds in an order that the seed decides. */
export async function runRounds(ground: Ground, options: RoundsOptions): Promise<void> {
  const random = chance(options.seed);
  const chosen = faults.filter(({ name }) => options.only?.includes(name) ?? true);
  const order = Array.from({ length: options.each }, () => shuffled(chosen, random)).flat();
  // Of all rounds: what a later fail-over must not undo.
  const promised = new Map<string, string>();
  for (const [nth, fault] of order.entries()) {
    await ground.cluster.whole();
    const prefix = `round-${nth + 1}`;
    const history = new History();
    const { services, database: { apiKey } } = ground;
    const { perSecond } = options;
    const traffic = new Traffic({ services, apiKey, history, chance: random, perSecond, prefix });
    try {
      options.onRound(await runRound(ground, { fault, random, prefix, promised, history, traffic }));
    } finally {
      traffic.halt();
    }
  }
  await ground.cluster.whole();
  const lost = await missing(ground, promised);
  for (const service of ground.services) {
    lost.push(...service.faults.map((line) => `${service.name}: ${line}`));
  }
  if (lost.length > 0) options.onRound({ ...nothing, fault: "after all", violations: lost });
}

const nothing: Round = {
  ...{ fault: "", accepted: 0, refused: 0, noAnswer: 0, primaryMs: 0, acceptingMs: {}, outageMs: {} },
  ...{ backends: 0, repeats: 0, violations: [] },
};

async function runRound(
  ground: Ground,
  { fault, random, prefix, promised, history, traffic }: {
    readonly fault: Fault;
    readonly random: Chance;
    readonly prefix: string;
    readonly promised: Map<string, string>;
    readonly history: History;
    readonly traffic: Traffic;
  },
): Promise<Round> {
  const { cluster, services, sink } = ground;
  await delay(beforeMs + random.below(1_000));
  const { primary, before } = await again(async () => {
    const primary = await cluster.primary();
    return { primary, before: await standingOf(primary) };
  });
  const faultAtMs = performance.now();
  const writable = firstWrite(cluster, before);
  await fault.begin(cluster, primary);
  const { atMs: writableAtMs, backends } = await writable;
  const firsts = await Promise.all(
    services.map((service) => firstAccepted(history, service, writableAtMs, faultAtMs)),
  );
  await delay(afterMs);
  fault.end?.(primary);
  await traffic.stop();
  await cluster.whole();

  const violations = await check(ground, history, prefix);
  for (const { idempotencyKey, outcome } of history.entries) {
    if (outcome?.kind === "accepted") promised.set(idempotencyKey as string, outcome.eventId);
  }
  const by = <T>(value: (index: number) => T) =>
    Object.fromEntries(services.map(({ name }, index) => [name, value(index)]));
  return {
    fault: fault.name,
    accepted: history.count("accepted"),
    refused: history.count("not_accepting"),
    noAnswer: history.count("no_answer"),
    primaryMs: writableAtMs - faultAtMs,
    acceptingMs: by((index) => Math.max(0, (firsts[index] as Span).toMs - writableAtMs)),
    outageMs: by((index) => (firsts[index] as Span).toMs - (firsts[index] as Span).fromMs),
    backends,
    repeats: history.entries.reduce((sum, { outcome }) => sum + repeatsOf(sink, outcome), 0),
    violations,
  };
}

function repeatsOf({ came }: Sink, outcome: History["entries"][number]["outcome"]): number {
  return outcome?.kind === "accepted" ? Math.max(0, (came.get(outcome.eventId)?.times ?? 0) - 1) : 0;
}

/** Of one service: when the last 202 before the gap came, and the first one after it. */
interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

// The longest pause between two 202s around the fault is the outage, and its end the first 202 after it. With the new
// primary there, whoever still has none is waited for.
async function firstAccepted(
  history: History,
  service: Service,
  writableAtMs: number,
  faultAtMs: number,
): Promise<Span> {
  const untilMs = performance.now() + againMaxMs;
  while (performance.now() < untilMs) {
    const times = history.acceptedAtMs(service.url);
    const isAgain = times.some((atMs) => atMs >= writableAtMs);
    if (isAgain && performance.now() > writableAtMs + 1_000) {
      let span: Span = { fromMs: faultAtMs, toMs: faultAtMs };
      for (const [index, toMs] of times.entries()) {
        const fromMs = times[index - 1] ?? toMs;
        if (toMs > faultAtMs && toMs - fromMs > span.toMs - span.fromMs) span = { fromMs, toMs };
      }
      return span;
    }
    await delay(20);
  }
  throw new Error(`${service.name} accepts nothing any more`);
}

/** Which life of which server this is. */
async function standingOf(member: Member): Promise<string> {
  return await withSql(member.url("postgres"), async (sql) => {
    const [row] = await sql`
      select pg_postmaster_start_time()::text || left(pg_walfile_name(pg_current_wal_lsn()), 8) as life`;
    return `${member.seat.name} ${row?.life}`;
  });
}

/**
 * When a server has taken a write that waits for its standby as the service's do, in another life than before; and the
 * connections of the service that it had until then, at most.
 */
async function firstWrite(cluster: Cluster, before: string): Promise<{ atMs: number; backends: number }> {
  let found: number | null = null;
  let backends = 0;
  const untilMs = performance.now() + againMaxMs;
  await Promise.all(cluster.members.map(async (member) => {
    while (found === null && performance.now() < untilMs) {
      try {
        const life = await standingOf(member);
        await withSql(member.url("postgres"), async (sql) => {
          const [row] = await sql<{ count: number }[]>`
            select count(*)::int as count from pg_stat_activity where application_name like 'lead-intake%'`;
          backends = Math.max(backends, row?.count ?? 0);
          if (life === before) return;
          await sql`select pg_logical_emit_message(true, 'probe', '')`;
          found ??= performance.now();
        });
      } catch {
        // It is a standby, or away.
      }
      await delay(50);
    }
  }));
  if (found === null) throw new Error(`No server of the cluster takes writes; see ${cluster.folder}`);
  return { atMs: found, backends };
}

function shuffled<T>(items: readonly T[], random: Chance): T[] {
  const rest = [...items];
  return items.map(() => rest.splice(random.below(rest.length), 1)[0] as T);
}
