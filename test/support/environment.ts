import process from "node:process";

/** The variables that started programs inherit, without any setting of theirs. */
export const inherited: Readonly<Record<string, string>> = Object.fromEntries(
  // Deno looks for its cache below HOME. The compile cache belongs to the test run.
  ["PATH", "HOME", "NODE_COMPILE_CACHE"].flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  }),
);
