/** Tests two servers that commit batches with the same keys, contents, campaigns and terms in any order. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test, type TestContext } from "node:test";
import { leadBody } from "../support/faults/load.ts";
import { type Random, randomOf } from "../support/faults/random.ts";
import { fixture } from "../support/faults/fixture.ts";
import { withSql } from "../support/database.ts";

// In each wave, clients post the same few new leads at once, so that both servers insert the same rows.
const waves = 20;
const leadsPerWave = 60;
const clients = 128;

const { apiKey, databaseUrl, history, intakeUrls, issueKey, postgres } = await fixture({
  servers: 2,
  // The service must not depend on the server's default.
  settings: { default_transaction_isolation: "serializable" },
});
const apiKeys = [apiKey.text, (await issueKey()).text, (await issueKey()).text];

// Makes the two servers' inserts overlap.
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

/** Posts each wave from many clients to both servers and checks every outcome. */
async function compete(t: TestContext, lead: (chance: Random) => Posted, spell = (body: string) => body) {
  const chance = randomOf(t);
  const first = history.entries.length;
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

test("batches of two servers with the same Idempotency-Keys neither deadlock nor respond 503", async (t) => {
  let posts = 0;
  await compete(
    t,
    (chance) => ({ idempotencyKey: history.freshKey("rival"), body: leadBody(chance, ++leads) }),
    // A collision is another row to lock.
    (body) => ++posts % 4 === 0 ? body.replace('"first_name"', `"crm":"${posts % 3}","first_name"`) : body,
  );
});

test("batches of two servers with the same contents and no keys neither deadlock nor respond 503", async (t) => {
  await compete(t, (chance) => ({ idempotencyKey: null, body: leadBody(chance, ++leads) }));
});
