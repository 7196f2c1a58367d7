/**
 * Loaded before a script (`node --import`), so that an old Node says what is wrong instead of tripping
 * over TypeScript. Plain JavaScript, because the old Node has to run it.
 *
 * @module
 */

import { existsSync } from "node:fs";
import * as module from "node:module";
import { fileURLToPath } from "node:url";

const [major, minor] = process.versions.node.split(".").map(Number);

// The first version that runs TypeScript as it is.
if (process.versions.deno === undefined && (major < 22 || (major === 22 && minor < 18))) {
  console.error(`This needs Node 22.18 or later, and ${process.execPath} is ${process.version}.

npm ci brings a Node of its own, unless install scripts are refused. Any of these helps:
  npm rebuild node                      when npm ci ran with --ignore-scripts
  npm approve-scripts node && npm ci    when npm asked for an approval
  a newer Node from https://nodejs.org`);
  process.exit(1);
}

// In a checkout what was made of the sources is kept, types taken away and compiled: a start takes half the processor time,
// and the program that takes the types away needs no memory. A release has its programs built. Not in a folder for
// temporary files, where others could leave what we would run; and coverage is counted on what is compiled anew.
const isCheckout = existsSync(new URL("../test", import.meta.url));
if (process.versions.deno === undefined && isCheckout && process.env.NODE_V8_COVERAGE === undefined) {
  module.enableCompileCache?.(fileURLToPath(new URL("../build/compile-cache", import.meta.url)));
}
