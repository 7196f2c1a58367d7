/**
 * Two servers commit batches that hold the same Idempotency-Keys, contents, campaigns and terms in any order.
 *
 * @module
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { leadBody } from "./support/load.ts";
import { type Chance, chanceOf, rounds } from "./support/random.ts";
import { stand } from "./support/stand.ts";

// Few keys and many clients: nearly every batch meets its rival's.
const keysPerRound = 60;
const clients = 128;
const postsPerClient = 12;

const { apiKey, databaseUrl, history, intakeUrls, issueKey, postgres } = await stand({
  servers: 2,
  settings: { default_transaction_isolation: "serializable" },
});
const apiKeys = [apiKey.key, (await issueKey("second")).key, (await issueKey("third")).key];

interface Posted {
  readonly idempotencyKey: string | null;
  readonly body: string;
}

/** Posts from many clients at once, to either server, and checks that nobody lost by it. */
async function compete(chance: Chance, next: () => Posted): Promise<void> {
  const first = history.entries.length;
  await Promise.all(Array.from({ length: clients }, async () => {
    for (let n = 0; n < postsPerClient; n++) {
      await history.post(chance.pick(intakeUrls()), { apiKey: chance.pick(apiKeys), ...next() });
    }
  }));
  const { events } = await history.check(databaseUrl);
  const settled = history.count("accepted", first) + history.count("duplicate", first);
  assert.equal(settled, clients * postsPerClient, history.summary(first));
  assert.equal(history.count("accepted"), events.length);
  assert.doesNotMatch(readFileSync(postgres.server.logFile, "utf8"), /deadlock/);
}

test("batches of two servers with the same Idempotency-Keys in any order neither deadlock nor answer 503", async (t) => {
  const chance = chanceOf(t);
  for (let round = 1; round <= rounds(3); round++) {
    const leads = Array.from({ length: keysPerRound }, (_, index) => ({
      idempotencyKey: history.freshKey("rival"),
      body: leadBody(chance, round * keysPerRound + index),
    }));
    await compete(chance, () => {
      const { idempotencyKey, body } = chance.pick(leads);
      // Another lead under the same key is a collision, which is a row to lock too.
      const other = `"crm":"${chance.below(3)}","first_name"`;
      return { idempotencyKey, body: chance.oneIn(4) ? body.replace('"first_name"', other) : body };
    });
  }
  t.diagnostic(history.summary());
});

test("batches of two servers with the same contents and no keys neither deadlock nor answer 503, and each content is one event", async (t) => {
  const chance = chanceOf(t);
  const bodies = Array.from({ length: keysPerRound }, (_, index) => leadBody(chance, index));
  await compete(chance, () => ({ idempotencyKey: null, body: chance.pick(bodies) }));
});
