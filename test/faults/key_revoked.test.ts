/** Tests revoking a key while a lead of it is being committed. `npm run prove` revokes keys under load. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../support/until.ts";
import { fixture } from "../support/faults/fixture.ts";
import { withSql } from "../support/database.ts";

const { databaseUrl, history, issueKey, server } = await fixture({
  // The service must not depend on the server's default.
  settings: { default_transaction_isolation: "repeatable read" },
});

const lead = '{"first_name":"Ada","last_name":"Lovelace","phone":"5551234567"}';

test("a lead whose commit waits for its key's revocation gets 401 in any isolation level", async () => {
  const { id, text: key } = await issueKey();
  await history.post(server.url, { apiKey: key, idempotencyKey: history.freshKey("before"), body: lead });
  const idempotencyKey = history.freshKey("waiting");
  const outcome = await withSql(databaseUrl, (sql) =>
    sql.begin(async (revocation) => {
      const [{ at } = {}] = await revocation`
        update api_key set revoked_at = now() where id = ${id} returning clock_timestamp()::text as at`;
      const answer = history.post(server.url, { apiKey: key, idempotencyKey, body: lead });
      // On another connection, because a transaction sees one snapshot of pg_stat_activity.
      await until(() =>
        withSql(databaseUrl, async (sql) => {
          const tries = await sql`
            select from pg_stat_activity
            where application_name = 'lead-intake commit' and query_start > ${at}::text::timestamptz`;
          return tries.length > 0;
        }), { what: "the commit was tried during the revocation" });
      // Wrapped, so that the transaction ends before the response.
      return { answer };
    }));
  const answer = await outcome.answer;
  assert.equal(answer.kind === "refused" && answer.status, 401, JSON.stringify(answer));
  await history.check(databaseUrl);
});
