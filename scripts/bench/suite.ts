/**
 * What a suite is made of, and how its rows are measured: contenders run interleaved rounds, and a row compares what
 * two of them found.
 *
 * @module
 */

import type { DevCertificates } from "../dev_certificates.ts";
import type { Load } from "./load/wrk.ts";
import type { NumberName, Options } from "./options.ts";
import { profiled } from "./profile/profile.ts";
import { say } from "./programs.ts";
import type { Stage } from "./stage.ts";
import { digits, type Figure, figure } from "./stats.ts";
import type { Tree } from "./tree.ts";

/** What everybody works with. */
export interface Bench {
  readonly options: Options;
  readonly stage: Stage;
  /** Whose service is ours. */
  readonly tree: Tree;
  /** Leads as they are posted, and where wrk and the other clients find them. */
  readonly bodies: readonly string[];
  readonly load: Load;
  readonly certificates: DevCertificates;
}

/** What a round has found, by name and unit. */
export type Measures = Readonly<Record<string, number>>;

/** Somebody who takes part in the rounds. */
export interface Contender {
  readonly run: () => Promise<Measures>;
  /** How it was set. */
  readonly note?: string;
  readonly close?: () => Promise<unknown>;
}

/** Prepares a contender; what throws here costs only the rows that need it. */
export type Open = (bench: Bench) => Contender | Promise<Contender>;

/** What must be reached. */
export type Target = { readonly atLeast: number } | { readonly atMost: number };

/** A line of the table. */
export interface Row {
  readonly name: string;
  /** The measure that it is about, and the contender whose it is. */
  readonly of: string;
  readonly ours: string;
  /** Of the figure that is found, where it is no ratio. */
  readonly unit?: string;
  /** Whose measure it is divided by. */
  readonly peer?: string;
  /** That measure, when it is another one. */
  readonly peerOf?: string;
  readonly target?: Target;
  /** Held against the target: the median, except where the worst has to meet it. */
  readonly judged?: "highest";
  readonly note?: string;
}

/** Rows that are measured in the same rounds. */
export interface Group {
  readonly rows: Readonly<Record<string, Row>>;
  readonly ours: Readonly<Record<string, Open>>;
  readonly peers?: Readonly<Record<string, Open>>;
  /** Instead of those that are asked for. */
  readonly rounds?: number;
}

/** A suite of benchmarks. */
export interface Suite {
  readonly about: string;
  /** Programs that it cannot do without, each with its package of Debian. */
  readonly needs?: Readonly<Record<string, string>>;
  /** Whether `scripts/bench/package.json` has peers of it. */
  readonly hasPackages?: boolean;
  /** How everybody was run. */
  readonly conditions: readonly string[];
  readonly defaults?: Partial<Readonly<Record<NumberName, number>>>;
  readonly groups: (options: Options) => readonly Group[];
  /** Pictures of what was found, by the names of their files. */
  readonly draw?: (measured: Measured) => Readonly<Record<string, string>>;
}

/** What a saved run has measured, by contender and name: median, lowest and highest. */
export type Measured = Readonly<Record<string, Readonly<Record<string, readonly number[]>>>>;

/** What was found for a row; `ours` is `null` when it could not be measured. */
export interface Result extends Pick<Row, "name" | "target" | "judged"> {
  readonly id: string;
  readonly unit: string;
  /** Ours is divided by the peer's. */
  readonly isRatio: boolean;
  readonly ours: Figure | null;
  readonly peer: Figure | null;
  readonly note: string;
}

/** All measures of all contenders. */
export type Found = Readonly<Record<string, Readonly<Record<string, Figure>>>>;

/** What a group has found. */
export interface GroupResult {
  readonly results: readonly Result[];
  readonly found: Found;
}

