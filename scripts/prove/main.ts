/**
 * `npm run prove`: runs the service under faults for as long as asked, and looks from outside whether each promise was
 * kept.
 *
 * @module
 */

import { randomInt } from "node:crypto";
import process from "node:process";
import { parseArgs } from "node:util";
import { nowMs } from "./clock.ts";
import { ownTree } from "./database.ts";
import { huntAll } from "./hunt.ts";
import { makePlan } from "./plan.ts";
import { runRound } from "./round.ts";
import { check } from "./rules/rules.ts";
import { Tally } from "./tally.ts";

const usage = `Usage: npm run prove -- [--minutes M] [--seed N]
       npm run prove -- --planted [NAME …]

Runs the service, kills and cuts everything around it, and looks whether every promise was kept.

  --minutes M                    how long; rounds are begun until then (default 3)
  --seed N                       repeats a run; a round's own seed repeats that round with --minutes 0
  --round-seconds N              the length of a round (default 90)
  --nodes N                      service processes (default 2)
  --callers N, --pause-ms N      clients, and the pause between two requests of one (defaults 12, 60)
  --kills-per-minute N           of service processes (default 20)
  --postgres-kills-per-minute N  of PostgreSQL (default 4)
  --planted                      plants each known bug in a copy and looks whether it is caught

It needs Linux with setpriv, and as root a tmpfs; where that cannot be mounted no disk runs full.
Exit status 1 when a promise was broken, or a planted bug was not caught; 2 for wrong usage.`;

const defaults = {
  ...{ "minutes": 3, "seed": randomInt(2 ** 31), "round-seconds": 90, "nodes": 2, "callers": 12 },
  ...{ "pause-ms": 60, "kills-per-minute": 20, "postgres-kills-per-minute": 4 },
};
type Numbers = Readonly<Record<keyof typeof defaults, number>>;

// Findings that are shown of a round.
const shownMax = 12;

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
    if (!(numbers[name] >= 0)) throw new Error(`--${name} is no number: ${text}`);
  }
  return { help, planted: planted ? positionals : null, numbers };
}

/** Runs rounds until the time is over; returns whether every promise was kept. */
async function prove(numbers: Numbers): Promise<boolean> {
  const tally = new Tally();
  const endsAtMs = nowMs() + numbers.minutes * 60_000;
  console.log(`npm run prove -- --seed ${numbers.seed} --minutes ${numbers.minutes}`);
  for (let round = 0; round === 0 || nowMs() < endsAtMs; round += 1) {
    // All that differs between rounds is in the seed.
    const seed = numbers.seed + round;
    const startedAtMs = nowMs();
    const plan = makePlan({
      ...{ seed, runMs: numbers["round-seconds"] * 1000, nodes: numbers.nodes, callers: numbers.callers },
      // Each second round has the actions process itself.
      ...{ hasActions: seed % 2 === 1, hasOperators: true, pauseMs: numbers["pause-ms"] },
      nodeKillMs: 60_000 / numbers["kills-per-minute"],
      postgresKillMs: 60_000 / numbers["postgres-kills-per-minute"],
    });
    const history = await runRound(plan, {
      ...{ tree: ownTree, diskMegabytes: 1024 },
      // In each fourth round the last service process runs on Deno.
      runtimes: seed % 4 === 2 ? ["node", "deno"] : ["node"],
    });
    const violations = check(history);
    const runMs = nowMs() - startedAtMs;
    tally.add(history, violations, runMs);
    const kills = history.happened.filter(({ kind }) => kind.startsWith("kill")).length;
    console.log(
      `round ${round + 1}, seed ${seed}: ${history.asked.length} requests, ` +
        `${history.tables.events.length} events, ${history.happened.length} steps, ${kills} kills, ` +
        `${violations.length} violations, ${Math.round(runMs / 1000)} s`,
    );
    for (const { rule, what } of violations.slice(0, shownMax)) console.log(`  ${rule}: ${what}`);
    if (violations.length > shownMax) console.log(`  and ${violations.length - shownMax} more`);
  }
  console.log(`\n${tally.text()}`);
  return tally.violations === 0;
}

// When a connection is lost while the driver asks for the types of arrays, nobody waits for what becomes of that question.
process.on("unhandledRejection", (error) => {
  if (!String((error as { code?: unknown } | null)?.code).startsWith("CONNECTION_")) throw error;
});

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
  const isKept = planted === null ? await prove(numbers) : await huntAll(planted, numbers.seed);
  // Connections to what is gone may still wait for their ends.
  process.exit(isKept ? 0 : 1);
}
