/** Loads every module of the ground floor, so that the coverage knows those too that hold types only. */

import { test } from "node:test";
import { readSources } from "./support/source.ts";

test("every module of contract, lead and limiter loads by itself", async () => {
  const pure = readSources().filter(({ path }) => /^src\/(contract|lead|limiter)\/.*\.ts$/.test(path));
  for (const { path } of pure) await import(`../${path}`);
});
