/**
 * Reads the source and holds it to the rules that no other tool checks: what may import what, where SQL and
 * the environment belong, what a test may not do.
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

/** Ground floor first: a folder imports from itself and from what is named here. */
const floors: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  lead: ["contract"],
  limiter: ["contract"],
  http: ["contract"],
  store: ["contract", "lead", "limiter"],
  // What partners read.
  documents: ["contract", "http"],
  // What is told, by whom and to whom.
  observe: ["contract", "limiter", "http", "store", "delivery", "plans"],
  // What was read.
  settings: ["contract", "http", "store", "delivery"],
  // What stands before the key-gated posts and the public reads.
  gate: ["contract", "lead", "limiter", "http", "store"],
  // The surfaces: never one another.
  intake: ["contract", "lead", "http", "store", "gate", "documents"],
  forms: ["contract", "lead", "http", "store", "gate", "documents"],
  plans: ["contract", "lead", "http", "store", "gate"],
  site: ["contract", "http", "store", "gate", "documents"],
  // The search takes a number and a name as the envelope does.
  ops: ["contract", "lead", "http", "store", "observe"],
  playground: ["contract", "lead", "http", "documents"],
  delivery: ["contract", "lead", "limiter", "http", "store"],
  // The life of a process, which both programs share.
  process: ["contract", "lead", "limiter", "http", "store", "observe", "settings"],
  // What is put together: everything is below it.
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
  // A process of its own, with a composition root of its own.
  actions: ["contract", "lead", "limiter", "http", "store", "observe", "settings", "process", "service"],
  // The operator's command, which calls the store beside a service that runs.
  ctl: ["contract", "lead", "http", "store", "settings", "forms", "actions"],
  // main.ts
  "": ["settings", "process", "service"],
};

/** No I/O, no clock, no chance, no environment; they run in the browser too. */
const pureFolders = ["contract", "lead", "limiter"];
/** The spam score is as pure, in the folder of its surface. */
const pureFiles = /^src\/forms\/spam\//;

