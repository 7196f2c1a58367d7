import assert from "node:assert/strict";
import { test } from "node:test";
import { readCases } from "../../kits/conformance/case.ts";
import { readFaults, runFaults } from "../../kits/conformance/faults.ts";
import { kitSubject, openSurroundings, runSuite } from "../../kits/conformance/suite.ts";
import { testedKits } from "../support/kits/kit.ts";
import { atEnd } from "../support/at_end.ts";

const surroundings = await openSurroundings();
atEnd(() => surroundings.close());

for (const kit of testedKits) {
  test(`${kit.name} passes the conformance suite`, async (t) => {
    const results = await runSuite(kitSubject(kit.id), readCases(), surroundings);
    for (const { name, outcome, faults } of results) {
      await t.test(`${kit.name}: ${name}${outcome === "known" ? ` (cannot: ${faults[0]})` : ""}`, () => {
        assert.deepEqual(outcome === "failed" ? faults : [], []);
      });
    }
  });
}

test("the suite's cases catch every planted fault", async () => {
  assert.ok(readCases().length >= 120);
  assert.ok(readFaults().length >= 25);
  const missed = (await runFaults()).filter(({ missed }) => missed.length > 0);
  assert.deepEqual(missed, []);
});
