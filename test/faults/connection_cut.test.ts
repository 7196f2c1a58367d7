/** The connection to PostgreSQL is lost at every place of the commit. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { post } from "../support/client.ts";
import { until } from "../support/until.ts";
import { leadBody, Load } from "../support/faults/load.ts";
import { acceptCall, type Fault, type Place, places } from "../support/faults/postgres_proxy.ts";
import { chanceOf, rounds } from "../support/faults/random.ts";
import { stand, storeWritable } from "../support/faults/stand.ts";

// 2 s each, and three on a machine that is busy with other tests: a commit that nobody answers is given up after 9.5 s.
const noticedWithinMs = 5_000;
const recoveredWithinMs = 5_000;

const { apiKey, databaseUrl, history, intakeUrls, proxy, server } = await stand({
  proxy: true,
  servers: 2,
});

// But Parse, which comes once a connection and not with each commit: `npm run prove` cuts there.
const everyPlace = (Object.keys(places) as Place[]).filter((place) => place !== "before_parse");
const everyFault = everyPlace.flatMap((place) =>
  (["close", "reset"] as const).map((how): Fault => ({ place, how }))
);

test("POST /v1/intake answers 503 when its connection is cut before, inside or after the commit message, and the retry finds out", async () => {
  for (const fault of everyFault) {
    const name = `${fault.place}-${fault.how}`;
    const request = {
      apiKey: apiKey.key,
      idempotencyKey: name,
      body: `{"first_name":"${name}","last_name":"Cut","phone":"5551234567"}`,
    };
    const made = proxy.faultOnce(fault);
    const answer = await history.post(server.url, request);
    await made;
    assert.deepEqual(answer, { kind: "not_accepting" }, name);

    const retried = await until(async () => {
      const outcome = await history.post(server.url, request);
      return outcome.kind !== "not_accepting" && outcome;
    }, { what: `${name}: the retry is answered` });
    const committed = places[fault.place];
    if (committed !== null) assert.equal(retried.kind, committed ? "duplicate" : "accepted", name);
  }
  await history.check(databaseUrl);
});

test("POST /v1/intake answers nothing before ReadyForQuery: neither the statement's end nor CommandComplete is the commit", async () => {
  for (const place of ["before_commit", "after_commit", "inside_answer"] as const) {
    const request = {
      apiKey: apiKey.key,
      idempotencyKey: place,
      body: `{"first_name":"${place}","last_name":"Halt","phone":"5551234567"}`,
    };
    const made = proxy.faultOnce({ place, how: "halt" });
    const answer = history.post(server.url, request);
    const halted = await made;
    // Each is a round trip through the server and PostgreSQL, so an answer would be here by now.
    const probe = { key: apiKey.key, body: "{}" };
    for (let n = 0; n < 20; n++) assert.equal((await post(`${server.url}/v1/intake`, probe)).status, 422);
    assert.equal(
      history.entries.at(-1)?.outcome,
      undefined,
      `${place}: no answer while the connection halts`,
    );
    halted.release();
    assert.equal((await answer).kind, "accepted", place);
  }
  await history.check(databaseUrl);
});

test("256 posts of one Idempotency-Key over two servers, their connections being cut: one event, and at most one 202", async (t) => {
  const first = history.entries.length;
  const chance = chanceOf(t);
  for (let round = 1; round <= rounds(4); round++) {
    const idempotencyKey = history.freshKey("one");
    const request = { apiKey: apiKey.key, idempotencyKey, body: leadBody(chance, round) };
    let cuts = chance.below(5);
    proxy.chooseFault = () => cuts-- > 0 ? chance.pick(everyFault) : null;
    await Promise.all(Array.from({ length: 256 }, async (_, index) => {
      const url = intakeUrls()[index % 2] ?? "";
      await until(async () => {
        const { kind } = await history.post(url, request);
        return kind === "accepted" || kind === "duplicate";
      }, { what: "the retry is answered", intervalMs: 50 });
    }));
    const { events } = await history.check(databaseUrl);
    assert.equal(events.filter((event) => event.idempotencyKey === idempotencyKey).length, 1);
  }
  t.diagnostic(history.summary(first));
  assert.equal(history.count("refused", first), 0);
});

test("every 202 is in the store once after connections were cut again and again at any place, under load over two servers", async (t) => {
  const first = history.entries.length;
  const chance = chanceOf(t);
  const load = new Load(t, { history, chance, apiKeys: [apiKey.key], intakeUrls, clients: 16 });
  for (let round = 1; round <= rounds(10); round++) {
    await load.accepted(20);
    if (chance.oneIn(3)) await proxy.cut();
    else await proxy.faultOnce(chance.pick(everyFault));
  }
  await load.stop();
  const slowestMs = Math.max(...history.entries.slice(first).map((entry) => entry.durationMs));
  t.diagnostic(`${history.summary(first)}; slowest answer after ${Math.round(slowestMs)} ms`);
  assert.ok(slowestMs < recoveredWithinMs, "no answer waits for a connection that was lost");
  await history.check(databaseUrl);
});

test("a connection that is lost while it is being opened costs nobody more than a 503", async (t) => {
  const first = history.entries.length;
  // postgres.js reads the types on a new connection, with a statement that is nobody's.
  proxy.watched = /pg_type|\baccept\(/;
  const chance = chanceOf(t);
  proxy.chooseFault = () => chance.pick(everyFault);
  await proxy.cut();
  const load = new Load(t, { history, chance, apiKeys: [apiKey.key], intakeUrls, clients: 4 });
  await until(() => history.count("not_accepting", first) >= 20, { what: "leads are refused" });
  proxy.chooseFault = () => null;
  proxy.watched = acceptCall;
  await load.accepted(20);
  await load.stop();
  t.diagnostic(history.summary(first));
  assert.equal(history.count("no_answer", first), 0, "no server has ended");
  await history.check(databaseUrl);
});

test("Half-open connections, silent without an end: store_writable is false within 2 s, and true within 2 s more on new ones", async (t) => {
  const chance = chanceOf(t);
  const load = new Load(t, { history, chance, apiKeys: [apiKey.key], intakeUrls, clients: 8 });
  await load.accepted(50);
  proxy.blackHole();
  const startMs = performance.now();
  const falseMs = await storeWritable(server.url, false, noticedWithinMs);
  const trueMs = await storeWritable(server.url, true, recoveredWithinMs);
  await load.accepted(50);
  const acceptedMs = performance.now() - startMs;
  t.diagnostic(
    `store_writable false after ${Math.round(falseMs)} ms, true after ${Math.round(trueMs)} ms more; ` +
      `50 accepted ${Math.round(acceptedMs)} ms after the fault`,
  );
  assert.ok(acceptedMs < noticedWithinMs + recoveredWithinMs, "commits are made on new connections too");
  await load.stop();
  await history.check(databaseUrl);
});

test("Half-open connections that nobody was using: the first lead after the recovery is accepted on a new one", async () => {
  const body = '{"first_name":"Ada","last_name":"Lovelace","phone":"5551234567"}';
  const before = { apiKey: apiKey.key, idempotencyKey: history.freshKey("idle"), body };
  assert.equal((await history.post(server.url, before)).kind, "accepted");
  proxy.blackHole();
  await storeWritable(server.url, false, noticedWithinMs);
  await storeWritable(server.url, true, recoveredWithinMs);
  const after = { apiKey: apiKey.key, idempotencyKey: history.freshKey("idle"), body };
  assert.equal((await history.post(server.url, after)).kind, "accepted");
  assert.ok((history.entries.at(-1)?.durationMs ?? Infinity) < recoveredWithinMs);
  await history.check(databaseUrl);
});
