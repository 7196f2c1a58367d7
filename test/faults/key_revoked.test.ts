/** A key is revoked while its leads are being committed. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { ctl } from "../support/server.ts";
import { until } from "../support/until.ts";
import { Load } from "../support/faults/load.ts";
import { chanceOf, rounds } from "../support/faults/random.ts";
import { stand } from "../support/faults/stand.ts";
import { withSql } from "../support/faults/store.ts";

const settings = {
  track_commit_timestamp: "on",
  // A server may be set like this; the service must not depend on it.
  default_transaction_isolation: "repeatable read",
};
const { apiKey, databaseUrl, history, intakeUrls, issueKey, server } = await stand({ servers: 2, settings });

const lead = '{"first_name":"Ada","last_name":"Lovelace","phone":"5551234567"}';

test("a key revoked under load over two servers: nothing of it commits after ctl key revoke has returned, and it gets 401 from then on", async (t) => {
  const chance = chanceOf(t);
  for (let round = 1; round <= rounds(3); round++) {
    const revoked = await issueKey(`revoked-${round}`);
    const load = new Load(t, {
      history,
      chance,
      apiKeys: [apiKey.key, revoked.key],
      intakeUrls,
      clients: 32,
    });
    await load.accepted(100 + chance.below(200));
    const startMs = performance.now();
    await ctl(["key", "revoke", revoked.id], { databaseUrl });
    const returnedMs = performance.now();
    const [returned] = await withSql(
      databaseUrl,
      (sql) => sql<{ at: string }[]>`select clock_timestamp()::text as at`,
    );
    assert.ok(returned);
    await load.accepted(100);
    await load.stop();

    const late = await withSql(databaseUrl, (sql) =>
      sql`
      select event_id from event
      where key_id = ${revoked.id}::int and pg_xact_commit_timestamp(xmin) >= ${returned.at}::timestamptz`);
    assert.equal(late.length, 0, "events of the key that committed after the return");

    const own = history.entries.filter((entry) => entry.apiKey === revoked.key);
    for (const { outcome, sentAtMs } of own) {
      const isRefused = outcome?.kind === "refused" && outcome.status === 401;
      assert.ok(isRefused || outcome?.kind === "accepted", `202 or 401, not ${JSON.stringify(outcome)}`);
      assert.ok(isRefused || sentAtMs < returnedMs, "401 to what was posted after the return");
    }
    const refused = own.filter(({ outcome }) => outcome?.kind === "refused").length;
    assert.ok(refused > 0 && refused < own.length);
    t.diagnostic(
      `revoked in ${Math.round(returnedMs - startMs)} ms; ${
        own.length - refused
      } accepted before, ${refused} refused`,
    );
  }
  await history.check(databaseUrl);
});

test("a lead whose commit waits for the revocation of its key gets 401, whatever isolation level the server is set to", async () => {
  const { id, key } = await issueKey("waiting");
  await history.post(server.url, { apiKey: key, idempotencyKey: history.freshKey("before"), body: lead });
  const idempotencyKey = history.freshKey("waiting");
  const outcome = await withSql(databaseUrl, (sql) =>
    sql.begin(async (revocation) => {
      const [{ at } = {}] = await revocation`
        update api_key set revoked_at = now() where id = ${id} returning clock_timestamp()::text as at`;
      const answer = history.post(server.url, { apiKey: key, idempotencyKey, body: lead });
      // On another connection: a transaction sees the activity of one moment only.
      await until(() =>
        withSql(databaseUrl, async (sql) => {
          const tries = await sql`
            select from pg_stat_activity
            where application_name = 'lead-intake commit' and query_start > ${at}::text::timestamptz`;
          return tries.length > 0;
        }), { what: "the commit was tried during the revocation" });
      // Wrapped: the transaction ends before the answer comes.
      return { answer };
    }));
  const answer = await outcome.answer;
  assert.equal(answer.kind === "refused" && answer.status, 401, JSON.stringify(answer));
  await history.check(databaseUrl);
});
