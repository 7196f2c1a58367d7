/**
 * `npm test`: formatting, lint, types, generated files, then the core of the tests on a PostgreSQL that it starts itself.
 *
 * `npm test -- --all` runs all tests. `npm test -- lead` runs the test files that have `lead` in their path and shows every
 * test, `npm test -- lint types` the steps of these names (format, lint, types, generated, tidy, coverage, node, faults,
 * clients, kits, deno). All steps run even when one fails, side by side; the tables at the end show which did, which files
 * took longest, and what was left out because a tool is missing. `npm test -- --packages` prints the Debian packages that
 * `--all` needs and this machine lacks.
 *
 * @module
 */

import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type EmbeddedPostgres, startPostgres } from "./embedded_postgres.ts";
import { type Job, Jobs } from "./test_jobs.ts";
import { denoSmoke, isCore, leftOutVariable, missingNeeds, type Need, runtimeless } from "./test_plan.ts";
import { countOutcomes, sumCounts, type TestCounts, unfinishedTest } from "./test_reporter.ts";

const root = fileURLToPath(new URL("../", import.meta.url));
// The tests are Node's, also when this script runs on Deno.
const node = process.versions.deno === undefined ? process.execPath : join(root, "node_modules/.bin/node");
const deno = join(root, "node_modules/.bin/deno");

/** The folders whose lines and branches are covered in full. */
const coveredFolders = ["lead", "contract", "limiter"];
/** A test that takes longer hangs: minutes on a machine ten times slower than ours. */
const testMsMax = Number(process.env.TEST_MS_MAX ?? 10 * 60_000);
/** Of the list of the slowest files. */
const slowestMax = 10;
/** Of a failure's output, at the end. */
const failureLinesMax = 60;

/** One line of the table at the end. */
interface Step {
  readonly name: string;
  /** Commands, by what they are called in the output. */
  readonly commands?: Readonly<Record<string, readonly [command: string, ...args: string[]]>>;
  readonly files?: readonly string[];
  /** With PostgreSQL. */
  readonly database?: boolean;
  readonly env?: () => Readonly<Record<string, string>>;
  readonly line?: string;
  /** A command when all others have passed. */
  readonly then?: () => readonly [command: string, ...args: string[]];
}

/** What came of a command or a test file. */
interface Result {
  readonly name: string;
  readonly fault: string | undefined;
  readonly durationMs: number;
  readonly output: string;
  readonly counts?: TestCounts;
}

// Half of the time a test waits for a process of its own: two more than there are processors keep them busy.
const jobs = new Jobs({ roomFor: Math.max(2, availableParallelism()) + 2, stillMsMax: testMsMax });
let workFolder = "";
let server: Promise<EmbeddedPostgres> | undefined;
let stopping = false;
let verbose = false;
let missing: readonly Need[] = [];

async function main(args: readonly string[]): Promise<number> {
  const startMs = performance.now();
  if (args.includes("--packages")) {
    console.log(
      [
        ...new Set(
          (await missingNeeds(({ packages }) => packages.length > 0)).flatMap(({ packages }) => packages),
        ),
      ].join(" "),
    );
    return 0;
  }
  const chosen = chooseSteps(args);
  if (chosen.length === 0) {
    console.error(`No step and no test file is called ${args.join(" or ")}.`);
    return 2;
  }
  const chosenFiles = chosen.flatMap(({ files = [] }) => files);
  const isChosen = (name: string) => chosenFiles.some((file) => file.startsWith(fileOf(name)));
  missing = (await missingNeeds(({ tests }) => tests.some(isChosen)))
    .map((need) => ({ ...need, tests: need.tests.filter(isChosen) }));
  const lacking = missing.flatMap(({ tests }) => tests).filter((name) => name === fileOf(name));
  const isRun = (file: string) => !lacking.some((name) => file.startsWith(name));
  const steps = chosen.map((step) => ({ ...step, files: step.files?.filter(isRun) ?? [] }));
  workFolder = mkdtempSync(join(tmpdir(), "lead-intake-run-"));
  let results: (readonly [Step, Result[]])[];
  try {
    results = await Promise.all(steps.map(async (step) => [step, await runStep(step)] as const));
  } finally {
    await (await server)?.stop();
    rmSync(workFolder, { recursive: true, force: true });
  }
  if (stopping) return 130;
  report(results, performance.now() - startMs);
  const failed = results.some(([, all]) => all.some(({ fault }) => fault !== undefined));
  return failed || mustHave(missing).length > 0 ? 1 : 0;
}

/** The file prefix of an entry, without the part behind the colon. */
const fileOf = (name: string) => name.replace(/:.*/, "");

/** What `.ci/run` installs. In CI a tool that is missing all the same is a failure. */
function mustHave(needs: readonly Need[]): readonly Need[] {
  return process.env.CI === "true" ? needs.filter(({ packages }) => packages.length > 0) : [];
}