/** What of npm's may be imported, and where; `scripts` and `test` may have all of it. */
const packages: Readonly<Record<string, RegExp>> = {
  "postgres": /^src\/store\//,
  "libphonenumber-js/min": /^src\/lead\//,
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

/** Fails with one line a finding, so that all of them are seen at once. */
function none(...findings: readonly (readonly string[])[]): void {
  assert.equal(findings.flat().join("\n"), "");
}

/** Where a pattern is found: `path:line: text`. */
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

/** The program itself, for what it does. */
const code = (file: SourceFile) => withoutQuotes(file.text);
/** With what it says in strings over several lines, such as SQL. */
const quotes = (file: SourceFile) => withoutComments(file.text);

test("imports run one way, and no surface imports another", () => {
  none(inSrc.flatMap((file) =>
    importsOf(file).flatMap(({ path }) => {
      // The version, which is nowhere else.
      if (path === undefined || path === "package.json") return [];
      const from = floorOf(file.path);
      const to = floorOf(path);
      if (floors[from] === undefined) return [`${file.path}: ${from} has no place on the floor plan`];
      if (!path.startsWith("src/")) return [`${file.path} imports ${path}, which is outside src/`];
      if (from === to || floors[from]?.includes(to)) return [];
      return [`${file.path} imports ${path}: ${from || "src"} may not use ${to || path}`];
    })
  ));
});

test("no files import one another in a circle, for types neither", () => {
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

test("packages are imported where they belong, and no others", () => {
  const misplaced = inSrc.flatMap((file) =>
    importsOf(file)
      .filter(({ specifier, path }) => path === undefined && !specifier.startsWith("node:"))
      .filter(({ specifier }) => !packages[specifier]?.test(file.path))
      .map(({ specifier }) => `${file.path} imports ${specifier}`)
  );
  // Importing it installs exit hooks that fight ours; its binaries are found by path.
  none(misplaced, find(modules, new RegExp(`from "embedded-${"postgres"}"`)));
});

test("contract, lead, limiter and the spam score have no I/O, no clock, no chance and no environment", () => {
  const pure = inSrc.filter(isPure);
  const imports = pure.flatMap((file) =>
    importsOf(file).filter(({ specifier }) => specifier.startsWith("node:"))
      .map(({ specifier }) => `${file.path} imports ${specifier}`)
  );
  const impure =
    /\b(Deno|process|globalThis|fetch|setTimeout|setInterval|queueMicrotask|console|performance|Buffer)\b\s*[.(]|\bnew Date\b|\bDate\.now\b|\bMath\.random\b|\bcrypto\.(getRandomValues|randomUUID)\b/;
  none(imports, find(pure, impure, code));
});

test("a module that says it is browser compatible imports only such modules", () => {
  const says = (file: SourceFile | undefined) =>
    file !== undefined &&
    /This module is browser compatible\./.test(file.text.replaceAll(/\s*\n \*\s*/g, " "));
  const browserPackages = ["libphonenumber-js/min"];
  none(
    inSrc.filter(isPure).filter((file) => !says(file)).map((file) => `${file.path} does not say so`),
    modules.filter(says).flatMap((file) =>
      importsOf(file)
        // Data runs nowhere.
        .filter(({ specifier }) => !specifier.endsWith(".json"))
        .filter(({ specifier, path }) =>
          path === undefined ? !browserPackages.includes(specifier) : !says(byPath.get(path))
        )
        .map(({ specifier }) => `${file.path} imports ${specifier}`)
    ),
  );
});

test("SQL is in src/store and sql/ only", () => {
  // The site's file is a database of its own, in SQLite.
  const elsewhere = inSrc.filter(({ path }) => floorOf(path) !== "store" && path !== "src/site/site_data.ts");
  const tag = /\b(sql|transaction)(<[^`]*>)?`|\.unsafe\(/;
  const statement =
    /(^|["'`])\s*(select\s.*\bfrom\s|insert\s+into\s|update\s+\w+\s+set\s|delete\s+from\s|(create|alter|drop)\s+(table|index|function|role)\s)/i;
  none(find(elsewhere, tag, code), find(elsewhere, statement, quotes));
});

test("no transaction of postgres.js is used outside the migration", () => {
  none(
    find(
      inSrc.filter((file) => file.path !== "src/store/schema/migrate.ts"),
      /sql\w*\.(begin|savepoint)\(/i,
      code,
    ),
  );
});

test("the environment is read by the programs themselves only", () => {
  const readers = /^src\/(settings\/config|main|actions\/main|ctl\/\w+)\.ts$/;
  none(find(inSrc.filter((file) => !readers.test(file.path)), /\b(process|Deno)\.env\b/, code));
});

test("standard output and standard error are for the log and the programs themselves", () => {
  const writers = /^src\/((service|process)\/run|observe\/log|ctl\/\w+)\.ts$/;
  const writing = /(?<![.\w])console\.|\bprocess\.(stdout|stderr)\b/;
  none(find(inSrc.filter((file) => !writers.test(file.path)), writing, code));
});

test("nothing is left for later", () => {
  // As words of their own: the specification writes numbers as +1XXXXXXXXXX.
  const marks = ["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"].join("|");
  none(find(files, new RegExp(`\\b(${marks})\\b|^(<{7}|>{7}) `)));
});

test("no page installs a kit by its name in a registry before it is published: anybody may take the name", () => {
  const names = kits.filter(({ published }) => !published).map(({ name }) => name);
  const pages = files.filter(({ path }) => path.endsWith(".md") || path.startsWith("src/"));
  assert.deepEqual(
    pages.flatMap(({ path, text }) => registryInstalls(text, names).map((line) => [path, line])),
    [],
  );
});

test("the variable of a lead key is LEADS_API_KEY everywhere", () => {
  const other = new RegExp(`\\b(?:LEAD|SANDBOX)${"_API_KEY"}\\b`);
  assert.deepEqual(files.filter(({ text }) => other.test(text)).map(({ path }) => path), []);
});

test("no test is left out, and none runs alone", () => {
  none(
    find(inTest, /\b(test|it|describe|suite|t|context)\.(only|skip|todo)\b/, code),
    find(inTest, /\{[^}]*\b(only|skip|todo):\s*(true|["'`])/, code),
  );
});

test("no test sleeps: it waits on a signal, or with until()", () => {
  const tests = inTest.filter((file) => file.path !== "test/support/until.ts");
  const slept = /new Promise\w*(<[^>]*>)?\(\s*\(?\w*\)?\s*=>\s*\{?\s*setTimeout\b/;
  none(
    find(tests, /["']node:timers\/promises["']|\bscheduler\.wait\b|\bAtomics\.wait\b/, code),
    tests.filter((file) => slept.test(code(file))).map((file) => file.path),
  );
});

test("nothing names a path of somebody's machine", () => {
  none(
    find(files, /(^|["'`\s(=])\/(home|Users|work|root)\/\w/),
    find(files, new RegExp(`\\.\\./${"shared"}/`)),
  );
});

test("package.json pins exact versions; the lock files name no registry, and have every platform's packages with a hash", () => {
  const manifest = JSON.parse(byPath.get("package.json")?.text ?? "{}");
  const versions = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies });
  const lockFiles = files.filter((file) => file.path.endsWith("package-lock.json"));
  // npm leaves out what the registry at hand does not carry, and npm ci then refuses the file.
  const locked: Record<string, { optionalDependencies?: Record<string, string> }> =
    JSON.parse(byPath.get("package-lock.json")?.text ?? "{}").packages;
  const optional = Object.values(locked).flatMap((entry) => Object.keys(entry.optionalDependencies ?? {}));
  none(
    versions.filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(String(version))).map(String),
    find(lockFiles, /"resolved":/),
    optional.filter((name) => locked[`node_modules/${name}`] === undefined),
    // npm has none of what the registry at hand does not carry: then an override names a version that it does.
    lockFiles.flatMap(({ path, text }) =>
      Object.entries<{ integrity?: string; link?: boolean }>(JSON.parse(text).packages)
        .filter(([name, { integrity, link }]) => name !== "" && !link && !/^sha512-/.test(integrity ?? ""))
        .map(([name]) => `${path}: ${name} has no integrity`)
    ),
    find(files.filter((file) => /(^|\/)\.?npmrc$|^\.ci\//.test(file.path)), /registry/),
  );
});

test("what a test file has set up ends by atEnd(): Node leaves out each hook behind one that throws", () => {
  none(find(inTest.filter(({ path }) => path !== "test/support/at_end.ts"), /^after\(/, code));
});
