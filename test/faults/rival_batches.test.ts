/** Two servers commit batches that hold the same Idempotency-Keys, contents, campaigns and terms in any order. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test, type TestContext } from "node:test";
import { leadBody } from "../support/faults/load.ts";
import { type Chance, chanceOf, rounds } from "../support/faults/random.ts";
import { stand } from "../support/faults/stand.ts";
import { withSql } from "../support/faults/store.ts";

// In each wave, clients post the same few new leads at once, so that both servers insert the same rows.
const wavesPerRound = 10;
const leadsPerWave = 60;
const clients = 128;

const { apiKey, databaseUrl, history, intakeUrls, issueKey, postgres } = await stand({
  servers: 2,
  // A server may be set like this; the service must not depend on it.
  settings: { default_transaction_isolation: "serializable" },
});
const apiKeys = [apiKey.key, (await issueKey("second")).key, (await issueKey("third")).key];

// So that the two servers' inserts overlap for certain.
await withSql(postgres.url, async (sql) => {
  await sql.unsafe(`
    create function take_a_millisecond() returns trigger language plpgsql as
      $$ begin perform pg_sleep(0.001); return new; end $$;
    create trigger take_a_millisecond before insert on event
      for each row execute function take_a_millisecond()`);
});

interface Posted {
  readonly idempotencyKey: string | null;
  readonly body: string;
}

/** Posts each wave from many clients to either server, and checks that nobody lost by it. */
async function compete(t: TestContext, lead: (chance: Chance) => Posted, spell = (body: string) => body) {
  const chance = chanceOf(t);
  const first = history.entries.length;
  const waves = rounds(2) * wavesPerRound;
  for (let wave = 1; wave <= waves; wave++) {
    const leads = Array.from({ length: leadsPerWave }, () => lead(chance));
    await Promise.all(Array.from({ length: clients }, () => {
      const { idempotencyKey, body } = chance.pick(leads);
      const request = { apiKey: chance.pick(apiKeys), idempotencyKey, body: spell(body) };
      return history.post(chance.pick(intakeUrls()), request);
    }));
  }
  t.diagnostic(history.summary(first));
  const { events } = await history.check(databaseUrl);
  const settled = history.count("accepted", first) + history.count("duplicate", first);
  assert.equal(settled, clients * waves, history.summary(first));
  assert.equal(history.count("accepted"), events.length);
  assert.doesNotMatch(readFileSync(postgres.server.logFile, "utf8"), /deadlock/);
}

let leads = 0;

test("batches of two servers with the same Idempotency-Keys in any order neither deadlock nor answer 503", async (t) => {
  let posts = 0;
  await compete(
    t,
    (chance) => ({ idempotencyKey: history.freshKey("rival"), body: leadBody(chance, ++leads) }),
    // Another lead under the same key is a collision, which is a row to lock too.
    (body) => ++posts % 4 === 0 ? body.replace('"first_name"', `"crm":"${posts % 3}","first_name"`) : body,
  );
});

test("batches of two servers with the same contents and no keys neither deadlock nor answer 503, and each content is one event", async (t) => {
  await compete(t, (chance) => ({ idempotencyKey: null, body: leadBody(chance, ++leads) }));
});
