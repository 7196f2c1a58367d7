/** Hundreds of HTTP/2 clients that ask for much and open no window for any of it. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { every } from "../support/every.ts";
import { FrameClient } from "../support/http/frames.ts";
import { startApp } from "../support/http/echo.ts";
import { selfSigned } from "../support/authority.ts";
import { temporaryFolder } from "../support/folder.ts";
import { until } from "../support/until.ts";

const clientsCount = 400;
const streamsCount = 100;
/** Half of it and less was seen, most of which is what the connections cost by themselves. */
const growthMaxMiB = { "node process": 150, "deno": 250 };
/** The listener's bound for an answer that is not taken, and what a busy machine may take to see to it. */
const boundMs = 20_000;
const slackMs = 20_000;

const tls = selfSigned(temporaryFolder(), "untaken");

for (const place of ["node process", "deno"] as const) {
  test(`${clientsCount} clients that take none of ${streamsCount} answers over HTTP/2 cost little and are gone soon on ${place}`, async (t) => {
    const app = await startApp(place, { tls });
    t.after(() => app.close());
    // What the first requests of a process cost is not theirs.
    for (let client = 0; client < 50; client++) (await asking(app.port, 65_535)).destroy();
    const before = residentMiB(app.pid);
    let highest = before;
    every(t, 20, () => highest = Math.max(highest, residentMiB(app.pid)));

    const clients: FrameClient[] = [];
    for (let client = 0; client < clientsCount; client++) clients.push(await asking(app.port, 0));
    await until(() => clients.every(({ isClosed }) => isClosed), {
      deadlineMs: boundMs + slackMs,
      what: "every client has been closed",
    });
    t.diagnostic(`resident memory ${before.toFixed(0)} MiB before, ${highest.toFixed(0)} MiB at most`);
    assert.ok(highest - before < growthMaxMiB[place], `${highest - before} MiB more`);
  });
}

async function asking(port: number, windowBytes: number): Promise<FrameClient> {
  const client = await FrameClient.open(port, { windowBytes });
  client.ask("/document", streamsCount);
  return client;
}

function residentMiB(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
}
