/**
 * The planted bugs: each still fits the tree, and some are hunted here. `npm run prove -- --planted` hunts all of them.
 *
 * @module
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ownTree } from "../../scripts/prove/database.ts";
import { type Bug, bugs, edited, onlyCaughtBy } from "../../scripts/prove/bugs.ts";
import { rules } from "../../scripts/prove/rules/rules.ts";
import { hunt } from "../../scripts/prove/hunt.ts";

test("there are planted bugs enough, each with a name of its own", () => {
  assert.ok(bugs.length >= 30);
  assert.equal(new Set(bugs.map(({ name }) => name)).size, bugs.length);
});

test("each rule has a planted bug that it alone catches", () => {
  assert.deepEqual(Object.keys(onlyCaughtBy).toSorted(), Object.keys(rules).toSorted());
  const names = new Set(bugs.map(({ name }) => name));
  assert.deepEqual(Object.values(onlyCaughtBy).filter((name) => !names.has(name)), []);
});

test("each planted bug fits the tree", () => {
  const misfits = bugs.flatMap(({ name, edits }) =>
    [...Map.groupBy(edits, ([file]) => file)].flatMap(([file, ofFile]) => {
      try {
        const text = readFileSync(join(ownTree, file), "utf8");
        return edited(text, ofFile) === text ? [`${name} changes nothing of ${file}`] : [];
      } catch (error) {
        return [`${name}: ${(error as Error).message}`];
      }
    })
  );
  assert.deepEqual(misfits, []);
});

// `npm run prove -- --planted` hunts the others.
for (const rule of ["revocation", "payload", "counts"]) {
  const name = onlyCaughtBy[rule] as string;
  test(`the rule ${rule}, and no other, catches the planted bug: ${name}`, async () => {
    const { found } = await hunt(bugs.find((bug) => bug.name === name) as Bug, 7);
    assert.deepEqual([...new Set(found.map((one) => one.rule))], [rule]);
  });
}
