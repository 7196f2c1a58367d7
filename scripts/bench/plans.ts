/**
 * `npm run bench:plans`: requests a second of the plan feed against a bare node:http server with the same body, side
 * by side in one run, printed and written to `build/bench/plans.json`.
 *
 * @module
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openAdminPool } from "../../src/store/operator/pool.ts";
import { putPlans } from "../../src/store/operator/plans.ts";
import { readPlanFile } from "../ctl/plan_file.ts";
import { run } from "./children.ts";
import { describeMachine } from "./machine.ts";
import { wholeNumber } from "./options.ts";
import { renderTable, type RowResult, toJson } from "./report.ts";
import { optionsOrExit, runSession, say, type Session } from "./session.ts";
import { openStage } from "./stage.ts";
import { figure, ratio } from "./stats.ts";
import { buildFolder, freePort, startOurs, startPeer } from "./targets.ts";
import { cpuSeconds } from "./usage.ts";
import { wrkVersion } from "./wrk.ts";

const help = `npm run bench:plans -- [options]

  --rounds N   interleaved rounds (5)
  --seconds N  of each round, after two of warm-up (5)`;

interface PlansBenchOptions {
  readonly rounds: number;
  readonly seconds: number;
}

const connections = 64;
const planCount = 6;

/** How everybody was run. */
const conditions = [
  `loopback; wrk with one thread and ${connections} connections, no Accept-Encoding; all servers run, one is loaded at a time`,
  "ours: node src/main.ts with everything on: Host check, request id, all headers, time bounds, an access line a request into a file; the plans are read from PostgreSQL again every second meanwhile",
  "bare: node:http, Content-Type and Content-Length only, no request id, no bounds, no access line",
  "alike: the same with ours' headers, a random request id and an access line a request into a file",
];

function readOptions(args: string[]): PlansBenchOptions | "help" {
  const { values } = parseArgs({
    args,
    options: {
      help: { type: "boolean", short: "h" },
      rounds: { type: "string" },
      seconds: { type: "string" },
    },
  });
  if (values.help === true) return "help";
  return {
    rounds: wholeNumber("rounds", values.rounds) ?? 5,
    seconds: wholeNumber("seconds", values.seconds) ?? 5,
  };
}

/** Six plans of about 400 bytes each. */
function makePlans(): string {
  const items = Array.from({ length: 4 }, (_, index) => ({
    title: `Feature ${index + 1}`,
    detail: "What it does for the customer, in a sentence",
  }));
  return JSON.stringify(Array.from({ length: planCount }, (_, index) => ({
    slug: `plan-${index + 1}`,
    name: `Plan ${index + 1}`,
    customer: "acme",
    amount_cents: 2900 * (index + 1),
    interval: "month",
    items,
  })));
}

/** A server under load. */
interface Feed {
  readonly url: string;
  readonly pid: number;
}

/** What a round found. */
interface Round {
  readonly perSecond: number;
  /** Processor time of the server for each answer, which a busy machine changes little. */
  readonly cpuUs: number;
}

/** Loads a server. Throws when an answer was no 2xx or a connection failed. */
async function load({ url, pid }: Feed, seconds: number): Promise<Round> {
  const before = cpuSeconds([pid]);
  const args = [
    "--threads=1",
    `--connections=${connections}`,
    `--duration=${seconds}s`,
    "--timeout=10s",
    url,
  ];
  const { stdout } = await run("wrk", args, { timeoutMs: (seconds + 15) * 1_000 });
  const perSecond = Number(/^Requests\/sec:\s+([\d.]+)/m.exec(stdout)?.[1]);
  if (!(perSecond > 0) || /Non-2xx|Socket errors/.test(stdout)) {
    throw new Error(`Not every answer was a 200:\n${stdout}`);
  }
  const answers = Number(/^\s*(\d+) requests in/m.exec(stdout)?.[1]);
  return { perSecond, cpuUs: (cpuSeconds([pid]) - before) * 1e6 / answers };
}

