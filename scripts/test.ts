/**
 * `npm test`: formatting, lint, types, generated files, then the core of the tests on a PostgreSQL that it starts itself.
 *
 * `npm test -- --all` runs all tests. `npm test -- lead` runs the test files that have `lead` in their path and shows every
 * test, `npm test -- lint types` the steps of these names (format, lint, types, generated, tidy, coverage, node, faults,
 * clients, kits, deno). All steps run even when one fails, side by side; the tables at the end show which did, which files
 * took longest, and what was left out because a tool is missing. `npm test -- --packages` prints the Debian packages that
 * `--all` needs and this machine lacks.
 *
 * `node --test` alone would share no PostgreSQL, leave processes that a test has started, and wait for a file that hangs.
 *
 * @module
 */

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type EmbeddedPostgres, startPostgres } from "./embedded_postgres.ts";
import { signalProcess } from "./processes.ts";
import { denoSmoke, isCore, leftOutVariable, missingNeeds, type Need, runtimeless } from "./test_plan.ts";
import { endGroup, postWatchdog } from "./watchdog.ts";

const root = fileURLToPath(new URL("../", import.meta.url));
// The tests are Node's, also when this script runs on Deno.
const node = process.versions.deno === undefined ? process.execPath : join(root, "node_modules/.bin/node");
const deno = join(root, "node_modules/.bin/deno");

/** The folders whose lines and branches are covered in full. */
const coveredFolders = ["lead", "contract", "limiter"];
/** A command that prints nothing for longer hangs: minutes on a machine ten times slower than ours. */
const stillMsMax = Number(process.env.TEST_MS_MAX ?? 10 * 60_000);
/** Between the signal that asks a process group to end and the one that ends it. */
const graceMs = 10_000;
/** Of the list of the slowest files. */
const slowestMax = 10;
/** Of a failure's output, at the end. */
const failureLinesMax = 60;
// Half of the time a test waits for a process of its own: two more than there are processors keep them busy.
const jobsMax = Math.max(2, availableParallelism()) + 2;

type Command = readonly [command: string, ...args: string[]];

/** One line of the table at the end. */
interface Step {
  readonly name: string;
  /** Commands, by what they are called in the output. */
  readonly commands?: Readonly<Record<string, Command>>;
  readonly files?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** One file at a time, beside the other steps. */
  readonly alone?: boolean;
  /** A command when all others have passed. */
  readonly then?: Command;
}

/** What came of a command or a test file. */
interface Result {
  readonly name: string;
  readonly fault: string | undefined;
  readonly durationMs: number;
  readonly output: string;
  readonly counts?: Readonly<Record<string, number>>;
}

const workFolder = mkdtempSync(join(tmpdir(), "lead-intake-run-"));
const groups = new Set<number>();
let server: Promise<EmbeddedPostgres> | undefined;
let stopping = false;

async function main(args: readonly string[]): Promise<number> {
  const startMs = performance.now();
  if (args.includes("--packages")) {
    const lacking = await missingNeeds();
    console.log([...new Set(lacking.flatMap(({ packages }) => packages))].join(" "));
    return 0;
  }
  const chosen = chooseSteps(args);
  if (chosen.length === 0) {
    console.error(`No step and no test file is called ${args.join(" or ")}.`);
    return 2;
  }
  const files = chosen.flatMap((step) => step.files ?? []);
  // The part behind the colon is the file's own affair.
  const isChosen = (name: string) => files.some((file) => file.startsWith(name.replace(/:.*/, "")));
  const missing = (await missingNeeds(({ tests }) => tests.some(isChosen)))
    .map((need) => ({ ...need, tests: need.tests.filter(isChosen) }));
  const leftOut = missing.flatMap(({ tests }) => tests);
  const isRun = (file: string) => !leftOut.some((name) => file.startsWith(name));
  const verbose = args.some((argument) => argument !== "--all");
  const results = await Promise.all(chosen.map(async (step) => {
    const env = { ...step.env, [leftOutVariable]: leftOut.join("\n") };
    const ran = await runStep({ ...step, env, files: step.files?.filter(isRun) ?? [] }, verbose);
    return [step.name, ran] as const;
  }));
  if (stopping) return 130;
  // In CI, `.ci/run` has installed what has a package.
  const unmet = process.env.CI === "true" ? missing.filter(({ packages }) => packages.length > 0) : [];
  report(results, { missing, unmet, durationMs: performance.now() - startMs });
  return unmet.length > 0 || results.some(([, all]) => all.some(({ fault }) => fault !== undefined)) ? 1 : 0;
}

function chooseSteps(args: readonly string[]): Step[] {
  const words = args.filter((argument) => argument !== "--all");
  const all = readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".test.ts")).map((path) => `test/${path}`).sort();
  const steps = [...checks, ...testSteps(all, { complete: true })];
  if (args.length === 0) return [...checks, ...testSteps(all.filter(isCore), { smoke: true })];
  if (words.length === 0) return steps;
  const named = steps.filter((step) => words.includes(step.name));
  const parts = words.filter((word) => !steps.some((step) => step.name === word));
  return [...named, ...testSteps(all.filter((file) => parts.some((part) => file.includes(part))), {})];
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

