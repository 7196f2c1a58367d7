/** What any login can do to the server's notification queue. */

import assert from "node:assert/strict";
import { test } from "node:test";
import postgres from "postgres";
import { startPostgres } from "../../scripts/embedded_postgres.ts";
import { migrate } from "../../src/store/schema/migrate.ts";
import { acceptPosts } from "../support/accept.ts";
import { createRole } from "../support/actions/actions_process.ts";
import { atEnd } from "../support/at_end.ts";
import { ctl } from "../support/server.ts";

test("posts are accepted while the actions process's role keeps the notification queue full", async () => {
  const server = await startPostgres({ settings: { max_notify_queue_pages: 64 } });
  atEnd(() => server.stop());
  const databaseUrl = server.url;
  await migrate(databaseUrl);
  await ctl(["tenant", "add", "acme"], { databaseUrl });
  await ctl(["key", "issue", "acme", "--label", "partner"], { databaseUrl });
  const connect = async (group: "lead_service" | "lead_actions") => {
    const sql = postgres((await createRole(databaseUrl, group)).url, { max: 1, onnotice: () => {} });
    atEnd(() => sql.end({ timeout: 0 }));
    return sql;
  };
  const listener = await connect("lead_actions");
  await listener.unsafe("listen other");
  // A listener inside a transaction keeps the queue from being emptied.
  await listener.unsafe("begin; select 1");
  const flood = await connect("lead_actions");
  const full = async () => {
    for (;;) {
      await flood`select pg_notify('other', ${"x".repeat(7_900)} || n) from generate_series(1, 9) as n`;
    }
  };
  await assert.rejects(full(), { code: "54000" });

  const asService = await connect("lead_service");
  const [found] = await acceptPosts(asService, [{ keyId: 1 }]);
  assert.equal(found?.outcome, "accepted");
  await listener.unsafe("rollback");
});
