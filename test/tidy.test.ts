/**
 * Checks rules on the source that no other tool checks: allowed imports, the places of SQL and of the environment,
 * and what tests must not do.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { kits } from "../src/documents/kits.ts";
import { registryInstalls } from "./support/kits/kit.ts";
import { importsOf, readSources, type SourceFile, withoutComments, withoutQuotes } from "./support/source.ts";

const files = readSources();
const byPath = new Map(files.map((file) => [file.path, file]));
const modules = files.filter((file) => /\.(ts|js)$/.test(file.path));
const inSrc = modules.filter((file) => file.path.startsWith("src/"));
const inTest = modules.filter((file) => file.path.startsWith("test/"));

/** The allowed imports, lowest floor first: a folder may import from itself and from the folders listed here. */
const floors: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  lead: ["contract"],
  limiter: ["contract"],
  http: ["contract"],
  store: ["contract", "lead", "limiter"],
  // What customers read about an event: rendered by the actions process, and by the playground in a browser.
  notification: ["contract", "lead", "http"],
  // What partners read.
  documents: ["contract", "http"],
  observe: ["contract", "limiter", "http", "store", "delivery", "plans"],
  settings: ["contract", "http", "store", "delivery"],
  // The checks before posts with a key and before public reads.
  gate: ["contract", "lead", "limiter", "http", "store"],
  // The surfaces, which never import each other.
  intake: ["contract", "lead", "http", "store", "gate", "documents"],
  forms: ["contract", "lead", "http", "store", "gate", "documents"],
  plans: ["contract", "lead", "http", "store", "gate"],
  site: ["contract", "http", "store", "gate", "documents"],
  // The search normalizes a phone number and a name as the envelope does.
  ops: ["contract", "lead", "http", "store", "observe"],
  // It also bundles the pure modules of the forms surface.
  playground: ["contract", "lead", "http", "documents", "notification"],
  delivery: ["contract", "lead", "limiter", "http", "store"],
  // The life of a process, shared by both programs.
  process: ["contract", "lead", "limiter", "http", "store", "observe", "settings"],
  // The composition of the service.
  service: [
    "contract",
    "limiter",
    "http",
    "store",
    "observe",
    "settings",
    "gate",
    "documents",
    "intake",
    "forms",
    "plans",
    "site",
    "ops",
    "playground",
    "delivery",
    "process",
  ],
  // A separate process with its own composition root.
  actions: [
    "contract",
    "lead",
    "limiter",
    "http",
    "notification",
    "store",
    "observe",
    "settings",
    "process",
    "service",
  ],
  // The operator's command, which uses the store directly.
  ctl: ["contract", "lead", "http", "store", "settings", "process", "forms", "actions"],
  // main.ts
  "": ["settings", "process", "service"],
};

/** Modules without I/O, clock, randomness or environment, which also run in the browser. */
const pureFolders = ["contract", "lead", "limiter", "notification"];
/** What the forms surface reads from a post, and the spam score, are equally pure. The playground runs them in the browser. */
const pureFiles = /^src\/forms\/(spam\/|(attribution|blocked_words|fields)\.ts$)/;

/** The npm packages that `src` may import, and where. */
const packages: Readonly<Record<string, RegExp>> = {
  "postgres": /^src\/store\//,
  "libphonenumber-js/min": /^src\/lead\//,
  "jsonata": /^src\/actions\//,
  "nodemailer": /^src\/actions\//,
  "marked": /^src\/http\/markdown\.ts$/,
};

function floorOf(path: string): string {
  const [, first = "", second] = path.split("/");
  return second === undefined ? "" : first;
}

function isPure(file: SourceFile): boolean {
  return pureFolders.includes(floorOf(file.path)) || pureFiles.test(file.path);
}

/** Fails with one line per finding. */
function none(...findings: readonly (readonly string[])[]): void {
  assert.equal(findings.flat().join("\n"), "");
}

/** Returns the matches of a pattern as `path:line: text`. */
function find(
  where: readonly SourceFile[],
  pattern: RegExp,
  text = (file: SourceFile) => file.text,
): string[] {
  return where.flatMap((file) =>
    text(file).split("\n").flatMap((line, index) =>
      pattern.test(line) ? [`${file.path}:${index + 1}: ${line.trim()}`] : []
    )
  );
}

