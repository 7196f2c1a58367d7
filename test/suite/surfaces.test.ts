import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { send } from "../support/client.ts";
import { startServer } from "../support/server.ts";
import { lead, TestEnv } from "../support/test_env.ts";
import { temporaryFolder } from "../support/folder.ts";

const testEnv = await TestEnv.open();
const siteDir = temporaryFolder("site");
writeFileSync(join(siteDir, "llms.txt"), "the site\n");
const intake = await testEnv.start({ SURFACES: "intake" });
const key = await testEnv.issue();

test("SURFACES=intake opens only the intake's listener and accepts leads", async () => {
  assert.deepEqual(Object.keys(intake.urls), ["intake"]);
  assert.equal((await testEnv.intake({ key: key.text, body: lead() }, intake)).status, 202);
});

test("SURFACES=site serves files without DATABASE_URL", async () => {
  const site = await startServer({ env: { SURFACES: "site", SITE_DIR: siteDir } });
  try {
    assert.deepEqual(Object.keys(site.urls), ["site"]);
    assert.equal((await send(`${site.urls.site}/llms.txt`)).text, "the site\n");
  } finally {
    assert.equal(await site.stop(), 0);
  }
});

test("public reads in a separate process continue while the intake's is stopped, and the other way round", async () => {
  const reads = await testEnv.start({ SURFACES: "subscription, site", SITE_DIR: siteDir });
  assert.deepEqual(Object.keys(reads.urls).sort(), ["site", "subscription"]);
  process.kill(intake.pid, "SIGSTOP");
  try {
    assert.equal((await send(`${reads.urls.subscription}/api/plans`)).status, 200);
    assert.equal((await send(`${reads.urls.site}/llms.txt`)).status, 200);
  } finally {
    process.kill(intake.pid, "SIGCONT");
  }
  process.kill(reads.pid, "SIGSTOP");
  try {
    assert.equal((await testEnv.intake({ key: key.text, body: lead() }, intake)).status, 202);
  } finally {
    process.kill(reads.pid, "SIGCONT");
  }
});

test("the operator's pages in a separate process say that another process delivers", async () => {
  const ops = await testEnv.start({ SURFACES: "ops" });
  assert.deepEqual(Object.keys(ops.urls), ["ops"]);
  const page = await send(`${ops.urls.ops}/`);
  assert.equal(page.status, 200);
  assert.match(page.text, /other processes deliver/);
  assert.doesNotMatch(page.text, /ACTIONS_URL is not set|No actions tier/);
});