function testSteps(
  files: readonly string[],
  { complete = false, smoke = false }: { readonly complete?: boolean; readonly smoke?: boolean },
): Step[] {
  const within = (folder: string) => files.filter((file) => file.startsWith(`test/${folder}/`));
  const tidy = files.filter((file) => file === "test/tidy.test.ts");
  const covered = [
    ...files.filter((file) => file === "test/pure.test.ts"),
    ...coveredFolders.flatMap(within),
  ];
  const [faults, clients, kits] = [within("faults"), within("generated_clients"), within("kits")];
  const apart = [...tidy, ...covered, ...faults, ...clients, ...kits];
  const onDeno = (file: string) => smoke ? denoSmoke.test(file) : !runtimeless.test(file);
  const coverage = join(workFolder, "coverage");
  const steps: Step[] = [
    // The longest files first, so that none of them is left over in the end.
    { name: "kits", files: kits },
    { name: "clients", files: clients },
    // They mostly wait, and each has a PostgreSQL or memory to measure.
    { name: "faults", files: faults, alone: true },
    { name: "deno", files: within("suite").filter(onDeno), env: { SUITE_RUNTIME: "deno" } },
    { name: "node", files: files.filter((file) => !apart.includes(file)) },
    complete
      ? {
        name: "coverage",
        files: covered,
        // Coverage of cached code is less exact.
        env: { NODE_V8_COVERAGE: coverage, NODE_DISABLE_COMPILE_CACHE: "1" },
        then: [
          ...[node, "node_modules/c8/bin/c8.js", "report", "--all", "--src=src", "--reporter=text"] as const,
          ...[`--temp-directory=${coverage}`, "--check-coverage", "--lines=100", "--branches=100"],
          ...coveredFolders.map((folder) => `--include=src/${folder}/**/*.ts`),
        ],
      }
      : { name: "tests", files: covered },
    { name: "tidy", files: tidy },
  ];
  return steps.filter((step) => step.files?.length !== 0);
}

async function runStep(
  { name, commands = {}, files = [], env, alone, then }: Step,
  verbose: boolean,
): Promise<Result[]> {
  const room = alone ? makeRoom(1) : commonRoom;
  const command = (what: string, command: Command) => room(() => run(what, command, {}));
  const results = await Promise.all([
    ...Object.entries(commands).map(([what, line]) => command(`${name}: ${what}`, line)),
    ...files.map((file) => room(() => runFile(file, env ?? {}))),
  ].map(async (ended) => show(await ended, verbose)));
  if (then === undefined || results.some(({ fault }) => fault !== undefined)) return results;
  return [...results, show(await command(name, then), verbose)];
}

type Room = <Value>(job: () => Promise<Value>) => Promise<Value>;

