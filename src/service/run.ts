/**
 * What the service process and the actions process have in common: one readable message when they cannot start,
 * a stop in good order on SIGTERM or SIGINT, and an end when nobody caught a fault.
 *
 * @module
 */

import process from "node:process";
import { BufferedLines, createLog, type Log, stackFrames } from "../observe/log.ts";
import { ConfigError, type Environment } from "../settings/reader.ts";
import { readSecretFiles } from "../settings/secret_files.ts";
import { DatabaseRefused } from "../store/schema/check.ts";
import { certainStoreFailure, failureSentence } from "../store/failure.ts";
import { describeError } from "../store/pool.ts";

/** What is run. */
export interface Program {
  /** Starts and resolves when requests are accepted. */
  readonly start: (log: Log) => Promise<Running>;
  /** The settings that a message names when the database or the address cannot be had, and the role that it takes. */
  readonly settings: { readonly database: string; readonly listen: string; readonly group: string };
  /** What the settings were read from. */
  readonly environment: Environment;
}

/** What has been started. */
export interface Running {
  /** Stops accepting, lets what is under way finish for at most `graceMs`, and closes everything. */
  close(graceMs: number): Promise<void>;
}

// Source: DECISIONS, Operating it (exit).
const graceMs = 20_000;
// A receiver that does not read must not keep the process.
const logGraceMs = 1_000;

/** Runs a program until it is told to stop; sets the exit code: 2 for what the operator has to mend, 1 for the rest. */
export async function run(program: Program): Promise<void> {
  const lines = new BufferedLines(1);
  const log = createLog(lines, () => new Date());
  const exit = (code: number): never => {
    lines.flush();
    process.exit(code);
  };
  // A fault that nobody caught leaves the process in a state nobody knows: it ends, and systemd starts another.
  process.on("uncaughtException", (error) => {
    log.error("uncaught", { cause: describeError(error), name: error.name, stack: stackFrames(error) });
    exit(1);
  });
  let running: Running | null = null;
  onFirstSignal(async (signal) => {
    log.info("stopping", { signal });
    await running?.close(graceMs);
    log.info("stopped");
    await lines.drain(logGraceMs);
    exit(0);
  }, () => exit(1));
  try {
    running = await program.start(log);
    log.info("started");
  } catch (error) {
    const { message, exitCode } = explain(error, program);
    process.stderr.write(`${message}\n`);
    exit(exitCode);
  }
}

/** Calls `stop` on the first SIGTERM or SIGINT; whoever sends a second does not want to wait. */
function onFirstSignal(stop: (signal: string) => Promise<void>, stopAtOnce: () => void): void {
  let isStopping = false;
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => {
      if (isStopping) return stopAtOnce();
      isStopping = true;
      void stop(signal);
    });
  }
}

/** One readable message for the operator; a stack only for what nobody foresaw. */
function explain(error: unknown, program: Program): { message: string; exitCode: number } {
  const { settings, environment } = program;
  if (error instanceof ConfigError) return { message: error.message, exitCode: 2 };
  if (error instanceof DatabaseRefused) {
    const faults = error.message.replaceAll("\n", "\n  ");
    return { message: `The database cannot be used:\n  ${faults}`, exitCode: 2 };
  }
  const code = (error as { code?: unknown }).code;
  if (code === "EADDRINUSE" || code === "EADDRNOTAVAIL" || code === "EACCES") {
    const { address, port } = error as { address?: string; port?: number };
    const where = address === undefined ? "the address" : `${address}:${port}`;
    return {
      message: `Cannot listen on ${where} (${code}); choose another address with ${settings.listen}`,
      exitCode: 1,
    };
  }
  const failure = certainStoreFailure(error);
  if (failure !== null && failure.kind !== "other") {
    const { database: name, group } = settings;
    const databaseUrl = readSecretFiles(environment, [name]).secrets[name] ?? environment[name]?.trim() ?? "";
    const message = failureSentence(failure, { databaseUrl, name, group });
    return { message, exitCode: failure.kind === "not_permitted" ? 2 : 1 };
  }
  return { message: `Cannot start (${describeError(error)})\n${stackFrames(error)}`, exitCode: 1 };
}
