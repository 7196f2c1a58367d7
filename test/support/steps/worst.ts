/**
 * A search for the input that costs the most: pieces that a parser knows, repeated, combined and changed as long as that
 * makes it dearer. Seeded, so that a failure comes again.
 */

import { chance } from "../faults/random.ts";
import { countSteps, cpuMs } from "./meter.ts";

/** Something that reads what a stranger wrote. */
export interface Subject {
  readonly name: string;
  /** What its inputs are made of; each is tried by itself first. */
  readonly pieces: readonly string[];
  /** An input of about so many bytes. Nothing of it is counted. */
  readonly build: (genome: Genome, bytes: number) => string;
  /** What is counted. */
  readonly read: (input: string) => unknown;
}

/** What an input is built from. */
export interface Genome {
  readonly first: string;
  /** Repeated as often as there is room. */
  readonly unit: string;
  readonly last: string;
  /** In bodies: the bytes of one field, and what its name is made of. */
  readonly fieldBytes: number;
  readonly fieldName: string;
}

/** An input and its cost. */
export interface Costly {
  readonly genome: Genome;
  readonly steps: number;
  /** Of the processor, milliseconds. */
  readonly ms: number;
}

const fieldSizes = [Infinity, 400, 120, 40, 12, 6];

/** How far a search goes. */
export interface Search {
  /** Of each input. */
  readonly bytes: number;
  readonly rounds: number;
  readonly seed: number;
  /** How many of the costliest are kept, changed further and given back. */
  readonly most: number;
  /** Where it begins; left out, with each piece by itself. */
  readonly from?: readonly Genome[];
}

/** A step is some nanoseconds; what the engine does besides shows in the time. */
const weight = ({ steps, ms }: Costly) => steps + ms * 100_000;

/** The costliest genomes found, the worst first. */
export function searchWorst(subject: Subject, search: Search): readonly Costly[] {
  const { bytes, rounds, seed, most } = search;
  const luck = chance(seed);
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

/** What an input of some size takes, the second time: the first one finds things yet to be made ready. */
function costOf({ build, read }: Subject, genome: Genome, bytes: number): Pick<Costly, "steps" | "ms"> {
  const input = build(genome, bytes);
  read(input);
  return { steps: countSteps(() => read(input)), ms: cpuMs(() => read(input)) };
}

/** A line of text: a header, an address. */
export function line({ first, unit, last }: Genome, bytes: number): string {
  const room = bytes - byteLength(first) - byteLength(last);
  return first + filled(unit, room) + last;
}

/** A flat JSON object: one long field, or as many as there is room for. Every name is another one. */
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

/** A value: a number where the unit is one, else a string. */
function literal(genome: Genome, bytes: number): string {
  const text = line(genome, bytes);
  if (/^\d+$/.test(genome.unit)) return /^[1-9]\d*(e\d+)?$/.test(text) ? text : "1";
  // Escapes of the pieces stay what they are.
  return `"${text.replaceAll(/["\n\r\t]/g, " ").replace(/\\*$/, "")}"`;
}

function filled(unit: string, bytes: number): string {
  return unit.repeat(Math.max(0, Math.floor(bytes / Math.max(1, byteLength(unit)))));
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}
