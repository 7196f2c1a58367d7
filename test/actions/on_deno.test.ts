import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { inherited } from "../support/environment.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
/** Those that make connections and look names up, of which each runtime has its own. */
const files = ["checked_post", "dns_cache", "smtp", "webhook_pool"];

test("on Deno too webhooks and mails go where they may, share their connections, and say what timed out", async () => {
  const paths = files.map((name) => `test/actions/${name}.test.ts`);
  const child = spawn(`${root}node_modules/.bin/deno`, ["test", "-A", "--no-check", ...paths], {
    cwd: root,
    env: { ...inherited, NO_COLOR: "1" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => output += text);
  const code = await new Promise((settle) => child.on("close", settle));
  assert.equal(code, 0, output);
  for (const path of paths) assert.match(output, new RegExp(`running \\d+ tests from \\./${path}`));
});
