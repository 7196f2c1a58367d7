/**
 * Imported by a server under attack: how much processor time a turn of its event loop takes, which is what one neighbour
 * makes another one wait. Processor time, because the clock of a shared machine counts what others do as well. Each
 * SIGUSR2 writes what was found since the one before.
 *
 * @module
 */

import { writeFileSync } from "node:fs";
import { quantile } from "../stats.ts";

/** What a signal writes. */
export interface Turns {
  readonly p99Ms: number;
  readonly maxMs: number;
}

const file = process.env.LOOP_PROBE_FILE ?? "";
const turnsMax = 100_000;
let turnsMs: number[] = [];
let lastUs = spentUs();

function spentUs(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}

// Timers are looked at once a turn.
setInterval(() => {
  const nowUs = spentUs();
  if (turnsMs.length < turnsMax) turnsMs.push((nowUs - lastUs) / 1_000);
  lastUs = nowUs;
}, 1).unref();

process.on("SIGUSR2", () => {
  const sorted = Float64Array.from(turnsMs).sort();
  turnsMs = [];
  const turns: Turns = { p99Ms: quantile(sorted, 0.99), maxMs: quantile(sorted, 1) };
  writeFileSync(file, JSON.stringify(turns));
});
