import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { runTool } from "../support/tool.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
/** Tests of code that uses the runtime's sockets, DNS and threads. */
const files = ["checked_post", "crm/expressions", "dns_cache", "smtp", "webhook_pool"];

test("the tests of webhooks, DNS, email and recipes' expressions pass on Deno", async () => {
  const paths = files.map((name) => `test/actions/${name}.test.ts`);
  const deno = `${root}node_modules/.bin/deno`;
  const { code, stdout, stderr } = await runTool([deno, "test", "-A", "--no-check", ...paths], { cwd: root });
  assert.equal(code, 0, stdout + stderr);
  for (const path of paths) assert.match(stdout, new RegExp(`running \\d+ tests from \\./${path}`));
});
