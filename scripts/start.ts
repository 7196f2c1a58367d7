/**
 * `npm start`: runs the whole service on this machine, with its own PostgreSQL under `.data/` unless `DATABASE_URL` is
 * set, an actions process behind mutual TLS, and sandbox keys for a first lead and a first submission.
 *
 * `--watch` restarts both processes when a source file changes; `--new-keys` replaces the saved keys.
 */

import { randomBytes } from "node:crypto";
import { appendFileSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import postgres from "postgres";
import { ConfigError } from "../src/settings/reader.ts";
import { loadSecretFiles } from "../src/settings/secret_files.ts";
import { migrate } from "../src/store/schema/migrate.ts";
import { type Catcher, openCatcher } from "./mail_catcher/catcher.ts";
import { buildSiteFrom, explainBuild, siteSettings } from "./build_site.ts";
import { actionsDenoFlags, denoFlags } from "./deno_flags.ts";
import type { DevCertificates } from "./dev_certificates.ts";
import { type EmbeddedPostgres, startPostgres } from "./embedded_postgres.ts";
import { explainSetup } from "./explain.ts";
import { listeners, usedListeners } from "./listeners.ts";
import { markDevelopment } from "./demo/development.ts";
import { createLogins } from "./login_roles.ts";
import { type Program, startProgram } from "./program.ts";
import { writePrivateFile } from "./private_file.ts";
import { dataFolder, findRunning, publishRunning, withdrawRunning } from "./running.ts";
import { seed, seedDevelopment, type SeedOptions, type SeedOutcome } from "./seed.ts";
import {
  actionsListen,
  actionsSettings,
  catcherListen,
  certificates,
  checkSettings,
  deliveryDestination,
  hasCatcher,
  hasMailServer,
  noDestinationReason,
  serviceSettings,
} from "./start_delivery.ts";
import { alreadyRunningText, type Development, stoppedText, welcome } from "./welcome.ts";

const secretFaults = loadSecretFiles(process.env);
const destination = deliveryDestination(process.env);
const watch = process.argv.includes("--watch");
const replaceKeys = process.argv.includes("--new-keys");
const keysFile = join(dataFolder, "keys");
const logFile = process.env.LOG === "json" ? undefined : join(dataFolder, "log");

/** The reason why everything stops; without a message if the user stopped `npm start`. */
interface StopReason {
  readonly code: number;
  readonly message?: string;
}

const end = Promise.withResolvers<StopReason>();
let isStopping = false;
let starting: Promise<EmbeddedPostgres> | undefined;
let server: EmbeddedPostgres | undefined;
let actions: Program | undefined;
let service: Program | undefined;
let catcher: Catcher | undefined;

function finish(reason: StopReason): void {
  isStopping = true;
  end.resolve(reason);
}

// One Ctrl-C can arrive twice, from the terminal and from npm; only a signal that arrives later than this is a second Ctrl-C.
const repeatMs = 500;
let firstSignalMs: number | undefined;

function onSignal(): void {
  const nowMs = performance.now();
  firstSignalMs ??= nowMs;
  if (nowMs - firstSignalMs <= repeatMs) return finish({ code: 0 });
  service?.kill();
  actions?.kill();
  server?.stopNow();
  if (server !== undefined) withdrawRunning();
  process.exit(130);
}

process.on("SIGINT", onSignal);
process.on("SIGTERM", onSignal);
process.on("SIGHUP", onSignal);

// npm runs this script in a shell that does not forward signals, so the script stops when the shell exits.
if (process.env.npm_lifecycle_event !== undefined) {
  const parent = process.ppid;
  const parentCheck = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(parentCheck);
    onSignal();
  }, 500);
}

start().catch((error) => finish({ code: error instanceof ConfigError ? 2 : 1, message: error.message }));
const { code, message } = await end.promise;
if (message !== undefined) (code === 0 ? console.log : console.error)(`\n${message}`);
await stop();
if (message === undefined) console.log(`\n${stoppedText(server?.dataFolder)}`);
process.exit(code);

