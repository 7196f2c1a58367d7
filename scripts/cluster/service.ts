/**
 * The service on a cluster: its database, and processes of it.
 *
 * @module
 */

import { spawn } from "node:child_process";
import { createWriteStream } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { migrate } from "../../src/store/schema/migrate.ts";
import { denoFlags } from "../../src/settings/deno_flags.ts";
import { seed } from "../seed.ts";
import { endGroup, postWatchdog } from "../watchdog.ts";
import { type Cluster, withSql } from "./cluster.ts";

/** The database of the service on a cluster. */
export interface Database {
  /** The address for a login and where to connect to. */
  readonly url: (login: "lead_owner" | "intake_login" | "actions_login", at: string) => string;
  /** A sandbox's key. */
  readonly apiKey: string;
}

const name = "lead_intake";

/** Makes the database, with the roles of docs/operating.md and a sandbox. */
export async function makeDatabase(cluster: Cluster): Promise<Database> {
  const primary = await cluster.primary();
  const { password } = new URL(primary.url("postgres"));
  await withSql(primary.url("postgres"), async (sql) => {
    for (const group of ["lead_service", "lead_actions"]) await sql.unsafe(`create role ${group} nologin`);
    await sql.unsafe(`create role lead_owner login password '${password}'`);
    await sql.unsafe(`create role intake_login login password '${password}' in role lead_service`);
    await sql.unsafe(`create role actions_login login password '${password}' in role lead_actions`);
    await sql.unsafe(`create database ${name} owner lead_owner`);
  });
  await withSql(primary.url(name), (sql) => sql.unsafe("alter schema public owner to lead_owner"));
  const url: Database["url"] = (login, at) =>
    `postgres://${login}:${password}@${at}/${name}${
      at.includes(",") ? "?target_session_attrs=read-write" : ""
    }`;
  const ownerUrl = url("lead_owner", cluster.servers);
  await migrate(ownerUrl);
  const seeded = await seed(ownerUrl, { onlyWhenEmpty: true });
  if (seeded === undefined || !("key" in seeded)) throw new Error("The sandbox was not made");
  return { url, apiKey: seeded.key };
}

/** A process of the service. */
export interface Service {
  /** As the table names it. */
  readonly name: string;
  /** The base address of its intake. */
  readonly url: string;
  /** Lines of its log that nothing should have caused. */
  readonly faults: readonly string[];
  stop(): Promise<void>;
}

const root = fileURLToPath(new URL("../../", import.meta.url));
const faultEvents = /"event":"(fault|uncaught|entry_refused)"/;

function settings(databaseUrl: string, actionsUrl: string): Record<string, string> {
  return {
    ...Object.fromEntries(
      ["INTAKE", "FORMS", "SUBSCRIPTION", "SITE", "OPS"].map((
        surface,
      ) => [`${surface}_LISTEN`, "127.0.0.1:0"]),
    ),
    ...{ SURFACES: "intake,delivery,ops", DATABASE_URL: databaseUrl, ACTIONS_URL: actionsUrl },
    ...{ INTAKE_IP_PER_MINUTE: "100000000", INTAKE_IP_BURST: "1000000" },
    ...{ INTAKE_KEY_PER_MINUTE: "100000000", INTAKE_KEY_BURST: "1000000" },
    ...{ DELIVERY_POLL_MS: "1000", DELIVERY_SEND_TIMEOUT_MS: "8000", DELIVERY_LEASE_MS: "20000" },
    ...{ DELIVERY_BACKOFF_BASE_MS: "200", DELIVERY_BACKOFF_CAP_MS: "2000", DELIVERY_ATTEMPTS_MAX: "100" },
  };
}

function readLines(from: Readable, tell: (line: string) => void): void {
  let rest = "";
  from.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) tell(line);
  });
}

/** Starts one; returns when it listens. Its log stays in `folder`. */
export async function startService(
  { name, runtime, databaseUrl, actionsUrl, folder }: {
    readonly name: string;
    readonly runtime: "node" | "deno";
    readonly databaseUrl: string;
    readonly actionsUrl: string;
    readonly folder: string;
  },
): Promise<Service> {
  const environment = settings(databaseUrl, actionsUrl);
  const command = runtime === "node"
    ? [process.execPath, "src/main.ts"]
    : ["node_modules/.bin/deno", "run", ...denoFlags(environment), "src/main.ts"];
  const child = spawn(command[0] as string, command.slice(1), {
    cwd: root,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "", ...environment },
  });
  if (child.pid !== undefined) postWatchdog(endGroup, { args: [String(child.pid)] });
  const log = createWriteStream(join(folder, `${name.replaceAll(/\W+/g, "_")}.log`));
  child.stderr.pipe(log);
  const ended = new Promise<void>((settle) => child.once("close", () => settle()));
  const faults: string[] = [];
  let address = "";
  const url = await new Promise<string>((settle, reject) => {
    child.once("error", reject);
    child.once(
      "close",
      (code) => reject(new Error(`The service ${name} has ended (${code}); see ${String(log.path)}`)),
    );
    readLines(child.stdout, (line) => {
      // Three hundred a second.
      if (line.includes('"event":"request"')) return;
      log.write(`${line}\n`);
      if (faultEvents.test(line)) faults.push(line);
      if (line.includes('"surface":"intake"')) address = /"url":"([^"]+)"/.exec(line)?.[1] ?? "";
      if (line.includes('"event":"started"')) settle(address);
    });
  });
  return {
    name,
    url,
    faults,
    async stop() {
      child.kill("SIGTERM");
      await ended;
    },
  };
}
