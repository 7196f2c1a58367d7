import assert from "node:assert/strict";
import { test } from "node:test";
import { buildSite } from "../../src/site/build.ts";
import { parsePageSource, readPageSources } from "../../src/site/source.ts";
import { urls } from "../support/site/site.ts";

const front = (...lines: string[]) => `---\n${lines.join("\n")}\n---\n\nText.\n`;
const required = ["title: A page", "description: About it", "category: reference"];

test("invalid front matter is refused and the error names the file", () => {
  const cases: readonly (readonly [string, RegExp])[] = [
    ["Text", /the front matter is missing/],
    [front("title: A page", "category: x"), /no description/],
    [front(...required, "titel: x"), /the line titel: x/],
    [front(...required, "  nested: x"), /the line {3}nested: x/],
    [front(...required, "title: again"), /has title twice/],
    [front(...required, "kind: poem"), /the kind poem does not exist/],
    [front(...required, "updated: yesterday"), /updated is not a date/],
  ];
  for (const [text, message] of cases) {
    assert.throws(() => parsePageSource("a/b.md", text), message);
    assert.throws(() => parsePageSource("a/b.md", text), /^Error: a\/b\.md: /);
  }
});

test("an unknown fact, a broken link or a duplicate title stops the build", () => {
  const build = (...lines: string[]) => {
    const page = parsePageSource("new.md", front(...required, "updated: 2026-11-20") + lines.join("\n"));
    return () => buildSite({ sources: [...readPageSources(), page], areas: [], plans: [], urls });
  };
  assert.throws(build("{{the weather}}"), /\/new\/ names \{\{the weather\}\}/);
  assert.throws(build("[a](/nowhere/)"), /\/new\/ links to \/nowhere\//);
  assert.throws(build("[a](/plans/#nothing)"), /\/new\/ links to \/plans\/#nothing/);
  const twice = parsePageSource("new.md", front("title: Security", "description: x", "category: trust"));
  assert.throws(
    () => buildSite({ sources: [...readPageSources(), twice], areas: [], plans: [], urls }),
    /Two pages have the title Security/,
  );
  assert.doesNotThrow(build("{{key rate}} [a](/plans/feed/#use-the-feed)"));
});
