/**
 * What strangers can cost: each row attacks a fresh service for a while and tells what the attacker sent, what it cost
 * the server, and how the honest posts beside it fared against the same posts before it.
 *
 * @module
 */

import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { AttackCounts, AttackKind, AttackTask } from "../attacks/attack.ts";
import { byConnections } from "../attacks/by_connections.ts";
import { byRequests } from "../attacks/by_requests.ts";
import type { HonestResult, HonestTask } from "../attacks/honest_main.ts";
import type { Turns } from "../attacks/loop_probe.ts";
import { buildFolder, type Program, runClient, say } from "../programs.ts";
import { startService } from "../service.ts";
import { makeApiKey } from "../load/keys.ts";
import type { Database } from "../stage.ts";
import type { Bench, Group, Measures, Suite } from "../suite.ts";
import { cpuSeconds, readMemory } from "../usage.ts";

/** Of the honest client. */
const perSecond = 50;
const siteDir = join(buildFolder, "attacked_site");
const turnsFile = join(buildFolder, "turns.json");
const probe = fileURLToPath(new URL("../attacks/loop_probe.ts", import.meta.url));

/** The service under attack: one process, or one for the intake and others for what stands beside it. */
interface Attacked {
  readonly intake: Program;
  readonly others: readonly Program[];
  readonly urls: Readonly<Record<string, string>>;
}

async function startAttacked(bench: Bench, database: Database): Promise<Attacked> {
  mkdirSync(siteDir, { recursive: true });
  writeFileSync(join(siteDir, "index.html"), "<!doctype html><title>Site</title>".padEnd(20_000, "."));
  writeFileSync(join(siteDir, "llms.txt"), "site ".repeat(2_000));
  writeFileSync(join(siteDir, "large.bin"), randomBytes(1_000_000));
  const surfaces = bench.options.apart ? ["intake,forms", "subscription,site", "ops"] : [""];
  const [intake, ...others] = await Promise.all(surfaces.map((surfaces, index) =>
    startService(bench, {
      name: `attacked_${index}`,
      databaseUrl: database.url,
      hasPublishedLimits: true,
      nodeFlags: [`--import=${probe}`],
      env: {
        LOOP_PROBE_FILE: index === 0 ? turnsFile : "",
        SURFACES: surfaces,
        SITE_DIR: siteDir,
        // Loopback is exempt unless it is set.
        CONNECTIONS_PER_ADDRESS: "256",
        TLS_CERT_FILE: bench.certificates.serverCertFile,
        TLS_KEY_FILE: bench.certificates.serverKeyFile,
      },
    })
  )) as [Program, ...Program[]];
  return { intake, others, urls: Object.assign({}, ...[intake, ...others].map(({ urls }) => urls)) };
}

/** A form of the first tenant, and a key for it. */
async function addForm({ sql }: Database): Promise<string> {
  const { key, digest } = makeApiKey("forms");
  await sql`insert into form (tenant_id, form_key, required, blocked) values (1, 'contact', ${[
    "name",
  ]}, ${[]})`;
  await sql`
    insert into api_key (tenant_id, surface, label, digest, last4)
    values (1, 'forms', 'web', decode(${digest}, 'hex'), ${key.slice(-4)})`;
  return key;
}

/** What the processes of the service have taken, in seconds and MiB, and the turns of the intake's loop since then. */
async function look({ options }: Bench, { intake, others }: Attacked) {
  const ofOthers = others.reduce((sum, { pid }) => sum + cpuSeconds(pid), 0);
  const own = cpuSeconds(intake.pid);
  let turns: Turns | null = null;
  if (options.runtime === "node") {
    rmSync(turnsFile, { force: true });
    process.kill(intake.pid, "SIGUSR2");
    while (!existsSync(turnsFile) || readFileSync(turnsFile, "utf8") === "") await delay(20);
    turns = JSON.parse(readFileSync(turnsFile, "utf8")) as Turns;
  }
  return { own, all: own + ofOthers, turns };
}

const residentMiB = ({ intake, others }: Attacked) =>
  [intake, ...others].reduce((sum, { pid }) => sum + readMemory(pid).residentMiB, 0);

