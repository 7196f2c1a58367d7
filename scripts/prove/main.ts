/**
 * `npm run prove`: runs the service under faults for a given time and verifies from outside that it keeps its promises.
 *
 * @module
 */

import { randomInt } from "node:crypto";
import process from "node:process";
import { parseArgs } from "node:util";
import { nowMs } from "./clock.ts";
import { ownTree } from "./database.ts";
import { testBugs } from "./planted.ts";
import { makePlan } from "./plan.ts";
import { runRound } from "./round.ts";
import { check } from "./rules/rules.ts";
import { describeViolations } from "./timeline.ts";
import { Tally } from "./tally.ts";

const usage = `Usage: npm run prove -- [--minutes M] [--seed N]
       npm run prove -- --planted [NAME …]

Runs the service, kills and disconnects its parts, and verifies that it keeps every promise.

  --minutes M                    start rounds for this long (default 3)
  --seed N                       repeat a run; with a round's seed and --minutes 0, repeat that round
  --round-seconds N              the length of a round (default 90)
  --nodes N                      service processes (default 2)
  --callers N, --pause-ms N      clients, and each client's average pause between requests (defaults 12, 60)
  --kills-per-minute N           kills of service processes (default 20)
  --postgres-kills-per-minute N  kills of PostgreSQL (default 4)
  --planted                      plant each named bug, or all, in a copy and verify that it is caught

Requires Linux with setpriv. The disk is filled only if this user may mount a tmpfs.
Exit code: 1 if a promise was broken or a planted bug was not caught, 2 for invalid arguments.`;

const defaults = {
  "minutes": 3,
  "seed": randomInt(2 ** 31),
  "round-seconds": 90,
  "nodes": 2,
  "callers": 12,
  "pause-ms": 60,
  "kills-per-minute": 20,
  "postgres-kills-per-minute": 4,
};
type Numbers = Readonly<Record<keyof typeof defaults, number>>;

function readOptions() {
  const names = Object.keys(defaults) as (keyof Numbers)[];
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      ...{ help: { type: "boolean", short: "h" }, planted: { type: "boolean" } } as const,
      ...Object.fromEntries(names.map((name) => [name, { type: "string" as const }])),
    },
  });
  const { help, planted, ...given } = values;
  if (positionals.length > 0 && !planted) throw new Error(`Unknown argument: ${positionals[0]}`);
  const numbers = { ...defaults };
  for (const [name, text] of Object.entries(given) as [keyof Numbers, unknown][]) {
    numbers[name] = Number(text);
    if (!(numbers[name] >= 0)) throw new Error(`--${name} must be a number of at least 0: ${text}`);
  }
  return { help, planted: planted ? positionals : null, numbers };
}

/** Runs rounds until the time is up and returns whether every promise was kept. */
async function prove(numbers: Numbers): Promise<boolean> {
  const tally = new Tally();
  const endsAtMs = nowMs() + numbers.minutes * 60_000;
  console.log(`npm run prove -- --seed ${numbers.seed} --minutes ${numbers.minutes}`);
  for (let round = 0; round === 0 || nowMs() < endsAtMs; round += 1) {
    // Rounds differ only by their seed.
    const seed = numbers.seed + round;
    const startedAtMs = nowMs();
    const plan = makePlan({
      seed,
      runMs: numbers["round-seconds"] * 1000,
      nodes: numbers.nodes,
      callers: numbers.callers,
      // Every second round includes the real actions process.
      hasActions: seed % 2 === 1,
      hasOperators: true,
      pauseMs: numbers["pause-ms"],
      nodeKillMs: 60_000 / numbers["kills-per-minute"],
      postgresKillMs: 60_000 / numbers["postgres-kills-per-minute"],
    });
    const history = await runRound(plan, {
      tree: ownTree,
      diskMegabytes: 1024,
      // In every fourth round the last service process runs on Deno.
      runtimes: seed % 4 === 2 ? ["node", "deno"] : ["node"],
    });
    const violations = check(history);
    const runMs = nowMs() - startedAtMs;
    tally.add(history, violations, runMs);
    const kills = history.performed.filter(({ kind }) => kind.startsWith("kill")).length;
    console.log(
      `round ${round + 1}, seed ${seed}: ${history.exchanges.length} requests, ` +
        `${history.tables.events.length} events, ${history.performed.length} steps, ${kills} kills, ` +
        `${violations.length} violations, ${Math.round(runMs / 1000)} s`,
    );
    for (const line of describeViolations(history, violations)) console.log(`  ${line}`);
  }
  console.log(`\n${tally.text()}`);
  return tally.violations === 0;
}

let options: ReturnType<typeof readOptions>;
try {
  options = readOptions();
} catch (error) {
  console.error(`${(error as Error).message}\n\n${usage}`);
  process.exit(2);
}
if (options.help) {
  console.log(usage);
} else {
  const { planted, numbers } = options;
  const isKept = planted === null ? await prove(numbers) : await testBugs(planted, numbers.seed);
  // Open connections to ended processes would keep this process running.
  process.exit(isKept ? 0 : 1);
}
