import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { send } from "../support/client.ts";
import { startServer } from "../support/server.ts";
import { lead, World } from "../support/world.ts";
import { temporaryFolder } from "../support/folder.ts";

const world = await World.open();
const siteDir = temporaryFolder("site");
writeFileSync(join(siteDir, "llms.txt"), "the site\n");
const intake = await world.start({ SURFACES: "intake" });
const key = await world.issue();

test("SURFACES=intake opens the intake's listener and no other, and takes leads", async () => {
  assert.deepEqual(Object.keys(intake.urls), ["intake"]);
  assert.equal((await world.intake({ key: key.text, body: lead() }, intake)).status, 202);
});

test("SURFACES=site serves the files without DATABASE_URL, and so without a database", async () => {
  const site = await startServer({ env: { SURFACES: "site", SITE_DIR: siteDir } });
  try {
    assert.deepEqual(Object.keys(site.urls), ["site"]);
    assert.equal((await send(`${site.urls.site}/llms.txt`)).text, "the site\n");
  } finally {
    assert.equal(await site.stop(), 0);
  }
});

test("public reads in a process of their own go on while the intake's is stopped, and the other way round", async () => {
  const reads = await world.start({ SURFACES: "subscription, site", SITE_DIR: siteDir });
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
    assert.equal((await world.intake({ key: key.text, body: lead() }, intake)).status, 202);
  } finally {
    process.kill(reads.pid, "SIGCONT");
  }
});

test("the operator's pages in a process of their own say that others deliver", async () => {
  const ops = await world.start({ SURFACES: "ops" });
  assert.deepEqual(Object.keys(ops.urls), ["ops"]);
  const page = await send(`${ops.urls.ops}/`);
  assert.equal(page.status, 200);
  assert.match(page.text, /other processes deliver/);
  assert.doesNotMatch(page.text, /ACTIONS_URL is not set|There is no actions tier/);
});