/** The code without comments and strings. */
const code = (file: SourceFile) => withoutQuotes(file.text);
/** The code with multi-line strings, such as SQL. */
const quotes = (file: SourceFile) => withoutComments(file.text);

test("imports run one way, and no surface imports another", () => {
  none(inSrc.flatMap((file) =>
    importsOf(file).flatMap(({ path }) => {
      // The version is in package.json only.
      if (path === undefined || path === "package.json") return [];
      const from = floorOf(file.path);
      const to = floorOf(path);
      if (floors[from] === undefined) return [`${file.path}: ${from} has no place on the floor plan`];
      if (!path.startsWith("src/")) return [`${file.path} imports ${path}, which is outside src/`];
      if (from === to || floors[from]?.includes(to)) return [];
      if (from === "playground" && pureFiles.test(path)) return [];
      return [`${file.path} imports ${path}: ${from || "src"} may not use ${to || path}`];
    })
  ));
});

test("no files import each other in a circle, types included", () => {
  const inOrder: string[] = [];
  const above: string[] = [];
  const circles: string[] = [];
  const visit = (path: string) => {
    if (above.includes(path)) circles.push([...above.slice(above.indexOf(path)), path].join(" -> "));
    if (above.includes(path) || inOrder.includes(path)) return;
    above.push(path);
    for (const { path: next } of importsOf(byPath.get(path) as SourceFile)) {
      if (next !== undefined && byPath.has(next) && /\.(ts|js)$/.test(next)) visit(next);
    }
    above.pop();
    inOrder.push(path);
  };
  for (const { path } of modules) visit(path);
  none(circles);
});

test("packages are imported only where allowed", () => {
  const misplaced = inSrc.flatMap((file) =>
    importsOf(file)
      .filter(({ specifier, path }) => path === undefined && !specifier.startsWith("node:"))
      .filter(({ specifier }) => !packages[specifier]?.test(file.path))
      .map(({ specifier }) => `${file.path} imports ${specifier}`)
  );
  // Importing it installs exit hooks that conflict with ours; its binaries are found by path.
  none(misplaced, find(modules, new RegExp(`from "embedded-${"postgres"}"`)));
});

