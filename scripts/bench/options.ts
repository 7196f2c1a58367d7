/**
 * What a run is asked for.
 *
 * @module
 */

/** How much is measured: of a whole run, of a smoke test, and what it is. */
export const numbers = {
  rounds: { whole: 5, quick: 2, about: "interleaved rounds" },
  seconds: { whole: 10, quick: 3, about: "measured seconds of a round" },
  events: { whole: 5_000_000, quick: 100_000, about: "intake: stored events; for the indexes' row a tenth" },
  backlog: { whole: 100_000, quick: 20_000, about: "delivery: leads that wait to be drained" },
  held: { whole: 600, quick: 60, about: "delivery: seconds with a transaction held open elsewhere" },
} as const;

/** The names of what is counted. */
export type NumberName = keyof typeof numbers;
/** All of them. */
export const numberNames = Object.keys(numbers) as NumberName[];

/** Of what is measured at several sizes: those of a whole run, of a smoke test, and what they are. */
export const lists = {
  sizes: {
    whole: [0, 1_000_000, 5_000_000, 20_000_000],
    quick: [0, 20_000, 50_000],
    about: "curve: stored events, a comma between them",
  },
  keys: {
    whole: [1, 100, 10_000],
    quick: [1, 100],
    about: "curve: keys that leads come with, each of a tenant",
  },
} as const;

/** The names of the lists. */
export type ListName = keyof typeof lists;
/** All of them. */
export const listNames = Object.keys(lists) as ListName[];

/** A run's settings. */
export interface Options
  extends Readonly<Record<NumberName, number>>, Readonly<Record<ListName, readonly number[]>> {
  /** The rows to measure; empty: all. */
  readonly rows: readonly string[];
  readonly quick: boolean;
  /** Not counted, before each round. */
  readonly warmUpSeconds: number;
  /** Our service alone, one round of each kind, under the CPU profiler. */
  readonly profile: boolean;
  /** A commit or folder whose service is measured beside this one's, instead of the peers. */
  readonly against: string | undefined;
  /** Keeps the result in `docs/benchmarks/`. */
  readonly save: boolean;
  /** What our service runs on. */
  readonly runtime: "node" | "deno";
  /** Attacks: the public reads and the operator's pages are processes of their own. */
  readonly apart: boolean;
}
