/**
 * `npm test`: formatting, lint, types, generated files, then the core tests on its own PostgreSQL. `npm test -- --all` runs
 * all tests, `npm test -- lead` the test files with `lead` in their path, `npm test -- lint types` these steps (format,
 * lint, types, generated, tidy, coverage, node, faults, clients, kits, deno). Jobs run in parallel and to the end; the
 * summary repeats failures and lists the slowest files and whatever a missing tool left out. `npm test -- --packages`
 * prints the Debian packages that `--all` needs and this machine lacks.
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
import { denoSmoke, isCore, leftOutVariable, missingNeeds } from "./test_plan.ts";
import { endGroup, postWatchdog } from "./watchdog.ts";

const root = fileURLToPath(new URL("../", import.meta.url));
// Tests run on Node, even if this script runs on Deno.
const node = process.versions.deno === undefined ? process.execPath : join(root, "node_modules/.bin/node");
const deno = join(root, "node_modules/.bin/deno");
const workFolder = mkdtempSync(join(tmpdir(), "lead-intake-run-"));
const coverage = join(workFolder, "coverage");

/** The folders that need full line and branch coverage. */
const coveredFolders = ["lead", "contract", "limiter"];
/** A command without output for this long hangs; generous enough for a machine ten times slower. */
const stillMsMax = Number(process.env.TEST_MS_MAX ?? 10 * 60_000);
/** Between SIGTERM and SIGKILL for a process group. */
const graceMs = 10_000;
const slowestMax = 10;
/** Lines of a failure's output in the summary. */
const failureLinesMax = 60;
// Tests wait half of the time; two jobs more than processors keep them busy.
const jobsMax = Math.max(2, availableParallelism()) + 2;

/** A command, or a test file if it has none. */
interface Job {
  readonly step: string;
  readonly name: string;
  readonly command?: readonly string[];
}

/** A job's result. */
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
  ...["playground", "kits", "docs"].map((made) => (
    { step: "generated", name: `build_${made}`, command: [node, `scripts/build_${made}.ts`, "--check"] }
  )),
];

const coverageReport: Job = {
  step: "coverage",
  name: "coverage",
  command: [
    ...[node, "node_modules/c8/bin/c8.js", "report", "--all", "--src=src", "--reporter=text"],
    ...[`--temp-directory=${coverage}`, "--check-coverage", "--lines=100", "--branches=100"],
    ...coveredFolders.map((folder) => `--include=src/${folder}/**/*.ts`),
  ],
};

const testFiles = readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".test.ts")).map((path) => `test/${path}`).sort();

