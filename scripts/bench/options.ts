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

/** A run's settings. */
export interface Options extends Readonly<Record<NumberName, number>> {
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
