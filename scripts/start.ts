/**
 * `npm start`: the whole service on this machine, with a PostgreSQL of its own under `.data/` unless `DATABASE_URL`
 * names one, and a sandbox key to post a first lead with.
 *
 * With `--watch` (`npm run dev`) the service restarts when a source file changes.
 *
 * @module
 */

import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createRequire } from "node:module";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import { readConfig } from "../src/config.ts";
import { ConfigError } from "../src/settings.ts";
import { migrate } from "../src/store/migrate.ts";
import { dataFolder, publishDatabaseUrl, withdrawDatabaseUrl } from "./database_url.ts";
import { denoFlags } from "./deno_flags.ts";
import { type EmbeddedPostgres, startPostgres } from "./embedded_postgres.ts";
import { explainSetup } from "./explain.ts";
import { nextFree, takenListeners } from "./listeners.ts";
import { seed, type SeedOptions } from "./seed.ts";
import { endGroup, postWatchdog } from "./watchdog.ts";

const root = fileURLToPath(new URL("../", import.meta.url));
const watch = process.argv.includes("--watch");

/** Why everything ends. `code` is for the shell. */
interface End {
  readonly code: number;
  readonly message?: string;
}

const end = Promise.withResolvers<End>();
let ending = false;
let starting: Promise<EmbeddedPostgres> | undefined;
let server: EmbeddedPostgres | undefined;
let service: ChildProcess | undefined;

/** In-flight requests have 20 s (DECISIONS, Operating it). */
const stopTimeoutMs = 25_000;

function finish(how: End): void {
  ending = true;
  end.resolve(how);
}

/** One Ctrl-C can arrive twice: from the terminal, and passed on by npm. A person takes longer. */
const repeatMs = 500;
let firstSignalMs: number | undefined;

function onSignal(): void {
  const nowMs = performance.now();
  firstSignalMs ??= nowMs;
  if (nowMs - firstSignalMs <= repeatMs) return finish({ code: 0 });
  service?.kill("SIGKILL");
  server?.stopNow();
  if (server !== undefined) withdrawDatabaseUrl();
  process.exit(130);
}

process.on("SIGINT", onSignal);
process.on("SIGTERM", onSignal);
process.on("SIGHUP", onSignal);

start().catch((error) => finish({ code: error instanceof ConfigError ? 2 : 1, message: error.message }));
const { code, message } = await end.promise;
if (message !== undefined) console.error(`\n${message}`);
await stop();
process.exit(code);

async function start(): Promise<void> {
  const given = process.env.DATABASE_URL || undefined;
  readConfig({ ...process.env, DATABASE_URL: given ?? "postgres://127.0.0.1/not-started-yet" });
  await refuseTakenAddresses();
  const databaseUrl = given ?? await startDatabase();
  if (ending) return;

  const key = await prepare(databaseUrl, { onlyWhenEmpty: given !== undefined });
  if (ending) return;
  startService(databaseUrl, (addresses) => console.log(welcome(addresses, key)));
}

async function prepare(databaseUrl: string, options: SeedOptions): Promise<string | undefined> {
  try {
    const applied = await migrate(databaseUrl);
    if (applied.length > 0) console.log(`Applied ${applied.length} files of sql/.`);
    return await seed(databaseUrl, options);
  } catch (error) {
    throw new Error(explainSetup(error, databaseUrl), { cause: error });
  }
}

async function refuseTakenAddresses(): Promise<void> {
  const taken = await takenListeners(process.env);
  if (taken.length === 0) return;
  const lines = taken.map(({ address, variable }) => `  ${address}  (${variable})`);
  const others = await Promise.all(
    taken.map(async ({ address, variable }) => `${variable}=${await nextFree(address)}`),
  );
  throw new Error(
    `Another program listens here:\n${lines.join("\n")}\n` +
      `Choose another address, for example:\n  ${others.join(" ")} npm start`,
  );
}

async function startDatabase(): Promise<string> {
  console.log("Starting PostgreSQL …");
  starting = startPostgres({ folder: dataFolder, onNotice: (notice) => console.log(notice) });
  server = await starting;
  server.ended.then(() => finish({ code: 1, message: "PostgreSQL has ended; see its log in .data/" }));
  const name = "lead_intake";
  const sql = postgres(server.url, { max: 1, onnotice: () => {} });
  try {
    const [found] = await sql`select 1 from pg_database where datname = ${name}`;
    if (found === undefined) await sql`create database ${sql(name)}`;
  } finally {
    await sql.end({ timeout: 5 });
  }
  const databaseUrl = server.databaseUrl(name);
  publishDatabaseUrl(databaseUrl);
  return databaseUrl;
}

