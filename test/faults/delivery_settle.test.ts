/** Tests settlements that fail or hang for longer than the lease of their claim. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../support/until.ts";
import { withSql } from "../support/database.ts";
import { deliveryFixture } from "../support/faults/delivery_fixture.ts";
import { leadBody } from "../support/faults/load.ts";
import { randomOf } from "../support/faults/random.ts";

const fixture = await deliveryFixture();
const { databaseUrl, deliveries, intake, testEnv, tier } = fixture;
testEnv.expectLogged("delivery_failure");
const service = await fixture.start();
const key = await fixture.routed();
/** Longer than the lease. */
const passedSeconds = 10;
/** While the test holds this lock, settlements fail or hang. */
const lock = 777;
const ways = {
  fail: `if not pg_try_advisory_xact_lock_shared(${lock}) then raise 'Settlements fail'; end if;`,
  hang: `perform pg_advisory_xact_lock_shared(${lock});`,
};

await withSql(databaseUrl, (sql) =>
  sql.unsafe(`
    alter function settle_outbox rename to settle_now;
    alter function due_tenants rename to due_now;
    create sequence polls;
    create function due_tenants(p_tenant_id int[], p_floor text[], p_lease_ms int) returns table (tenant_id int)
    language sql security definer set search_path = pg_catalog, public, pg_temp
    as $$ select nextval('polls'); select * from due_now(p_tenant_id, p_floor, p_lease_ms) $$;
    grant execute on function due_tenants to public`));

/** Returns how often the service has polled the outbox. */
async function polls(): Promise<number> {
  const rows = await withSql(
    databaseUrl,
    (sql) => sql<{ count: number }[]>`select last_value::int as count from polls`,
  );
  return rows[0]?.count ?? 0;
}

for (const [how, statement] of Object.entries(ways)) {
  test(`a lead is sent once although its settlements ${how} for longer than its lease`, async (t) => {
    const eventId = await withSql(databaseUrl, async (sql) => {
      await sql.unsafe(`
        create or replace function settle_outbox(
          p_lease text[], p_event_id text[], p_number int[], p_kind text[], p_outcome text[], p_status int[],
          p_reason text[], p_duration_ms int[], p_spent text[], p_retry_ms float8[]
        ) returns int language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
        begin
          ${statement}
          return settle_now(
            p_lease, p_event_id, p_number, p_kind, p_outcome, p_status, p_reason, p_duration_ms, p_spent, p_retry_ms);
        end
        $$;
        grant execute on function settle_outbox to public`);
      await sql`select pg_advisory_lock(${lock})`;
      const idempotencyKey = intake.freshKey("settle");
      const outcome = await intake.post(service.url, {
        apiKey: key.text,
        idempotencyKey,
        body: leadBody(randomOf(t), 1),
      });
      assert.ok(outcome.kind === "accepted");
      await tier.until(outcome.eventId);
      const isBroken = {
        fail: () => Promise.resolve(service.logs.some(({ event }) => event === "delivery_failure")),
        hang: async () =>
          (await sql`select from pg_locks where locktype = 'advisory' and objid = ${lock} and not granted`)
            .length > 0,
      };
      await until(isBroken[how as keyof typeof ways], { what: `the settlements ${how}` });
      await fixture.pass(passedSeconds);
      // One poll may have started earlier; what the next one finds is claimed before the one after it.
      const before = await polls();
      await until(async () => await polls() >= before + 3, { what: "the outbox is polled" });
      await sql`select pg_advisory_unlock(${lock})`;
      return outcome.eventId;
    });
    await fixture.drained();
    assert.equal(tier.of(eventId).length, 1);
    await deliveries.check();
  });
}
