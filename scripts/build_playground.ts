/**
 * Bundles the playground's script and style sheet into `src/playground/bundle.json`, which is committed, so that
 * production needs no build. With `--check` it only compares: exit code 1 when the file is not what the sources make.
 *
 * @module
 */

import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";

const target = new URL("../src/playground/bundle.json", import.meta.url);
const sources = new URL("../src/playground/", import.meta.url);

/**
 * The text of the bundle. Chosen: JSON, because both runtimes import it as a module, without a permission to
 * read files; and browsers of the last two years, which have all that the validator uses.
 */
async function bundlePlayground(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: ["app.ts", "style.css"],
    absWorkingDir: fileURLToPath(sources),
    outdir: "out",
    bundle: true,
    minify: true,
    format: "esm",
    target: ["chrome120", "firefox121", "safari17"],
    charset: "utf8",
    legalComments: "none",
    banner: { js: "/* With libphonenumber-js, MIT License. */" },
    write: false,
  });
  const text = (end: string) => outputFiles.find(({ path }) => path.endsWith(end))?.text ?? "";
  return `${JSON.stringify({ script: text(".js"), style: text(".css") }, null, 2)}\n`;
}

async function main(args: readonly string[]): Promise<number> {
  const text = await bundlePlayground();
  if (!args.includes("--check")) {
    writeFileSync(target, text);
    return 0;
  }
  if (readFileSync(target, "utf8") === text) return 0;
  console.error(
    "src/playground/bundle.json is not what the sources make; run: node scripts/build_playground.ts",
  );
  return 1;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  process.exitCode = await main(process.argv.slice(2));
}
