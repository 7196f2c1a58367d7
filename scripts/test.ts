/**
 * `npm test`: formatting, lint, types, generated files, then the core tests on its own PostgreSQL. `npm test -- --all`
 * runs all tests, `npm test -- lead` the test files with `lead` in their path, `npm test -- lint types` the named
 * steps (format, lint, types, generated, tidy, coverage, node, faults, soak, clients, kits, deno). All jobs run,
 * in parallel, even if one fails; the summary repeats failures and lists the slowest files and the tests skipped for lack
 * of a tool. `npm test -- --packages` prints the Debian packages that `--all` needs and this machine lacks.
 *
 * `node --test` alone would not share a PostgreSQL, stop stray processes, or end a file that hangs.
 */

import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type EmbeddedPostgres, startPostgres } from "./embedded_postgres.ts";
import { signalProcess } from "./processes.ts";
import { denoSmoke, isCore, missingNeeds, skippedTestsVariable } from "./test_plan.ts";
import { startWatchdog, stopGroupScript } from "./watchdog.ts";

const root = fileURLToPath(new URL("../", import.meta.url));
// Tests run on Node, even if this script runs on Deno.
const node = process.versions.deno === undefined ? process.execPath : join(root, "node_modules/.bin/node");
const deno = join(root, "node_modules/.bin/deno");
const workFolder = mkdtempSync(join(tmpdir(), "lead-intake-run-"));
const coverage = join(workFolder, "coverage");

/** The folders that need full line and branch coverage. */
const coveredFolders = ["lead", "contract", "limiter"];
/** How long a command may print nothing before it is killed; enough for a machine that is ten times slower. */
const silentMsMax = 10 * 60_000;
/** The time between SIGTERM and SIGKILL for a process group. */
const graceMs = 10_000;
const slowestMax = 10;
/** The maximum number of lines of output per failure in the summary. */
const failureLinesMax = 60;
// Tests spend half of their time waiting, so two more jobs than processors keep the machine busy.
const jobsMax = Math.max(2, availableParallelism()) + 2;

/** A job that runs a command or, without one, a test file. */
interface Job {
  readonly step: string;
  readonly name: string;
  readonly command?: readonly string[];
}

interface Result {
  readonly name: string;
  readonly fault: string | undefined;
  readonly durationMs: number;
  readonly output: string;
  /** The number of tests in a file. */
  readonly tests?: number;
}

const checks: readonly Job[] = [
  { step: "format", name: "deno fmt", command: [deno, "fmt", "--check"] },
  { step: "lint", name: "deno lint", command: [deno, "lint"] },
  {
    step: "types",
    name: "deno check",
    command: [deno, "check", "src", "scripts", "test", "kits/conformance"],
  },
  ...["build_playground", "build_kits", "build_docs"].map((name) => (
    { step: "generated", name, command: [node, `scripts/${name}.ts`, "--check"] }
  )),
];

const coverageReport: Job = {
  step: "coverage",
  name: "coverage",
  command: [
    node,
    "node_modules/c8/bin/c8.js",
    "report",
    "--all",
    "--src=src",
    "--reporter=text",
    `--temp-directory=${coverage}`,
    "--check-coverage",
    "--lines=100",
    "--branches=100",
    ...coveredFolders.map((folder) => `--include=src/${folder}/**/*.ts`),
  ],
};

const testFiles = readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".test.ts")).map((path) => `test/${path}`).sort();

/** The test files for each step. The slowest steps are first, so that none runs alone at the end. */
const filePatterns: Readonly<Record<string, RegExp>> = {
  soak: /^test\/soak\//,
  kits: /^test\/kits\//,
  clients: /^test\/generated_clients\//,
  faults: /^test\/faults\//,
  // The programs in the documents are not repeated on Deno, because the server's runtime does not affect them.
  deno: /^test\/suite\/(?!docs_snippets|forms_docs)/,
  node: /^test\/(?!kits|generated_clients|faults|soak|contract|lead|limiter|pure|tidy)/,
  coverage: /^test\/(contract|lead|limiter|pure)/,
  tidy: /^test\/tidy/,
};
const fileJobs: readonly Job[] = Object.entries(filePatterns).flatMap(([step, files]) =>
  testFiles.filter((file) => files.test(file)).map((name) => ({ step, name }))
);
const jobs = [...checks, ...fileJobs];

