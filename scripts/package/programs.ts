/**
 * The two processes in one file each, with all that they import: no type is taken away and no package looked for at
 * their start. Names stay as they are, and a map beside each file leads to the sources.
 *
 * @module
 */

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { build, type Plugin } from "esbuild";

/** Where they are, in the folder of a release or of the repository. */
export const programsFolder = "build/programs";

/** Their names, each with what it is made of. */
const entryPoints = { service: "src/main.ts", actions: "src/actions/main.ts" };

/** What is packed as CommonJS asks for Node's own modules by `require`; an old Node has no such way. */
const requireOfNode = `const require = process.getBuiltinModule;
if (require === undefined) {
  console.error("This needs Node 22.18 or later, and this is " + process.version);
  process.exit(1);
}`;

/**
 * Writes them from the sources and packages of a folder, the version of its package.json included. The same sources give
 * the same bytes.
 *
 * @throws {Error} when a source is not what it should be
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
    // The sources are there.
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
 * A program that takes Node's own modules as they are. An `import` reads each of their members, and loads with them what
 * nobody asked for: fetch and the web streams with `node:http` (3 MiB of memory and 10 ms of processor time).
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

/** V8 keeps a source with any other character in two bytes each, and scans it more slowly. */
function inAscii(text: string): string {
  const raw = /\\[^\0-\x7f]|String\.raw`[^`]*[^\0-\x7f]/.exec(text);
  if (raw !== null) throw new Error(`This must not be written as an escape: ${raw[0]}`);
  return text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Leads a module's `new URL("…", import.meta.url)` to the same file from where the program is. */
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
