/**
 * `npm start`: the whole service on this machine, with its own PostgreSQL under `.data/` unless `DATABASE_URL` is set, an
 * actions process behind mutual TLS, and sandbox keys to post a first lead and a first form with.
 *
 * `--watch` restarts both processes when a source file changes; `--new-keys` replaces the saved keys.
 */

import { randomBytes } from "node:crypto";
import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import postgres from "postgres";
import { ConfigError } from "../src/settings/reader.ts";
import { takeSecrets } from "../src/settings/secret_files.ts";
import { migrate } from "../src/store/schema/migrate.ts";
import { type Catcher, openCatcher } from "./caught/catcher.ts";
import { buildSiteFrom, explainBuild, siteSettings } from "./build_site.ts";
import { dataFolder, publishDatabaseUrl, withdrawDatabaseUrl } from "./database_url.ts";
import { actionsDenoFlags, denoFlags } from "../src/settings/deno_flags.ts";
import type { DevCertificates } from "./dev_certificates.ts";
import { type EmbeddedPostgres, startPostgres } from "./embedded_postgres.ts";
import { explainSetup } from "./explain.ts";
import { listeners, takenListeners } from "./listeners.ts";
import { markDevelopment } from "./demo/development.ts";
import { createLogins } from "./login_roles.ts";
import { type Program, startProgram } from "./program.ts";
import { findRunning, publishRunning, withdrawRunning } from "./running.ts";
import { seed, seedDevelopment, type SeedOptions, type SeedOutcome } from "./seed.ts";
import {
  actionsListen,
  actionsSettings,
  caughtListen,
  certificates,
  checkSettings,
  destinationOf,
  hasCatcher,
  hasOwnMail,
  noDestination,
  serviceSettings,
} from "./start_delivery.ts";
import { alreadyRunning, type Development, stopped, welcome } from "./welcome.ts";

const secretFaults = takeSecrets(process.env);
const destination = destinationOf(process.env);
const watch = process.argv.includes("--watch");
const newKeys = process.argv.includes("--new-keys");
const keysFile = join(dataFolder, "keys");
const logFile = process.env.LOG === "json" ? undefined : join(dataFolder, "log");

/** Why everything stops; no message if the user asked for it. */
interface End {
  readonly code: number;
  readonly message?: string;
}

const end = Promise.withResolvers<End>();
let ending = false;
let starting: Promise<EmbeddedPostgres> | undefined;
let server: EmbeddedPostgres | undefined;
let actions: Program | undefined;
let service: Program | undefined;
let catcher: Catcher | undefined;

function finish(how: End): void {
  ending = true;
  end.resolve(how);
}

/** One Ctrl-C can arrive twice, from the terminal and from npm; a second one by hand comes later than this. */
const repeatMs = 500;
let firstSignalMs: number | undefined;

function onSignal(): void {
  const nowMs = performance.now();
  firstSignalMs ??= nowMs;
  if (nowMs - firstSignalMs <= repeatMs) return finish({ code: 0 });
  service?.kill();
  actions?.kill();
  server?.stopNow();
  if (server !== undefined) withdrawAll();
  process.exit(130);
}

process.on("SIGINT", onSignal);
process.on("SIGTERM", onSignal);
process.on("SIGHUP", onSignal);

// npm runs this in a shell that does not forward signals; when the shell exits, stop.
if (process.env.npm_lifecycle_event !== undefined) {
  const parent = process.ppid;
  const watching = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watching);
    onSignal();
  }, 500);
}

start().catch((error) => finish({ code: error instanceof ConfigError ? 2 : 1, message: error.message }));
const { code, message } = await end.promise;
if (message !== undefined) (code === 0 ? console.log : console.error)(`\n${message}`);
await stop();
if (message === undefined) console.log(`\n${stopped(server?.dataFolder)}`);
process.exit(code);

async function start(): Promise<void> {
  checkSettings(process.env, secretFaults);
  const given = process.env.DATABASE_URL?.trim() || undefined;
  const running = given === undefined ? findRunning() : null;
  if (running !== null) return finish({ code: 0, message: alreadyRunning(running) });
  if (newKeys && given !== undefined) {
    throw new Error("--new-keys applies to npm start's own database, and DATABASE_URL is set");
  }
  await avoidTakenAddresses();
  process.env.FORMS_LINK_SECRET ||= randomBytes(32).toString("base64url");
  if (logFile !== undefined) {
    mkdirSync(dataFolder, { recursive: true });
    writeFileSync(logFile, "");
  }
  const listen = await actionsListen({ watch });
  const databaseUrl = given ?? await startDatabase();
  if (ending) return;

  if (newKeys) rmSync(keysFile, { force: true });
  const seeded = await prepare(databaseUrl, { keysFile: given === undefined ? keysFile : null });
  if (ending) return;
  // A given role is the user's choice; on our own server nothing runs as its superuser.
  const { serviceUrl, actionsUrl } = given === undefined
    ? await createLogins(databaseUrl)
    : { serviceUrl: given, actionsUrl: process.env.ACTIONS_DATABASE_URL ?? "" };
  if (ending) return;

  const files = destination === "own" ? certificates() : noDestination;
  const development = typeof files !== "string" && hasCatcher(process.env)
    ? await startCatcher(files, databaseUrl)
    : undefined;
  if (ending) return;
  const to = typeof files === "string"
    ? undefined
    : { files, url: await startActions(files, actionsUrl, listen) };
  if (ending) return;
  const addresses = new Map(await startService(serviceSettings(serviceUrl, to)));
  if (to !== undefined) addresses.set("actions", to.url);
  if (ending) return;
  await publishSite(databaseUrl, addresses);
  const delivery = destination === "given"
    ? { kind: "given", url: process.env.ACTIONS_URL ?? "" } as const
    : typeof files === "string"
    ? { kind: "none", reason: files } as const
    : { kind: "own" } as const;
  if (server !== undefined) {
    publishRunning([
      ...addresses,
      ...(catcher === undefined
        ? []
        : [["caught", catcher.url] as const, ["smtp", catcher.smtpUrl] as const]),
    ]);
  }
  console.log(welcome({ addresses, dataFolder: server?.dataFolder, logFile, seeded, development, delivery }));
}

