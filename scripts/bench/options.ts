/**
 * What a run of the benchmark is asked for.
 *
 * @module
 */

import { parseArgs } from "node:util";

/** A run's settings. */
export interface BenchOptions {
  /** The rows of the table to measure. */
  readonly rows: ReadonlySet<number>;
  readonly quick: boolean;
  /** Run our server once under the CPU profiler instead of measuring. */
  readonly profile: boolean;
  readonly rounds: number;
  readonly warmUpSeconds: number;
  readonly roundSeconds: number;
  /** For each candidate of a peer's pool size or client count. */
  readonly tuneSeconds: number;
  /** Row 7: events in the store that is not empty; a tenth of them in row 8. */
  readonly storedEvents: number;
  /** Requests in flight at saturation. */
  readonly inFlight: number;
}

/** The rows of the table. */
export const allRows = [1, 2, 3, 4, 5, 6, 7, 8];

/** What `--help` prints. */
export const help = `npm run bench:intake -- [options]

  --quick          a smoke test: few and short rounds, 100,000 stored events
  --rows 1,3       only these rows of the table
  --profile        one round of our server under node --cpu-prof, kept in build/bench/
  --rounds N       interleaved rounds (5)
  --seconds N      measured seconds a round (10)
  --events N       stored events of row 7 (5,000,000); row 8 has a tenth`;

/**
 * Reads the command line.
 *
 * @throws {Error} with a sentence for the person at the terminal
 */
export function readOptions(args: string[]): BenchOptions | "help" {
  const { values } = parseArgs({
    args,
    options: {
      help: { type: "boolean", short: "h" },
      quick: { type: "boolean", default: false },
      profile: { type: "boolean", default: false },
      rows: { type: "string" },
      rounds: { type: "string" },
      seconds: { type: "string" },
      events: { type: "string" },
    },
  });
  if (values.help === true) return "help";
  const { quick, profile } = values;
  return {
    rows: readRows(values.rows, allRows),
    quick,
    profile,
    rounds: wholeNumber("rounds", values.rounds) ?? (quick ? 2 : 5),
    warmUpSeconds: quick ? 1 : 4,
    roundSeconds: wholeNumber("seconds", values.seconds) ?? (quick ? 3 : 10),
    tuneSeconds: quick ? 2 : 5,
    storedEvents: wholeNumber("events", values.events) ??
      (quick ? 100_000 : 5_000_000),
    inFlight: 64,
  };
}

/** Reads an option that is a whole number; `undefined` when it was not given. */
export function wholeNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[1-9]\d{0,8}$/.test(text)) {
    throw new Error(`--${name} takes a whole number from 1`);
  }
  return Number(text);
}

/** Reads `--rows`: the numbers of the rows to measure, all of them when it was not given. */
export function readRows(text: string | undefined, all: readonly number[]): Set<number> {
  const rows = text === undefined ? all : text.split(",").map(Number);
  if (!rows.every((row) => all.includes(row))) {
    throw new Error(`--rows takes numbers from 1 to ${all.length}, such as 1,3`);
  }
  return new Set(rows);
}
