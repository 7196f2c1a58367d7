/**
 * The planted bugs: each must apply to the tree, and some are planted and caught here. `npm run prove -- --planted` does that
 * with all of them.
 *
 * @module
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ownTree } from "../../scripts/prove/database.ts";
import { applyEdits, type Bug, bugs, onlyCaughtBy } from "../../scripts/prove/bugs.ts";
import { rules } from "../../scripts/prove/rules/rules.ts";
import { testBug } from "../../scripts/prove/planted.ts";

test("there are at least the required number of planted bugs, each with a unique name", () => {
  assert.ok(bugs.length >= 30);
  assert.equal(new Set(bugs.map(({ name }) => name)).size, bugs.length);
});

test("each rule has a planted bug that only it catches", () => {
  assert.deepEqual(Object.keys(onlyCaughtBy).toSorted(), Object.keys(rules).toSorted());
  const names = new Set(bugs.map(({ name }) => name));
  assert.deepEqual(Object.values(onlyCaughtBy).filter((name) => !names.has(name)), []);
});

test("each planted bug applies to the tree", () => {
  const failures = bugs.flatMap(({ name, edits }) =>
    [...Map.groupBy(edits, ([file]) => file)].flatMap(([file, ofFile]) => {
      try {
        const text = readFileSync(join(ownTree, file), "utf8");
        return applyEdits(text, ofFile) === text ? [`${name} changes nothing in ${file}`] : [];
      } catch (error) {
        return [`${name}: ${(error as Error).message}`];
      }
    })
  );
  assert.deepEqual(failures, []);
});

for (const rule of ["revocation", "payload", "counts"]) {
  const name = onlyCaughtBy[rule] as string;
  test(`only the rule ${rule} catches the planted bug: ${name}`, async () => {
    const { found } = await testBug(bugs.find((bug) => bug.name === name) as Bug, 7);
    assert.deepEqual([...new Set(found.map((one) => one.rule))], [rule]);
  });
}