/** The command that runs `src/main.ts` on the runtime that runs this script. */
function serviceCommand(): string[] {
  if (process.versions.deno !== undefined) {
    return [process.execPath, "run", ...(watch ? ["--watch"] : []), ...denoFlags(process.env), "src/main.ts"];
  }
  if (!watch) return [process.execPath, "src/main.ts"];
  return [process.execPath, createRequire(import.meta.url).resolve("tsx/cli"), "watch", "src/main.ts"];
}

function startService(
  databaseUrl: string,
  onStarted: (addresses: ReadonlyMap<string, string>) => void,
): void {
  const [command = "", ...args] = serviceCommand();
  const child = spawn(command, args, {
    cwd: root,
    // In a group of its own: Ctrl-C reaches us first, and the service gets it once.
    detached: true,
    env: { ...process.env, DATABASE_URL: databaseUrl },
    stdio: ["ignore", "pipe", "inherit"],
  });
  service = child;
  postWatchdog(endGroup, { args: [String(child.pid)] });
  child.on("error", (error) => finish({ code: 1, message: error.message }));
  child.on("exit", (code, signal) => {
    const how = signal ?? `exit code ${code}`;
    // What it had to say stands above.
    finish({ code: code || 1, message: `The service has ended (${how}).` });
  });
  passOn(child, onStarted);
}

/** Prints the service's log, and once, when all listeners are open, what they say of themselves. */
function passOn(
  child: ChildProcess,
  onStarted: (addresses: ReadonlyMap<string, string>) => void,
): void {
  const addresses = new Map<string, string>();
  let started = false;
  let rest = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    process.stdout.write(text);
    if (started) return;
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const entry = readLogLine(line);
      if (entry.event === "listening") addresses.set(String(entry.surface), String(entry.url));
      if (entry.event === "started") {
        started = true;
        onStarted(addresses);
      }
    }
  });
}

function readLogLine(line: string): Record<string, unknown> {
  try {
    return JSON.parse(line);
  } catch {
    return {};
  }
}

function welcome(addresses: ReadonlyMap<string, string>, key: string | undefined): string {
  const rows = [...addresses];
  if (server !== undefined) {
    const below = relative(process.cwd(), server.dataFolder);
    rows.push(["database", below.startsWith("..") ? server.dataFolder : below]);
  }
  if (key !== undefined) rows.push(["sandbox key", key]);
  const width = Math.max(...rows.map(([name]) => name.length));
  const table = rows.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`).join("\n");
  const missing = `This database has tenants already, so none was added. A key of one of them:
  npm run --silent ctl -- tenant list
  npm run --silent ctl -- key issue TENANT --label LABEL

`;
  return `
The Lead Intake Service runs.

${table}

${key === undefined ? missing : ""}Post a lead:

${curlLine(addresses.get("intake") ?? "", key ?? "<API_KEY>")}

Ctrl-C ends it all.
`;
}

/** One line to paste. The idempotency key is another one at each start, so that the first answer is a 202. */
function curlLine(url: string, key: string): string {
  const lead = { first_name: "Ada", last_name: "Lovelace", phone: "(555) 123-4567", project_area: "roof" };
  // A certificate on this machine is seldom one that curl trusts.
  const insecure = url.startsWith("https:") ? " -k" : "";
  const headers = [
    `X-API-Key: ${key}`,
    "Content-Type: application/json",
    `Idempotency-Key: npm-start-${randomUUID()}`,
  ];
  return `curl -i${insecure} ${headers.map((header) => `-H '${header}'`).join(" ")} ` +
    `-d '${JSON.stringify(lead)}' ${url}/v1/intake`;
}

async function stop(): Promise<void> {
  const child = service;
  if (child !== undefined && child.exitCode === null && child.signalCode === null) {
    const ended = new Promise((settle) => child.once("exit", settle));
    const impatience = setTimeout(() => child.kill("SIGKILL"), stopTimeoutMs);
    child.kill("SIGTERM");
    await ended;
    clearTimeout(impatience);
  }
  // A server that has only begun to start is ended too.
  const started = await starting?.catch(() => undefined);
  if (started !== undefined) {
    withdrawDatabaseUrl();
    await started.stop();
  }
}