function chooseSteps(args: readonly string[]): Step[] {
  const words = args.filter((argument) => argument !== "--all");
  verbose = words.length > 0;
  const all = testFiles();
  const steps = [...checks, ...testSteps(all, { complete: true })];
  if (args.length === 0) {
    return [...checks, ...testSteps(all.filter(isCore), { complete: false, smoke: true })];
  }
  if (words.length === 0) return steps;
  const named = steps.filter((step) => words.includes(step.name));
  const parts = words.filter((word) => !steps.some((step) => step.name === word));
  const files = all.filter((file) => parts.some((part) => file.includes(part)));
  return [...named, ...testSteps(files, { complete: false })];
}

/** What stands above all tests, and what is compared with its source; generated files have their place here. */
const checks: readonly Step[] = [
  { name: "format", commands: { "deno fmt": [deno, "fmt", "--check"] } },
  { name: "lint", commands: { "deno lint": [deno, "lint"] } },
  {
    name: "types",
    commands: { "deno check": [deno, "check", "src", "scripts", "test", "kits/conformance"] },
  },
  {
    name: "generated",
    commands: {
      "the playground": [node, "scripts/build_playground.ts", "--check"],
      "the kits": [node, "scripts/build_kits.ts", "--check"],
      "the documents": [node, "scripts/build_docs.ts", "--check"],
    },
  },
];

function testFiles(): string[] {
  return readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".test.ts"))
    .map((path) => `test/${path}`)
    .sort();
}

function testSteps(
  files: readonly string[],
  { complete, smoke = false }: { readonly complete: boolean; readonly smoke?: boolean },
): Step[] {
  const within = (folder: string) => (file: string) => file.startsWith(`test/${folder}/`);
  const tidy = files.filter((file): boolean => file === "test/tidy.test.ts");
  const covered = files.filter((file) =>
    file === "test/pure.test.ts" || coveredFolders.some((folder) => within(folder)(file))
  );
  const faults = files.filter(within("faults"));
  const clients = files.filter(within("generated_clients"));
  const kits = files.filter(within("kits"));
  const rest = files.filter((file) => ![...tidy, ...covered, ...faults, ...clients, ...kits].includes(file));
  const suite = files.filter(within("suite")).filter((file) =>
    smoke ? denoSmoke.test(file) : !runtimeless.test(file)
  );
  const coverage = {
    // Coverage of cached code is less exact.
    env: () => ({ NODE_V8_COVERAGE: join(workFolder, "coverage"), NODE_DISABLE_COMPILE_CACHE: "1" }),
    then: coverageReport,
  };
  const steps: Step[] = [
    // The longest files first, so that none of them is left over in the end.
    { name: "kits", files: kits, database: true },
    { name: "clients", files: clients, database: true },
    // They mostly wait, and each has a PostgreSQL or memory to measure: one at a time, beside the others.
    { name: "faults", files: faults, database: true, line: "faults" },
    {
      name: "deno",
      files: suite,
      database: true,
      env: () => ({ SUITE_RUNTIME: "deno" }),
    },
    { name: "node", files: rest, database: true },
    { name: complete ? "coverage" : "tests", files: covered, database: true, ...complete ? coverage : {} },
    { name: "tidy", files: tidy },
  ];
  return steps.filter((step) => step.files?.length !== 0);
}

// An older Node, or another way to run it, reports 100 % for code that never ran.
function coverageReport(): [string, ...string[]] {
  return [
    node,
    "node_modules/c8/bin/c8.js",
    "report",
    "--all",
    "--src=src",
    ...coveredFolders.map((folder) => `--include=src/${folder}/**/*.ts`),
    "--reporter=text",
    `--temp-directory=${join(workFolder, "coverage")}`,
    "--check-coverage",
    "--lines=100",
    "--branches=100",
  ];
}

async function runStep(
  { name, commands = {}, files = [], database, env, line, then }: Step,
): Promise<Result[]> {
  const common = { cwd: root, ...line === undefined ? {} : { line } };
  const databaseEnv = database && files.length > 0 ? { TEST_POSTGRES_URL: (await sharedServer()).url } : {};
  const results = await Promise.all([
    ...Object.entries(commands).map(([what, [command, ...args]]) =>
      runCommand(`${name}: ${what}`, { ...common, command, args })
    ),
    ...files.map((file) => runFile(file, { ...common, env: { ...env?.(), ...databaseEnv } })),
  ]);
  if (then === undefined || results.some(({ fault }) => fault !== undefined)) return results;
  const [command, ...args] = then();
  return [...results, await runCommand(name, { ...common, command, args })];
}

async function runCommand(name: string, job: Job): Promise<Result> {
  const { fault, output, durationMs } = await jobs.run(job);
  const result = { name, fault, durationMs, output };
  tell(result);
  return result;
}

