/**
 * `npm run fuzz`: has schemathesis make requests of the published OpenAPI document, send them to the service on Node and
 * on Deno, and hold each answer to the document. The log is read afterwards: what it counts is what was served.
 *
 * @module
 */

import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { migrate } from "../../src/store/schema/migrate.ts";
import { say } from "../bench/programs.ts";
import { startService } from "../bench/service.ts";
import { thisTree } from "../bench/tree.ts";
import { startPostgres } from "../embedded_postgres.ts";
import { createLogins } from "../login_roles.ts";
import { seed, type Seeded } from "../seed.ts";
import { faultsOf, renderCounts } from "./log.ts";
import { fuzz, installSchemathesis } from "./schemathesis.ts";

const usage = `Usage: npm run fuzz [-- --runtime node|deno] [--examples N] [--seed N]

Sends 100,000 generated requests and more to the service on each runtime, and fails on an answer that is not
documented. --examples is how many are generated for each post (25000); a seed makes the same
requests again. It needs python3 with venv, and fetches schemathesis from PyPI once.`;

const runtimes = ["node", "deno"] as const;

interface Options {
  readonly runtimes: readonly (typeof runtimes)[number][];
  readonly examples: number;
  readonly seed: number;
}

function readOptions(args: readonly string[]): Options | null {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        runtime: { type: "string" },
        examples: { type: "string", default: "25000" },
        seed: { type: "string", default: "1" },
      },
    });
    const [examples, seed] = [Number(values.examples), Number(values.seed)];
    const chosen = runtimes.filter((name) => (values.runtime ?? name) === name);
    const isUsable = chosen.length > 0 && Number.isInteger(examples) && examples > 0 &&
      Number.isInteger(seed);
    return isUsable ? { runtimes: chosen, examples, seed } : null;
  } catch {
    return null;
  }
}

/** Fuzzes the service on one runtime, with a database of its own; returns how many kinds of findings there were. */
async function fuzzOn(runtime: Options["runtimes"][number], { examples, seed: number }: Options) {
  const server = await startPostgres();
  try {
    await migrate(server.url);
    const seeded = await seed(server.url, { onlyWhenEmpty: false }) as Seeded;
    const { serviceUrl } = await createLogins(server.url);
    const service = await startService({ tree: thisTree, options: { runtime, profile: false } }, {
      databaseUrl: serviceUrl,
      name: `fuzz_${runtime}`,
    });
    const startMs = performance.now();
    let failed: readonly string[];
    try {
      failed = await fuzz({ urls: service.urls, seeded, examples, seed: number, name: runtime });
    } finally {
      await service.stop();
    }
    const seconds = Math.round((performance.now() - startMs) / 1000);
    const log = readFileSync(service.logFile, "utf8");
    const faults = faultsOf(log, [seeded.key, seeded.formsKey]);
    say(`\n${runtime}, seed ${number}, ${seconds} s\n${renderCounts(log)}`);
    for (const fault of [...failed, ...faults]) say(`FAILED: ${fault}`);
    return failed.length + faults.length;
  } finally {
    await server.stop();
  }
}

const options = readOptions(process.argv.slice(2));
if (options === null) {
  console.error(usage);
  process.exitCode = 2;
} else {
  await installSchemathesis();
  for (const runtime of options.runtimes) {
    if (await fuzzOn(runtime, options) > 0) process.exitCode = 1;
  }
}
