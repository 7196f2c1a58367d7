/**
 * Bundles each of the two processes into one file, so that nothing is stripped or resolved at start. Names are kept, and
 * each file has a source map.
 */

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { build, type Plugin } from "esbuild";

/** Their folder in a release or the repository. */
export const programsFolder = "build/programs";

/** Their names and entry modules. */
const entryPoints = { service: "src/main.ts", actions: "src/actions/main.ts" };

/** Bundled CommonJS calls `require` for Node's modules, which an ES module lacks. */
const requireOfNode = `const require = process.getBuiltinModule;
if (require === undefined) {
  console.error("This needs Node 22.18 or later, and this is " + process.version);
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
    banner: { js: requireOfNode },
    sourcemap: "linked",
    // The source files are present.
    sourcesContent: false,
    legalComments: "eof",
    plugins: [ownFiles(root, outdir)],
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
    writeFileSync(path, isProgram ? inAscii(withoutFacades(text, count)) : text);
  }
}

/**
 * Replaces imports of Node's modules by `process.getBuiltinModule`. An `import` reads every member and loads what is not
 * needed: fetch and web streams with `node:http` (3 MiB of memory and 10 ms of processor time).
 */
function withoutFacades(text: string, count: number): string {
  let found = 0;
  const taken = text.replace(
    /^import (?:(\w+)|\* as (\w+)|(\{ .+ \})) from ("[\w:/]+");$/gm,
    (_, standard?: string, all?: string, members?: string, module?: string) => {
      found += 1;
      return `var ${
        standard ?? all ?? members?.replaceAll(" as ", ": ")
      } = process.getBuiltinModule(${module});`;
    },
  );
  if (found !== count) throw new Error(`There are ${count} imports, and ${found} lines look like one`);
  return taken;
}

/** V8 stores a source with any other character in two bytes per character and scans it more slowly. */
function inAscii(text: string): string {
  const raw = /\\[^\0-\x7f]|String\.raw`[^`]*[^\0-\x7f]/.exec(text);
  if (raw !== null) throw new Error(`This must not be written as an escape: ${raw[0]}`);
  return text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Rewrites a module's `new URL("…", import.meta.url)` relative to the program. */
function ownFiles(root: string, outdir: string): Plugin {
  return {
    name: "own files",
    setup({ onLoad }) {
      onLoad({ filter: /\/src\/.*\.ts$/ }, ({ path }) => {
        const text = readFileSync(path, "utf8");
        const contents = text.replace(
          /new URL\("([^"]+)", import\.meta\.url\)/g,
          (_, to: string) => {
            const file = join(dirname(path), to);
            if (!existsSync(file)) throw new Error(`${relative(root, path)} names ${to}, which is not there`);
            return `new URL(${
              JSON.stringify(relative(outdir, file) + (to.endsWith("/") ? "/" : ""))
            }, import.meta.url)`;
          },
        );
        const lost = /import\.meta(?!\.url\))/.exec(contents);
        if (lost !== null) throw new Error(`${relative(root, path)} uses import.meta for something else`);
        return { contents, loader: "ts" };
      });
    },
  };
}
