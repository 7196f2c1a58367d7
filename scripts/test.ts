/**
 * `npm test`: formatting, lint, types, generated files, then all tests on a PostgreSQL that it brings itself.
 *
 * `npm test -- lead` runs the test files that have `lead` in their path, `npm test -- lint types` the steps of these
 * names (format, lint, types, generated, tidy, coverage, node, faults, clients, kits, deno). All steps run even when one
 * fails, and the table at the end tells which did.
 *
 * @module
 */

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type EmbeddedPostgres, startPostgres } from "./embedded_postgres.ts";
import { isAlive, signalProcess } from "./processes.ts";
import type { TestCounts } from "./test_reporter.ts";
import { endGroup, postWatchdog } from "./watchdog.ts";

const root = fileURLToPath(new URL("../", import.meta.url));
// The tests are Node's, also when this script runs on Deno.
const node = process.versions.deno === undefined ? process.execPath : join(root, "node_modules/.bin/node");
const deno = join(root, "node_modules/.bin/deno");

/** The folders whose lines and branches are covered in full. */
const coveredFolders = ["lead", "contract", "limiter"];
/** A test that takes longer hangs. */
const testTimeoutMs = 10 * 60_000;

/** What a step has found out. */
interface Outcome {
  /** Why it failed; empty when it passed. */
  readonly faults: readonly string[];
  readonly counts?: TestCounts;
}

/** One line of the table at the end. */
interface Step {
  readonly name: string;
  readonly run: () => Promise<Outcome>;
}

let workFolder = "";
let current: ChildProcess | undefined;
let server: EmbeddedPostgres | undefined;
let stopping = false;

async function main(args: readonly string[]): Promise<number> {
  const results: { step: Step; outcome: Outcome; durationMs: number }[] = [];
  const steps = chooseSteps(args);
  if (steps.length === 0) {
    console.error(`No step and no test file is called ${args.join(" or ")}.`);
    return 2;
  }
  workFolder = mkdtempSync(join(tmpdir(), "lead-intake-run-"));
  try {
    for (const step of steps) {
      console.log(`\n▶ ${step.name}`);
      const startMs = performance.now();
      const outcome = await step.run();
      if (stopping) break;
      results.push({ step, outcome, durationMs: performance.now() - startMs });
    }
  } finally {
    await server?.stop();
    rmSync(workFolder, { recursive: true, force: true });
  }
  if (stopping) return 130;
  report(results);
  return results.every(({ outcome }) => outcome.faults.length === 0) ? 0 : 1;
}

/** What stands above all tests, and what is compared with its source; generated files have their place here. */
const checks: readonly Step[] = [
  { name: "format", run: () => runCommand(deno, ["fmt", "--check"]) },
  { name: "lint", run: () => runCommand(deno, ["lint"]) },
  { name: "types", run: () => runCommand(deno, ["check", "src", "scripts", "test", "kits/conformance"]) },
  { name: "generated", run: checkGenerated },
];

async function checkGenerated(): Promise<Outcome> {
  const faults: string[] = [];
  for (const script of ["scripts/build_playground.ts", "scripts/build_kits.ts", "scripts/build_docs.ts"]) {
    faults.push(...(await runCommand(node, [script, "--check"])).faults);
  }
  return { faults };
}

function chooseSteps(args: readonly string[]): Step[] {
  const all = [...checks, ...testSteps(testFiles(), { complete: true })];
  if (args.length === 0) return all;
  const named = all.filter((step) => args.includes(step.name));
  const parts = args.filter((argument) => !all.some((step) => step.name === argument));
  const files = testFiles().filter((file) => parts.some((part) => file.includes(part)));
  return [...named, ...testSteps(files, { complete: false })];
}

function testFiles(): string[] {
  return readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".test.ts"))
    .map((path) => `test/${path}`)
    .sort();
}

function testSteps(files: readonly string[], options: { readonly complete: boolean }): Step[] {
  const within = (folder: string) => (file: string) => file.startsWith(`test/${folder}/`);
  const tidy = files.filter((file): boolean => file === "test/tidy.test.ts");
  const covered = files.filter((file) =>
    file === "test/pure.test.ts" || coveredFolders.some((folder) => within(folder)(file))
  );
  const faults = files.filter(within("faults"));
  const clients = files.filter(within("generated_clients"));
  const kits = files.filter(within("kits"));
  const rest = files.filter((file) => ![...tidy, ...covered, ...faults, ...clients, ...kits].includes(file));
  const suite = files.filter(within("suite"));
  const steps: (Step & { readonly files: readonly string[] })[] = [
    { name: "tidy", files: tidy, run: () => runTests(tidy) },
    {
      name: options.complete ? "coverage" : "tests",
      files: covered,
      run: () => runTests(covered, { coverage: options.complete }),
    },
    { name: "node", files: rest, run: () => runTests(rest, { database: true }) },
    // They measure how soon the service is back: one at a time.
    { name: "faults", files: faults, run: () => runTests(faults, { database: true, concurrency: 1 }) },
    // Compilers of other languages, which leave nothing of the processors to anybody else.
    { name: "clients", files: clients, run: () => runTests(clients, { database: true }) },
    { name: "kits", files: kits, run: () => runTests(kits, { database: true }) },
    {
      name: "deno",
      files: suite,
      run: () => runTests(suite, { database: true, env: { SUITE_RUNTIME: "deno" } }),
    },
  ];
  return steps.filter((step) => step.files.length > 0);
}

