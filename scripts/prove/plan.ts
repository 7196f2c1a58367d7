/**
 * What a round does, made of its seed: who posts, and what is done to which part and when. Two rounds of one plan do the
 * same things in the same order; what falls between which two messages is up to the machine.
 *
 * @module
 */

import { type Chance, chance } from "./chance.ts";
import { type Place, places } from "./postgres_proxy.ts";
import { manners } from "./sink.ts";

/** What may be done, by the part that it is done to: things of one lane happen one after the other. */
export const kinds = {
  // A service process.
  node: ["kill", "kill_with_clock_off", "stop", "terminate"],
  // PostgreSQL.
  postgres: [
    "postgres_kill",
    "postgres_stop",
    "postgres_stop_now",
    "postgres_freeze",
    "backend_kill",
    "backends_terminate",
    "read_only",
    "disk_full",
    "slots_exhausted",
    "standby_lost",
  ],
  // The connections of one service process to it.
  wire: [
    ...(Object.keys(places) as Place[]).flatMap((
      place,
    ) => [`cut_${place}` as const, `freeze_${place}` as const]),
    "cut_all",
    "silence_all",
    "refuse_new",
  ],
  // The actions tier, or the customers' CRMs behind it.
  downstream: [...manners.map((manner) => `downstream_${manner}` as const), "actions_kill", "actions_stop"],
  // What an operator, the clients or the calendar does.
  people: ["revoke", "burst_of_key", "burst_of_address", "burst_of_forms", "day_passes"],
} as const;

/** A part. */
export type Lane = keyof typeof kinds;

/** Something that may be done. */
export type Kind = typeof kinds[Lane][number];

/** Something that is done. */
export interface Step {
  readonly lane: Lane;
  readonly kind: Kind;
  /** After the beginning of the round. */
  readonly atMs: number;
  /** How long it lasts, where it is not over at once. */
  readonly forMs: number;
  /** Which service process. */
  readonly node: number;
}

/** A round. */
export interface Plan {
  readonly seed: number;
  readonly runMs: number;
  readonly nodes: number;
  /** With the real actions process between the service and the CRMs. */
  readonly hasActions: boolean;
  /** With operators at its end. */
  readonly hasOperators: boolean;
  /** How many clients post. */
  readonly callers: number;
  /** Between two requests of a caller, on average. */
  readonly pauseMs: number;
  readonly steps: readonly Step[];
}

/** What a plan is made with. */
export interface PlanOptions extends Omit<Plan, "steps"> {
  /** Between two kills of a service process, whichever, on average. */
  readonly nodeKillMs: number;
  /** Between two kills of PostgreSQL, on average. */
  readonly postgresKillMs: number;
  /** Left out: all kinds. */
  readonly only?: readonly Kind[];
  /** Each kind once, spread over the round, instead of a rate. */
  readonly eachOnce?: boolean;
}

/** Kinds that come more often than once in a turn of their lane. */
const shares: Partial<Record<Kind, number>> = { kill: 9, postgres_kill: 9, revoke: 2, actions_kill: 3 };

/** How long things last that are not over at once, in milliseconds: from, and up to. */
const spans: Partial<Record<Kind, readonly [number, number]>> = {
  stop: [500, 4_000],
  postgres_freeze: [500, 6_500],
  read_only: [1_000, 6_500],
  disk_full: [1_000, 4_000],
  slots_exhausted: [1_000, 3_000],
  standby_lost: [1_000, 9_000],
  actions_stop: [500, 3_000],
  silence_all: [500, 3_000],
  refuse_new: [500, 2_000],
};
const shortMs = 1_500;
const freezeSpan = [200, 3_000] as const;
const mannerSpan = [1_000, 5_000] as const;
const tierKinds: readonly Kind[] = ["actions_kill", "actions_stop"];

/** Makes the plan of a seed. */
export function makePlan(options: PlanOptions): Plan {
  const how = chance(options.seed);
  const { runMs, nodes, hasActions, hasOperators, callers, pauseMs, only, eachOnce = false } = options;
  const steps: Step[] = [];
  const isMeant = (kind: Kind) => (only?.includes(kind) ?? true) && (hasActions || !tierKinds.includes(kind));
  const lane = (name: Lane, gapMs: (turn: readonly Kind[]) => number, node?: number) => {
    const usual = kinds[name].filter(isMeant);
    if (usual.length === 0) return;
    const isRate = only === undefined && !eachOnce;
    const all = usual.flatMap((kind) => Array.from({ length: isRate ? shares[kind] ?? 1 : 1 }, () => kind));
    const meanMs = eachOnce ? runMs / (all.length + 1) : gapMs(all);
    let turn: Kind[] = shuffled(all, how);
    for (let atMs = meanMs * (0.3 + how.below(700) / 1000); eachOnce ? turn.length > 0 : atMs < runMs;) {
      if (turn.length === 0) turn = shuffled(all, how);
      const kind = turn.pop() as Kind;
      const [least, most] = spans[kind] ??
        (kind.startsWith("downstream_") ? mannerSpan : kind.startsWith("freeze_") ? freezeSpan : [0, 0]);
      const forMs = Math.min(least + how.below(most - least + 1), eachOnce ? shortMs : Infinity);
      steps.push({ lane: name, kind, atMs: Math.round(atMs), forMs, node: node ?? how.below(nodes) });
      atMs += Math.max(meanMs * (0.5 + how.below(1000) / 1000), eachOnce ? 0 : forMs);
    }
  };
  // Kills come at their rate; whatever else a lane has comes between them.
  const between = (killMs: number, kill: Kind) => (turn: readonly Kind[]) => {
    const share = turn.filter((kind) => kind === kill).length / turn.length;
    return share === 0 ? killMs : killMs * share;
  };
  for (let node = 0; node < nodes; node += 1) {
    lane("node", (turn) => nodes * between(options.nodeKillMs, "kill")(turn), node);
  }
  lane("postgres", between(options.postgresKillMs, "postgres_kill"));
  lane("wire", () => only === undefined ? 1_200 : 800);
  lane("downstream", () => 4_000);
  lane("people", () => only === undefined ? 4_000 : 1_200);
  steps.sort((a, b) => a.atMs - b.atMs);
  return { seed: options.seed, runMs, nodes, hasActions, hasOperators, callers, pauseMs, steps };
}

function shuffled<T>(all: readonly T[], how: Chance): T[] {
  const rest = [...all];
  return Array.from(all, () => rest.splice(how.below(rest.length), 1)[0] as T);
}
