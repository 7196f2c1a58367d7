/**
 * Files of 100 KiB a second that the site's listener serves, beside nginx.
 *
 * @module
 */

import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { getting } from "../load/getting.ts";
import { startNginx } from "../peers/nginx.ts";
import { buildFolder } from "../programs.ts";
import { startService } from "../service.ts";
import type { Open, Suite } from "../suite.ts";

const folder = join(buildFolder, "static");
const bytes = randomBytes(100 * 1024);

function makeFile(): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "file.bin"), bytes);
}

/** Our whole service, of which only the site is asked. */
const ours: Open = async (bench) => {
  makeFile();
  const { url: databaseUrl } = await bench.stage.createDatabase(bench.tree);
  const service = await startService(bench, { databaseUrl, env: { SITE_DIR: folder } });
  return await getting(bench, service, { url: `${service.urls.site}/file.bin`, expected: bytes });
};

const nginx: Open = async (bench) => {
  makeFile();
  const server = await startNginx(folder);
  const contender = await getting(bench, server, { url: `${server.url}/file.bin`, expected: bytes });
  return { ...contender, note: server.version };
};

/** `npm run bench -- static`. */
export const staticFiles: Suite = {
  about: "the site's files against nginx",
  needs: { wrk: "wrk", nginx: "nginx-light" },
  conditions: [
    "one machine for client and server; loopback; wrk with one thread and 64 connections; plain HTTP/1.1, kept alive",
    "nginx: one worker, sendfile, tcp_nopush, access log to a file in blocks, no open_file_cache",
    "ours: the one file of a release with everything on, its access log written to a file on the same disk",
    "both look at the file for each request; checked before the first round: both send the same bytes",
  ],
  groups: () => [{
    rows: {
      nginx: {
        name: "files of 100 KiB a second against nginx, 64 connections",
        of: "answers/s",
        ours: "ours",
        peer: "nginx",
        target: { atLeast: 0.4 },
      },
    },
    ours: { ours },
    peers: { nginx },
  }],
};