/** Measures the rows of a group that are asked for; `other` is measured beside ours when there is one. */
export async function measure(group: Group, bench: Bench, other: Tree | undefined): Promise<GroupResult> {
  const { options } = bench;
  const rows = Object.entries(group.rows).filter(([id]) =>
    options.rows.length === 0 || options.rows.includes(id)
  );
  const wanted = new Set(rows.flatMap(([, { ours, peer }]) => [ours, peer ?? ours]));
  const mine = Object.entries(group.ours).filter(([name]) => wanted.has(name));
  const theirs = Object.entries(group.peers ?? {}).filter(([name]) => wanted.has(name));
  const benches = [bench, ...(other === undefined ? [] : [{ ...bench, tree: other }])];
  const taking = other === undefined && !options.profile
    ? [...mine, ...theirs].map(([name, open]) => ({ name, open, bench }))
    : mine.flatMap(([name, open]) =>
      benches.map((bench) => ({
        name: other === undefined ? name : `${name}, ${bench.tree.name}`,
        open,
        bench,
      }))
    );
  const contenders = new Map<string, Contender>();
  const notes: Record<string, string> = {};
  try {
    for (const { name, open, bench } of taking) {
      try {
        const contender = await open(bench);
        const { run } = contender;
        contenders.set(
          name,
          options.profile ? { ...contender, run: () => profiled(name, bench, run) } : contender,
        );
        if (contender.note !== undefined) notes[name] = contender.note;
      } catch (error) {
        notes[name] = `not measured: ${(error as Error).message}`;
        say(`${name} ${notes[name]}`);
      }
    }
    const rounds = options.profile ? 1 : group.rounds ?? options.rounds;
    const found = await takeTurns(contenders, rounds);
    const results = other === undefined
      ? rows.map(([id, row]) => toResult(id, row, { found, notes }))
      : mine.flatMap(([name]) => compare(name, found, [bench.tree, other]));
    return { results, found };
  } finally {
    for (const contender of contenders.values()) await contender.close?.();
  }
}

/** Each round another one begins, so that nobody has the same place every time. */
async function takeTurns(contenders: ReadonlyMap<string, Contender>, rounds: number): Promise<Found> {
  const order = [...contenders];
  const samples = order.map(([name]): [string, Measures[]] => [name, []]);
  for (let round = 0; round < rounds; round += 1) {
    for (let turn = 0; turn < order.length; turn += 1) {
      const at = (round + turn) % order.length;
      const [name, contender] = order[at] as (typeof order)[number];
      const measures = await contender.run();
      samples[at]?.[1].push(measures);
      const told = Object.entries(measures).map(([measure, value]) => `${measure} ${digits(value)}`);
      say(`round ${round + 1}, ${name}: ${told.join("; ")}`);
    }
  }
  return Object.fromEntries(samples.map(([name, rounds]) => [
    name,
    Object.fromEntries(
      Object.keys(rounds[0] ?? {}).map((
        measure,
      ) => [measure, figure(rounds.map((round) => round[measure] as number))]),
    ),
  ]));
}

function toResult(
  id: string,
  { name, of, unit = of, ours, peer, peerOf, target, judged, note }: Row,
  { found, notes }: { found: Found; notes: Readonly<Record<string, string>> },
): Result {
  const other = peer ?? ours;
  const said = [note, notes[ours], other === ours ? undefined : notes[other]].filter((text) =>
    text !== undefined
  );
  const isRatio = peer !== undefined || peerOf !== undefined;
  const [mine, theirs] = [found[ours]?.[of] ?? null, found[other]?.[peerOf ?? of] ?? null];
  return {
    id,
    name,
    unit,
    isRatio,
    ours: isRatio && theirs === null ? null : mine,
    peer: isRatio ? theirs : null,
    ...(target === undefined ? {} : { target }),
    ...(judged === undefined ? {} : { judged }),
    note: said.join("; "),
  };
}

/** A row for each measure of one of ours: this tree's against the other's. */
function compare(name: string, found: Found, [one, other]: readonly [Tree, Tree]): Result[] {
  const [mine = {}, theirs = {}] = [found[`${name}, ${one.name}`], found[`${name}, ${other.name}`]];
  return Object.entries(mine).map(([measure, ours]) => ({
    id: name,
    name: `${name}: ${measure}, this tree against ${other.name}`,
    unit: measure,
    isRatio: true,
    ours,
    peer: theirs[measure] ?? null,
    note: "",
  }));
}
