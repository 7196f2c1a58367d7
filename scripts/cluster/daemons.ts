/**
 * What a cluster needs beside its members: etcd, in which they agree on the primary, and HAProxy in front of them.
 *
 * @module
 */

import { spawn } from "node:child_process";
import { chownSync, closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { freePort } from "../free_port.ts";
import type { Account } from "../postgres_binaries.ts";
import type { Member } from "./member.ts";

const startMs = 60_000;

function startIn(folder: string, command: readonly string[], { uid, gid }: Account): void {
  const log = openSync(join(folder, "log"), "a");
  const [program = "", ...args] = command;
  spawn(program, args, { cwd: folder, detached: true, stdio: ["ignore", log, log], uid, gid }).on(
    "error",
    () => {},
  );
  closeSync(log);
}

function makeFolder(folder: string, { uid, gid }: Account): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  chownSync(folder, uid, gid);
}

/** Starts etcd, and returns when it answers. */
export async function startEtcd(
  folder: string,
  { port, account }: { port: number; account: Account },
): Promise<void> {
  makeFolder(folder, account);
  const peer = `http://127.0.0.1:${await freePort()}`;
  const client = `http://127.0.0.1:${port}`;
  startIn(folder, [
    ...["etcd", "--name", "etcd", "--data-dir", join(folder, "data"), "--logger", "zap", "--enable-v2"],
    ...["--listen-client-urls", client, "--advertise-client-urls", client],
    ...[
      "--listen-peer-urls",
      peer,
      "--initial-advertise-peer-urls",
      peer,
      "--initial-cluster",
      `etcd=${peer}`,
    ],
  ], account);
  const untilMs = performance.now() + startMs;
  while (performance.now() < untilMs) {
    const answer = await fetch(`${client}/health`).catch(() => null);
    if (answer?.ok && (await answer.text()).includes("true")) return;
    await delay(100);
  }
  throw new Error(`etcd did not start:\n${readFileSync(join(folder, "log"), "utf8").slice(-2_000)}`);
}

/** Starts HAProxy: whoever connects to it is connected to the primary, as Patroni has it. */
export function startProxy(
  folder: string,
  { port, members, account }: { port: number; members: readonly Member[]; account: Account },
): void {
  makeFolder(folder, account);
  const servers = members.map(({ seat: { name, port, restPort } }) =>
    `  server ${name} 127.0.0.1:${port} check port ${restPort}`
  );
  writeFileSync(
    join(folder, "haproxy.cfg"),
    `defaults
  mode tcp
  timeout connect 1s
  timeout client 30m
  timeout server 30m
listen primary
  bind 127.0.0.1:${port}
  option httpchk OPTIONS /primary
  http-check expect status 200
  # A member that is no primary any more loses its connections at once.
  default-server inter 500 fastinter 200 downinter 200 fall 2 rise 1 on-marked-down shutdown-sessions
${servers.join("\n")}
`,
    { mode: 0o644 },
  );
  startIn(folder, ["haproxy", "-db", "-f", join(folder, "haproxy.cfg")], account);
}
