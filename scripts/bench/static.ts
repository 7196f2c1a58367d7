/**
 * `npm run bench:static`: how many files of 100 KiB a second the site's listener serves, side by side with nginx,
 * printed and written to `build/bench/static.json`.
 *
 * @module
 */

import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { childrenOf } from "../processes.ts";
import { describeMachine } from "./machine.ts";
import { nginxVersion, startNginx } from "./nginx.ts";
import { wholeNumber } from "./options.ts";
import { renderTable, type RowResult, toJson } from "./report.ts";
import { optionsOrExit, runSession, say, type Session } from "./session.ts";
import { openStage, type Stage } from "./stage.ts";
import { figure, ratio } from "./stats.ts";
import { buildFolder, freePort, startOurs } from "./targets.ts";
import { cpuSeconds } from "./usage.ts";
import { runGets, wrkVersion } from "./wrk.ts";

interface StaticOptions {
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
  readonly profile: boolean;
}

/** Somebody who serves the folder. */
interface Server {
  readonly name: string;
  readonly base: string;
  readonly pid: number;
  stop(): Promise<void>;
}

const help = `npm run bench:static -- [options]

  --quick          a smoke test: two short rounds
  --rounds N       alternating rounds (7)
  --seconds N      measured seconds a round (5)
  --connections N  connections, one request in flight on each (64)
  --profile        one round of ours under node --cpu-prof, kept in build/bench/`;

const fileBytes = 100 * 1024;
const warmUpSeconds = 2;

const conditions = [
  "one machine for client and server; loopback; wrk with one thread; plain HTTP/1.1, kept alive",
  "nginx: one worker, sendfile, tcp_nopush, access log to a file in blocks, no open_file_cache",
  "ours: node src/main.ts with everything on, its access log written to a file on the same disk",
  "both look at the file for each request; checked before the first round: both send the same bytes",
];

function readOptions(args: string[]): StaticOptions | "help" {
  const { values } = parseArgs({
    args,
    options: {
      help: { type: "boolean", short: "h" },
      quick: { type: "boolean", default: false },
      profile: { type: "boolean", default: false },
      rounds: { type: "string" },
      seconds: { type: "string" },
      connections: { type: "string" },
    },
  });
  if (values.help === true) return "help";
  return {
    rounds: wholeNumber("rounds", values.rounds) ?? (values.quick ? 2 : 7),
    seconds: wholeNumber("seconds", values.seconds) ?? (values.quick ? 2 : 5),
    connections: wholeNumber("connections", values.connections) ?? 64,
    profile: values.profile,
  };
}

/** Our whole service, of which only the site is asked. */
async function startSite(stage: Stage, folder: string, nodeFlags: readonly string[] = []): Promise<Server> {
  const port = await freePort();
  const database = await stage.createDatabase();
  const env = { SITE_LISTEN: `127.0.0.1:${port}`, SITE_DIR: folder };
  const { pid, stop } = await startOurs({ databaseUrl: database.url, nodeFlags, env });
  return { name: "ours", base: `http://127.0.0.1:${port}`, pid, stop };
}

/** A file in a folder of its own. */
function makeFile(): { folder: string; bytes: Uint8Array; path: string } {
  const folder = join(buildFolder, "static");
  mkdirSync(folder, { recursive: true });
  const bytes = randomBytes(fileBytes);
  writeFileSync(join(folder, "file.bin"), bytes);
  return { folder, bytes, path: "/file.bin" };
}

async function checkBytes({ name, base }: Server, path: string, bytes: Uint8Array): Promise<void> {
  const response = await fetch(base + path);
  const sent = new Uint8Array(await response.arrayBuffer());
  if (response.status === 200 && Buffer.compare(sent, bytes) === 0) return;
  throw new Error(`${name} has answered ${response.status} with ${sent.length} bytes`);
}

