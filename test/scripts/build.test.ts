/** The bundled programs of `npm run build` and of a release. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { buildPrograms } from "../../scripts/package/programs.ts";
import { temporaryFolder } from "../support/folder.ts";
import { runToEnd } from "../support/server.ts";
import { freshKey, lead, TestEnv } from "../support/test_env.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const folder = temporaryFolder("programs");
const again = temporaryFolder("programs-again");
await buildPrograms(root, folder);
const files = readdirSync(folder);
// As in a release.
writeFileSync(join(folder, "package.json"), '{"type":"module"}');
const program = join(folder, "service.js");
const testEnv = await TestEnv.open();

for (const runtime of ["node", "deno"] as const) {
  test(`the bundled service accepts leads and serves its documents on ${runtime}`, async () => {
    const server = await testEnv.start({}, { program, runtime });
    const key = await testEnv.issue();
    const post = { key: key.text, headers: { "Idempotency-Key": freshKey() }, body: lead() };
    assert.equal((await testEnv.intake(post, server)).status, 202);
    for (const path of ["/api", "/api/openapi.json", "/api/INTEGRATION.md", "/v1/vocabulary"]) {
      assert.equal((await fetch(`${server.url}${path}`)).status, 200, path);
    }
    assert.equal(await server.stop(), 0);
  });
}

test("the bundled actions process loads and reports wrong settings", async () => {
  const { code, stderr } = await runToEnd(join(folder, "actions.js"), [], { runtime: "node" });
  assert.equal(code, 2);
  assert.match(stderr, /^The settings are invalid:\n {2}ACTIONS_DATABASE_URL is not set/);
});

test("the build is reproducible, and each source map covers its sources", async () => {
  await buildPrograms(root, again);
  for (const name of files) {
    assert.deepEqual(readFileSync(join(again, name)), readFileSync(join(folder, name)), name);
  }
  const { sources } = JSON.parse(readFileSync(`${program}.map`, "utf8"));
  assert.ok(sources.some((source: string) => source.endsWith("/src/intake/handle.ts")));
});
