/**
 * Runs all cases with a kit's driver.
 *
 * @module
 */

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Case } from "./case.ts";
import { makeCertificates } from "./certificates.ts";
import { buildDriver, Driver } from "./drivers.ts";
import { play, type TestEnv } from "./play.ts";
import { openBlackHole, openRefusingPort } from "./ports.ts";
import { secretsIn } from "./secrets.ts";

/** What came of a case. `known` is one that the platform cannot pass, and that did not. */
export interface Result {
  readonly name: string;
  readonly outcome: "passed" | "failed" | "known";
  /** What differs, a sentence each. */
  readonly faults: readonly string[];
}

/** The folder of the kits. */
export const kitsFolder = fileURLToPath(new URL("../", import.meta.url));

/** The kits that have a driver, by their folder's name. */
export function kitFolders(): string[] {
  return readdirSync(kitsFolder).filter((name) => existsSync(join(kitsFolder, name, "conformance/run")))
    .sort();
}

/** What stands around the cases: made once, for all kits. */
export type Surroundings =
  & Pick<TestEnv, "certificates" | "blackHolePort" | "refusingPort">
  & { readonly close: () => void };

/** Makes certificates, the address that never answers, and the one that refuses. */
export async function openSurroundings(): Promise<Surroundings> {
  const folder = mkdtempSync(join(tmpdir(), "leads-conformance-"));
  const [blackHole, refusing] = [await openBlackHole(), await openRefusingPort()];
  return {
    certificates: makeCertificates(folder),
    blackHolePort: blackHole.port,
    refusingPort: refusing.port,
    close: () => {
      blackHole.close();
      refusing.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Who is tested. */
export interface Subject {
  /** `leads-go`: in `User-Agent` and request ids. */
  readonly name: string;
  readonly folder: string;
  /** Cases that its platform cannot pass, and why. */
  readonly known: Readonly<Record<string, string>>;
  /** Whether leads are sent as the text that they were given as. */
  readonly sendsText: boolean;
}

/** A kit of this repository. */
export function kitSubject(name: string): Subject {
  const folder = join(kitsFolder, name);
  const knownFile = join(folder, "conformance/known.json");
  return {
    name: `leads-${name}`,
    folder,
    known: existsSync(knownFile) ? JSON.parse(readFileSync(knownFile, "utf8")) : {},
    sendsText: ["js", "node", "php"].includes(name),
  };
}

/** How many cases are under way at once. */
const atOnce = 8;

/** Runs the cases, tells of each as it ends, and returns them in order. */
export async function runSuite(
  subject: Subject,
  cases: readonly Case[],
  surroundings: Surroundings,
  onResult: (result: Result) => void = () => {},
): Promise<Result[]> {
  await buildDriver(subject.folder);
  const startDriver = (environment: Readonly<Record<string, string>>) =>
    new Driver(subject.folder, environment);
  const driver = startDriver({});
  const { version } = JSON.parse(readFileSync(join(kitsFolder, "kits.json"), "utf8"));
  const kit = { name: subject.name, version, sendsText: subject.sendsText };
  const testEnv: TestEnv = { ...surroundings, kit, driver, startDriver };
  const results = await inTurns(cases, atOnce, async (each) => {
    const result = judged(each.name, await play(each, testEnv), subject);
    onResult(result);
    return result;
  });
  const code = await driver.close();
  const end = judged("at the end of input", [
    ...(code === 0 ? [] : [`the driver ended with ${code} and not 0`]),
    ...secretsIn(driver.said).map((secret) => `${secret} stands in what the driver said besides its answers`),
  ], subject);
  onResult(end);
  return [...results, end];
}

function judged(name: string, faults: readonly string[], { known }: Subject): Result {
  if (known[name] === undefined) return { name, outcome: faults.length === 0 ? "passed" : "failed", faults };
  return faults.length === 0
    ? { name, outcome: "failed", faults: ["it is said to be impossible, and passes: take it off known.json"] }
    : { name, outcome: "known", faults: [known[name]] };
}

/** Does something with each, a number of them at once, and returns what came of it in order. */
export async function inTurns<T, R>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  await Promise.all(Array.from({ length: width }, async () => {
    for (let at = next++; at < items.length; at = next++) results[at] = await work(items[at] as T);
  }));
  return results;
}
