/**
 * Loaded before a script (`node --import`), so that an old Node prints this message instead of failing on TypeScript.
 * It is plain JavaScript, because the old Node must run it.
 */

import { existsSync } from "node:fs";
import * as module from "node:module";
import { fileURLToPath } from "node:url";

const [major, minor] = process.versions.node.split(".").map(Number);

// The first version that runs TypeScript directly.
if (process.versions.deno === undefined && (major < 22 || (major === 22 && minor < 18))) {
  console.error(`This needs Node 22.18 or later, but ${process.execPath} is ${process.version}.

npm ci installs a suitable Node, unless npm refuses to run install scripts. Any of these helps:
  npm rebuild node                      when npm ci ran with --ignore-scripts
  npm approve-scripts node && npm ci    when npm asked for an approval
  a newer Node from https://nodejs.org`);
  process.exit(1);
}

// A checkout caches compiled sources, which halves the processor time of a start. The cache is not in a temporary
// folder, where others could plant code, and is not used for coverage, which needs a fresh compilation.
const isCheckout = existsSync(new URL("../test", import.meta.url));
if (process.versions.deno === undefined && isCheckout && process.env.NODE_V8_COVERAGE === undefined) {
  module.enableCompileCache?.(fileURLToPath(new URL("../build/compile-cache", import.meta.url)));
}