/** Lets so many jobs run at once, in the order in which they come. */
function makeRoom(places: number): Room {
  const waiting: (() => void)[] = [];
  return async (job) => {
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
const commonRoom = makeRoom(jobsMax);

async function runFile(file: string, env: Readonly<Record<string, string>>): Promise<Result> {
  server ??= startPostgres({ settings: { max_connections: 300 } });
  const ran = await run(file, [
    node,
    "--test-reporter=spec",
    "--test-reporter-destination=stdout",
    file,
  ], {
    // A third of the processor time of all tests went into compiling the same modules in each of their processes.
    NODE_COMPILE_CACHE: join(workFolder, "compiled"),
    TEST_POSTGRES_URL: (await server).url,
    ...env,
  });
  // Node's sums of a file are added up for the end.
  const sum = /^ℹ (tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) ([\d.]+)\n/gm;
  const counts = Object.fromEntries(
    [...ran.output.matchAll(sum)].map(([, name = "", count]) => [name, Number(count)]),
  );
  const failed = (counts.fail ?? 0) + (counts.cancelled ?? 0);
  const faults = [
    ...ran.fault === undefined || ran.fault === "exit code 1" && failed > 0 ? [] : [ran.fault],
    ...failed > 0 ? [`${failed} failed`] : [],
    // A hook after all tests that fails leaves Node's exit code at 0.
    ...failed === 0 && ran.output.includes("✖ failing tests:") ? ["a hook failed"] : [],
    // An older Node finds no tests in TypeScript and is content with that.
    ...counts.tests ? [] : ["no test ran"],
  ];
  const fault = faults.length === 0 ? undefined : faults.join(", ");
  return { ...ran, output: ran.output.replaceAll(sum, ""), fault, counts };
}

/** Runs a command as the leader of a process group, which ends with it: a hanging test, and all that it has left. */
async function run(name: string, [command, ...args]: Command, env: object): Promise<Result> {
  const startMs = performance.now();
  if (stopping) return { name, fault: "stopped", output: "", durationMs: 0 };
  const child = spawn(command, args, {
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
  let hung: string | undefined;
  const timer = setInterval(() => {
    const stillMs = performance.now() - progressMs;
    if (stillMs < stillMsMax) return;
    signalProcess(-(child.pid ?? 0), stillMs < stillMsMax + graceMs ? "SIGTERM" : "SIGKILL");
    hung = `ended after ${Math.round(stillMsMax / 1000)} s without any progress`;
  }, Math.min(1_000, stillMsMax / 4));
  const fault = await untilEnded(child);
  clearInterval(timer);
  return { name, fault: hung ?? fault, output, durationMs: performance.now() - startMs };
}

async function untilEnded(child: ChildProcess): Promise<string | undefined> {
  const closed = new Promise((settle) => child.once("close", settle));
  const exited = new Promise<string | undefined>((settle) => {
    child.once("error", (error) => settle(error.message));
    child.once("exit", (code, signal) => settle(code === 0 ? undefined : signal ?? `exit code ${code}`));
  });
  const group = child.pid;
  if (group === undefined) return await exited;
  groups.add(group);
  const watchdog = postWatchdog(endGroup, { args: [String(group)] });
  const fault = await exited;
  // A group whose leader has ended still has its number.
  signalProcess(-group, "SIGKILL");
  watchdog.dismiss();
  groups.delete(group);
  // A process in a session of its own may hold the output open.
  await Promise.race([closed, new Promise((settle) => setTimeout(settle, 1_000).unref())]);
  return fault;
}

/** Prints a result. Of a file that passed only its notes, unless files were asked for by name. */
function show(result: Result, verbose: boolean): Result {
  const { name, fault, durationMs, output, counts } = result;
  if (stopping) return result;
  const tests = counts === undefined ? "" : `  ${counts.tests ?? 0} tests`;
  console.log(`${mark(fault)} ${name}  ${seconds(durationMs)}${tests}  ${fault ?? ""}`.trimEnd());
  const shown = fault !== undefined || verbose || counts === undefined
    ? output
    : output.split("\n").filter((line) => /^\s*ℹ /.test(line)).join("\n");
  if (shown.trim() !== "") console.log(shown.trimEnd().replaceAll(/^/gm, "  "));
  return result;
}

const mark = (fault: unknown) => fault === undefined ? "✔" : "✖";
const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;

interface Ends {
  readonly missing: readonly Need[];
  readonly unmet: readonly Need[];
  readonly durationMs: number;
}

function report(steps: readonly (readonly [string, readonly Result[]])[], ends: Ends): void {
  const sum = (all: readonly Result[], name: string) =>
    all.reduce((total, { counts }) => total + (counts?.[name] ?? 0), 0);
  console.log("\nSteps, and the time of their commands and files together:");
  for (const [step, all] of steps) {
    const faults = all.filter(({ fault }) => fault !== undefined);
    const took = seconds(all.reduce((total, { durationMs }) => total + durationMs, 0));
    const tests = sum(all, "tests");
    console.log(
      [
        `${mark(faults[0])} ${step.padEnd(10)} ${took.padStart(8)}`,
        (tests === 0 ? "" : `${tests} tests`).padStart(11),
        faults.map(({ name, fault }) => `${name}: ${fault}`).join("; "),
      ].join("  ").trimEnd(),
    );
  }
  const results = steps.flatMap(([, all]) => all);
  const files = results.filter(({ counts }) => counts !== undefined)
    .toSorted((a, b) => b.durationMs - a.durationMs);
  console.log("\nThe slowest files:");
  for (const { name, durationMs } of files.slice(0, slowestMax)) {
    console.log(`${seconds(durationMs).padStart(8)}  ${name}`);
  }
  if (ends.missing.length > 0) console.log("\nLeft out, because this machine lacks what they need:");
  for (const need of ends.missing) {
    const remedy = need.packages.length > 0 ? `apt-get install ${need.packages.join(" ")}` : need.hint;
    console.log(`${ends.unmet.includes(need) ? "✖ " : "  "}${need.name} (${remedy})`);
    console.log(`      ${need.tests.join(", ")}`);
  }
  // Once more at the end, where they are looked for.
  for (const { name, fault, output } of results.filter(({ fault }) => fault !== undefined)) {
    const lines = output.trimEnd().split("\n");
    const at = lines.indexOf("✖ failing tests:");
    console.log(`\n✖ ${name}: ${fault}`);
    console.log(lines.slice(at < 0 ? -failureLinesMax : at).slice(0, failureLinesMax).join("\n"));
  }
  console.log(`\nℹ files ${files.length}`);
  for (const name of ["tests", "suites", "pass", "fail", "cancelled", "skipped", "todo"]) {
    console.log(`ℹ ${name} ${sum(files, name)}`);
  }
  console.log(`ℹ duration_ms ${Math.round(ends.durationMs)}`);
}

/** The first signal ends what runs in order; a second one, or ten seconds, at once. */
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
