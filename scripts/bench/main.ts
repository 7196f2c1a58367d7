/**
 * `npm run bench -- SUITE`: measures this service side by side with its peers, or with another commit of itself, and
 * prints a table. The same stands in `build/bench/SUITE.json` afterwards, and with `--save` in `docs/benchmarks/`.
 *
 * @module
 */

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ensureDevCertificates } from "../dev_certificates.ts";
import { makeBodies } from "./load/leads.ts";
import { writeLoad, wrkVersion } from "./load/wrk.ts";
import { describeMachine } from "./machine.ts";
import { type Asked, help, readCommand } from "./command.ts";
import { statementSettings } from "./profile/statements.ts";
import { buildFolder, run, say } from "./programs.ts";
import { renderTable, toMeasures, toRows } from "./report.ts";
import { openStage, type Stage } from "./stage.ts";
import { type Bench, type GroupResult, measure, type Suite } from "./suite.ts";
import { attacks } from "./suites/attacks.ts";
import { curve } from "./suites/curve.ts";
import { delivery } from "./suites/delivery.ts";
import { intake } from "./suites/intake.ts";
import { outbound } from "./suites/outbound.ts";
import { plans } from "./suites/plans.ts";
import { processes } from "./suites/processes.ts";
import { staticFiles } from "./suites/static.ts";
import { openTree, thisTree } from "./tree.ts";

const suites: Readonly<Record<string, Suite>> = {
  intake,
  curve,
  delivery,
  outbound,
  plans,
  processes,
  static: staticFiles,
  attacks,
};

/** Different bodies that are posted in turn. */
const bodyCount = 2_000;

/** The peers' packages are their own; they are installed when they are missing or out of date. */
async function installPeers(): Promise<void> {
  const folder = fileURLToPath(new URL(".", import.meta.url));
  const installed = join(folder, "node_modules", ".package-lock.json");
  const lock = join(folder, "package-lock.json");
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs) return;
  say("npm ci --prefix scripts/bench");
  // With all of the environment: it may name a proxy or a certificate.
  await run("npm", ["ci", "--prefix", folder], { timeoutMs: 300_000, env: process.env });
  // Deno's type check of the whole repository would take in this second copy of Node's types, and trip over it.
  rmSync(join(folder, "node_modules", "@types"), { recursive: true, force: true });
}

/** Measures group after group; one that fails costs no other one. */
async function measureAll({ suite, options }: Asked, stage: Stage): Promise<GroupResult[]> {
  const certificates = ensureDevCertificates(join(buildFolder, "certificates"));
  const bodies = makeBodies(bodyCount);
  const bench: Bench = {
    options,
    stage,
    tree: thisTree,
    bodies,
    load: writeLoad(bodies, stage.keys),
    certificates,
  };
  const other = options.against === undefined ? undefined : await openTree(options.against);
  const all = suite.groups(options);
  const wanted = options.rows.length > 0
    ? all.filter(({ rows }) => options.rows.some((row) => row in rows))
    : other === undefined && !options.profile
    ? all
    : all.slice(0, 1);
  const groups: GroupResult[] = [];
  for (const group of wanted) {
    try {
      groups.push(await measure(group, bench, other));
    } catch (error) {
      say(`\nNot measured: ${Object.keys(group.rows).join(", ")}: ${(error as Error).stack}`);
      process.exitCode = 1;
    }
  }
  return groups;
}

async function main(asked: Asked): Promise<void> {
  const { name, suite, options } = asked;
  for (const [program, debian] of Object.entries(suite.needs ?? {})) {
    const { error } = spawnSync(program, ["-v"]);
    if (error !== undefined) throw new Error(`${program} is missing. On Debian: apt-get install ${debian}`);
  }
  mkdirSync(buildFolder, { recursive: true });
  const machine = describeMachine(buildFolder);
  if (machine.loadBefore > 0.5) {
    say(`The machine is busy (load ${machine.loadBefore}): take the figures for a smoke test`);
  }
  if (suite.hasPackages && !options.profile && options.against === undefined) await installPeers();
  const stage = await openStage(options.profile ? statementSettings : {});
  try {
    const postgresql = await stage.describe();
    const groups = await measureAll(asked, stage);
    if (options.profile) return;
    const versions = process.versions as Readonly<Record<string, string>>;
    const conditions = [...suite.conditions, postgresql.settings];
    const measured = toMeasures(Object.assign({}, ...groups.map(({ found }) => found)));
    const text = JSON.stringify(
      {
        command: ["npm run bench --", ...process.argv.slice(2).filter((word) => word !== "--save")].join(" "),
        date: new Date().toISOString().slice(0, 10),
        machine,
        runtime: [
          `${options.runtime} ${versions[options.runtime] ?? ""}`.trim(),
          postgresql.version,
          await wrkVersion(),
        ].join(", "),
        conditions,
        rows: toRows(groups.flatMap(({ results }) => results)),
        measured,
      },
      null,
      2,
    );
    const folder = options.save
      ? fileURLToPath(new URL("../../docs/benchmarks", import.meta.url))
      : buildFolder;
    mkdirSync(folder, { recursive: true });
    const file = join(folder, `${name}.json`);
    writeFileSync(file, `${text}\n`);
    for (const [name, picture] of Object.entries(suite.draw?.(measured) ?? {})) {
      writeFileSync(join(folder, name), picture);
    }
    console.log([renderTable(groups), "", JSON.stringify(machine), ...conditions, file].join("\n"));
  } finally {
    await stage.close();
  }
}

let asked: Asked | "help" | undefined;
try {
  asked = readCommand(process.argv.slice(2), suites);
} catch (error) {
  say(`${(error as Error).message}\n\n${help(suites)}`);
  process.exitCode = 2;
}
if (asked === "help") console.log(help(suites));
else if (asked !== undefined) {
  try {
    await main(asked);
  } catch (error) {
    say((error as Error).stack ?? String(error));
    process.exitCode = 1;
  }
}
