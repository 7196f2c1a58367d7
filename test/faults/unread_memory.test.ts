/** Tests hundreds of HTTP/2 clients that request much and open no flow-control window. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { every } from "../support/every.ts";
import { residentMiB } from "../support/faults/process.ts";
import { FrameClient } from "../support/http/frames.ts";
import { startApp } from "../support/http/echo.ts";
import { selfSigned } from "../support/authority.ts";
import { temporaryFolder } from "../support/folder.ts";
import { until } from "../support/until.ts";

const clientsCount = 400;
const streamsCount = 100;
/** At least twice the measured growth, most of which the connections cost by themselves. */
const growthMaxMiB = { "node process": 150, "deno": 250 };
/** The listener's timeout for an unread response, and slack for a busy machine. */
const boundMs = 20_000;
const slackMs = 20_000;

const tls = selfSigned(temporaryFolder(), "unread");

for (const place of ["node process", "deno"] as const) {
  test(`${clientsCount} HTTP/2 clients that read none of ${streamsCount} responses cost little and are closed on ${place}`, async (t) => {
    const app = await startApp(place, { tls });
    t.after(() => app.close());
    // Excludes the cost of a process's first requests.
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
