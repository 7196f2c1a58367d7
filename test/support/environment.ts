/** What the programs that a test starts get of its own environment: no settings of whoever runs the tests. */

import process from "node:process";

/** Variables that say nothing to a program of ours. */
export const inherited: Readonly<Record<string, string>> = Object.fromEntries(
  // HOME: Deno looks for its cache below it. The compile cache is the run's.
  ["PATH", "HOME", "NODE_COMPILE_CACHE"].flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  }),
);
