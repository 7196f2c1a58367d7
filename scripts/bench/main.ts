/**
 * `npm run bench -- SUITE`: measures this service side by side with its peers, or with another checkout (`--against`),
 * and prints the figures of each side and their ratios.
 */

import { existsSync, mkdirSync, rmSync, statSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { curve } from "./curve.ts";
import { delivery } from "./delivery.ts";
import { intake } from "./intake.ts";
import { makeBodies } from "./leads.ts";
import { type Bench, measure, type Options, type Suite } from "./measure.ts";
import { writeLoad } from "./posting.ts";
import { buildFolder, logProgress, openCheckout, run, thisCheckout } from "./programs.ts";
import { BenchServer } from "./stage.ts";

const suites: Readonly<Record<string, Suite>> = { intake, delivery, curve };

/** The number of distinct bodies. */
const bodyCount = 2_000;

const help = `npm run bench -- SUITE [options]

${Object.entries(suites).map(([name, { about }]) => `  ${name.padEnd(14)}  ${about}`).join("\n")}

  --rounds N      interleaved rounds (5)
  --seconds N     measured seconds per round (10)
  --warm-up N     seconds of warm-up before each round (4)
  --against REF   compare with the service of a commit or folder instead of the peers
  --runtime R     the service's runtime: node or deno
  --sizes N,…     curve: stored events (0,1000000,5000000,20000000)
  --keys N,…      curve: API keys in use (1,100,10000)
  --backlog N     delivery: leads in the backlog (100000)`;

/** Installs the peers' packages if they are missing or outdated. */
async function installPeers(): Promise<void> {
  const folder = fileURLToPath(new URL(".", import.meta.url));
  const installed = join(folder, "node_modules", ".package-lock.json");
  const lock = join(folder, "package-lock.json");
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs) return;
  logProgress("npm ci --prefix scripts/bench");
  // npm gets the whole environment, because it may contain a proxy or a certificate.
  await run("npm", ["ci", "--prefix", folder], { timeoutMs: 300_000, env: process.env });
  // A second copy of Node's types would break Deno's type check of the repository.
  rmSync(join(folder, "node_modules", "@types"), { recursive: true, force: true });
}

async function main(suite: Suite, options: Options, against: string | undefined): Promise<void> {
  mkdirSync(buildFolder, { recursive: true });
  const [load = 0] = loadavg();
  if (load > 0.5) {
    logProgress(
      `The machine is busy (load ${load.toFixed(1)}): only the ratios and processor times are reliable.`,
    );
  }
  if (suite.hasPackages && against === undefined) await installPeers();
  const other = against === undefined ? undefined : await openCheckout(against);
  const postgresServer = await BenchServer.open();
  try {
    const bodies = makeBodies(bodyCount);
    const bench: Bench = {
      options,
      postgresServer,
      checkout: thisCheckout,
      bodies,
      load: writeLoad(bodies, postgresServer.keys),
    };
    for (const group of suite.groups(options)) {
      console.log((await measure(group, bench, other)).join("\n"));
    }
    console.log(`\n${await postgresServer.describe()}`);
  } finally {
    await postgresServer.close();
  }
}

/** @throws {Error} whose message is for the user */
function readCommand(): { suite: Suite; options: Options; against: string | undefined } {
  const text = (value: string) => ({ type: "string", default: value }) as const;
  const { values, positionals: [name = "", further] } = parseArgs({
    allowPositionals: true,
    options: {
      rounds: text("5"),
      seconds: text("10"),
      "warm-up": text("4"),
      backlog: text("100000"),
      sizes: text("0,1000000,5000000,20000000"),
      keys: text("1,100,10000"),
      runtime: text(process.versions.deno === undefined ? "node" : "deno"),
      against: { type: "string" },
    },
  });
  const suite = suites[name];
  if (suite === undefined || further !== undefined) {
    throw new Error(`Choose one of ${Object.keys(suites).join(", ")}.`);
  }
  const list = (given: string) => given.split(",").map(Number).sort((a, b) => a - b);
  const { runtime, against } = values;
  if (runtime !== "node" && runtime !== "deno") {
    throw new Error("--runtime must be node or deno.");
  }
  const options: Options = {
    rounds: Number(values.rounds),
    seconds: Number(values.seconds),
    warmUpSeconds: Number(values["warm-up"]),
    backlog: Number(values.backlog),
    sizes: list(values.sizes),
    keys: list(values.keys),
    runtime,
  };
  const { rounds, seconds, warmUpSeconds, backlog, sizes, keys } = options;
  const numbers = [rounds, seconds, warmUpSeconds, backlog, ...sizes, ...keys];
  if (!numbers.every((number) => Number.isSafeInteger(number) && number >= 0) || rounds === 0) {
    throw new Error("The options must be whole numbers, and --rounds at least 1.");
  }
  return { suite, options, against };
}

try {
  const { suite, options, against } = readCommand();
  await main(suite, options, against);
} catch (error) {
  const isUsage = !(error instanceof Error) || !process.argv.slice(2).some((word) => word in suites);
  logProgress(isUsage ? `${(error as Error).message}\n\n${help}` : (error as Error).stack ?? String(error));
  process.exitCode = isUsage ? 2 : 1;
}