async function start(): Promise<void> {
  checkSettings(process.env, secretFaults);
  const given = process.env.DATABASE_URL?.trim() || undefined;
  const running = given === undefined ? findRunning() : null;
  if (running !== null) return finish({ code: 0, message: alreadyRunningText(running) });
  if (replaceKeys && given !== undefined) {
    throw new Error("--new-keys applies only to npm start's own database, but DATABASE_URL is set");
  }
  await avoidUsedAddresses();
  process.env.FORMS_LINK_SECRET ||= randomBytes(32).toString("base64url");
  if (logFile !== undefined) {
    mkdirSync(dataFolder, { recursive: true });
    writePrivateFile(logFile, "");
  }
  const listen = await actionsListen({ watch });
  const databaseUrl = given ?? await startDatabase();
  if (isStopping) return;

  if (replaceKeys) rmSync(keysFile, { force: true });
  const seeded = await prepare(databaseUrl, { keysFile: given === undefined ? keysFile : null });
  if (isStopping) return;
  // On our own server, no process connects as the superuser.
  const { serviceUrl, actionsUrl } = given === undefined
    ? await createLogins(databaseUrl)
    : { serviceUrl: given, actionsUrl: process.env.ACTIONS_DATABASE_URL ?? "" };
  if (isStopping) return;

  const files = destination === "own" ? certificates() : noDestinationReason;
  const development = typeof files !== "string" && hasCatcher(process.env)
    ? await startCatcher(files, databaseUrl)
    : undefined;
  if (isStopping) return;
  const ownActions = typeof files === "string"
    ? undefined
    : { files, url: await startActions(files, actionsUrl, listen) };
  if (isStopping) return;
  const addresses = new Map(await startService(serviceSettings(serviceUrl, ownActions)));
  if (ownActions !== undefined) addresses.set("actions", ownActions.url);
  if (isStopping) return;
  await publishSite(databaseUrl, addresses);
  const delivery = destination === "given"
    ? { kind: "given", url: process.env.ACTIONS_URL ?? "" } as const
    : typeof files === "string"
    ? { kind: "none", reason: files } as const
    : { kind: "own" } as const;
  if (server !== undefined) {
    const caught = catcher && [["mail catcher", catcher.url] as const, ["smtp", catcher.smtpUrl] as const];
    publishRunning({ databaseUrl, addresses: [...addresses, ...caught ?? []] });
  }
  console.log(welcome({ addresses, dataFolder: server?.dataFolder, logFile, seeded, development, delivery }));
}

/** Starts the catcher for the development tenant's emails and webhooks, and adds the tenant. */
async function startCatcher(files: DevCertificates, databaseUrl: string): Promise<Development> {
  const secret = `whsec_${randomBytes(32).toString("base64")}`;
  catcher = await openCatcher({
    listen: catcherListen(process.env),
    cert: readFileSync(files.serverCertFile, "utf8"),
    key: readFileSync(files.serverKeyFile, "utf8"),
    secret,
  });
  const mailTo = hasMailServer(process.env) ? null : "leads@customer.example";
  const { webhookUrl, recipeUrl, url } = catcher;
  writePrivateFile(join(dataFolder, "crm_url"), recipeUrl);
  return { url, seeded: await seedDevelopment(databaseUrl, { webhookUrl, secret, mailTo, keysFile }) };
}

async function prepare(databaseUrl: string, options: SeedOptions): Promise<SeedOutcome | undefined> {
  try {
    const applied = await migrate(databaseUrl);
    if (applied.length > 0) console.log(`Applied ${applied.length} files from sql/.`);
    return await seed(databaseUrl, options);
  } catch (error) {
    throw new Error(explainSetup(error, databaseUrl), { cause: error });
  }
}

/** Builds the site. Only prints a failure, because the service accepts leads without a site. */
async function publishSite(databaseUrl: string, addresses: ReadonlyMap<string, string>): Promise<void> {
  try {
    await buildSiteFrom(databaseUrl, siteSettings(process.env, addresses));
  } catch (error) {
    console.error(`The site could not be built: ${explainBuild(error, databaseUrl)}`);
  }
}

/** Replaces default ports that are in use with free ones; a configured port that is in use is an error. */
async function avoidUsedAddresses(): Promise<void> {
  const own = destination === "own" ? {} : { ACTIONS_LISTEN: undefined };
  const wanted = listeners({ ...process.env, ...own })
    .filter(({ variable }) => variable !== "CATCHER_LISTEN" || hasCatcher(process.env));
  const all = await usedListeners(wanted);
  const taken = all.filter(({ variable }) => process.env[variable]);
  if (taken.length === 0) {
    for (const { address, freeAddress, surface, variable } of all) {
      console.log(`Another program listens on ${address}; ${surface} uses ${freeAddress}.`);
      process.env[variable] = freeAddress;
    }
    return;
  }
  const lines = taken.map(({ address, variable }) => `  ${address}  (${variable})`);
  const others = taken.map(({ variable, freeAddress }) => `${variable}=${freeAddress}`);
  throw new Error(
    `Other programs listen on these addresses:\n${lines.join("\n")}\n` +
      `Choose other addresses; these are free:\n  ${others.join(" ")} npm start${watch ? " -- --watch" : ""}`,
  );
}

async function startDatabase(): Promise<string> {
  console.log("Starting PostgreSQL …");
  publishRunning({ addresses: [] });
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
  publishRunning({ databaseUrl, addresses: [] });
  return databaseUrl;
}

/** Starts the actions process and returns its base URL. */
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
  else appendFileSync(logFile, text, { mode: 0o600 });
}

function onProgramEnd({ code, message }: { readonly code: number; readonly message: string }): void {
  finish({ code, message: logFile === undefined ? message : `${message} The log is in .data/log.` });
}

async function stop(): Promise<void> {
  // The service stops first, so that its last deliveries still reach the actions process.
  await service?.stop();
  await actions?.stop();
  catcher?.close();
  // Also stops a server that is still starting.
  const started = await starting?.catch(() => undefined);
  if (starting !== undefined) withdrawRunning();
  await started?.stop();
}
