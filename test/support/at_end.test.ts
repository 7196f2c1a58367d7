/**
 * The end of a test file, tried on one whose steps fail.
 *
 * @module
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "./folder.ts";

test("every step of the end is taken, the last first, whatever another has thrown; and all errors are told", () => {
  const file = join(temporaryFolder("end"), "end.test.ts");
  writeFileSync(
    file,
    `import { test } from "node:test"; import { atEnd } from ${
      JSON.stringify(new URL("at_end.ts", import.meta.url))
    };
    atEnd(() => console.log("step one"));
    test("sets up", () => {
      atEnd(() => { throw new Error("two failed"); });
      atEnd(() => Promise.reject(new Error("three failed")));
      atEnd(() => console.log("step four"));
    });`,
  );
  const { stdout } = spawnSync(process.execPath, [file], {
    encoding: "utf8",
    env: { PATH: process.env.PATH },
  });
  assert.deepEqual(stdout.match(/step \w+/g), ["step four", "step one"]);
  assert.match(stdout, /Several steps of the end failed/);
  for (const error of ["two failed", "three failed"]) assert.ok(stdout.includes(error), stdout);
});