/** Runs a test file by itself: what `node --test` would do for it, but that does not end a file that hangs. */
async function runFile(file: string, job: Omit<Job, "command" | "args">): Promise<Result> {
  // The same file may run for two steps.
  const outcomes = join(mkdtempSync(join(workFolder, "file-")), "outcomes");
  const read = () =>
    statSync(outcomes, { throwIfNoEntry: false }) === undefined ? "" : readFileSync(outcomes, "utf8");
  const { fault, output, durationMs } = await jobs.run({
    ...job,
    command: node,
    args: ["--test-reporter=./scripts/test_reporter.ts", "--test-reporter-destination=stdout", file],
    // A third of the processor time of all tests went into compiling the same modules in each of their processes.
    env: {
      NODE_COMPILE_CACHE: join(workFolder, "compiled"),
      [leftOutVariable]: missing.flatMap(({ tests }) => tests).join("\n"),
      ...job.env,
      TEST_OUTCOMES: outcomes,
    },
    progress: () => statSync(outcomes, { throwIfNoEntry: false })?.size,
  });
  const text = read();
  const counts = countOutcomes(text);
  const failed = counts.failed + counts.cancelled;
  const unfinished = unfinishedTest(text);
  const found = [
    ...fault === undefined || fault === "exit code 1" && failed > 0 ? [] : [fault],
    ...unfinished === undefined ? [] : [`unfinished: ${unfinished}`],
    // A hook after all tests that fails leaves Node's exit code at 0.
    ...failed > 0 ? [`${failed} failed`] : [],
    // An older Node finds no tests in TypeScript and is content with that.
    ...counts.tests === 0 ? ["no test ran"] : [],
  ].join(", ");
  const result = { name: file, fault: found === "" ? undefined : found, durationMs, output, counts };
  tell(result);
  return result;
}

/** Of what passed only what it wants to be known, unless files were asked for by name. */
function tell({ name, fault, durationMs, output, counts }: Result): void {
  if (stopping) return;
  const tests = counts === undefined ? "" : `  ${counts.tests} tests`;
  console.log(
    `${fault === undefined ? "✔" : "✖"} ${name}  ${seconds(durationMs)}${tests}  ${fault ?? ""}`.trimEnd(),
  );
  const shown = fault !== undefined || verbose || counts === undefined
    ? output
    : output.split("\n").filter((line) => /^\s*ℹ /.test(line)).join("\n");
  if (shown.trim() !== "") console.log(shown.trimEnd().replaceAll(/^/gm, "  "));
}

function sharedServer(): Promise<EmbeddedPostgres> {
  return server ??= startPostgres({ settings: { max_connections: 300 } });
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;

function report(results: readonly (readonly [Step, readonly Result[]])[], durationMs: number): void {
  console.log("\nSteps, and the time of their commands and files together:");
  for (const [{ name }, all] of results) {
    const faults = all.filter(({ fault }) => fault !== undefined);
    const { tests } = sumCounts(all.flatMap(({ counts }) => counts ?? []));
    const took = seconds(all.reduce((sum, result) => sum + result.durationMs, 0));
    console.log(
      [
        `${faults.length === 0 ? "✔" : "✖"} ${name.padEnd(10)} ${took.padStart(8)}`,
        (tests === 0 ? "" : `${tests} tests`).padStart(11),
        faults.map(({ name, fault }) => `${name}: ${fault}`).join("; "),
      ].join("  ").trimEnd(),
    );
  }
  const files = results.flatMap(([, all]) => all).filter(({ counts }) => counts !== undefined);
  console.log("\nThe slowest files:");
  for (
    const { name, durationMs } of files.toSorted((a, b) => b.durationMs - a.durationMs).slice(0, slowestMax)
  ) {
    console.log(`${seconds(durationMs).padStart(8)}  ${name}`);
  }
  reportLeftOut();
  reportFailures(results.flatMap(([, all]) => all));
  const counts = sumCounts(files.map(({ counts }) => counts as TestCounts));
  // The words of Node's own summary, over all steps.
  console.log(`\nℹ files ${files.length}`);
  for (const [name, count] of Object.entries(counts)) {
    console.log(`ℹ ${{ passed: "pass", failed: "fail" }[name] ?? name} ${count}`);
  }
  console.log(`ℹ duration_ms ${Math.round(durationMs)}`);
}

/** Once more at the end, where they are looked for. */
function reportFailures(results: readonly Result[]): void {
  for (const { name, fault, output } of results) {
    if (fault === undefined) continue;
    const lines = output.trimEnd().split("\n");
    const at = lines.indexOf("✖ failing tests:");
    console.log(`\n✖ ${name}: ${fault}`);
    console.log(lines.slice(at < 0 ? -failureLinesMax : at).slice(0, failureLinesMax).join("\n"));
  }
}

function reportLeftOut(): void {
  if (missing.length === 0) return;
  console.log("\nLeft out, because this machine lacks what they need:");
  for (const need of missing) {
    const { name, packages, hint, tests } = need;
    const remedy = packages.length > 0 ? `apt-get install ${packages.join(" ")}` : hint;
    const fault = mustHave([need]).length > 0 ? "✖ " : "  ";
    console.log(`${fault}${name} (${remedy})\n      ${tests.join(", ")}`);
  }
}

/** The first signal ends what runs in order; a second one, or ten seconds, at once. */
function onSignal(): void {
  stopping = true;
  jobs.stop();
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, onSignal);
process.exitCode = await main(process.argv.slice(2));
