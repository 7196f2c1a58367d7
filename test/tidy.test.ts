/**
 * Reads the source and holds it to the rules that no other tool checks: what may import what, where SQL and
 * the environment belong, what a test may not do.
 *
 * @module
 */

import assert from "node:assert/strict";
import { posix } from "node:path";
import { test } from "node:test";
import {
  importsOf,
  longFunctions,
  readSources,
  type SourceFile,
  withoutComments,
  withoutQuotes,
} from "./support/source.ts";

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
  // What is told, by whom and to whom.
  observe: ["contract", "limiter", "http", "store", "delivery", "plans"],
  // What was read.
  settings: ["contract", "http", "store"],
  // What stands before the key-gated posts and the public reads.
  gate: ["contract", "lead", "limiter", "http", "store"],
  // The surfaces: never one another.
  intake: ["contract", "lead", "http", "store", "gate"],
  forms: ["contract", "lead", "http", "store", "gate"],
  plans: ["contract", "lead", "http", "store", "gate"],
  site: ["contract", "http", "store", "gate"],
  // The search takes a number and a name as the envelope does.
  ops: ["contract", "lead", "http", "store", "observe"],
  playground: ["contract", "lead", "http"],
  delivery: ["contract", "lead", "limiter", "http", "store"],
  // What is put together: everything is below it.
  service: [
    "contract",
    "limiter",
    "http",
    "store",
    "observe",
    "settings",
    "gate",
    "intake",
    "forms",
    "plans",
    "site",
    "ops",
    "playground",
    "delivery",
  ],
  // A process of its own, with a composition root of its own.
  actions: ["contract", "lead", "limiter", "http", "store", "observe", "settings", "service"],
  // main.ts
  "": ["settings", "service"],
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

