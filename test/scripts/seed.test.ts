import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { seed } from "../../scripts/seed.ts";
import { createDatabase } from "../support/database.ts";
import { temporaryFolder } from "../support/folder.ts";
import { ctl } from "../support/server.ts";

test("a disabled tenant of npm start gets no keys, and is named", async () => {
  const { url: databaseUrl } = await createDatabase();
  const keysFile = join(temporaryFolder("keys"), "keys");
  assert.ok("key" in (await seed(databaseUrl, { keysFile }) ?? {}));
  await ctl(["tenant", "disable", "sandbox"], { databaseUrl });
  assert.deepEqual(await seed(databaseUrl, { keysFile }), { disabledSlug: "sandbox" });
});
