/**
 * `npm run bench:attacks`: what strangers can cost. Each row attacks a fresh service for a while and tells what the
 * attacker sent, what it cost the server, and how the honest posts beside it fared against the same posts before it.
 * Printed and written to `build/bench/attacks.json`.
 *
 * @module
 */

import { createHash, getRandomValues, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { makeKey } from "../../src/contract/api_key.ts";
import { denoFlags } from "../deno_flags.ts";
import { ensureDevCertificates } from "../dev_certificates.ts";
import { type AttackCounts, type AttackTask, kinds } from "./attack_kinds.ts";
import { run, start, stop } from "./children.ts";
import type { HonestResult, HonestTask } from "./honest_main.ts";
import type { Turns } from "./loop_probe.ts";
import { makeBodies } from "./leads.ts";
import { describeMachine } from "./machine.ts";
import { wholeNumber } from "./options.ts";
import { optionsOrExit, runSession, say, type Session } from "./session.ts";
import { type Database, openStage, type Stage } from "./stage.ts";
import { digits, type Figure, figure, withSpread } from "./stats.ts";
import { buildFolder } from "./targets.ts";
import { cpuSeconds, readMemory } from "./usage.ts";
import { type Load, writeLoad } from "./wrk.ts";

const help = `npm run bench:attacks -- [options]

  --only a,b     only these: ${Object.keys(kinds).join(", ")}
  --runtime R    what the service runs on: node (the default) or deno
  --plain        without TLS, and so without the attacks over HTTP/2
  --apart        the public reads and the operator's pages in processes of their own
  --seconds N    how long each attack takes (15)
  --settle N     seconds after it, until the memory is looked at again (30)
  --rate N       honest posts a second (50)
  --rounds N     how often each attack is tried (1); told is the round with the median p99, and the spread of that`;

interface AttackOptions {
  readonly names: readonly string[];
  readonly runtime: "node" | "deno";
  readonly isPlain: boolean;
  readonly isApart: boolean;
  readonly seconds: number;
  readonly settleSeconds: number;
  readonly perSecond: number;
  readonly rounds: number;
}

function readOptions(args: string[]): AttackOptions | "help" {
  const { values } = parseArgs({
    args,
    options: {
      help: { type: "boolean", short: "h" },
      plain: { type: "boolean", default: false },
      apart: { type: "boolean", default: false },
      only: { type: "string" },
      runtime: { type: "string", default: "node" },
      seconds: { type: "string" },
      settle: { type: "string" },
      rate: { type: "string" },
      rounds: { type: "string" },
    },
  });
  if (values.help === true) return "help";
  const names = values.only?.split(",") ?? Object.keys(kinds);
  const unknown = names.find((name) => kinds[name] === undefined);
  if (unknown !== undefined) throw new Error(`There is no attack ${unknown}`);
  if (values.runtime !== "node" && values.runtime !== "deno") throw new Error("--runtime is node or deno");
  return {
    names: names.filter((name) => !values.plain || kinds[name]?.needsTls !== true),
    runtime: values.runtime,
    isPlain: values.plain,
    isApart: values.apart,
    seconds: wholeNumber("seconds", values.seconds) ?? 15,
    settleSeconds: wholeNumber("settle", values.settle) ?? 30,
    perSecond: wholeNumber("rate", values.rate) ?? 50,
    rounds: wholeNumber("rounds", values.rounds) ?? 1,
  };
}

const root = fileURLToPath(new URL("../../", import.meta.url));
const script = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const startTimeoutMs = 20_000;

/** What every row runs on. */
interface Ground {
  readonly stage: Stage;
  readonly load: Load;
  readonly certificates: { readonly cert: string; readonly key: string; readonly ca: string } | null;
  readonly siteDir: string;
}

/** The service under attack: one process, or one for the intake and others for what stands beside it. */
interface Service {
  readonly urls: Readonly<Record<string, string>>;
  /** The process that takes the leads. */
  readonly intake: number;
  readonly pids: readonly number[];
  /** Where the intake's process writes its turns. */
  readonly turnsFile: string;
  stop(): Promise<void>;
}

async function startService(
  { certificates, siteDir }: Ground,
  database: Database,
  { runtime, isApart }: AttackOptions,
): Promise<Service> {
  const parts = isApart ? ["intake,forms", "subscription,site", "ops"] : [""];
  const started = await Promise.all(parts.map(async (surfaces, index) => {
    const logFile = join(buildFolder, `attacked_${index}.log`);
    const env = {
      LOOP_PROBE_FILE: `${logFile}.turns`,
      SURFACES: surfaces,
      DATABASE_URL: database.url,
      ...Object.fromEntries(
        ["INTAKE", "FORMS", "SUBSCRIPTION", "SITE", "OPS"].map((name) => [`${name}_LISTEN`, "127.0.0.1:0"]),
      ),
      SITE_DIR: siteDir,
      // Loopback is exempt unless it is set.
      CONNECTIONS_PER_ADDRESS: "256",
      ...(certificates === null ? {} : { TLS_CERT_FILE: certificates.cert, TLS_KEY_FILE: certificates.key }),
    };
    const child = runtime === "node"
      ? start(process.execPath, [`--import=${script("loop_probe.ts")}`, "src/main.ts"], {
        cwd: root,
        env,
        logFile,
      })
      : start(join(root, "node_modules/.bin/deno"), ["run", ...denoFlags(env), "src/main.ts"], {
        cwd: root,
        env,
        logFile,
      });
    const deadlineMs = performance.now() + startTimeoutMs;
    const lines = () => readFileSync(logFile, "utf8").split("\n").filter((line) => line.startsWith("{"));
    while (!lines().some((line) => line.includes('"event":"started"'))) {
      if (child.exitCode !== null || performance.now() > deadlineMs) {
        throw new Error(`The service did not start:\n${readFileSync(logFile, "utf8").slice(0, 2_000)}`);
      }
      await delay(20);
    }
    const urls = lines().map((line) => JSON.parse(line)).filter(({ event }) => event === "listening")
      .map(({ surface, url }): [string, string] => [surface, url]);
    return { child, urls };
  }));
  const [first] = started as [(typeof started)[number]];
  return {
    urls: Object.fromEntries(started.flatMap(({ urls }) => urls)),
    intake: first.child.pid as number,
    pids: started.map(({ child }) => child.pid as number),
    turnsFile: join(buildFolder, "attacked_0.log.turns"),
    stop: async () => {
      await Promise.all(started.map(({ child }) => stop(child)));
    },
  };
}

/** A form of the first tenant, and a key for it. */
async function addForm({ sql }: Database): Promise<string> {
  const key = makeKey({ surface: "forms", sandbox: false }, (bytes) => getRandomValues(bytes));
  const digest = createHash("sha256").update(key).digest("hex");
  await sql`insert into form (tenant_id, form_key, required, blocked) values (1, 'contact', ${[
    "name",
  ]}, ${[]})`;
  await sql`
    insert into api_key (tenant_id, surface, label, digest, last4)
    values (1, 'forms', 'web', decode(${digest}, 'hex'), ${key.slice(-4)})`;
  return key;
}

/** What a row found. */
interface Found {
  readonly name: string;
  readonly counts: AttackCounts;
  /** Seconds of processor time: of the process that takes the leads, and of all. */
  readonly cpu: { readonly intake: number; readonly all: number; readonly quiet: number };
  readonly memoryMiB: { readonly before: number; readonly highest: number; readonly after: number };
  /** Processor time of a turn of the event loop that takes the leads; `null` on Deno. */
  readonly turns: { readonly quiet: Turns; readonly attacked: Turns } | null;
  readonly quiet: HonestResult;
  readonly attacked: HonestResult;
}

/** What the rounds of a row came to. */
interface Summed extends Found {
  /** The honest p99 with the attack against without. */
  readonly slowdown: Figure;
}

async function attack(ground: Ground, name: string, options: AttackOptions): Promise<Found> {
  const { seconds, perSecond } = options;
  const database = await ground.stage.createDatabase();
  const formsKey = await addForm(database);
  const service = await startService(ground, database, options);
  const honest = async (seconds: number): Promise<HonestResult> => {
    const task: HonestTask = {
      ...ground.load,
      url: `${service.urls.intake}/v1/intake`,
      caFile: ground.certificates?.ca ?? null,
      perSecond,
      seconds,
      prefix: randomBytes(5).toString("hex"),
    };
    const { stdout } = await run(process.execPath, [script("honest_main.ts")], {
      env: { HONEST: JSON.stringify(task) },
      timeoutMs: (seconds + 60) * 1_000,
    });
    return JSON.parse(stdout);
  };
  let watch: ReturnType<typeof setInterval> | undefined;
  const turnsSoFar = async (): Promise<Turns | null> => {
    if (options.runtime === "deno") return null;
    rmSync(service.turnsFile, { force: true });
    process.kill(service.intake, "SIGUSR2");
    while (!existsSync(service.turnsFile) || readFileSync(service.turnsFile, "utf8") === "") await delay(20);
    return JSON.parse(readFileSync(service.turnsFile, "utf8"));
  };
  try {
    // So that what a process does once is done.
    await honest(3);
    await turnsSoFar();
    const cpuBefore = [cpuSeconds([service.intake]), cpuSeconds(service.pids)] as const;
    const quiet = await honest(seconds);
    const cpuQuiet = [cpuSeconds([service.intake]), cpuSeconds(service.pids)] as const;
    const turnsQuiet = await turnsSoFar();
    const memory = () => service.pids.reduce((sum, pid) => sum + readMemory(pid).residentMiB, 0);
    const before = memory();
    let highest = before;
    watch = setInterval(() => highest = Math.max(highest, memory()), 200);
    const task: AttackTask = {
      name,
      seconds: seconds + 2,
      urls: service.urls,
      formsKey,
      formsPath: "/v1/forms/tenant-1/contact",
      sitePath: "/large.bin",
    };
    const attacking = run(process.execPath, [script("attack_main.ts")], {
      env: { ATTACK: JSON.stringify(task) },
      timeoutMs: (seconds + 60) * 1_000,
    });
    // The attack stands when the honest posts begin.
    await delay(2_000);
    const attacked = await honest(seconds);
    const counts: AttackCounts = JSON.parse((await attacking).stdout);
    const cpuAfter = [cpuSeconds([service.intake]), cpuSeconds(service.pids)] as const;
    const turnsAttacked = await turnsSoFar();
    await delay(options.settleSeconds * 1_000);
    return {
      name,
      counts,
      cpu: {
        intake: cpuAfter[0] - cpuQuiet[0],
        all: cpuAfter[1] - cpuQuiet[1],
        quiet: cpuQuiet[0] - cpuBefore[0],
      },
      memoryMiB: { before, highest, after: memory() },
      turns: turnsQuiet && turnsAttacked && { quiet: turnsQuiet, attacked: turnsAttacked },
      quiet,
      attacked,
    };
  } finally {
    clearInterval(watch);
    await service.stop();
    await database.drop();
  }
}

function describe({ name, counts, cpu, memoryMiB, turns, quiet, attacked, slowdown }: Summed): string[] {
  const turn = (found: Turns) => `${digits(found.p99Ms)} / ${digits(found.maxMs)}`;
  const failures = Object.entries(attacked.failures).map(([reason, count]) => `${count} × ${reason}`).join(
    ", ",
  );
  const statuses = Object.entries(counts.statuses).map(([status, count]) => `${count} × ${status}`).join(
    ", ",
  );
  const megabytes = (bytes: number) => digits(bytes / 1e6);
  return [
    name,
    `${digits(counts.connections)} connections (${digits(counts.ended)} ended), ${
      digits(counts.requests)
    } requests` +
    `${statuses === "" ? "" : ` (${statuses})`}, ${megabytes(counts.sentBytes)} MB out, ${
      megabytes(counts.receivedBytes)
    } MB in`,
    `${digits(cpu.intake)} s (${digits(cpu.quiet)} s quiet)${
      cpu.all - cpu.intake > 0.01 ? `; ${digits(cpu.all)} s all` : ""
    }`,
    turns === null ? "–" : `${turn(turns.attacked)} (${turn(turns.quiet)} quiet) ms`,
    `${memoryMiB.before.toFixed(0)} → ${memoryMiB.highest.toFixed(0)} → ${memoryMiB.after.toFixed(0)} MiB`,
    `${digits(attacked.p50Ms)} / ${digits(attacked.p99Ms)} / ${digits(attacked.maxMs)} ms`,
    `${digits(quiet.p50Ms)} / ${digits(quiet.p99Ms)} / ${digits(quiet.maxMs)} ms`,
    `${slowdown.samples.length === 1 ? digits(slowdown.median) : withSpread(slowdown)} ×`,
    failures === "" ? "0" : failures,
  ];
}

const slowdown = ({ attacked, quiet }: Found) => attacked.p99Ms / quiet.p99Ms;

/** The round in the middle, with the failures and the spread of all. */
function summed(rounds: readonly Found[]): Summed {
  const sorted = rounds.toSorted((a, b) => slowdown(a) - slowdown(b));
  const failures: Record<string, number> = {};
  for (const { attacked } of rounds) {
    for (const [reason, count] of Object.entries(attacked.failures)) {
      failures[reason] = (failures[reason] ?? 0) + count;
    }
  }
  const middle = sorted[rounds.length >> 1] as Found;
  return { ...middle, attacked: { ...middle.attacked, failures }, slowdown: figure(rounds.map(slowdown)) };
}

const head = [
  "attack",
  "traffic",
  "processor time of the intake's process",
  "processor time of a turn of its loop: p99 / max",
  "memory: before, highest, after",
  "honest p50 / p99 / max",
  "the same without",
  "p99",
  "honest failures",
];

async function main(options: AttackOptions, session: Session): Promise<number> {
  mkdirSync(buildFolder, { recursive: true });
  const machine = describeMachine(buildFolder);
  const siteDir = join(buildFolder, "attacked_site");
  mkdirSync(siteDir, { recursive: true });
  writeFileSync(join(siteDir, "index.html"), "<!doctype html><title>Site</title>".padEnd(20_000, "."));
  writeFileSync(join(siteDir, "llms.txt"), "site ".repeat(2_000));
  writeFileSync(join(siteDir, "large.bin"), randomBytes(1_000_000));
  const made = options.isPlain ? null : ensureDevCertificates(join(buildFolder, "certificates"));
  if (made !== null && made.kind !== "ready") throw new Error(made.message);
  const stage = session.stage = await openStage();
  const ground: Ground = {
    stage,
    load: writeLoad(buildFolder, makeBodies(2_000), stage.keys),
    certificates: made === null
      ? null
      : { cert: made.serverCertFile, key: made.serverKeyFile, ca: made.caFile },
    siteDir,
  };
  const rows: Summed[] = [];
  for (const name of options.names) {
    say(`${name}: ${kinds[name]?.about}`);
    const rounds: Found[] = [];
    while (rounds.length < options.rounds) rounds.push(await attack(ground, name, options));
    const found = summed(rounds);
    rows.push(found);
    say(describe(found).join(" | "));
  }
  console.log(`| ${head.join(" | ")} |\n|${head.map(() => "---").join("|")}|`);
  for (const found of rows) console.log(`| ${describe(found).join(" | ")} |`);
  const file = join(buildFolder, "attacks.json");
  writeFileSync(
    file,
    `${JSON.stringify({ at: new Date().toISOString(), machine, options, rows }, null, 2)}\n`,
  );
  console.log(`\n${JSON.stringify({ machine, options })}\n${file}`);
  return 0;
}

const options = optionsOrExit(readOptions, help);
if (options === "help") console.log(help);
else await runSession((session) => main(options, session));
