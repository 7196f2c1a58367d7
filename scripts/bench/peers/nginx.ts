/**
 * nginx with one worker, serving a folder as fast as it can.
 *
 * @module
 */

import { spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { buildFolder, start, stop } from "../programs.ts";

/** A running nginx. */
interface Nginx {
  /** Without a slash at its end. */
  readonly url: string;
  /** Of the master; the worker is its child. */
  readonly pid: number;
  readonly version: string;
  stop(): Promise<void>;
}

const startTries = 400;

/** Starts it; its access log is written to a file, in blocks as ours is. */
export async function startNginx(folder: string): Promise<Nginx> {
  // Below the range of outgoing connections, so that asking it cannot connect to itself.
  const port = randomInt(15_000, 32_000);
  const prefix = join(buildFolder, "nginx");
  rmSync(prefix, { recursive: true, force: true });
  mkdirSync(prefix, { recursive: true });
  const configuration = join(prefix, "nginx.conf");
  writeFileSync(configuration, configure({ port, prefix, folder }));
  const child = start("nginx", ["-p", prefix, "-e", join(prefix, "error.log"), "-c", configuration], {
    logFile: join(prefix, "output.log"),
  });
  const url = `http://127.0.0.1:${port}`;
  for (let attempt = 0; attempt < startTries && child.exitCode === null; attempt++) {
    if (await fetch(url).then(() => true, () => false)) {
      // It says its version on the standard error.
      const version = /nginx\/[\d.]+/.exec(String(spawnSync("nginx", ["-v"]).stderr))?.[0] ?? "nginx";
      return { url, pid: child.pid ?? 0, version, stop: () => stop(child) };
    }
    await delay(10);
  }
  await stop(child);
  throw new Error(`nginx did not start: see ${prefix}`);
}

/** Its best, but for `open_file_cache`: ours looks at the file for each request, and so does nginx. */
function configure({ port, prefix, folder }: { port: number; prefix: string; folder: string }): string {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `  ${name}_temp_path ${prefix}/${name};`);
  return `
${userInfo().uid === 0 ? "user root;" : ""}
daemon off;
worker_processes 1;
pid ${prefix}/pid;
error_log ${prefix}/error.log;
events { worker_connections 1024; }
http {
${temporary.join("\n")}
  access_log ${prefix}/access.log combined buffer=64k flush=1s;
  default_type application/octet-stream;
  sendfile on;
  sendfile_max_chunk 2m;
  tcp_nopush on;
  tcp_nodelay on;
  keepalive_requests 1000000000;
  server {
    listen 127.0.0.1:${port};
    root ${folder};
  }
}
`;
}
