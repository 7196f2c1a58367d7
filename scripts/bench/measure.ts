/**
 * Compares contenders: they run interleaved rounds, and each of our figures is also reported as a ratio to the peers'.
 */

import { type Measures, say, type Tree } from "./programs.ts";
import type { Stage } from "./stage.ts";

/** The files with leads and keys, one per line. */
export interface Load {
  readonly bodiesFile: string;
  readonly keysFile: string;
}

/** A run's settings. */
export interface Options {
  readonly rounds: number;
  /** Measured seconds per round. */
  readonly seconds: number;
  /** Seconds before each round, not measured. */
  readonly warmUpSeconds: number;
  /** Curve: stored events and API keys, ascending. */
  readonly sizes: readonly number[];
  readonly keys: readonly number[];
  /** Delivery: leads in the backlog. */
  readonly backlog: number;
  /** Our service's runtime. */
  readonly runtime: "node" | "deno";
}

/** What all contenders share. */
export interface Bench {
  readonly options: Options;
  readonly stage: Stage;
  /** The checkout of our service. */
  readonly tree: Tree;
  /** The leads to post, and the files that wrk and the other clients read. */
  readonly bodies: readonly string[];
  readonly load: Load;
}

/** One side of a comparison. */
export interface Contender {
  readonly run: () => Promise<Measures>;
  readonly close?: () => Promise<unknown>;
}

/** Prepares a contender. */
export type Open = (bench: Bench) => Contender | Promise<Contender>;

/** Contenders whose rounds are interleaved. */
export interface Group {
  readonly ours: Readonly<Record<string, Open>>;
  readonly peers?: Readonly<Record<string, Open>>;
}

/** A suite of benchmarks. */
export interface Suite {
  readonly about: string;
  /** Whether its peers are in `scripts/bench/package.json`. */
  readonly hasPackages?: boolean;
  readonly groups: (options: Options) => readonly Group[];
}

type Samples = ReadonlyMap<string, readonly Measures[]>;

/** Runs a group's rounds, comparing with `other` if given, else the peers; returns the report's lines. */
export async function measure(group: Group, bench: Bench, other: Tree | undefined): Promise<string[]> {
  const ours = Object.keys(group.ours);
  const named = (name: string, tree: Tree) => other === undefined ? name : `${name}, ${tree.name}`;
  const trees = other === undefined ? [bench.tree] : [bench.tree, other];
  const taking = Object.entries(group.ours).flatMap(([name, open]) =>
    trees.map((tree) => ({ name: named(name, tree), open, bench: { ...bench, tree } }))
  );
  if (other === undefined) {
    taking.push(...Object.entries(group.peers ?? {}).map(([name, open]) => ({ name, open, bench })));
  }
  const contenders = new Map<string, Contender>();
  try {
    for (const { name, open, bench } of taking) {
      contenders.set(name, await open(bench));
    }
    const samples = await takeTurns(contenders, bench.options.rounds);
    const pairs = ours.flatMap((name) =>
      other === undefined
        ? Object.keys(group.peers ?? {}).map((peer) => [name, peer] as const)
        : [[named(name, bench.tree), named(name, other)] as const]
    );
    return [...report(samples), ...pairs.flatMap(([mine, theirs]) => compare(samples, mine, theirs))];
  } finally {
    for (const contender of contenders.values()) await contender.close?.();
  }
}

/** Rotates the order, so that no contender always goes first. */
async function takeTurns(contenders: ReadonlyMap<string, Contender>, rounds: number): Promise<Samples> {
  const order = [...contenders];
  const samples = new Map(order.map(([name]): [string, Measures[]] => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (let turn = 0; turn < order.length; turn += 1) {
      const [name, contender] = order[(round + turn) % order.length] as (typeof order)[number];
      const measures = await contender.run();
      samples.get(name)?.push(measures);
      const figures = Object.entries(measures).map(([measure, value]) => `${measure} ${digits(value)}`);
      say(`round ${round + 1}, ${name}: ${figures.join("; ")}`);
    }
  }
  return samples;
}

function report(samples: Samples): string[] {
  return [...samples].flatMap((
    [name, rounds],
  ) => [
    `\n${name}`,
    ...Object.keys(rounds[0] ?? {}).map((measure) =>
      `  ${measure}: ${withSpread(rounds.map((round) => round[measure] as number))}`
    ),
  ]);
}

/** Ratios are computed within a round; the spread is over rounds. */
function compare(samples: Samples, mine: string, theirs: string): string[] {
  const [ours = [], peers = []] = [samples.get(mine), samples.get(theirs)];
  const shared = Object.keys(ours[0] ?? {}).filter((measure) => measure in (peers[0] ?? {}));
  return [
    `\n${mine} / ${theirs}`,
    ...shared.map((measure) => {
      const values = (rounds: readonly Measures[]) => rounds.map((round) => round[measure] as number);
      const [top, bottom] = [values(ours), values(peers)];
      const ratios = top.map((value, round) => value / (bottom[round] as number));
      return `  ${measure}: ${withSpread(ratios, median(top) / median(bottom))}`;
    }),
  ];
}

function median(samples: readonly number[]): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] as number;
  return sorted.length % 2 === 1 ? upper : (sorted[middle - 1] as number + upper) / 2;
}

/** A number with at least three significant digits and thousands separators. */
export function digits(value: number): string {
  const decimals = value >= 100 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : 3;
  return value.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

function withSpread(samples: readonly number[], middle = median(samples)): string {
  return `${digits(middle)} (${digits(Math.min(...samples))}–${digits(Math.max(...samples))})`;
}
