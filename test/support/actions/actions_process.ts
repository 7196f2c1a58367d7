/** The actions process as it runs in production: a process of its own, a database role of its own, mutual TLS. */

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { request as httpsRequest } from "node:https";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import { actionsDenoFlags } from "../../../src/settings/deno_flags.ts";
import type { LogLine, Runtime } from "../server.ts";
import { atEnd } from "../at_end.ts";
import { until } from "../until.ts";
import type { Authority, Issued } from "../authority.ts";
import { inherited } from "../environment.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** How to start one. */
export interface ActionsOptions {
  readonly databaseUrl: string;
  readonly authority: Authority;
  readonly server: Issued;
  readonly env?: Readonly<Record<string, string>>;
  /** Left out: Node. */
  readonly runtime?: Runtime;
}

/** One that runs. */
export interface RunningActions {
  readonly port: number;
  readonly pid: number;
  readonly logs: readonly LogLine[];
  /** Both outputs as text, so far. */
  readonly output: { readonly stdout: string; readonly stderr: string };
  readonly ended: Promise<number | NodeJS.Signals>;
  stop(): Promise<number | NodeJS.Signals>;
  kill(signal?: NodeJS.Signals): Promise<number | NodeJS.Signals>;
}

/** What the process said and how it ended; for starts that are to fail. */
export interface EndedActions {
  readonly code: number | NodeJS.Signals;
  readonly stdout: string;
  readonly stderr: string;
}

/** The environment of a process with these files. */
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

function launch(env: Readonly<Record<string, string>>, runtime: Runtime) {
  const [command, prefix] = runtime === "deno"
    ? [`${root}node_modules/.bin/deno`, ["run", ...actionsDenoFlags(env)]]
    : [process.execPath, []];
  const child = spawn(command, [...prefix, "src/actions/main.ts"], {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...inherited,
      NO_COLOR: "1",
      ...env,
    },
  });
  const output = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => output.stdout += text);
  child.stderr.setEncoding("utf8").on("data", (text: string) => output.stderr += text);
  const ended = new Promise<number | NodeJS.Signals>((settle, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => settle(code ?? signal ?? 1));
  });
  ended.catch(() => {});
  return { child, output, ended };
}

/** Runs the process to its end. */
export async function runActionsToEnd(
  env: Readonly<Record<string, string>>,
  runtime: Runtime = "node",
): Promise<EndedActions> {
  const { output, ended } = launch(env, runtime);
  const code = await ended;
  return { code, ...output };
}

/** Starts the process and returns when it listens. */
export async function startActionsProcess(options: ActionsOptions): Promise<RunningActions> {
  const { child, output, ended } = launch(actionsEnv(options), options.runtime ?? "node");
  let exit: number | NodeJS.Signals | undefined;
  ended.then((code) => exit = code, () => exit = 1);
  const logs = () =>
    output.stdout.split("\n").slice(0, -1).map((line) => {
      try {
        return JSON.parse(line) as LogLine;
      } catch {
        return { event: "unparsed", text: line };
      }
    });
  const stopWith = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    return await ended;
  };
  atEnd(() => stopWith("SIGKILL"));
  await until(() => exit !== undefined || logs().some((line) => line.event === "started"), {
    what: "the actions process listens",
  });
  if (exit !== undefined) throw new Error(`It ended (${exit}):\n${output.stdout}${output.stderr}`);
  const url = String(logs().find((line) => line.event === "listening")?.url);
  return {
    port: Number(new URL(url).port),
    pid: child.pid ?? 0,
    get logs() {
      return logs();
    },
    output,
    ended,
    stop: () => stopWith("SIGTERM"),
    kill: (signal = "SIGKILL") => stopWith(signal),
  };
}

/** One answer. */
export interface ActionsAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  // deno-lint-ignore no-explicit-any
  readonly json: any;
}

/** Sends one request over a connection of its own. */
export function ask(
  target: { readonly port: number },
  client: { readonly authority: Authority; readonly certificate: Issued },
  request: {
    readonly method: string;
    readonly path: string;
    readonly body?: string | Uint8Array;
    readonly headers?: Readonly<Record<string, string>>;
  },
): Promise<ActionsAnswer> {
  return new Promise((settle, reject) => {
    const { cert, key } = client.certificate;
    const { method, path, body, headers = {} } = request;
    const sent = httpsRequest({
      ...{ host: "127.0.0.1", port: target.port, method, path, headers, agent: false },
      ...{ ca: client.authority.pem, cert, key, signal: AbortSignal.timeout(30_000) },
    });
    sent.on("error", reject);
    sent.on("response", (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => text += chunk);
      response.on("error", reject);
      response.on("end", () => {
        const json = text === "" ? undefined : JSON.parse(text);
        settle({ status: response.statusCode ?? 0, headers: response.headers, json });
      });
    });
    sent.end(body);
  });
}

/** A login role in one of the group roles, on a database. */
export interface TestRole {
  /** The database as this role. */
  readonly url: string;
}

/** Creates a login role that may do what a group role may; it goes with the server. */
export async function createRole(
  databaseUrl: string,
  group: "lead_service" | "lead_actions",
): Promise<TestRole> {
  const name = `test_${randomBytes(6).toString("hex")}`;
  const password = randomBytes(12).toString("hex");
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  await sql.unsafe(`create role ${name} login password '${password}' in role ${group}`);
  await sql.end({ timeout: 5 });
  const url = new URL(databaseUrl);
  url.username = name;
  url.password = password;
  return { url: url.href };
}
