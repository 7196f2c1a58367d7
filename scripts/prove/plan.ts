/**
 * The schedule of a round, derived from its seed: the steps that affect each part, and their times. Two rounds with the same plan
 * perform the same steps in the same order; which messages the steps fall between depends on the machine.
 *
 * @module
 */

import { type Random, seededRandom } from "./random.ts";
import { type Place, places } from "./postgres_proxy.ts";
import { behaviors } from "./sink.ts";

/** The kinds of steps by lane, which is the part that they affect. Steps in a lane run one after the other. */
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
  // The connections of one service process to PostgreSQL.
  wire: [
    ...(Object.keys(places) as Place[]).flatMap((
      place,
    ) => [`cut_${place}` as const, `freeze_${place}` as const]),
    "cut_all",
    "silence_all",
    "refuse_new",
  ],
  // The actions tier, or the customers' CRMs behind it.
  downstream: [...behaviors.map((name) => `downstream_${name}` as const), "actions_kill", "actions_stop"],
  // Revocations, bursts of requests and clock steps.
  people: ["revoke", "burst_of_key", "burst_of_address", "burst_of_forms", "day_passes"],
} as const;

/** A part of the test environment, and its steps. */
export type Lane = keyof typeof kinds;

export type Kind = typeof kinds[Lane][number];

/** A scheduled step. */
export interface Step {
  readonly lane: Lane;
  readonly kind: Kind;
  /** Milliseconds after the start of the round. */
  readonly atMs: number;
  /** The duration, 0 for an instantaneous step. */
  readonly forMs: number;
  /** The index of the affected service process. */
  readonly node: number;
}

/** The schedule of a round. */
export interface Plan {
  readonly seed: number;
  readonly runMs: number;
  readonly nodes: number;
  /** Whether the real actions process runs between the service and the CRMs. */
  readonly hasActions: boolean;
  /** Whether operators run their commands at the end. */
  readonly hasOperators: boolean;
  /** The number of clients that post. */
  readonly callers: number;
  /** The average pause between two requests of a caller. */
  readonly pauseMs: number;
  readonly steps: readonly Step[];
}

export interface PlanOptions extends Omit<Plan, "steps"> {
  /** The average time between two kills of any service process. */
  readonly nodeKillMs: number;
  /** The average time between two kills of PostgreSQL. */
  readonly postgresKillMs: number;
  /** The kinds to use. Default: all. */
  readonly only?: readonly Kind[];
  /** Whether each kind occurs once, spread over the round, instead of repeatedly. */
  readonly isEachOnce?: boolean;
}

/** How often kinds occur in each turn of their lane, if more than once. */
const weights: Partial<Record<Kind, number>> = { kill: 9, postgres_kill: 9, revoke: 2, actions_kill: 3 };

/** The minimum and maximum duration of steps, in milliseconds. */
const durations: Partial<Record<Kind, readonly [number, number]>> = {
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
const onceMaxMs = 1_500;
const freezeDuration = [200, 3_000] as const;
const behaviorDuration = [1_000, 5_000] as const;
const actionsKinds: readonly Kind[] = ["actions_kill", "actions_stop"];

/** Derives a plan from a seed. */
export function makePlan(options: PlanOptions): Plan {
  const random = seededRandom(options.seed);
  const { runMs, nodes, hasActions, hasOperators, callers, pauseMs, only, isEachOnce = false } = options;
  const steps: Step[] = [];
  const isIncluded = (kind: Kind) =>
    (only?.includes(kind) ?? true) && (hasActions || !actionsKinds.includes(kind));
  const addSteps = (name: Lane, gapMs: (turn: readonly Kind[]) => number, node?: number) => {
    const included = kinds[name].filter(isIncluded);
    if (included.length === 0) return;
    const isWeighted = only === undefined && !isEachOnce;
    const all = included.flatMap((kind) =>
      Array.from({ length: isWeighted ? weights[kind] ?? 1 : 1 }, () => kind)
    );
    const meanMs = isEachOnce ? runMs / (all.length + 1) : gapMs(all);
    let turn: Kind[] = shuffled(all, random);
    for (let atMs = meanMs * (0.3 + random.below(700) / 1000); isEachOnce ? turn.length > 0 : atMs < runMs;) {
      if (turn.length === 0) turn = shuffled(all, random);
      const kind = turn.pop() as Kind;
      const [minMs, maxMs] = durations[kind] ??
        (kind.startsWith("downstream_")
          ? behaviorDuration
          : kind.startsWith("freeze_")
          ? freezeDuration
          : [0, 0]);
      const forMs = Math.min(minMs + random.below(maxMs - minMs + 1), isEachOnce ? onceMaxMs : Infinity);
      steps.push({ lane: name, kind, atMs: Math.round(atMs), forMs, node: node ?? random.below(nodes) });
      atMs += Math.max(meanMs * (0.5 + random.below(1000) / 1000), isEachOnce ? 0 : forMs);
    }
  };
  // Kills occur at their rate, with the lane's other steps between them.
  const gapFor = (killMs: number, kill: Kind) => (turn: readonly Kind[]) => {
    const share = turn.filter((kind) => kind === kill).length / turn.length;
    return share === 0 ? killMs : killMs * share;
  };
  for (let node = 0; node < nodes; node += 1) {
    addSteps("node", (turn) => nodes * gapFor(options.nodeKillMs, "kill")(turn), node);
  }
  addSteps("postgres", gapFor(options.postgresKillMs, "postgres_kill"));
  addSteps("wire", () => only === undefined ? 1_200 : 800);
  addSteps("downstream", () => 4_000);
  addSteps("people", () => only === undefined ? 4_000 : 1_200);
  steps.sort((a, b) => a.atMs - b.atMs);
  return { seed: options.seed, runMs, nodes, hasActions, hasOperators, callers, pauseMs, steps };
}

function shuffled<T>(all: readonly T[], random: Random): T[] {
  const rest = [...all];
  return Array.from(all, () => rest.splice(random.below(rest.length), 1)[0] as T);
}
