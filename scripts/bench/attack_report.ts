/**
 * What the attacks came to, in figures and in words.
 *
 * @module
 */

import type { AttackCounts } from "./attack_traffic.ts";
import type { HonestResult } from "./honest_main.ts";
import type { Turns } from "./loop_probe.ts";
import { digits, type Figure, figure, withSpread } from "./stats.ts";

/** What a row found. */
export interface Found {
  readonly name: string;
  readonly counts: AttackCounts;
  /** Seconds of processor time: of the process that takes the leads, and of all. */
  readonly cpu: {
    readonly intake: number;
    readonly all: number;
    readonly quiet: number;
  };
  readonly memoryMiB: {
    readonly before: number;
    readonly highest: number;
    readonly after: number;
  };
  /** Processor time of a turn of the event loop that takes the leads; `null` on Deno. */
  readonly turns: { readonly quiet: Turns; readonly attacked: Turns } | null;
  readonly quiet: HonestResult;
  readonly attacked: HonestResult;
}

/** What the rounds of a row came to. */
export interface Summed extends Found {
  /** The honest p99 with the attack against without. */
  readonly slowdown: Figure;
}

/** A row of the table. */
export function describe(
  { name, counts, cpu, memoryMiB, turns, quiet, attacked, slowdown }: Summed,
): string[] {
  const turn = (found: Turns) => `${digits(found.p99Ms)} / ${digits(found.maxMs)}`;
  const failures = Object.entries(attacked.failures).map(([reason, count]) => `${count} × ${reason}`).join(
    ", ",
  );
  const statuses = Object.entries(counts.statuses).map(([status, count]) => `${count} × ${status}`).join(
    ", ",
  );
  const megabytes = (bytes: number) => digits(bytes / 1e6);
  return [
    name,
    `${digits(counts.connections)} connections (${digits(counts.ended)} ended), ${
      digits(counts.requests)
    } requests` +
    `${statuses === "" ? "" : ` (${statuses})`}, ${megabytes(counts.sentBytes)} MB out, ${
      megabytes(counts.receivedBytes)
    } MB in`,
    `${digits(cpu.intake)} s (${digits(cpu.quiet)} s quiet)${
      cpu.all - cpu.intake > 0.01 ? `; ${digits(cpu.all)} s all` : ""
    }`,
    turns === null ? "–" : `${turn(turns.attacked)} (${turn(turns.quiet)} quiet) ms`,
    `${memoryMiB.before.toFixed(0)} → ${memoryMiB.highest.toFixed(0)} → ${memoryMiB.after.toFixed(0)} MiB`,
    `${digits(attacked.p50Ms)} / ${digits(attacked.p99Ms)} / ${digits(attacked.maxMs)} ms`,
    `${digits(quiet.p50Ms)} / ${digits(quiet.p99Ms)} / ${digits(quiet.maxMs)} ms`,
    `${slowdown.samples.length === 1 ? digits(slowdown.median) : withSpread(slowdown)} ×`,
    failures === "" ? "0" : failures,
  ];
}

const slowdown = ({ attacked, quiet }: Found) => attacked.p99Ms / quiet.p99Ms;

/** The round in the middle, with the failures and the spread of all. */
export function summed(rounds: readonly Found[]): Summed {
  const sorted = rounds.toSorted((a, b) => slowdown(a) - slowdown(b));
  const failures: Record<string, number> = {};
  for (const { attacked } of rounds) {
    for (const [reason, count] of Object.entries(attacked.failures)) {
      failures[reason] = (failures[reason] ?? 0) + count;
    }
  }
  const middle = sorted[rounds.length >> 1] as Found;
  return {
    ...middle,
    attacked: { ...middle.attacked, failures },
    slowdown: figure(rounds.map(slowdown)),
  };
}

/** The columns of {@linkcode describe}. */
export const head = [
  "attack",
  "traffic",
  "processor time of the intake's process",
  "processor time of a turn of its loop: p99 / max",
  "memory: before, highest, after",
  "honest p50 / p99 / max",
  "the same without",
  "p99",
  "honest failures",
];