/** Posts leads as partners do, for so many seconds. */
function postHonestly(
  { load, certificates }: Bench,
  { urls }: Attacked,
  seconds: number,
): Promise<HonestResult> {
  const task: HonestTask = {
    ...load,
    url: `${urls.intake}/v1/intake`,
    caFile: certificates.caFile,
    perSecond,
    seconds,
    prefix: randomBytes(5).toString("hex"),
  };
  return runClient("attacks/honest_main.ts", task, seconds);
}

async function round(bench: Bench, name: string, database: Database): Promise<Measures> {
  const { seconds, quick } = bench.options;
  const formsKey = await addForm(database);
  const attacked = await startAttacked(bench, database);
  let watch: ReturnType<typeof setInterval> | undefined;
  try {
    // So that what a process does once is done.
    await postHonestly(bench, attacked, 3);
    const before = await look(bench, attacked);
    const alone = await postHonestly(bench, attacked, seconds);
    const quiet = await look(bench, attacked);
    const memory = { before: residentMiB(attacked), highest: 0 };
    watch = setInterval(() => memory.highest = Math.max(memory.highest, residentMiB(attacked)), 200);
    const task: AttackTask = {
      name,
      seconds: seconds + 2,
      urls: attacked.urls,
      formsKey,
      formsPath: "/v1/forms/tenant-1/contact",
      sitePath: "/large.bin",
    };
    const attacking = runClient<AttackCounts>("attacks/attacker_main.ts", task, task.seconds);
    // The attack stands when the honest posts begin.
    await delay(2_000);
    const beside = await postHonestly(bench, attacked, seconds);
    const { statuses, ...counts } = await attacking;
    const after = await look(bench, attacked);
    say(`${name}: the attacker got ${JSON.stringify(statuses)}, honest posts ${JSON.stringify(beside)}`);
    await delay(quick ? 1_000 : 30_000);
    return {
      ...ofHonest("honest posts", beside),
      ...ofHonest("honest posts before it", alone),
      "s of processor time, intake's process": after.own - quiet.own,
      "s of processor time, intake's process before it": quiet.own - before.own,
      "s of processor time, all processes": after.all - quiet.all,
      ...ofTurns("a turn of the intake's loop", after.turns),
      ...ofTurns("a turn of the intake's loop before it", quiet.turns),
      "MiB resident before it": memory.before,
      "MiB resident, highest": memory.highest,
      "MiB resident a while after it": residentMiB(attacked),
      "the attacker's connections": counts.connections,
      "of them ended": counts.ended,
      "the attacker's requests": counts.requests,
      "the attacker's MB out": counts.sentBytes / 1e6,
      "the attacker's MB in": counts.receivedBytes / 1e6,
    };
  } finally {
    clearInterval(watch);
    await Promise.all([attacked.intake, ...attacked.others].map((program) => program.stop()));
  }
}

function ofHonest(whose: string, { p50Ms, p99Ms, maxMs, failures }: HonestResult): Measures {
  return {
    [`${whose}, median ms`]: p50Ms,
    [`${whose}, 99th percentile ms`]: p99Ms,
    [`${whose}, longest ms`]: maxMs,
    [`${whose}, failed`]: Object.values(failures).reduce((sum, count) => sum + count, 0),
  };
}

function ofTurns(whose: string, turns: Turns | null): Measures {
  return turns === null
    ? {}
    : { [`${whose}, 99th percentile ms`]: turns.p99Ms, [`${whose}, longest ms`]: turns.maxMs };
}

function attackOf([name, { about }]: [string, AttackKind]): Group {
  return {
    rows: {
      [name]: {
        name: about,
        of: "honest posts, 99th percentile ms",
        peerOf: "honest posts before it, 99th percentile ms",
        ours: name,
        target: { atMost: 1.5 },
      },
    },
    ours: {
      [name]: (bench) => ({
        run: () => bench.stage.lend(bench.tree, (database) => round(bench, name, database)),
      }),
    },
  };
}

/** `npm run bench -- attacks`. */
export const attacks: Suite = {
  about: "what strangers can cost, and how honest posts fare beside them",
  defaults: { rounds: 1, seconds: 15 },
  conditions: [
    "one machine for the service, PostgreSQL, the attacker and the honest client; TLS; published limits; a fresh service each round",
    `honest posts: ${perSecond} a second from 64 addresses, every second one over a new connection`,
    "found: the 99th percentile of the honest posts against that of the same posts before the attack",
  ],
  groups: () => Object.entries({ ...byConnections, ...byRequests }).map(attackOf),
};