function chooseJobs(args: readonly string[]): Job[] {
  const words = args.filter((argument) => argument !== "--all");
  if (words.length > 0) {
    const parts = words.filter((word) => !jobs.some(({ step }) => step === word));
    const isNamed = (name: string) => parts.some((part) => name.includes(part));
    return jobs.filter(({ step, name, command }) =>
      words.includes(step) || command === undefined && isNamed(name)
    );
  }
  if (args.length > 0) return jobs;
  return jobs.filter(({ step, name, command }) =>
    command !== undefined || (step === "deno" ? denoSmoke.test(name) : isCore(name))
  );
}

const groups = new Set<number>();
let server: Promise<EmbeddedPostgres> | undefined;
let isStopping = false;

async function main(args: readonly string[]): Promise<number> {
  const startMs = performance.now();
  if (args.includes("--packages")) {
    const missingPackages = (await missingNeeds()).flatMap(({ packages }) => packages?.split(" ") ?? []);
    console.log([...new Set(missingPackages)].join(" "));
    return 0;
  }
  const selected = chooseJobs(args);
  if (selected.length === 0) {
    console.error(`There is no step or test file ${args.join(" or ")}.`);
    return 2;
  }
  // A test file itself skips the part that a need names after a colon.
  const isSelected = (part: string) => selected.some(({ name }) => name.startsWith(part.replace(/:.*/, "")));
  const missing = (await missingNeeds(({ tests }) => tests.some(isSelected)))
    .map((need) => ({ ...need, tests: need.tests.filter(isSelected) }));
  const skippedTests = missing.flatMap(({ tests }) => tests);
  const measuresCoverage = args.includes("coverage") || args.length === 1 && args[0] === "--all";
  const isVerbose = args.some((argument) => argument !== "--all");
  // Fault tests run one at a time, in parallel with the others.
  const [limited, serial] = [limitConcurrency(jobsMax), limitConcurrency(1)];
  const run = async (job: Job) => {
    const measured = measuresCoverage && job.step === "coverage";
    const env = {
      [skippedTestsVariable]: skippedTests.join("\n"),
      ...job.step === "deno" ? { SUITE_RUNTIME: "deno" } : {},
      // Coverage of cached code is less precise.
      ...measured ? { NODE_V8_COVERAGE: coverage, NODE_DISABLE_COMPILE_CACHE: "1" } : {},
    };
    return printResult(
      await (job.command === undefined ? runFile(job.name, env) : runCommand(job, {})),
      isVerbose,
    );
  };
  const results = await Promise.all(
    selected.filter(({ name }) => !skippedTests.some((path) => name.startsWith(path)))
      .map((job) => (job.step === "faults" ? serial : limited)(() => run(job))),
  );
  if (measuresCoverage) results.push(await run(coverageReport));
  if (isStopping) return 130;
  printSummary(results);
  // In CI, `.ci/run` has installed all packages, so a missing one is an error.
  const unmet = process.env.CI === "true" ? missing.filter(({ packages }) => packages !== undefined) : [];
  if (missing.length > 0) console.log("\nSkipped, because this machine lacks these tools:");
  for (const need of missing) {
    const remedy = need.hint ?? `apt-get install ${need.packages}`;
    console.log(`${unmet.includes(need) ? "✖ " : "  "}${need.name} (${remedy})`);
    console.log(`      ${need.tests.join(", ")}`);
  }
  console.log(`It took ${seconds(performance.now() - startMs)}.`);
  return unmet.length > 0 || results.some(({ fault }) => fault !== undefined) ? 1 : 0;
}

/** Returns a function that runs jobs in order, at most `slots` at a time. */
function limitConcurrency(slots: number) {
  const waiting: (() => void)[] = [];
  return async <Value>(job: () => Promise<Value>): Promise<Value> => {
    if (slots > 0) slots -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await job();
    } finally {
      const next = waiting.shift();
      if (next === undefined) slots += 1;
      else next();
    }
  };
}

