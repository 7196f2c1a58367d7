/**
 * Loaded before a script (`node --import`), so that an old Node says what is wrong instead of tripping
 * over TypeScript. Plain JavaScript, because the old Node has to run it.
 *
 * @module
 */

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
