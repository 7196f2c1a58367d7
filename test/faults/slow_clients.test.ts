/** Thousands of clients that send a byte now and then. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import { every } from "../support/every.ts";
import { freshAddress } from "../support/client.ts";
import { until } from "../support/until.ts";
import { leadBody } from "../support/faults/load.ts";
import { chanceOf } from "../support/faults/random.ts";
import { stand } from "../support/faults/stand.ts";

const clientsMax = 2_000;
// The listener's bound for headers, and for a request's body.
const headersBoundMs = 10_000;
const bodyBoundMs = 20_000;
const slackMs = 5_000;
// It takes twice as long, and test/http has it with shorter bounds: in the long run only.
const slowBodiesToo = process.env.FAULT_ROUNDS !== undefined;
const byteEveryMs = 1_000;
/** A lead's answer meanwhile takes milliseconds, on a busy machine more; one that was held up would wait until the others are shed. */
const answerMs = 8_000;

const { apiKey, databaseUrl, history, server } = await stand();

test("2,000 connections that send a byte now and then are shed, and other clients get their 202 meanwhile", async (t) => {
  const chance = chanceOf(t);
  const { hostname, port } = new URL(server.url);
  const count = Math.min(clientsMax, openFilesMax() - 500);
  const open = new Set<Socket>();
  const startMs = performance.now();
  /** When the last of them had its connection: on a slow machine seconds after the first. */
  let connectedMs = startMs;
  const inHeaders = new Set<Socket>();
  for (let n = 0; n < count; n++) {
    const socket = connect({ port: Number(port), host: hostname, localAddress: freshAddress() });
    open.add(socket);
    const inBody = slowBodiesToo && n % 10 === 0;
    if (!inBody) inHeaders.add(socket);
    socket.write("POST /v1/intake HTTP/1.1\r\nHost: intake\r\n");
    socket.write(inBody ? "Content-Length: 1000\r\n\r\n{" : "X-Slow: ");
    socket.on("connect", () => connectedMs = performance.now());
    socket.on("error", () => {}).on("close", () => {
      open.delete(socket);
      inHeaders.delete(socket);
    }).resume();
  }
  every(t, byteEveryMs, () => {
    for (const socket of open) if (socket.writable) socket.write("x");
  });
  t.after(() => {
    for (const socket of open) socket.destroy();
  });

  let answers = 0;
  let headersShedMs = 0;
  await until(async () => {
    answers += 1;
    const request = {
      apiKey: apiKey.key,
      idempotencyKey: `normal-${answers}`,
      body: leadBody(chance, answers),
    };
    await history.post(server.url, request);
    if (inHeaders.size === 0 && headersShedMs === 0) headersShedMs = performance.now() - connectedMs;
    return open.size === 0;
  }, { what: "every slow client is shed" });
  const shedMs = performance.now() - connectedMs;

  const slowestMs = Math.max(...history.entries.map((entry) => entry.durationMs));
  t.diagnostic(
    `${count} slow clients, shed after ${Math.round(headersShedMs)} ms in their headers, all after ` +
      `${Math.round(shedMs)} ms; ${answers} leads accepted meanwhile, the slowest in ` +
      `${Math.round(slowestMs)} ms`,
  );
  assert.ok(headersShedMs < headersBoundMs + slackMs, "slow headers are shed after 10 s");
  assert.ok(shedMs < (slowBodiesToo ? bodyBoundMs : headersBoundMs) + slackMs, "slow bodies after 20 s");
  assert.ok(slowestMs < answerMs, "nobody else is held up");
  assert.ok(answers > 20);
  assert.equal(history.count("accepted"), answers, history.summary());
  await history.check(databaseUrl);
});

/** How many files this process and its children may have open; Node raises the soft limit to the hard one. */
function openFilesMax(): number {
  try {
    const line = /Max open files\s+\d+\s+(\d+|unlimited)/.exec(readFileSync("/proc/self/limits", "utf8"));
    return line?.[1] === undefined || line[1] === "unlimited" ? Number.MAX_SAFE_INTEGER : Number(line[1]);
  } catch {
    return Number.MAX_SAFE_INTEGER;
  }
}