/** Starts the catcher of the development tenant's mails and webhooks. */
async function startCatcher(files: DevCertificates, databaseUrl: string): Promise<Development> {
  const secret = `whsec_${randomBytes(32).toString("base64")}`;
  catcher = await openCatcher({
    listen: caughtListen(process.env),
    cert: readFileSync(files.serverCertFile, "utf8"),
    key: readFileSync(files.serverKeyFile, "utf8"),
    secret,
  });
  const mailTo = hasOwnMail(process.env) ? null : "leads@customer.example";
  const { webhookUrl, url } = catcher;
  return { url, seeded: await seedDevelopment(databaseUrl, { webhookUrl, secret, mailTo, keysFile }) };
}

async function prepare(databaseUrl: string, options: SeedOptions): Promise<SeedOutcome | undefined> {
  try {
    const applied = await migrate(databaseUrl);
    if (applied.length > 0) console.log(`Applied ${applied.length} files of sql/.`);
    return await seed(databaseUrl, options);
  } catch (error) {
    throw new Error(explainSetup(error, databaseUrl), { cause: error });
  }
}

/** A failed build is printed only: the service accepts leads without a site. */
async function publishSite(databaseUrl: string, addresses: ReadonlyMap<string, string>): Promise<void> {
  try {
    await buildSiteFrom(databaseUrl, siteSettings(process.env, addresses));
  } catch (error) {
    console.error(`The site could not be built: ${explainBuild(error, databaseUrl)}`);
  }
}

/** Uses a free port if another program has a default one; a configured port that is in use is an error. */
async function avoidTakenAddresses(): Promise<void> {
  const own = destination === "own" ? {} : { ACTIONS_LISTEN: undefined };
  const wanted = listeners({ ...process.env, ...own })
    .filter(({ variable }) => variable !== "CAUGHT_LISTEN" || hasCatcher(process.env));
  const all = await takenListeners(wanted);
  const taken = all.filter(({ variable }) => process.env[variable]);
  if (taken.length === 0) {
    for (const { address, instead, surface, variable } of all) {
      console.log(`Another program listens on ${address}; ${surface} uses ${instead}.`);
      process.env[variable] = instead;
    }
    return;
  }
  const lines = taken.map(({ address, variable }) => `  ${address}  (${variable})`);
  const others = taken.map(({ variable, instead }) => `${variable}=${instead}`);
  throw new Error(
    `Other programs listen on these addresses:\n${lines.join("\n")}\n` +
      `Choose other addresses; these are free:\n  ${others.join(" ")} npm start${watch ? " -- --watch" : ""}`,
  );
}

async function startDatabase(): Promise<string> {
  console.log("Starting PostgreSQL …");
  publishRunning([]);
  starting = startPostgres({ folder: dataFolder, onNotice: (notice) => console.log(notice) });
  server = await starting;
  server.ended.then(() => finish({ code: 1, message: "PostgreSQL has stopped; see its log in .data/" }));
  const name = "lead_intake";
  const sql = postgres(server.url, { max: 1, onnotice: () => {} });
  try {
    const [found] = await sql`select 1 from pg_database where datname = ${name}`;
    if (found === undefined) await sql`create database ${sql(name)}`;
    await markDevelopment(sql, name);
  } finally {
    await sql.end({ timeout: 5 });
  }
  const databaseUrl = server.databaseUrl(name);
  publishDatabaseUrl(databaseUrl);
  return databaseUrl;
}

/** Returns the actions process's base URL. */
async function startActions(files: DevCertificates, databaseUrl: string, listen: string): Promise<string> {
  const environment = actionsSettings(files, { databaseUrl, listen, catcher });
  actions = startProgram({
    name: "The actions process",
    main: "src/actions/main.ts",
    environment,
    denoFlags: actionsDenoFlags(environment),
    watch,
    log,
    onEnd: onProgramEnd,
  });
  return (await actions.started).get("actions") ?? "";
}

async function startService(environment: Record<string, string>): Promise<ReadonlyMap<string, string>> {
  service = startProgram({
    name: "The service",
    main: "src/main.ts",
    environment,
    denoFlags: denoFlags(environment),
    watch,
    log,
    onEnd: onProgramEnd,
  });
  return await service.started;
}

function log(text: string): void {
  if (logFile === undefined) process.stdout.write(text);
  else appendFileSync(logFile, text);
}

function onProgramEnd({ code, message }: { readonly code: number; readonly message: string }): void {
  finish({ code, message: logFile === undefined ? message : `${message} The log is in .data/log.` });
}

async function stop(): Promise<void> {
  // The service stops first, so that its last deliveries still reach the actions process.
  await service?.stop();
  await actions?.stop();
  catcher?.close();
  // A server that is still starting is stopped too.
  const started = await starting?.catch(() => undefined);
  if (starting !== undefined) withdrawAll();
  await started?.stop();
}

function withdrawAll(): void {
  withdrawDatabaseUrl();
  withdrawRunning();
}