/** Each step's files, longest first, so that none runs alone at the end. */
const filesOf: Readonly<Record<string, RegExp>> = {
  kits: /^test\/kits\//,
  clients: /^test\/generated_clients\//,
  faults: /^test\/faults\//,
  // The documents' programs do not depend on the server's runtime.
  deno: /^test\/suite\/(?!docs_snippets|forms_docs)/,
  node: /^test\/(?!kits|generated_clients|faults|contract|lead|limiter|pure|tidy)/,
  coverage: /^test\/(contract|lead|limiter|pure)/,
  tidy: /^test\/tidy/,
};
const fileJobs: readonly Job[] = Object.entries(filesOf).flatMap(([step, files]) =>
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
let stopping = false;

async function main(args: readonly string[]): Promise<number> {
  const startMs = performance.now();
  if (args.includes("--packages")) {
    const lacking = (await missingNeeds()).flatMap(({ packages }) => packages?.split(" ") ?? []);
    console.log([...new Set(lacking)].join(" "));
    return 0;
  }
  const chosen = chooseJobs(args);
  if (chosen.length === 0) {
    console.error(`No step and no test file is called ${args.join(" or ")}.`);
    return 2;
  }
  // The file itself handles the part after the colon.
  const concerns = (part: string) => chosen.some(({ name }) => name.startsWith(part.replace(/:.*/, "")));
  const missing = (await missingNeeds(({ tests }) => tests.some(concerns)))
    .map((need) => ({ ...need, tests: need.tests.filter(concerns) }));
  const leftOut = missing.flatMap(({ tests }) => tests);
  const isMeasured = args.includes("coverage") || args.length === 1 && args[0] === "--all";
  const isVerbose = args.some((argument) => argument !== "--all");
  // Fault tests mostly wait and measure: one at a time, beside the others.
  const [side, alone] = [makeRoom(jobsMax), makeRoom(1)];
  const run = async (job: Job) => {
    const measured = isMeasured && job.step === "coverage";
    const env = {
      [leftOutVariable]: leftOut.join("\n"),
      ...job.step === "deno" ? { SUITE_RUNTIME: "deno" } : {},
      // Coverage of cached code is less precise.
      ...measured ? { NODE_V8_COVERAGE: coverage, NODE_DISABLE_COMPILE_CACHE: "1" } : {},
    };
    return show(await (job.command === undefined ? runFile(job.name, env) : runCommand(job, {})), isVerbose);
  };
  const results = await Promise.all(
    chosen.filter(({ name }) => !leftOut.some((path) => name.startsWith(path)))
      .map((job) => (job.step === "faults" ? alone : side)(() => run(job))),
  );
  if (isMeasured) results.push(await run(coverageReport));
  if (stopping) return 130;
  report(results);
  // In CI, `.ci/run` has installed all packages, so a missing one is an error.
  const unmet = process.env.CI === "true" ? missing.filter(({ packages }) => packages !== undefined) : [];
  if (missing.length > 0) console.log("\nLeft out, because this machine lacks what they need:");
  for (const need of missing) {
    const remedy = need.hint ?? `apt-get install ${need.packages}`;
    console.log(`${unmet.includes(need) ? "✖ " : "  "}${need.name} (${remedy})`);
    console.log(`      ${need.tests.join(", ")}`);
  }
  console.log(`It took ${seconds(performance.now() - startMs)}.`);
  return unmet.length > 0 || results.some(({ fault }) => fault !== undefined) ? 1 : 0;
}

/** Limits concurrent jobs, in order. */
function makeRoom(places: number) {
  const waiting: (() => void)[] = [];
  return async <Value>(job: () => Promise<Value>): Promise<Value> => {
    if (places > 0) places -= 1;
    else await new Promise<void>((settle) => waiting.push(settle));
    try {
      return await job();
    } finally {
      const next = waiting.shift();
      if (next === undefined) places += 1;
      else next();
    }
  };
}

async function runFile(name: string, env: Readonly<Record<string, string>>): Promise<Result> {
  server ??= startPostgres({ settings: { max_connections: 300 } });
  const command = [node, "--test-reporter=spec", "--test-reporter-destination=stdout", name];
  const ran = await runCommand({ name, command }, {
    // Without the cache, compiling the same modules took a third of all processor time.
    NODE_COMPILE_CACHE: join(workFolder, "compiled"),
    TEST_POSTGRES_URL: (await server).url,
    ...env,
  });
  const tests = Number(/^ℹ tests (\d+)$/m.exec(ran.output)?.[1] ?? 0);
  // A failing after hook leaves Node's exit code at 0.
  const hasFailed = ran.output.includes("✖ failing tests:");
  // An older Node finds no tests in TypeScript and succeeds.
  const fault = ran.fault ?? (hasFailed ? "a hook failed" : tests === 0 ? "no test ran" : undefined);
  return { ...ran, fault, tests };
}

/** Runs a command as the leader of a process group and kills the group's remaining processes afterwards. */
async function runCommand({ name, command = [] }: Omit<Job, "step">, env: object): Promise<Result> {
  const startMs = performance.now();
  if (stopping) return { name, fault: "stopped", output: "", durationMs: 0 };
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
  const closed = new Promise((settle) => child.once("close", settle));
  const exited = new Promise<string | undefined>((settle) => {
    child.once("error", (error) => settle(error.message));
    child.once("exit", (code, signal) => settle(code === 0 ? undefined : signal ?? `exit code ${code}`));
  });
  let hung: string | undefined;
  const timer = setInterval(() => {
    const stillMs = performance.now() - progressMs;
    if (stillMs < stillMsMax) return;
    signalProcess(-group, stillMs < stillMsMax + graceMs ? "SIGTERM" : "SIGKILL");
    hung = `ended after ${Math.round(stillMsMax / 1000)} s without any progress`;
  }, Math.min(1_000, stillMsMax / 4));
  groups.add(group);
  const watchdog = postWatchdog(endGroup, { args: [String(group)] });
  const fault = await exited;
  clearInterval(timer);
  // The group keeps its id after the leader has exited.
  signalProcess(-group, "SIGKILL");
  watchdog.dismiss();
  groups.delete(group);
  // A process in another session may keep the output open.
  await Promise.race([closed, new Promise((settle) => setTimeout(settle, 1_000).unref())]);
  return { name, fault: hung ?? fault, output, durationMs: performance.now() - startMs };
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;

/** Prints a result; for a passed file only its diagnostics, unless files were named. */
function show(result: Result, isVerbose: boolean): Result {
  const { name, fault, durationMs, output, tests } = result;
  if (stopping) return result;
  const mark = fault === undefined ? "✔" : "✖";
  console.log([mark, name, seconds(durationMs), tests ?? "", fault ?? ""].join("  ").trimEnd());
  const isWhole = fault !== undefined || isVerbose || tests === undefined;
  const lines = output.trimEnd().split("\n").filter((line) => isWhole ? line !== "" : /^\s+ℹ /.test(line));
  if (lines.length > 0) console.log(lines.map((line) => `  ${line}`).join("\n"));
  return result;
}

function report(results: readonly Result[]): void {
  console.log("\nWhat took longest:");
  for (
    const { name, durationMs } of results.toSorted((a, b) => b.durationMs - a.durationMs).slice(0, slowestMax)
  ) {
    console.log(`${seconds(durationMs).padStart(8)}  ${name}`);
  }
  const failed = results.filter(({ fault }) => fault !== undefined);
  // Repeat failures at the end.
  for (const { name, fault, output } of failed) {
    const lines = output.trimEnd().split("\n");
    const at = lines.indexOf("✖ failing tests:");
    console.log(`\n✖ ${name}: ${fault}`);
    console.log(lines.slice(at < 0 ? -failureLinesMax : at).slice(0, failureLinesMax).join("\n"));
  }
  const tests = results.reduce((total, { tests = 0 }) => total + tests, 0);
  console.log(`\n${results.length - failed.length} passed with ${tests} tests, ${failed.length} failed.`);
}

/** The first signal stops jobs in order; a second one, or ten seconds, kills them. */
function onSignal(): void {
  for (const group of groups) signalProcess(-group, stopping ? "SIGKILL" : "SIGTERM");
  if (!stopping) setTimeout(onSignal, graceMs).unref();
  stopping = true;
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, onSignal);
try {
  process.exitCode = await main(process.argv.slice(2));
} finally {
  await (await server)?.stop();
  rmSync(workFolder, { recursive: true, force: true });
}
