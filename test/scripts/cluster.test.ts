import assert from "node:assert/strict";
import { test } from "node:test";
import { runToEnd } from "../support/server.ts";

// A run takes minutes: node scripts/cluster/main.ts faults is a command of its own.
test("node scripts/cluster/main.ts with a word that it does not know says how it is used", async () => {
  const { code, stderr } = await runToEnd("scripts/cluster/main.ts", ["fualts"], { runtime: "node" });
  assert.equal(code, 2);
  assert.match(stderr, /^Usage: node scripts\/cluster/);
});