async function runFile(name: string, env: Readonly<Record<string, string>>): Promise<Result> {
  server ??= startPostgres({ settings: { max_connections: 300 } });
  const command = [node, "--test-reporter=spec", "--test-reporter-destination=stdout", name];
  const result = await runCommand({ name, command }, {
    // Without the cache, compilation took a third of all processor time.
    NODE_COMPILE_CACHE: join(workFolder, "compiled"),
    TEST_POSTGRES_URL: (await server).url,
    ...env,
  });
  const tests = Number(/^ℹ tests (\d+)$/m.exec(result.output)?.[1] ?? 0);
  // A failing after hook leaves Node's exit code at 0.
  const hasFailed = result.output.includes("✖ failing tests:");
  // An older Node finds no tests in TypeScript files and exits with status 0.
  const fault = result.fault ?? (hasFailed ? "a hook failed" : tests === 0 ? "no test ran" : undefined);
  return { ...result, fault, tests };
}

/** Runs a command as the leader of a process group, and kills the group's remaining processes afterward. */
async function runCommand({ name, command = [] }: Omit<Job, "step">, env: object): Promise<Result> {
  const startMs = performance.now();
  if (isStopping) return { name, fault: "stopped", output: "", durationMs: 0 };
  const child = spawn(command[0] ?? "", command.slice(1), {
    cwd: root,
    detached: true,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  let progressMs = startMs;
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      progressMs = performance.now();
    });
  }
  const group = child.pid ?? 0;
  const closed = new Promise((resolve) => child.once("close", resolve));
  const exited = new Promise<string | undefined>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("exit", (code, signal) => resolve(code === 0 ? undefined : signal ?? `exit code ${code}`));
  });
  let timeoutFault: string | undefined;
  const timer = setInterval(() => {
    const silentMs = performance.now() - progressMs;
    if (silentMs < silentMsMax) return;
    signalProcess(-group, silentMs < silentMsMax + graceMs ? "SIGTERM" : "SIGKILL");
    timeoutFault = `killed after ${Math.round(silentMsMax / 1000)} s without progress`;
  }, Math.min(1_000, silentMsMax / 4));
  groups.add(group);
  const watchdog = startWatchdog(stopGroupScript, { args: [String(group)] });
  const fault = await exited;
  clearInterval(timer);
  // The group keeps its id after the leader has exited.
  signalProcess(-group, "SIGKILL");
  watchdog.dismiss();
  groups.delete(group);
  // A process in another session may keep the output open.
  await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, 1_000).unref())]);
  return { name, fault: timeoutFault ?? fault, output, durationMs: performance.now() - startMs };
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;

/** Prints a result. If a test file passed, prints only its diagnostics, unless the user named steps or files. */
function printResult(result: Result, isVerbose: boolean): Result {
  const { name, fault, durationMs, output, tests } = result;
  if (isStopping) return result;
  const mark = fault === undefined ? "✔" : "✖";
  console.log([mark, name, seconds(durationMs), tests ?? "", fault ?? ""].join("  ").trimEnd());
  const showsAll = fault !== undefined || isVerbose || tests === undefined;
  const lines = output.trimEnd().split("\n").filter((line) => showsAll ? line !== "" : /^\s+ℹ /.test(line));
  if (lines.length > 0) console.log(lines.map((line) => `  ${line}`).join("\n"));
  return result;
}

function printSummary(results: readonly Result[]): void {
  console.log("\nSlowest:");
  for (
    const { name, durationMs } of results.toSorted((a, b) => b.durationMs - a.durationMs).slice(0, slowestMax)
  ) {
    console.log(`${seconds(durationMs).padStart(8)}  ${name}`);
  }
  const failed = results.filter(({ fault }) => fault !== undefined);
  for (const { name, fault, output } of failed) {
    const lines = output.trimEnd().split("\n");
    const at = lines.indexOf("✖ failing tests:");
    console.log(`\n✖ ${name}: ${fault}`);
    console.log(lines.slice(at < 0 ? -failureLinesMax : at).slice(0, failureLinesMax).join("\n"));
  }
  const tests = results.reduce((total, { tests = 0 }) => total + tests, 0);
  console.log(`\n${results.length - failed.length} passed with ${tests} tests, ${failed.length} failed.`);
}

/** Sends SIGTERM to the jobs on the first signal, and SIGKILL on the second or after ten seconds. */
function onSignal(): void {
  for (const group of groups) signalProcess(-group, isStopping ? "SIGKILL" : "SIGTERM");
  if (!isStopping) setTimeout(onSignal, graceMs).unref();
  isStopping = true;
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, onSignal);
try {
  process.exitCode = await main(process.argv.slice(2));
} finally {
  await (await server)?.stop();
  rmSync(workFolder, { recursive: true, force: true });
}