async function startAll(databaseUrl: string, body: string) {
  const bodyFile = join(buildFolder, "plans_body.json");
  writeFileSync(bodyFile, body);
  const port = await freePort();
  const { pid } = await startOurs({ databaseUrl, env: { SUBSCRIPTION_LISTEN: `127.0.0.1:${port}` } });
  const peer = async (env: Record<string, string>): Promise<Feed> => {
    const target = await startPeer("plans", { BODY_FILE: bodyFile, ...env });
    return { url: new URL("/api/plans", target.url).href, pid: target.pid };
  };
  return {
    ours: { url: `http://127.0.0.1:${port}/api/plans`, pid },
    bare: await peer({}),
    alike: await peer({ ALIKE: "1" }),
  };
}

async function main({ rounds, seconds }: PlansBenchOptions, session: Session): Promise<number> {
  const wrk = await wrkVersion();
  if (wrk === undefined) {
    say("wrk is missing, the client that asks for the plans. On Debian: apt-get install wrk");
    return 1;
  }
  mkdirSync(buildFolder, { recursive: true });
  const machine = describeMachine(buildFolder);
  if (machine.loadBefore > 0.5) {
    say(`The machine is busy (load ${machine.loadBefore.toFixed(1)}): take the figures for a smoke test`);
  }
  const stage = session.stage = await openStage();
  const database = await stage.createDatabase();
  const body = makePlans();
  const pool = openAdminPool(database.url);
  await putPlans(pool, readPlanFile(new TextEncoder().encode(body)));
  await pool.close();

  const feeds = await startAll(database.url, body);
  for (const { url } of Object.values(feeds)) {
    if (await (await fetch(url)).text() !== body) throw new Error(`${url} has another body`);
  }
  const found = { ours: [] as Round[], bare: [] as Round[], alike: [] as Round[] };
  for (let round = 0; round < rounds; round += 1) {
    // Each is first in some round, so that what warms the machine up favours nobody.
    const names = Object.keys(feeds) as (keyof typeof feeds)[];
    const order = names.map((_, index) => names[(index + round) % names.length] as keyof typeof feeds);
    for (const name of order) {
      await load(feeds[name], 2);
      found[name].push(await load(feeds[name], seconds));
    }
    say(
      `round ${round + 1}: ${
        names.map((name) => `${name} ${Math.round(found[name].at(-1)?.perSecond ?? 0)}/s`).join(", ")
      }`,
    );
  }

  const perSecond = (name: keyof typeof found) => figure(found[name].map((round) => round.perSecond));
  const cpuUs = (name: keyof typeof found) => figure(found[name].map((round) => round.cpuUs));
  const row = (what: string, name: "bare" | "alike"): RowResult => ({
    row: 1,
    what,
    value: ratio(perSecond("ours"), perSecond(name)),
    unit: "×",
    target: { atLeast: 0.7 },
    judged: "median",
    figures: {
      "ours, requests/s": perSecond("ours"),
      [`${name}, requests/s`]: perSecond(name),
      "ours, µs of processor time an answer": cpuUs("ours"),
      [`${name}, µs of processor time an answer`]: cpuUs(name),
    },
    notes: [],
  });
  const rows = [
    row("plan feed, requests/s against bare node:http", "bare"),
    row("the same against node:http that sends and logs alike", "alike"),
  ];
  console.log(`\n${renderTable(rows)}`);
  const file = join(buildFolder, "plans.json");
  const about = { at: new Date().toISOString(), machine, wrk, options: { rounds, seconds }, conditions };
  writeFileSync(file, `${JSON.stringify({ ...about, rows: toJson(rows) }, null, 2)}\n`);
  console.log(`\n${JSON.stringify(machine)}\n${conditions.join("\n")}\n${file}`);
  return 0;
}

const options = optionsOrExit(readOptions, help);
if (options === "help") console.log(help);
else await runSession((session) => main(options, session));