/** How a set of test files is run. */
interface TestOptions {
  /** With the lines and branches of the covered folders at 100 %. */
  readonly coverage?: boolean;
  readonly database?: boolean;
  /** How many files at once; left out: one a processor, two at least. */
  readonly concurrency?: number;
  readonly env?: Readonly<Record<string, string>>;
}

async function runTests(files: readonly string[], options: TestOptions = {}): Promise<Outcome> {
  const countsFile = join(workFolder, "counts.json");
  rmSync(countsFile, { force: true });
  const args = [
    "--test",
    `--test-concurrency=${options.concurrency ?? Math.max(2, availableParallelism())}`,
    `--test-timeout=${testTimeoutMs}`,
    "--test-reporter=spec",
    "--test-reporter-destination=stdout",
    "--test-reporter=./scripts/test_reporter.ts",
    `--test-reporter-destination=${countsFile}`,
    ...files,
  ];
  const env = {
    ...options.env,
    ...(options.database ? { TEST_POSTGRES_URL: (await sharedServer()).url } : {}),
  };
  const { faults } = await runCommand(node, options.coverage ? [...coverageCommand(), ...args] : args, env);
  const counts = readCounts(countsFile);
  // An older Node finds no tests in TypeScript and is content with that.
  const silent = files.filter((file) => counts.files[join(root, file)] === undefined);
  return {
    faults: silent.length === 0 ? faults : [...faults, `no test ran in ${silent.join(", ")}`],
    counts,
  };
}

function coverageCommand(): string[] {
  return [
    "node_modules/c8/bin/c8.js",
    "--all",
    "--src=src",
    ...coveredFolders.map((folder) => `--include=src/${folder}/**/*.ts`),
    "--reporter=text",
    `--temp-directory=${join(workFolder, "coverage")}`,
    "--check-coverage",
    "--lines=100",
    "--branches=100",
    node,
  ];
}

function readCounts(file: string): TestCounts {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return { files: {}, totals: {} };
  }
}

async function sharedServer(): Promise<EmbeddedPostgres> {
  server ??= await startPostgres({ settings: { max_connections: 300 } });
  return server;
}

/** Runs a command in a process group of its own, with its output here. */
async function runCommand(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Outcome> {
  if (stopping) return { faults: ["stopped"] };
  const child = spawn(command, args, {
    cwd: root,
    // What the tests start is in this group too, and ends with it.
    detached: true,
    env: { ...process.env, ...env },
    stdio: ["ignore", "inherit", "inherit"],
  });
  current = child;
  const watchdog = postWatchdog(endGroup, { args: [String(child.pid)] });
  const how = await new Promise<string | undefined>((settle) => {
    child.once("error", (error) => settle(error.message));
    child.once("exit", (code, signal) => settle(code === 0 ? undefined : signal ?? `exit code ${code}`));
  });
  watchdog.dismiss();
  return { faults: how === undefined ? [] : [how] };
}

function report(results: readonly { step: Step; outcome: Outcome; durationMs: number }[]): void {
  console.log("\nSteps:");
  for (const { step, outcome, durationMs } of results) {
    const mark = outcome.faults.length === 0 ? "✔" : "✖";
    const tests = outcome.counts === undefined ? "" : `${outcome.counts.totals.tests ?? 0} tests`;
    const seconds = `${(durationMs / 1000).toFixed(1)} s`;
    console.log(
      `${mark} ${step.name.padEnd(10)} ${seconds.padStart(8)}  ${tests.padStart(11)}  ${
        outcome.faults.join("; ")
      }`.trimEnd(),
    );
  }
  const sum = (name: string) =>
    results.reduce((total, { outcome }) => total + (outcome.counts?.totals[name] ?? 0), 0);
  const files = results.reduce(
    (total, { outcome }) => total + Object.keys(outcome.counts?.files ?? {}).length,
    0,
  );
  // The words of Node's own summary, over all steps.
  console.log(`\nℹ files ${files}`);
  for (
    const [word, name] of [
      ["tests", "tests"],
      ["suites", "suites"],
      ["pass", "passed"],
      ["fail", "failed"],
      ["cancelled", "cancelled"],
      ["skipped", "skipped"],
      ["todo", "todo"],
    ] as const
  ) console.log(`ℹ ${word} ${sum(name)}`);
  const durationMs = results.reduce((total, result) => total + result.durationMs, 0);
  console.log(`ℹ duration_ms ${Math.round(durationMs)}`);
}

/** The first signal ends the step in order; a second one, or ten seconds, at once. */
function onSignal(): void {
  const group = current?.pid;
  if (group === undefined || !isAlive(group)) stopping = true;
  else {
    signalGroup(group, stopping ? "SIGKILL" : "SIGTERM");
    if (!stopping) setTimeout(() => signalGroup(group, "SIGKILL"), 10_000).unref();
  }
  stopping = true;
}

function signalGroup(group: number, signal: NodeJS.Signals): void {
  signalProcess(-group, signal);
}

process.on("SIGINT", onSignal);
process.on("SIGTERM", onSignal);
process.on("SIGHUP", onSignal);
process.exitCode = await main(process.argv.slice(2));
