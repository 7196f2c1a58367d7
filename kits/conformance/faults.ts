/**
 * Tests the suite: the reference driver with a fault planted has to fail a case.
 *
 * @module
 */

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readCases } from "./case.ts";
import {
  inTurns,
  openSurroundings,
  type Result,
  runSuite,
  type Subject,
  type Surroundings,
} from "./suite.ts";

/** A change to the text of the reference driver that breaks one rule. */
export interface Fault {
  /** What it does, as a sentence of its own. */
  readonly name: string;
  /** The cases that are there for this rule: each of them has to fail. */
  readonly caught_by: readonly string[];
  readonly file: string;
  /** Stands there once. */
  readonly find: string;
  readonly replace: string;
}

/** A fault, and the cases that should have failed for it and passed. */
export interface Caught {
  readonly name: string;
  readonly missed: readonly string[];
}

/** Each of them is a process of its own. */
const atOnce = 4;

const reference = fileURLToPath(new URL("./reference/", import.meta.url));

/** The faults. */
export function readFaults(): Fault[] {
  return JSON.parse(readFileSync(join(reference, "faults.json"), "utf8"));
}

/** The reference driver as it is. */
export function referenceSubject(folder = reference): Subject {
  return { name: "leads-reference", folder, known: {}, sendsText: true };
}

/**
 * Plants each fault and tells which of its cases pass all the same.
 *
 * @throws {Error} for a fault whose text does not stand there once, or when the reference driver itself fails
 */
export async function runFaults(onCaught: (caught: Caught) => void = () => {}): Promise<Caught[]> {
  const surroundings = await openSurroundings();
  try {
    const sound = failed(await runSuite(referenceSubject(), readCases(), surroundings));
    if (sound.length > 0) throw new Error(`The reference driver fails ${sound.join(", ")}`);
    return await inTurns(readFaults(), atOnce, async (fault) => {
      const caught = { name: fault.name, missed: await casesThatPass(fault, surroundings) };
      onCaught(caught);
      return caught;
    });
  } finally {
    surroundings.close();
  }
}

async function casesThatPass(fault: Fault, surroundings: Surroundings): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), "leads-fault-"));
  try {
    cpSync(reference, folder, { recursive: true });
    const file = join(folder, fault.file);
    const parts = readFileSync(file, "utf8").split(fault.find);
    if (parts.length !== 2) {
      throw new Error(`"${fault.find}" stands ${parts.length - 1} times in ${fault.file}`);
    }
    writeFileSync(file, parts.join(fault.replace));
    const cases = readCases().filter(({ name }) => fault.caught_by.includes(name));
    if (cases.length !== fault.caught_by.length) {
      throw new Error(`${fault.name}: not all of its cases are there`);
    }
    const caught = failed(await runSuite(referenceSubject(folder), cases, surroundings));
    return fault.caught_by.filter((name) => !caught.includes(name));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const failed = (results: readonly Result[]) =>
  results.filter(({ outcome }) => outcome === "failed").map(({ name }) => name);
