/**
 * `npm run bench:attacks`: what strangers can cost. Each row attacks a fresh service for a while and tells what the
 * attacker sent, what it cost the server, and how the honest posts beside it fared against the same posts before it.
 * Printed and written to `build/bench/attacks.json`.
 *
 * @module
 */

import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { ensureDevCertificates } from "../dev_certificates.ts";
import { kinds } from "./attack_kinds.ts";
import { describe, type Found, head, type Summed, summed } from "./attack_report.ts";
import type { AttackTask } from "./attack_task.ts";
import type { AttackCounts } from "./attack_traffic.ts";
import { addForm, type ServiceFiles, type ServiceOptions, startService } from "./attacked_service.ts";
import { run } from "./children.ts";
import type { HonestResult, HonestTask } from "./honest_main.ts";
import type { Turns } from "./loop_probe.ts";
import { makeBodies } from "./leads.ts";
import { describeMachine } from "./machine.ts";
import { wholeNumber } from "./options.ts";
import { optionsOrExit, runSession, say, type Session } from "./session.ts";
import { openStage, type Stage } from "./stage.ts";
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

interface AttackOptions extends ServiceOptions {
  readonly names: readonly string[];
  readonly isPlain: boolean;
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
  if (values.runtime !== "node" && values.runtime !== "deno") {
    throw new Error("--runtime is node or deno");
  }
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

const script = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** What every row runs on. */
interface Ground extends ServiceFiles {
  readonly stage: Stage;
  readonly load: Load;
}

async function attack(
  ground: Ground,
  name: string,
  options: AttackOptions,
): Promise<Found> {
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
    while (
      !existsSync(service.turnsFile) ||
      readFileSync(service.turnsFile, "utf8") === ""
    ) await delay(20);
    return JSON.parse(readFileSync(service.turnsFile, "utf8"));
  };
  try {
    // So that what a process does once is done.
    await honest(3);
    await turnsSoFar();
    const cpuBefore = [
      cpuSeconds([service.intake]),
      cpuSeconds(service.pids),
    ] as const;
    const quiet = await honest(seconds);
    const cpuQuiet = [
      cpuSeconds([service.intake]),
      cpuSeconds(service.pids),
    ] as const;
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
    const cpuAfter = [
      cpuSeconds([service.intake]),
      cpuSeconds(service.pids),
    ] as const;
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
      turns: turnsQuiet && turnsAttacked &&
        { quiet: turnsQuiet, attacked: turnsAttacked },
      quiet,
      attacked,
    };
  } finally {
    clearInterval(watch);
    await service.stop();
    await database.drop();
  }
}

async function main(options: AttackOptions, session: Session): Promise<number> {
  mkdirSync(buildFolder, { recursive: true });
  const machine = describeMachine(buildFolder);
  const siteDir = join(buildFolder, "attacked_site");
  mkdirSync(siteDir, { recursive: true });
  writeFileSync(
    join(siteDir, "index.html"),
    "<!doctype html><title>Site</title>".padEnd(20_000, "."),
  );
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
    while (rounds.length < options.rounds) {
      rounds.push(await attack(ground, name, options));
    }
    const found = summed(rounds);
    rows.push(found);
    say(describe(found).join(" | "));
  }
  console.log(`| ${head.join(" | ")} |\n|${head.map(() => "---").join("|")}|`);
  for (const found of rows) console.log(`| ${describe(found).join(" | ")} |`);
  const file = join(buildFolder, "attacks.json");
  writeFileSync(
    file,
    `${
      JSON.stringify(
        { at: new Date().toISOString(), machine, options, rows },
        null,
        2,
      )
    }\n`,
  );
  console.log(`\n${JSON.stringify({ machine, options })}\n${file}`);
  return 0;
}

const options = optionsOrExit(readOptions, help);
if (options === "help") console.log(help);
else await runSession((session) => main(options, session));
