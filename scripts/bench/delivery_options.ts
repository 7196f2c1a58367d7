/**
 * What a run of the delivery benchmark is asked for.
 *
 * @module
 */

import { parseArgs } from "node:util";
import { readRows, wholeNumber } from "./options.ts";

/** A run's settings. */
export interface DeliveryBenchOptions {
  /** The rows of the table to measure. */
  readonly rows: ReadonlySet<number>;
  readonly quick: boolean;
  /** Drain, and offer leads, under the CPU profiler instead of measuring. */
  readonly profile: boolean;
  readonly rounds: number;
  /** Leads that wait at the beginning of rows 1 to 3. */
  readonly backlog: number;
  /** Deliveries after which a candidate of a peer's settings has shown its speed. */
  readonly tuneDeliveries: number;
  /** At the pace of the row, not counted. */
  readonly warmUpSeconds: number;
  /** Row 4. */
  readonly handoverSeconds: number;
  /** Row 5, once with the transaction held open and once without. */
  readonly heldSeconds: number;
  /** Row 6. */
  readonly offeredSeconds: number;
}

/** The rows of the table. */
export const allRows = [1, 2, 3, 4, 5, 6];

/** What `--help` prints. */
export const help = `npm run bench:delivery -- [options]

  --quick           a smoke test: few and short rounds, a backlog of 20,000
  --rows 1,3        only these rows of the table
  --profile         a drain and row 6 under node --cpu-prof, kept in build/bench/
  --rounds N        interleaved rounds (5); row 5 has one
  --backlog N       leads that wait in rows 1 to 3 (100,000)
  --held-seconds N  row 5, with and without the open transaction, each (600)`;

/**
 * Reads the command line.
 *
 * @throws {Error} with a sentence for the person at the terminal
 */
export function readOptions(args: string[]): DeliveryBenchOptions | "help" {
  const { values } = parseArgs({
    args,
    options: {
      help: { type: "boolean", short: "h" },
      quick: { type: "boolean", default: false },
      profile: { type: "boolean", default: false },
      rows: { type: "string" },
      rounds: { type: "string" },
      backlog: { type: "string" },
      "held-seconds": { type: "string" },
    },
  });
  if (values.help === true) return "help";
  const { quick, profile } = values;
  const backlog = wholeNumber("backlog", values.backlog) ?? (quick ? 20_000 : 100_000);
  return {
    rows: readRows(values.rows, allRows),
    quick,
    profile,
    rounds: wholeNumber("rounds", values.rounds) ?? (quick ? 2 : 5),
    backlog,
    tuneDeliveries: Math.min(backlog, quick ? 10_000 : 30_000),
    warmUpSeconds: quick ? 2 : 5,
    handoverSeconds: quick ? 10 : 30,
    heldSeconds: wholeNumber("held-seconds", values["held-seconds"]) ?? (quick ? 60 : 600),
    offeredSeconds: quick ? 15 : 60,
  };
}
