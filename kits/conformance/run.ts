/**
 * `node kits/conformance/run.ts [KIT …] [--case PATTERN] [--verbose] [--faults]`: the suite, and its table.
 *
 * @module
 */

import { matchesGlob } from "node:path";
import { parseArgs } from "node:util";
import { readCases } from "./case.ts";
import { runFaults } from "./faults.ts";
import { kitFolders, kitSubject, openSurroundings, type Result, runSuite } from "./suite.ts";

const marks = { passed: "✔", failed: "✖", known: "k" };
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    "case": { type: "string" },
    verbose: { type: "boolean", default: false },
    faults: { type: "boolean", default: false },
  },
});
process.exitCode = values.faults ? await faultsTable() : await kitsTable();

async function kitsTable(): Promise<number> {
  const there = kitFolders();
  const stranger = positionals.find((name) => !there.includes(name));
  const pattern = values.case;
  const cases = readCases().filter(({ name }) => pattern === undefined || matchesGlob(name, pattern));
  if (stranger !== undefined || cases.length === 0) {
    const why = stranger === undefined ? `No case is called ${pattern}` : `There is no kit ${stranger}`;
    console.error(`${why}. Kits: ${there.join(", ")}.`);
    return 2;
  }
  const surroundings = await openSurroundings();
  const byKit: [string, Result[]][] = [];
  try {
    for (const name of positionals.length === 0 ? there : positionals) {
      byKit.push([
        name,
        await runSuite(kitSubject(name), cases, surroundings, (result) => {
          if (values.verbose) console.log(`${marks[result.outcome]} ${name}: ${result.name}`);
        }),
      ]);
    }
  } finally {
    surroundings.close();
  }
  print(byKit);
  return byKit.some(([, results]) => results.some(({ outcome }) => outcome === "failed")) ? 1 : 0;
}

function print(byKit: readonly (readonly [string, readonly Result[]])[]): void {
  const names = byKit[0]?.[1].map(({ name }) => name) ?? [];
  const width = Math.max(...names.map(({ length }) => length));
  console.log(`${"".padEnd(width)}  ${byKit.map(([kit]) => kit).join("  ")}`);
  names.forEach((name, row) => {
    const cells = byKit.map(([kit, results]) => marks[results[row]?.outcome ?? "failed"].padEnd(kit.length));
    console.log(`${name.padEnd(width)}  ${cells.join("  ")}`);
  });
  for (const [kit, results] of byKit) {
    for (const { name, outcome, faults } of results) {
      if (outcome === "passed") continue;
      console.log(`\n${kit}, ${name}${outcome === "known" ? " (known)" : ""}:`);
      for (const fault of faults) console.log(`  - ${fault}`);
    }
  }
  const count = (results: readonly Result[], outcome: string) =>
    results.filter((result) => result.outcome === outcome).length;
  console.log("");
  for (const [kit, results] of byKit) {
    console.log(
      `${kit}: ${count(results, "passed")} passed, ${count(results, "failed")} failed, ${
        count(results, "known")
      } known`,
    );
  }
}

async function faultsTable(): Promise<number> {
  const all = await runFaults(({ name, missed }) => {
    console.log(missed.length === 0 ? `✔ ${name}` : `✖ ${name}: passes ${missed.join(", ")}`);
  });
  const missed = all.filter((caught) => caught.missed.length > 0).length;
  console.log(`\n${all.length} planted, ${all.length - missed} caught`);
  return missed === 0 ? 0 : 1;
}
