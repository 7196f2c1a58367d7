import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { readCases } from "../../kits/conformance/case.ts";
import { readFaults, runFaults } from "../../kits/conformance/faults.ts";
import { kitSubject, openSurroundings, type Result, runSuite } from "../../kits/conformance/suite.ts";
import { runIn, testedKits } from "../support/kits/kit.ts";
import { atEnd } from "../support/at_end.ts";

const surroundings = await openSurroundings();
atEnd(() => surroundings.close());

for (const kit of testedKits) {
  test(`${kit.name} does what every kit does`, async (t) => {
    // Without input it ends at once. What it has to compile first may take long; what is asked of it then may not.
    await runIn(kit.folder, "conformance/run");
    const results = await runSuite(kitSubject(kit.id), readCases(), surroundings);
    for (const { name, outcome, faults } of results) {
      await t.test(`${kit.name}: ${name}${outcome === "known" ? ` (cannot: ${faults[0]})` : ""}`, () => {
        assert.deepEqual(outcome === "failed" ? faults : [], []);
      });
    }
  });
}

test("there are cases enough, and faults enough, each of which its cases catch", async () => {
  assert.ok(readCases().length >= 120);
  assert.ok(readFaults().length >= 25);
  const missed = (await runFaults()).filter(({ missed }) => missed.length > 0);
  assert.deepEqual(missed, []);
});

test("a driver that answers nothing useful passes no case", async () => {
  const results: Result[] = await runSuite(
    {
      name: "leads-nothing",
      folder: fileURLToPath(new URL("../support/kits/nothing", import.meta.url)),
      known: {},
      sendsText: true,
    },
    readCases(),
    surroundings,
  );
  assert.deepEqual(results.filter(({ outcome }) => outcome === "passed").map(({ name }) => name), []);
});
