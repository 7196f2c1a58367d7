/** Runs the actions process as in production: a separate process, database role and mutual TLS. */

import { randomBytes } from "node:crypto";
import { withSql } from "../database.ts";
import { type Outcome, type RunningServer, type Runtime, runToEnd, startServer } from "../server.ts";
import type { Authority, Issued } from "../authority.ts";

const program = "src/actions/main.ts";

/** Options of an actions process. */
export interface ActionsOptions {
  readonly databaseUrl: string;
  readonly authority: Authority;
  readonly server: Issued;
  readonly env?: Readonly<Record<string, string>>;
  /** Default: Node. */
  readonly runtime?: Runtime;
}

/** A running actions process. */
export interface RunningActions extends Omit<RunningServer, "url" | "urls"> {
  readonly port: number;
}

/** Returns the environment of an actions process with these certificates. */
export function actionsEnv(options: ActionsOptions): Record<string, string> {
  return {
    ACTIONS_LISTEN: "127.0.0.1:0",
    ACTIONS_DATABASE_URL: options.databaseUrl,
    ACTIONS_SERVER_CERT_FILE: options.server.certFile,
    ACTIONS_SERVER_KEY_FILE: options.server.keyFile,
    ACTIONS_CLIENT_CA_FILE: options.authority.file,
    ...options.env,
  };
}

/** Runs the process until it exits. */
export function runActionsToEnd(
  env: Readonly<Record<string, string>>,
  runtime: Runtime = "node",
): Promise<Outcome> {
  return runToEnd(program, [], { env, runtime });
}

/** Starts the process and returns once it listens. */
export async function startActionsProcess(options: ActionsOptions): Promise<RunningActions> {
  const server = await startServer({ program, env: actionsEnv(options), runtime: options.runtime ?? "node" });
  const url = String(server.logs.find(({ event }) => event === "listening")?.url);
  return { ...server, port: Number(new URL(url).port) };
}

/** A login role that belongs to a group role. */
export interface TestRole {
  /** The database's address as this role. */
  readonly url: string;
}

/** Creates a login role with the rights of a group role; it is removed with the server. */
export async function createRole(
  databaseUrl: string,
  group: "lead_service" | "lead_actions",
): Promise<TestRole> {
  const name = `test_${randomBytes(6).toString("hex")}`;
  const password = randomBytes(12).toString("hex");
  await withSql(
    databaseUrl,
    (sql) => sql.unsafe(`create role ${name} login password '${password}' in role ${group}`),
  );
  const url = new URL(databaseUrl);
  url.username = name;
  url.password = password;
  return { url: url.href };
}
