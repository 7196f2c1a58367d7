/** Tests losing the connection to PostgreSQL at every point of a commit. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { post } from "../support/client.ts";
import { until } from "../support/until.ts";
import { leadBody, Load } from "../support/faults/load.ts";
import { acceptCall, type Fault, type Place, places } from "../support/faults/postgres_proxy.ts";
import { randomOf } from "../support/faults/random.ts";
import { fixture, storeWritable } from "../support/faults/fixture.ts";

// The promise is 2 s each, plus slack; a commit without a response is abandoned only after 9.5 s.
const noticedWithinMs = 5_000;
const recoveredWithinMs = 5_000;

const { apiKey, databaseUrl, history, intakeUrls, proxy, server } = await fixture({
  proxy: true,
  servers: 2,
});

// Without Parse, which occurs once per connection; `npm run prove` cuts there.
const everyPlace = (Object.keys(places) as Place[]).filter((place) => place !== "before_parse");
const everyFault = everyPlace.flatMap((place) =>
  (["close", "reset"] as const).map((how): Fault => ({ place, how }))
);

test("a post whose connection is cut around the commit gets 503, and its retry gets the outcome", async () => {
  for (const fault of everyFault) {
    const name = `${fault.place}-${fault.how}`;
    const request = {
      apiKey: apiKey.text,
      idempotencyKey: name,
      body: `{"first_name":"${name}","last_name":"Cut","phone":"5551234567"}`,
    };
    const made = proxy.injectFault(fault);
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

test("a post gets no response before ReadyForQuery", async () => {
  for (const place of ["before_commit", "after_commit", "inside_response"] as const) {
    const request = {
      apiKey: apiKey.text,
      idempotencyKey: place,
      body: `{"first_name":"${place}","last_name":"Halt","phone":"5551234567"}`,
    };
    const made = proxy.injectFault({ place, how: "halt" });
    const answer = history.post(server.url, request);
    const halted = await made;
    // Each is a round trip through PostgreSQL, so a response would have arrived by now.
    const probe = { key: apiKey.text, body: "{}" };
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

test("256 posts of one Idempotency-Key over two servers with cut connections make one event", async (t) => {
  const first = history.entries.length;
  const chance = randomOf(t);
  for (let round = 1; round <= 4; round++) {
    const idempotencyKey = history.freshKey("one");
    const request = { apiKey: apiKey.text, idempotencyKey, body: leadBody(chance, round) };
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

test("a connection lost while it is being opened costs at most a 503", async (t) => {
  const first = history.entries.length;
  // postgres.js reads the types on each new connection.
  proxy.watched = /pg_type|\baccept\(/;
  const chance = randomOf(t);
  proxy.chooseFault = () => chance.pick(everyFault);
  await proxy.cut();
  const load = new Load(t, { history, chance, apiKeys: [apiKey.text], intakeUrls, clients: 4 });
  await until(() => history.count("not_accepting", first) >= 20, { what: "leads are refused" });
  proxy.chooseFault = () => null;
  proxy.watched = acceptCall;
  await load.accepted(20);
  await load.stop();
  t.diagnostic(history.summary(first));
  assert.equal(history.count("no_answer", first), 0, "no server has ended");
  await history.check(databaseUrl);
});

test("half-open connections make store_writable false within 2 s and true again on new ones", async (t) => {
  const chance = randomOf(t);
  const load = new Load(t, { history, chance, apiKeys: [apiKey.text], intakeUrls, clients: 8 });
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
  assert.ok(acceptedMs < noticedWithinMs + recoveredWithinMs, "commits use new connections");
  await load.stop();
  await history.check(databaseUrl);
});

test("after idle connections became half-open, the first lead is accepted on a new one", async () => {
  const body = '{"first_name":"Ada","last_name":"Lovelace","phone":"5551234567"}';
  const before = { apiKey: apiKey.text, idempotencyKey: history.freshKey("idle"), body };
  assert.equal((await history.post(server.url, before)).kind, "accepted");
  proxy.blackHole();
  await storeWritable(server.url, false, noticedWithinMs);
  await storeWritable(server.url, true, recoveredWithinMs);
  const after = { apiKey: apiKey.text, idempotencyKey: history.freshKey("idle"), body };
  assert.equal((await history.post(server.url, after)).kind, "accepted");
  assert.ok((history.entries.at(-1)?.durationMs ?? Infinity) < recoveredWithinMs);
  await history.check(databaseUrl);
});
