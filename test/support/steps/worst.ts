/**
 * Searches for the most expensive input by repeating, combining and changing pieces that a parser recognizes. It is
 * seeded, so that a failure is reproducible.
 */

import { seededRandom } from "../faults/random.ts";
import { countSteps, cpuMs } from "./meter.ts";

/** A function that reads a stranger's text. */
export interface Subject {
  readonly name: string;
  /** The pieces of its inputs; each is first tried on its own. */
  readonly pieces: readonly string[];
  /** Builds an input of about `bytes` bytes. It is not measured. */
  readonly build: (genome: Genome, bytes: number) => string;
  /** The measured function. */
  readonly read: (input: string) => unknown;
}

/** The parts from which an input is built. */
export interface Genome {
  readonly first: string;
  /** Repeated to fill the input. */
  readonly unit: string;
  readonly last: string;
  /** For bodies: the bytes of one field, and the piece of its name. */
  readonly fieldBytes: number;
  readonly fieldName: string;
}

/** An input and its cost. */
export interface Costly {
  readonly genome: Genome;
  readonly steps: number;
  /** Processor time in milliseconds. */
  readonly ms: number;
}

const fieldSizes = [Infinity, 400, 120, 40, 12, 6];

/** The extent of a search. */
export interface Search {
  /** The size of each input. */
  readonly bytes: number;
  readonly rounds: number;
  readonly seed: number;
  /** The number of most expensive inputs that are kept, changed and returned. */
  readonly most: number;
  /** The first inputs; by default each piece on its own. */
  readonly from?: readonly Genome[];
}

/** A step takes some nanoseconds; the time includes what the engine does besides. */
const weight = ({ steps, ms }: Costly) => steps + ms * 100_000;

/** Returns the most expensive inputs found, worst first. */
export function searchWorst(subject: Subject, search: Search): readonly Costly[] {
  const { bytes, rounds, seed, most } = search;
  const luck = seededRandom(seed);
  const cost = (genome: Genome): Costly => ({ genome, ...costOf(subject, genome, bytes) });
  const piece = () => luck.oneIn(3) ? "" : luck.pick(subject.pieces);
  const bare = { first: "", last: "", fieldBytes: Infinity, fieldName: "message" };
  let found: Costly[] = (search.from ?? subject.pieces.map((unit) => ({ ...bare, unit }))).map(cost);
  for (let round = 0; round < rounds; round++) {
    found = found.toSorted((a, b) => weight(b) - weight(a)).slice(0, most);
    const { genome } = luck.pick(found);
    const unit = [
      () => genome.unit + luck.pick(subject.pieces),
      () => luck.pick(subject.pieces) + luck.pick(subject.pieces),
      () => luck.pick(subject.pieces),
      () => genome.unit,
    ][luck.below(4)]?.() as string;
    found.push(cost({
      unit: unit.length > 60 ? luck.pick(subject.pieces) : unit,
      first: luck.oneIn(2) ? genome.first : piece(),
      last: luck.oneIn(2) ? genome.last : piece(),
      fieldBytes: luck.oneIn(2) ? genome.fieldBytes : luck.pick(fieldSizes),
      fieldName: luck.oneIn(2) ? genome.fieldName : luck.pick(subject.pieces),
    }));
  }
  return found.toSorted((a, b) => weight(b) - weight(a)).slice(0, most);
}

/** Returns the cost of an input on its second run; the first one initializes caches. */
function costOf({ build, read }: Subject, genome: Genome, bytes: number): Pick<Costly, "steps" | "ms"> {
  const input = build(genome, bytes);
  read(input);
  return { steps: countSteps(() => read(input)), ms: cpuMs(() => read(input)) };
}

/** Returns a line of text, such as a header or an address. */
export function line({ first, unit, last }: Genome, bytes: number): string {
  const room = bytes - byteLength(first) - byteLength(last);
  return first + filled(unit, room) + last;
}

/** Returns a flat JSON object with one long field or as many short ones as fit. Every name is unique. */
export function flatObject(genome: Genome, bytes: number): string {
  const members: string[] = [];
  for (let left = bytes - 2, at = 0; left > 8; at++) {
    const name = JSON.stringify(`${genome.fieldName}${at === 0 ? "" : at.toString(36)}`);
    const room = Math.min(left, genome.fieldBytes) - byteLength(name) - 4;
    const value = literal({ ...genome, first: genome.first, last: genome.last }, room);
    members.push(`${name}:${value}`);
    left -= byteLength(name) + byteLength(value) + 2;
  }
  return `{${members.join(",")}}`;
}

/** Returns a value: a number if the unit is one, else a string. */
function literal(genome: Genome, bytes: number): string {
  const text = line(genome, bytes);
  if (/^\d+$/.test(genome.unit)) return /^[1-9]\d*(e\d+)?$/.test(text) ? text : "1";
  // The pieces' escapes are preserved.
  return `"${text.replaceAll(/["\n\r\t]/g, " ").replace(/\\*$/, "")}"`;
}

function filled(unit: string, bytes: number): string {
  return unit.repeat(Math.max(0, Math.floor(bytes / Math.max(1, byteLength(unit)))));
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}
