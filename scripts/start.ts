/**
 * `npm start`: the whole service on this machine, with a PostgreSQL of its own under `.data/` unless `DATABASE_URL`
 * names one, an actions process behind mutual TLS, and sandbox keys to post a first lead and a first form with.
 *
 * With `--watch` (`npm run dev`) both processes restart when a source file changes.
 *
 * @module
 */

import postgres from "postgres";
import { ConfigError } from "../src/settings/reader.ts";
import { migrate } from "../src/store/schema/migrate.ts";
import { buildSiteFrom, explainBuild, siteSettings } from "./build_site.ts";
import { dataFolder, publishDatabaseUrl, withdrawDatabaseUrl } from "./database_url.ts";
import { actionsDenoFlags, denoFlags } from "./deno_flags.ts";
import type { DevCertificates } from "./dev_certificates.ts";
import { type EmbeddedPostgres, startPostgres } from "./embedded_postgres.ts";
import { explainSetup } from "./explain.ts";
import { nextFree, takenListeners } from "./listeners.ts";
import { createLogins } from "./login_roles.ts";
import { type Program, startProgram } from "./program.ts";
import { seed, type Seeded, type SeedOptions } from "./seed.ts";
import {
  actionsListen,
  actionsSettings,
  certificates,
  checkSettings,
  destinationOf,
  noDestination,
  serviceSettings,
} from "./start_delivery.ts";
import { welcome } from "./welcome.ts";

const destination = destinationOf(process.env);
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
let actions: Program | undefined;
let service: Program | undefined;

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
  service?.kill();
  actions?.kill();
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
  checkSettings(process.env);
  await refuseTakenAddresses();
  const listen = await actionsListen({ watch });
  const given = process.env.DATABASE_URL?.trim() || undefined;
  const databaseUrl = given ?? await startDatabase();
  if (ending) return;

  const seeded = await prepare(databaseUrl, { onlyWhenEmpty: given !== undefined });
  if (ending) return;
  // A given role is the operator's choice; on the server of our own nothing runs as its superuser.
  const { serviceUrl, actionsUrl } = given === undefined
    ? await createLogins(databaseUrl)
    : { serviceUrl: given, actionsUrl: process.env.ACTIONS_DATABASE_URL ?? "" };
  if (ending) return;

  const files = destination === "own" ? certificates() : noDestination;
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
  console.log(welcome({ addresses, dataFolder: server?.dataFolder, seeded, delivery }));
}

async function prepare(databaseUrl: string, options: SeedOptions): Promise<Seeded | undefined> {
  try {
    const applied = await migrate(databaseUrl);
    if (applied.length > 0) console.log(`Applied ${applied.length} files of sql/.`);
    return await seed(databaseUrl, options);
  } catch (error) {
    throw new Error(explainSetup(error, databaseUrl), { cause: error });
  }
}

/** The service takes leads with or without a site. */
async function publishSite(databaseUrl: string, addresses: ReadonlyMap<string, string>): Promise<void> {
  try {
    await buildSiteFrom(databaseUrl, siteSettings(process.env, addresses));
  } catch (error) {
    console.error(`The site could not be built: ${explainBuild(error, databaseUrl)}`);
  }
}

async function refuseTakenAddresses(): Promise<void> {
  const own = destination === "own" ? {} : { ACTIONS_LISTEN: undefined };
  const taken = await takenListeners({ ...process.env, ...own });
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

/** Returns its address. */
async function startActions(files: DevCertificates, databaseUrl: string, listen: string): Promise<string> {
  const environment = actionsSettings(files, databaseUrl, listen);
  actions = startProgram({
    name: "The actions process",
    main: "src/actions/main.ts",
    environment,
    denoFlags: actionsDenoFlags(environment),
    watch,
    onEnd: finish,
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
    onEnd: finish,
  });
  return await service.started;
}

async function stop(): Promise<void> {
  // What the service is sending still reaches the actions process.
  await service?.stop();
  await actions?.stop();
  // A server that has only begun to start is ended too.
  const started = await starting?.catch(() => undefined);
  if (started !== undefined) {
    withdrawDatabaseUrl();
    await started.stop();
  }
}
