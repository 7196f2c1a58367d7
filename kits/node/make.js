/**
 * Builds what is published: one file of JavaScript with the core of leads-js in it, for `require` and `import`
 * alike, and the declarations. `import` gives the very classes that `require` gives, so that `instanceof` holds in a
 * program that does both.
 *
 * @module
 */

import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const require = createRequire(import.meta.url);
const folder = fileURLToPath(new URL("./", import.meta.url));
const into = `${folder}build/`;

rmSync(into, { recursive: true, force: true });
execFileSync(process.execPath, [require.resolve("typescript/bin/tsc"), "-p", folder], { stdio: "inherit" });
await build({
  entryPoints: [`${folder}src/index.ts`],
  outfile: `${into}index.js`,
  bundle: true,
  platform: "node",
  target: "node20",
  format: "cjs",
  logLevel: "warning",
});
writeFileSync(`${into}package.json`, `${JSON.stringify({ type: "commonjs" })}\n`);
writeFileSync(`${into}index.d.ts`, 'export * from "./types/node/src/index.js";\n');
writeFileSync(`${into}index.d.mts`, 'export * from "./index.js";\n');
const names = Object.keys(require(`${into}index.js`)).sort();
writeFileSync(`${into}index.mjs`, `export { ${names.join(", ")} } from "./index.js";\n`);
