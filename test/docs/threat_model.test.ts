import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
const page = readFileSync(`${root}docs/threat-model.md`, "utf8");
const sections = page.split(/^## /m).slice(1).map((text) => ({ title: text.split("\n")[0] ?? "", text }));
const named = [...page.matchAll(/^- `(test\/[^`]+)`: (.+)$/gm)].map(([, file = "", name = ""]) => ({
  file,
  name,
}));

test("each test that the threat model names is there, under this very name", () => {
  assert.ok(named.length >= 30);
  const missing = named.filter(({ file, name }) =>
    !existsSync(root + file) || !readFileSync(root + file, "utf8").includes(`test("${name}"`)
  );
  assert.deepEqual(missing, []);
});

test("each door has a table of who, what and what stops them, and the tests that show it", () => {
  const doors = sections.filter(({ title }) => !/^What is (worth having|not stopped)$/.test(title));
  for (const { title, text } of doors) {
    assert.match(text, /^\| Who +\| Wants +\| What stops them +\|$/m, title);
    assert.match(text, /^- `test\//m, title);
  }
  assert.equal(sections.at(-1)?.title, "What is not stopped");
});
