/** Runs Debian's PgBouncer in transaction mode in front of a PostgreSQL. */

import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, chownSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import postgres from "postgres";
import { serverAccount } from "../../../scripts/postgres_binaries.ts";
import { atEnd } from "../at_end.ts";
import { temporaryFolder } from "../folder.ts";
import { openSocket } from "../handed_socket.ts";
import { until } from "../until.ts";

/** A running PgBouncer; it ends with the tests of the file. */
export interface Pooler {
  readonly port: number;
  /** Returns a database's address through the pooler, marked as such. */
  through(databaseUrl: string): string;
  /** Kills it (SIGKILL) and waits for its end. */
  kill(): Promise<void>;
  /** Starts it again. */
  start(): Promise<void>;
  /** Runs a command on its console, such as `reconnect`. */
  command(text: string): Promise<void>;
}

/** Starts a pooler for the server at a port, with these logins and passwords. */
export async function startPooler(
  serverPort: number,
  logins: Readonly<Record<string, string>>,
  settings: Readonly<Record<string, string | number>> = {},
): Promise<Pooler> {
  const folder = temporaryFolder("pooler");
  // Reserves the port while the pooler is down.
  const port = Number(new URL(openSocket("pooler").url).port);
  const account = serverAccount(folder);
  const own = (name: string, text: string) => {
    const path = join(folder, name);
    writeFileSync(path, text, { mode: 0o600 });
    if (account !== undefined) chownSync(path, account.uid, account.gid);
    return path;
  };
  chmodSync(folder, 0o711);
  const users = own("users", Object.entries(logins).map(([name, word]) => `"${name}" "${word}"\n`).join(""));
  const all = {
    listen_addr: "127.0.0.1",
    listen_port: port,
    unix_socket_dir: "",
    pool_mode: "transaction",
    auth_type: "scram-sha-256",
    auth_file: users,
    admin_users: Object.keys(logins)[0],
    default_pool_size: 10,
    ...settings,
  };
  const file = own(
    "pgbouncer.ini",
    `[databases]\n* = host=127.0.0.1 port=${serverPort}\n[pgbouncer]\n${
      Object.entries(all).map(([name, value]) => `${name} = ${value}\n`).join("")
    }`,
  );
  let child: ChildProcess | undefined;
  const at = (database: string) => {
    const [name, word] = Object.entries(logins)[0] as [string, string];
    return `postgres://${name}:${word}@127.0.0.1:${port}/${database}`;
  };
  const command = async (text: string) => {
    const sql = postgres(at("pgbouncer"), { max: 1, prepare: false, fetch_types: false, onnotice: () => {} });
    try {
      await sql.unsafe(text).simple();
    } finally {
      await sql.end({ timeout: 0 });
    }
  };
  const kill = async () => {
    const running = child;
    if (running === undefined || running.exitCode !== null || running.signalCode !== null) return;
    const ended = new Promise((settle) => running.once("exit", settle));
    running.kill("SIGKILL");
    await ended;
  };
  const start = async () => {
    const { uid, gid } = account ?? {};
    child = spawn("pgbouncer", [file], {
      cwd: "/",
      stdio: "ignore",
      ...(uid === undefined || gid === undefined ? {} : { uid, gid }),
    });
    child.on("error", () => {});
    await until(() => command("show version").then(() => true), { what: "PgBouncer answers" });
  };
  atEnd(kill);
  await start();
  return {
    port,
    through(databaseUrl) {
      const url = new URL(databaseUrl);
      url.port = String(port);
      url.searchParams.set("pooler", "transaction");
      return url.href;
    },
    kill,
    start,
    command,
  };
}