async function profile(stage: Stage, options: StaticOptions): Promise<void> {
  const { folder, path } = makeFile();
  const flags = ["--cpu-prof", `--cpu-prof-dir=${buildFolder}`];
  const ours = await startSite(stage, folder, flags);
  const perSecond = await runGets(ours.base + path, options);
  await ours.stop();
  const written = readdirSync(buildFolder).filter((name) => /^CPU\..*\.cpuprofile$/.test(name)).sort().at(-1);
  const kept = join(buildFolder, "static.cpuprofile");
  if (written !== undefined) renameSync(join(buildFolder, written), kept);
  console.log(`${perSecond.toFixed(0)}/s under the profiler: ${kept}`);
}

async function compare(servers: readonly Server[], path: string, options: StaticOptions): Promise<RowResult> {
  const samples: Record<string, number[]> = {};
  const costs: Record<string, number[]> = {};
  for (const { base } of servers) await runGets(base + path, { ...options, seconds: warmUpSeconds });
  for (let round = 0; round < options.rounds; round++) {
    // Whoever comes second is another one each time.
    for (const { name, base, pid } of round % 2 === 0 ? servers : servers.toReversed()) {
      const processes = [pid, ...childrenOf(pid).map((child) => child.pid)];
      const before = cpuSeconds(processes);
      const perSecond = await runGets(base + path, options);
      const cost = (cpuSeconds(processes) - before) * 1e6 / (perSecond * options.seconds);
      (samples[name] ??= []).push(perSecond);
      (costs[name] ??= []).push(cost);
      say(
        `round ${round + 1}  ${name.padEnd(5)}  ${perSecond.toFixed(0)}/s, ${
          cost.toFixed(0)
        } µs of processor each`,
      );
    }
  }
  const [ours, nginx] = [figure(samples.ours ?? []), figure(samples.nginx ?? [])];
  return {
    row: 1,
    what: `files of ${fileBytes / 1024} KiB a second against nginx, ${options.connections} connections`,
    value: ratio(ours, nginx),
    unit: "×",
    target: { atLeast: 0.4 },
    judged: "median",
    figures: {
      "ours/s": ours,
      "nginx/s": nginx,
      "ours, µs of processor for each": figure(costs.ours ?? []),
      "nginx, µs of processor for each": figure(costs.nginx ?? []),
    },
    notes: [],
  };
}

async function main(options: StaticOptions, session: Session): Promise<number> {
  const [wrk, version] = [await wrkVersion(), await nginxVersion()];
  if (wrk === undefined || version === undefined) {
    say(
      "nginx and wrk are needed: whom we are compared with, and the client. On Debian: apt-get install nginx-light wrk",
    );
    return 1;
  }
  mkdirSync(buildFolder, { recursive: true });
  const machine = describeMachine(buildFolder);
  if (machine.loadBefore > 0.5) {
    say(`The machine is busy (load ${machine.loadBefore.toFixed(1)}): take the figures for a smoke test`);
  }
  const stage = session.stage = await openStage();
  if (options.profile) {
    await profile(stage, options);
    return 0;
  }
  const { folder, bytes, path } = makeFile();
  const servers = [
    await startSite(stage, folder),
    { name: "nginx", ...await startNginx(folder) },
  ];
  for (const server of servers) await checkBytes(server, path, bytes);
  const row = await compare(servers, path, options);
  for (const server of servers) await server.stop();
  console.log(`\n${renderTable([row])}`);
  const file = join(buildFolder, "static.json");
  const about = { at: new Date().toISOString(), machine, wrk, nginx: version, options, conditions };
  writeFileSync(file, `${JSON.stringify({ ...about, rows: toJson([row]) }, null, 2)}\n`);
  console.log(`\n${version}; ${JSON.stringify(machine)}\n${conditions.join("\n")}\n${file}`);
  return 0;
}

const options = optionsOrExit(readOptions, help);
if (options === "help") console.log(help);
else await runSession((session) => main(options, session));