/** Test files that mirror no file of `src/` or `scripts/`, by folder or name, and what they are about. */
const testsOfBehaviour: Readonly<Record<string, string>> = {
  "test/tidy.test.ts": "this one",
  "test/lead/vectors.test.ts": "test/vectors/ on the validator",
  "test/actions/client_certificates.test.ts": "whom the actions process lets in, on both runtimes",
  "test/actions/on_deno.test.ts": "the tests of what the actions process connects to, on the other runtime",
  "test/pure.test.ts": "the ground floor as a whole",
  "test/delivery/sql.test.ts": "the functions of the outbox",
  "test/store/rights.test.ts": "the rights of the database's roles",
  "test/store/named_arguments.test.ts": "how the functions of the database are called",
  "test/store/schema/expand.test.ts": "what a migration keeps for the release before it",
  "test/store/schema/next_release.test.ts": "a newer release on the database of this one",
  "test/store/schema/upgrade.test.ts": "what an older database becomes",
  "test/http/": "the server kit on the wire, on both runtimes",
  "test/kits/":
    "the client kits: what all of them do, what their languages ask for, and with the real service",
  "test/generated_clients/": "clients in other languages, made from the published document",
  "test/ctl/": "the operator's command, and the parts of scripts/ctl/",
  "test/suite/": "the wire contract, on Node and on Deno",
  "test/faults/": "what must be survived",
  "test/prove/": "the proof: its rules, its schedules, the planted bugs, and a run in small",
  "test/steps/": "the most work that a stranger's text can make",
  "test/site/": "the site as it is built",
  "test/docs/": "the commands and links of the documents",
  "test/monitoring/": "the metrics, the alerts, their runbook and the dashboard",
  "test/scripts/": "commands from end to end",
  "test/support/": "the support itself",
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

test("every folder of src/ has its place on the floor plan", () => {
  const folders = new Set(inSrc.map((file) => floorOf(file.path)).filter((floor) => floor !== ""));
  none([...folders].filter((folder) => floors[folder] === undefined));
});

test("every relative import names a file that exists, with its extension", () => {
  none(modules.flatMap((file) =>
    importsOf(file)
      .filter(({ path }) => path !== undefined && !byPath.has(path))
      .map(({ specifier }) => `${file.path} imports ${specifier}`)
  ));
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

test("what an event's id is made of is known in one SQL file and one TypeScript file", () => {
  const knowing = ["sql/functions/event_id.sql", "src/contract/event_id.ts", "test/tidy.test.ts"];
  const others = files.filter(({ path }) =>
    /^(sql|src|scripts|test)\/.*\.(sql|ts)$/.test(path) && !knowing.includes(path) &&
    !/\/baseline_/.test(path)
  );
  none(
    find(
      others,
      /\bto_hex\(|::bit\(\d|\b(slice|substring|padStart|left|lpad)\(.*\b14\b|\{14\}|\{38\}\$?\/.*event/i,
    ),
  );
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
  const readers = ["src/settings/config.ts", "src/main.ts", "src/actions/main.ts"];
  none(find(inSrc.filter((file) => !readers.includes(file.path)), /\b(process|Deno)\.env\b/, code));
});

test("standard output and standard error are for the log and the programs themselves", () => {
  const writers = inSrc.filter(({ path }) => ["src/service/run.ts", "src/observe/log.ts"].includes(path));
  const writing = /(?<![.\w])console\.|\bprocess\.(stdout|stderr)\b/;
  none(find(inSrc.filter((file) => !writers.includes(file)), writing, code));
});

test("paths are made from addresses with fileURLToPath, so that they may have spaces", () => {
  none(find(modules, /\bnew URL\([^)]*import\.meta\.url\)\.pathname\b/, code));
});

test("every module opens with what it is for, and every export of src/ says its contract", () => {
  const documented = modules.filter((file) => /^(src|scripts|test\/support)\//.test(file.path));
  const silent = documented.filter((file) => !/^(#!.*\n)?\/\*\*\n/.test(file.text))
    .map((file) => `${file.path} has no docstring at its top`);
  const declaration =
    /^export (?:declare )?(?:abstract )?(?:async )?(?:function\*?|class|const|let|interface|type|enum) (\w+)/;
  const undocumented = inSrc.flatMap((file) => {
    const lines = file.text.split("\n");
    return lines.flatMap((line, index) => {
      const name = declaration.exec(line)?.[1];
      if (name === undefined) return [];
      let above = index - 1;
      while (lines[above]?.startsWith("// deno-lint-ignore")) above--;
      if (lines[above]?.trimEnd().endsWith("*/")) return [];
      // The further signatures of an overloaded function.
      if (lines[above]?.startsWith(`export function ${name}`)) return [];
      return [`${file.path}:${index + 1}: ${name}`];
    });
  });
  none(silent, undocumented);
});

test("docs/contributing.md has a reason for every file over 250 lines and every function over 60, and for no other", () => {
  const section = /^## Long files and functions$([^]*?)^## /m.exec(
    byPath.get("docs/contributing.md")?.text ?? "",
  )?.[1];
  const listed = [...(section ?? "").matchAll(/^\| `([^`]+)` /gm)].map(([, name = ""]) => name);
  const ours = modules.filter(({ path }) => /^(src|scripts)\//.test(path));
  const long = [
    ...ours.filter(({ text }) => text.split("\n").length - 1 > 250).map(({ path }) => path),
    ...ours.flatMap((file) => longFunctions(file, { linesMax: 60 })),
  ];
  // A folder stands for its files.
  const covers = (name: string) => (one: string) => name.endsWith("/") ? one.startsWith(name) : one === name;
  none(
    long.filter((one) => !listed.some((name) => covers(name)(one))).map((one) =>
      `${one} is long without a reason`
    ),
    listed.filter((name) => !long.some(covers(name))).map((name) => `${name} is not long`),
  );
});

test("names are snake_case and say what lives there", () => {
  const paths = modules.map((file) => file.path);
  const empty = /(^|[/_.])(utils?|helpers?|managers?|types?|common|misc|shared)([/_.]|$)/;
  none(
    paths.filter((path) => !/^[a-z0-9_]+(\.[a-z0-9_]+)*$/.test(posix.basename(path))),
    paths.filter((path) => empty.test(path)),
  );
});

test("nothing is left for later", () => {
  // As words of their own: the specification writes numbers as +1XXXXXXXXXX.
  const marks = ["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"].join("|");
  none(find(files, new RegExp(`\\b(${marks})\\b`)));
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

test("every test file mirrors a file, or is known for the behaviour it tests", () => {
  none(
    inTest.map((file) => file.path).filter((path) => path.endsWith(".test.ts")).filter((path) => {
      if (Object.keys(testsOfBehaviour).some((known) => path.startsWith(known))) return false;
      const stem = (posix.basename(path).split(".")[0]) as string;
      const folder = posix.dirname(path).replace(/^test/, "src");
      return !byPath.has(`${folder}/${stem}.ts`);
    }),
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
  assert.equal(lockFiles.length, 2);
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

test("every npm script has a Deno task of its name", () => {
  const scripts = Object.keys(JSON.parse(byPath.get("package.json")?.text ?? "{}").scripts);
  const tasks = Object.keys(JSON.parse(byPath.get("deno.json")?.text ?? "{}").tasks ?? {});
  assert.deepEqual(tasks.sort(), scripts.sort());
});

test("docs/contributing.md has every room of src/, below the rooms that it imports", () => {
  const table = /^\| Room of .*\n((?:\|.*\n)+)/m.exec(byPath.get("docs/contributing.md")?.text ?? "")?.[1] ??
    "";
  const rooms = [...table.matchAll(/^\| `(?:main\.ts|(\w+)\/)` /gm)].map(([, room = ""]) => room);
  assert.deepEqual(rooms.toSorted(), Object.keys(floors).toSorted());
  none(
    rooms.flatMap((room, index) =>
      (floors[room] ?? []).filter((used) => rooms.indexOf(used) > index).map((used) =>
        `${room} imports ${used}, below it`
      )
    ),
  );
});

test("docs/contributing.md has a word on every npm script and every package", () => {
  const manifest = JSON.parse(byPath.get("package.json")?.text ?? "{}");
  const words = new Set(byPath.get("docs/contributing.md")?.text.match(/(?<=`)[^`\n]+(?=`)/g));
  const packages = Object.keys({ ...manifest.dependencies, ...manifest.devDependencies });
  none(
    Object.keys(manifest.scripts).filter((name) =>
      ![name, `npm ${name}`, `npm run ${name}`].some((word) => words.has(word))
    ),
    packages.filter((name) => !words.has(name)),
  );
});

test("the README opens with the two commands and has at most 150 lines", () => {
  const lines = byPath.get("README.md")?.text.trimEnd().split("\n") ?? [];
  const opening = lines.slice(0, 40).join("\n");
  assert.match(opening, /npm ci && npm start/);
  assert.match(opening, /npm ci && npm test/);
  assert.ok(lines.length <= 150, `${lines.length} lines: a page of docs/ has room for it`);
});

test("the word lists of the spam score are sorted, and a term stands once in each", () => {
  const lists = inSrc.filter(({ path }) => /^src\/forms\/spam\/(data|locale)\//.test(path)).flatMap((file) =>
    [...file.text.matchAll(/\[(?:\s*"[^"\n]*",?)+\s*\]/g)].map(([list]) => ({
      path: file.path,
      terms: [...list.matchAll(/"([^"]*)"/g)].map(([, term = ""]) => term),
    }))
  );
  assert.ok(lists.length > 100, `${lists.length} lists`);
  none(
    lists.flatMap(({ path, terms }) =>
      terms.filter((term, at) => at > 0 && term <= (terms[at - 1] as string)).map((term) =>
        `${path}: ${term}`
      )
    ),
  );
});

test("of the spam score the rest of src/ and scripts/ knows the score and its reasons", () => {
  const known = ["src/forms/spam/score.ts", "src/forms/spam/reasons.ts"];
  none(
    modules.filter(({ path }) => /^(src|scripts)\//.test(path) && !path.startsWith("src/forms/spam/"))
      .flatMap((file) =>
        importsOf(file)
          .filter(({ path }) => path?.startsWith("src/forms/spam/") && !known.includes(path))
          .map(({ specifier }) => `${file.path} imports ${specifier}`)
      ),
  );
});

test("a destination is named in its own file and in ctl tenant route, and nowhere else", () => {
  const known = [
    "src/actions/crm_webhook.ts",
    "src/actions/slack.ts",
    "scripts/ctl/destinations.ts",
    // The two of the specification.
    "src/store/delivery/effects.ts",
    // What the CRM is sent is signed.
    "sql/0009_actions.sql",
    // Rows that are written by hand.
    "scripts/prove/tenants.ts",
  ];
  const where = files.filter(({ path }) => /^(src|scripts|sql)\/.*\.(ts|sql)$/.test(path))
    .filter(({ path }) => !known.includes(path) && !path.startsWith("src/forms/spam/"));
  none(find(where, /["'`](crm|slack)["'`]/));
});

test("a vector has one case a line, so that a difference shows the case", () => {
  none(["lead.json", "site/schema_org.json"].flatMap((name) => {
    const lines = byPath.get(`test/vectors/${name}`)?.text.trimEnd().split("\n") ?? [];
    const isCase = (line: string) => /^(\{.*\}|"\w+": (".*"|\[.*\]|\{.*\})),?$/.test(line);
    return lines.flatMap((line, index) =>
      isCase(line) || /^[[\]{}]$|^"types": \{$|^\}$/.test(line) ? [] : [`test/vectors/${name}:${index + 1}`]
    );
  }));
});

test("what a test file has set up ends by atEnd(): Node leaves out each hook behind one that throws", () => {
  none(find(inTest.filter(({ path }) => path !== "test/support/at_end.ts"), /^after\(/, code));
});
