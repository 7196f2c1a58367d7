import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import test from "node:test";
import { curlPost, shellQuoted } from "../../src/documents/snippets.ts";

test("quoted text comes out of a shell as it went in", () => {
  for (const text of ["", "it's", "''", '$HOME `id` \\ " !', "a\nb\\n", "🏠", "-n", "@file"]) {
    const printed = execFileSync("sh", ["-c", `printf %s ${shellQuoted(text)}`], { encoding: "utf8" });
    assert.equal(printed, text);
  }
});

test("a curl line names the key's variable, never a key, and the Idempotency-Key only when there is one", () => {
  const line = curlPost("https://intake.acme.test", { body: "{}", idempotencyKey: "it's:1" });
  assert.match(line, /^curl -sS -i https:\/\/intake\.acme\.test\/v1\/intake \\\n/);
  assert.match(line, /-H "X-API-Key: \$LEAD_API_KEY"/);
  assert.ok(line.includes(`-H 'Idempotency-Key: it'\\''s:1'`));
  assert.doesNotMatch(curlPost("https://intake.acme.test", { body: "{}" }), /Idempotency-Key/);
});
