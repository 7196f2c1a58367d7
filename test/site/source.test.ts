import assert from "node:assert/strict";
import { test } from "node:test";
import { buildSite } from "../../src/site/build.ts";
import { parsePageSource, readPageSources } from "../../src/site/source.ts";
import { urls } from "../support/site/site.ts";

const front = (...lines: string[]) => `---\n${lines.join("\n")}\n---\n\nText.\n`;
const required = ["title: A page", "description: About it", "category: reference"];

test("front matter that is wrong is refused, with the name of the file", () => {
  const cases: readonly (readonly [string, RegExp])[] = [
    ["Text", /no front matter/],
    [front("title: A page", "category: x"), /no description/],
    [front(...required, "titel: x"), /the line titel: x/],
    [front(...required, "  nested: x"), /the line {3}nested: x/],
    [front(...required, "title: again"), /title stands twice/],
    [front(...required, "kind: poem"), /no kind poem/],
    [front(...required, "updated: yesterday"), /updated is no day/],
  ];
  for (const [text, message] of cases) {
    assert.throws(() => parsePageSource("a/b.md", text), message);
    assert.throws(() => parsePageSource("a/b.md", text), /^Error: a\/b\.md: /);
  }
});

test("a source that asks for an unknown fact, links to nowhere or has another's title stops the build", () => {
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
    /Two pages are called Security/,
  );
  assert.doesNotThrow(build("{{body KiB}} [a](/plans/feed/#reading-it-well)"));
});
