/**
 * Bundles the playground's scripts and style sheet into `src/playground/`, and the copy buttons' script into
 * `src/documents/copy_buttons.json`. They are committed, so that production needs no build. With `--check`, it only
 * compares them, and exits with status 1 if a file is outdated.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build, type BuildOptions, type Plugin } from "esbuild";
import { baseStyle } from "../src/http/base_style.ts";

const banner = { js: "/* With libphonenumber-js, MIT License. */" };
const root = fileURLToPath(new URL("../", import.meta.url));

/**
 * Leaves the weights of the spam score out of a bundle. The page fills the object with the model that the service sends to
 * a sandbox's key. `common` is read when the module is loaded.
 */
const withoutWeights: Plugin = {
  name: "without weights",
  setup({ onLoad }) {
    onLoad(
      { filter: /[/\\]spam[/\\]weights\.ts$/ },
      () => ({ contents: 'export const model = { common: "" };' }),
    );
  },
};

/** The functions that build the bundles, by output file. */
const targets: Readonly<Record<string, () => Promise<string>>> = {
  "src/playground/bundle.json": () =>
    bundle({
      entryPoints: ["src/playground/app.ts"],
      stdin: { contents: baseStyle + readFileSync(join(root, "src/playground/style.css")), loader: "css" },
      banner,
    }),
  "src/playground/forms_bundle.json": () =>
    bundle({ entryPoints: ["src/playground/forms_app.ts"], plugins: [withoutWeights], banner }),
  "src/documents/copy_buttons.json": () =>
    bundle({
      stdin: {
        contents: 'import { addCopyButtons } from "./src/documents/copy_buttons.ts"; addCopyButtons();',
        resolveDir: root,
      },
    }),
};

/**
 * Returns the text of a bundle. Chosen: JSON, because both runtimes can import it without read permission; and browsers
 * since the end of 2023, which support everything that the validator uses.
 */
async function bundle(options: BuildOptions): Promise<string> {
  const { outputFiles } = await build({
    ...options,
    absWorkingDir: root,
    outdir: "out",
    bundle: true,
    minify: true,
    format: "esm",
    target: ["chrome120", "firefox121", "safari17"],
    charset: "utf8",
    legalComments: "none",
    write: false,
  });
  const text = (end: string) => outputFiles.find(({ path }) => path.endsWith(end))?.text;
  return `${JSON.stringify({ script: text(".js"), style: text(".css") }, null, 2)}\n`;
}

async function main(args: readonly string[]): Promise<number> {
  let code = 0;
  for (const [path, make] of Object.entries(targets)) {
    const text = await make();
    if (!args.includes("--check")) writeFileSync(join(root, path), text);
    else if (readFileSync(join(root, path), "utf8") !== text) {
      console.error(`${path} is outdated; run: npx node scripts/build_playground.ts`);
      code = 1;
    }
  }
  return code;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  process.exitCode = await main(process.argv.slice(2));
}
