/**
 * Runs the service or the actions process: reports a failed start in one message, shuts down on SIGTERM or SIGINT, and
 * exits on an uncaught exception.
 */

import process from "node:process";
import { BufferedLines, createLog, type Log, stackFrames } from "../observe/log.ts";
import { ConfigError, type Environment } from "../settings/reader.ts";
import { readSupervisor } from "../settings/supervisor.ts";
import { readSecretFiles } from "../settings/secret_files.ts";
import { DatabaseRefused } from "../store/schema/check.ts";
import { describeStoreFailure, unambiguousStoreFailure } from "../store/failure.ts";
import { describeError } from "../store/pool.ts";
import { isDriverTypeQuery } from "../store/unavailable.ts";
import { createSendNotice, type Health, Notifier, supervise } from "./supervise.ts";

export interface Program {
  /** Starts the program; resolves when it accepts requests. */
  readonly start: (log: Log) => Promise<Running>;
  /** The settings and the database role that error messages name. */
  readonly settings: { readonly database: string; readonly listen: string; readonly group: string };
  /** The environment that the settings are read from. */
  readonly environment: Environment;
}

export interface Running {
  health(): Health;
  /** Stops accepting requests, waits at most `graceMs` for requests in flight, and closes everything. */
  close(graceMs: number): Promise<void>;
}

// Source: DECISIONS, Operating it (exit).
const graceMs = 20_000;
// The pause between two attempts to reach the database.
const startRetryMs = 1_000;
const extendStartUs = 60_000_000;
// A stuck log reader must not keep the process alive.
const logGraceMs = 1_000;

/**
 * Starts a program, which runs until a signal stops it. Exit code 2 means that the operator must fix the setup; exit
 * code 1 means any other failure, or a second signal.
 */
export async function run(program: Program): Promise<void> {
  const lines = new BufferedLines(1);
  const log = createLog(lines, () => new Date());
  const exit = (code: number): never => {
    lines.flush();
    process.exit(code);
  };
  // After an uncaught exception the state is unknown, so exit and let systemd restart the process.
  const onFault = (error: Error) => {
    log.error("uncaught", { cause: describeError(error), name: error.name, stack: stackFrames(error) });
    exit(1);
  };
  process.on("uncaughtException", onFault);
  process.on("unhandledRejection", (reason) => {
    if (!isDriverTypeQuery(reason)) {
      onFault(reason instanceof Error ? reason : new Error("rejected without an error"));
    }
  });
  const supervisor = readSupervisor(program.environment, process.pid);
  const notifier = new Notifier({
    send: supervisor === null ? () => Promise.resolve() : createSendNotice(supervisor.socket),
    onFailure: (error) => log.error("notify_failed", { cause: describeError(error) }),
  });
  let running: Running | null = null;
  let stopWatching = () => {};
  handleSignals(async (signal) => {
    log.info("stopping", { signal });
    stopWatching();
    const notified = notifier.notify({ STOPPING: "1", STATUS: "stopping: finishing requests in flight" });
    // Waits for the notice too, because a queued notice would be lost with the process.
    if (running !== null) await Promise.all([running.close(graceMs), notified]);
    log.info("stopped");
    await lines.drain(logGraceMs);
    exit(0);
  }, () => exit(1));
  try {
    running = await startWithRetries(program, { log, notifier: supervisor === null ? null : notifier });
    log.info("started");
  } catch (error) {
    const { message, exitCode } = explain(error, program);
    process.stderr.write(`${message}\n`);
    exit(exitCode);
  }
  if (supervisor === null || running === null) return;
  const { watchdogMs } = supervisor;
  stopWatching = supervise(running.health, { notifier, watchdogMs, nowMs: () => performance.now() });
}

/**
 * Starts the program. Under systemd, retries while the database is unreachable, because PostgreSQL may start later.
 */
async function startWithRetries(
  program: Program,
  { log, notifier }: { readonly log: Log; readonly notifier: Notifier | null },
): Promise<Running> {
  for (let isRetry = false;; isRetry = true) {
    try {
      return await program.start(log);
    } catch (error) {
      if (notifier === null || unambiguousStoreFailure(error) === null) throw error;
      const { message, exitCode } = explain(error, program);
      if (exitCode === 2) throw error;
      if (!isRetry) process.stderr.write(`${message}\n`);
      const extendUs = String(extendStartUs);
      void notifier.notify({ STATUS: `waiting: ${message.split("\n")[0]}`, EXTEND_TIMEOUT_USEC: extendUs });
      await new Promise((resolve) => setTimeout(resolve, startRetryMs));
    }
  }
}

/** Calls `stop` on the first SIGTERM or SIGINT, and `stopAtOnce` on any further one. */
function handleSignals(stop: (signal: string) => Promise<void>, stopAtOnce: () => void): void {
  let isStopping = false;
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => {
      if (isStopping) return stopAtOnce();
      isStopping = true;
      void stop(signal);
    });
  }
}

/** Explains a failed start in one message, with a stack only for unexpected errors. */
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
  const failure = unambiguousStoreFailure(error);
  if (failure !== null && failure.kind !== "other") {
    const { database: name, group } = settings;
    const databaseUrl = readSecretFiles(environment, [name]).secrets[name] ?? environment[name]?.trim() ?? "";
    const message = describeStoreFailure(failure, { databaseUrl, name, requiredRole: group });
    return { message, exitCode: failure.kind === "not_permitted" ? 2 : 1 };
  }
  return { message: `Cannot start (${describeError(error)})\n${stackFrames(error)}`, exitCode: 1 };
}
