/** Loads every pure module, so that the coverage includes modules that contain only types. */

import { test } from "node:test";
import { readSources } from "./support/source.ts";

test("every module of contract, lead and limiter loads on its own", async () => {
  const pure = readSources().filter(({ path }) => /^src\/(contract|lead|limiter)\/.*\.ts$/.test(path));
  for (const { path } of pure) await import(`../${path}`);
});
