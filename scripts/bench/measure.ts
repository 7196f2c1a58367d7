/** Compares contenders in interleaved rounds, and also reports each of our figures as a ratio to the peers'. */

import { type Checkout, logProgress, type Measures } from "./programs.ts";
import type { BenchServer } from "./stage.ts";

/** The paths of the files with leads and keys, one per line. */
export interface Load {
  readonly bodiesFile: string;
  readonly keysFile: string;
}

export interface Options {
  readonly rounds: number;
  /** The length of a round's measurement, in seconds. */
  readonly seconds: number;
  /** The length of one warm-up run, in seconds. */
  readonly warmUpSeconds: number;
  /** For the suite `curve`: the numbers of stored events, ascending. */
  readonly sizes: readonly number[];
  /** For the suite `curve`: the numbers of API keys, ascending. */
  readonly keys: readonly number[];
  /** For the suite `delivery`: the number of leads in the backlog. */
  readonly backlog: number;
  /** The runtime of our service. */
  readonly runtime: "node" | "deno";
}

export interface Bench {
  readonly options: Options;
  readonly postgresServer: BenchServer;
  /** The checkout of our service. */
  readonly checkout: Checkout;
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
export type OpenContender = (bench: Bench) => Contender | Promise<Contender>;

/** Contenders whose rounds are interleaved. */
export interface Group {
  readonly ours: Readonly<Record<string, OpenContender>>;
  readonly peers?: Readonly<Record<string, OpenContender>>;
}

export interface Suite {
  readonly about: string;
  /** Whether the suite's peers are in `scripts/bench/package.json`. */
  readonly hasPackages?: boolean;
  readonly groups: (options: Options) => readonly Group[];
}

type Samples = ReadonlyMap<string, readonly Measures[]>;

/** Runs a group's rounds against `other` or, without it, against the peers; returns the report's lines. */
export async function measure(group: Group, bench: Bench, other: Checkout | undefined): Promise<string[]> {
  const ours = Object.keys(group.ours);
  const named = (name: string, checkout: Checkout) =>
    other === undefined ? name : `${name}, ${checkout.name}`;
  const checkouts = other === undefined ? [bench.checkout] : [bench.checkout, other];
  const entries = Object.entries(group.ours).flatMap(([name, open]) =>
    checkouts.map((checkout) => ({ name: named(name, checkout), open, bench: { ...bench, checkout } }))
  );
  if (other === undefined) {
    entries.push(...Object.entries(group.peers ?? {}).map(([name, open]) => ({ name, open, bench })));
  }
  const contenders = new Map<string, Contender>();
  try {
    for (const { name, open, bench } of entries) {
      contenders.set(name, await open(bench));
    }
    const samples = await runRounds(contenders, bench.options.rounds);
    const pairs = ours.flatMap((name) =>
      other === undefined
        ? Object.keys(group.peers ?? {}).map((peer) => [name, peer] as const)
        : [[named(name, bench.checkout), named(name, other)] as const]
    );
    return [
      ...report(samples),
      ...pairs.flatMap(([ourName, peerName]) => compare(samples, ourName, peerName)),
    ];
  } finally {
    for (const contender of contenders.values()) await contender.close?.();
  }
}

/** Runs the rounds. The contenders' order rotates, so that none is always first. */
async function runRounds(contenders: ReadonlyMap<string, Contender>, rounds: number): Promise<Samples> {
  const order = [...contenders];
  const samples = new Map(order.map(([name]): [string, Measures[]] => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (let position = 0; position < order.length; position += 1) {
      const [name, contender] = order[(round + position) % order.length] as (typeof order)[number];
      const measures = await contender.run();
      samples.get(name)?.push(measures);
      const figures = Object.entries(measures).map(([measure, value]) => `${measure} ${formatFigure(value)}`);
      logProgress(`round ${round + 1}, ${name}: ${figures.join("; ")}`);
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

/** Computes the ratio of each figure within each round, and its spread over the rounds. */
function compare(samples: Samples, ourName: string, peerName: string): string[] {
  const [ours = [], peers = []] = [samples.get(ourName), samples.get(peerName)];
  const shared = Object.keys(ours[0] ?? {}).filter((measure) => measure in (peers[0] ?? {}));
  return [
    `\n${ourName} / ${peerName}`,
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

/** Formats a number with thousands separators and at most three decimals, fewer for larger numbers. */
export function formatFigure(value: number): string {
  const decimals = value >= 100 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : 3;
  return value.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

function withSpread(samples: readonly number[], middle = median(samples)): string {
  return `${formatFigure(middle)} (${formatFigure(Math.min(...samples))}–${
    formatFigure(Math.max(...samples))
  })`;
}