test("contract, lead, limiter, notification and the spam score have no I/O, clock, randomness or environment", () => {
  const pure = inSrc.filter(isPure);
  const imports = pure.flatMap((file) =>
    importsOf(file).filter(({ specifier }) => specifier.startsWith("node:"))
      .map(({ specifier }) => `${file.path} imports ${specifier}`)
  );
  const impure =
    /\b(Deno|process|globalThis|fetch|setTimeout|setInterval|queueMicrotask|console|performance|Buffer)\b\s*[.(]|\bnew Date\b|\bDate\.now\b|\bMath\.random\b|\bcrypto\.(getRandomValues|randomUUID)\b/;
  none(imports, find(pure, impure, code));
});

test("a browser-compatible module imports only browser-compatible modules", () => {
  const says = (file: SourceFile | undefined) =>
    file !== undefined &&
    /This module is browser compatible\./.test(file.text.replaceAll(/\s*\n \*\s*/g, " "));
  const browserPackages = ["libphonenumber-js/min"];
  none(
    inSrc.filter(isPure).filter((file) => !says(file)).map((file) => `${file.path} does not say so`),
    modules.filter(says).flatMap((file) =>
      importsOf(file)
        // JSON contains no code.
        .filter(({ specifier }) => !specifier.endsWith(".json"))
        .filter(({ specifier, path }) =>
          path === undefined ? !browserPackages.includes(specifier) : !says(byPath.get(path))
        )
        .map(({ specifier }) => `${file.path} imports ${specifier}`)
    ),
  );
});

test("SQL is in src/store and sql/ only", () => {
  // The site's file is a SQLite database with its own SQL.
  const elsewhere = inSrc.filter(({ path }) => floorOf(path) !== "store" && path !== "src/site/site_data.ts");
  const tag = /\b(sql|transaction)(<[^`]*>)?`|\.unsafe\(/;
  const statement =
    /(^|["'`])\s*(select\s.*\bfrom\s|insert\s+into\s|update\s+\w+\s+set\s|delete\s+from\s|(create|alter|drop)\s+(table|index|function|role)\s)/i;
  none(find(elsewhere, tag, code), find(elsewhere, statement, quotes));
});

test("postgres.js transactions are used in the migration only", () => {
  none(
    find(
      inSrc.filter((file) => file.path !== "src/store/schema/migrate.ts"),
      /sql\w*\.(begin|savepoint)\(/i,
      code,
    ),
  );
});

test("only the programs themselves read the environment", () => {
  const readers = /^src\/(settings\/config|main|actions\/main|ctl\/\w+)\.ts$/;
  none(find(inSrc.filter((file) => !readers.test(file.path)), /\b(process|Deno)\.env\b/, code));
});

test("only the log and the programs themselves write to standard output and standard error", () => {
  const writers = /^src\/((service|process)\/run|observe\/log|ctl\/\w+)\.ts$/;
  const writing = /(?<![.\w])console\.|\bprocess\.(stdout|stderr)\b/;
  none(find(inSrc.filter((file) => !writers.test(file.path)), writing, code));
});

test("no comment defers work", () => {
  // Whole words only, because data may contain one of them within a longer word.
  const marks = ["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"].join("|");
  none(find(files, new RegExp(`\\b(${marks})\\b|^(<{7}|>{7}) `)));
});

test("no page installs an unpublished kit by its registry name, which anybody may register", () => {
  const names = kits.filter(({ published }) => !published).map(({ name }) => name);
  const pages = files.filter(({ path }) => path.endsWith(".md") || path.startsWith("src/"));
  assert.deepEqual(
    pages.flatMap(({ path, text }) => registryInstalls(text, names).map((line) => [path, line])),
    [],
  );
});

test("no test is skipped or run alone", () => {
  none(
    find(inTest, /\b(test|it|describe|suite|t|context)\.(only|skip|todo)\b/, code),
    find(inTest, /\{[^}]*\b(only|skip|todo):\s*(true|["'`])/, code),
  );
});

test("no test sleeps: it waits for a signal or uses until()", () => {
  const tests = inTest.filter((file) => file.path !== "test/support/until.ts");
  const slept = /new Promise\w*(<[^>]*>)?\(\s*\(?\w*\)?\s*=>\s*\{?\s*setTimeout\b/;
  none(
    find(tests, /["']node:timers\/promises["']|\bscheduler\.wait\b|\bAtomics\.wait\b/, code),
    tests.filter((file) => slept.test(code(file))).map((file) => file.path),
  );
});

test("no file contains a path of somebody's machine", () => {
  none(
    find(files, /(^|["'`\s(=])\/(home|Users|work|root)\/\w/),
    find(files, new RegExp(`\\.\\./${"shared"}/`)),
  );
});

test("package.json pins exact versions; the lock files name no registry and have a hash for every platform", () => {
  const manifest = JSON.parse(byPath.get("package.json")?.text ?? "{}");
  const versions = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies });
  const lockFiles = files.filter((file) => file.path.endsWith("package-lock.json"));
  // npm omits a package that its registry lacks, and npm ci then refuses the file.
  const locked: Record<string, { optionalDependencies?: Record<string, string> }> =
    JSON.parse(byPath.get("package-lock.json")?.text ?? "{}").packages;
  const optional = Object.values(locked).flatMap((entry) => Object.keys(entry.optionalDependencies ?? {}));
  none(
    versions.filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(String(version))).map(String),
    find(lockFiles, /"resolved":/),
    optional.filter((name) => locked[`node_modules/${name}`] === undefined),
    // If the registry lacks every version in range, an override names one that it has.
    lockFiles.flatMap(({ path, text }) =>
      Object.entries<{ integrity?: string; link?: boolean }>(JSON.parse(text).packages)
        .filter(([name, { integrity, link }]) => name !== "" && !link && !/^sha512-/.test(integrity ?? ""))
        .map(([name]) => `${path}: ${name} has no integrity`)
    ),
    find(files.filter((file) => /(^|\/)\.?npmrc$|^\.ci\//.test(file.path)), /registry/),
  );
});
