/**
 * Bundles each of the two processes, and the thread of the second, into one file, so that Node need not strip types or resolve modules at start. Names
 * are preserved, and each file has a source map.
 */

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { build, type Plugin } from "esbuild";

/** The programs' folder in a release or the repository. */
export const programsFolder = "build/programs";

const entryPoints = {
  service: "src/main.ts",
  actions: "src/actions/main.ts",
  expression_thread: "src/actions/crm/expression_thread.ts",
};

/** Defines `require`, which bundled CommonJS calls for Node's modules and which an ES module lacks. */
const requireShim = `const require = process.getBuiltinModule;
if (require === undefined) {
  console.error("This program needs Node 22.18 or later, but this is " + process.version);
  process.exit(1);
}`;

/**
 * Writes the programs from a folder's sources and packages, with the version of its package.json. The output is
 * reproducible.
 *
 * @throws {Error} if a source cannot be bundled
 */
export async function buildPrograms(root: string, outdir = join(root, programsFolder)): Promise<void> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints,
    outdir,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node22",
    banner: { js: requireShim },
    sourcemap: "linked",
    // A release contains the source files.
    sourcesContent: false,
    legalComments: "eof",
    plugins: [rebaseFileUrls(root, outdir)],
    logLevel: "error",
    metafile: true,
    write: false,
  });
  rmSync(outdir, { recursive: true, force: true });
  mkdirSync(outdir, { recursive: true });
  for (const { path, text } of outputFiles) {
    const { imports } = metafile.outputs[relative(root, path)] ?? { imports: [] };
    const isProgram = path.endsWith(".js");
    const count = imports.filter(({ kind }) => kind === "import-statement").length;
    writeFileSync(path, isProgram ? escapeNonAscii(withBuiltinModules(text, count)) : text);
  }
}

/**
 * Replaces imports of Node's modules with `process.getBuiltinModule`. An `import` reads every member and loads what is
 * not needed: fetch and web streams with `node:http` (3 MiB of memory and 10 ms of processor time).
 */
function withBuiltinModules(text: string, count: number): string {
  let found = 0;
  const replaced = text.replace(
    /^import (?:(\w+)|\* as (\w+)|(\{ .+ \})) from ("[\w:/]+");$/gm,
    (_, standard?: string, all?: string, members?: string, module?: string) => {
      found += 1;
      return `var ${
        standard ?? all ?? members?.replaceAll(" as ", ": ")
      } = process.getBuiltinModule(${module});`;
    },
  );
  if (found !== count) throw new Error(`Found ${found} lines that import a module, expected ${count}`);
  return replaced;
}

/** Escapes non-ASCII characters: with any of them, V8 stores the source in two bytes per character and scans it more slowly. */
function escapeNonAscii(text: string): string {
  const raw = /\\[^\0-\x7f]|String\.raw`[^`]*[^\0-\x7f]/.exec(text);
  if (raw !== null) throw new Error(`This text cannot be escaped: ${raw[0]}`);
  return text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Rewrites a module's `new URL("…", import.meta.url)` relative to the program. */
function rebaseFileUrls(root: string, outdir: string): Plugin {
  return {
    name: "own files",
    setup({ onLoad }) {
      onLoad({ filter: /\/src\/.*\.ts$/ }, ({ path }) => {
        const text = readFileSync(path, "utf8");
        const contents = text.replace(
          /new URL\("([^"]+)", import\.meta\.url\)/g,
          (_, to: string) => {
            const file = join(dirname(path), to);
            if (!existsSync(file)) {
              throw new Error(`${relative(root, path)} refers to ${to}, which does not exist`);
            }
            const program = Object.entries(entryPoints).find(([, source]) => join(root, source) === file)
              ?.[0];
            if (program !== undefined) return `new URL("${program}.js", import.meta.url)`;
            return `new URL(${
              JSON.stringify(relative(outdir, file) + (to.endsWith("/") ? "/" : ""))
            }, import.meta.url)`;
          },
        );
        const unsupported = /import\.meta(?!\.url\))/.exec(contents);
        if (unsupported !== null) {
          throw new Error(`${relative(root, path)} uses import.meta outside new URL("…", import.meta.url)`);
        }
        return { contents, loader: "ts" };
      });
    },
  };
}
