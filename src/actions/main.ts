/**
 * The actions process: reads its settings, runs, and stops on SIGTERM or SIGINT.
 *
 * @module
 */

import process from "node:process";
import { ConfigError } from "../config.ts";
import { BufferedLines, createLog } from "../log.ts";
import { describeError, Unavailable } from "../store/sql.ts";
import { readActionsConfig } from "./config.ts";
import { type ActionsService, DatabaseRefused, startActions } from "./service.ts";

const lines = new BufferedLines(1);
const log = createLog(lines, () => new Date());
// Source: DECISIONS, Operating it (exit).
const graceMs = 20_000;

function exit(code: number): never {
  lines.flush();
  process.exit(code);
}

/** One readable message for the operator; a stack only for what nobody foresaw. */
function explain(error: unknown): { message: string; exitCode: number } {
  if (error instanceof ConfigError) return { message: error.message, exitCode: 2 };
  if (error instanceof DatabaseRefused) {
    const faults = error.message.replaceAll("\n", "\n  ");
    return { message: `The database cannot be used:\n  ${faults}`, exitCode: 2 };
  }
  if (error instanceof Unavailable) {
    return {
      message: `The database cannot be reached (${error.message}); check ACTIONS_DATABASE_URL`,
      exitCode: 1,
    };
  }
  const code = (error as { code?: unknown }).code;
  if (code === "EADDRINUSE" || code === "EADDRNOTAVAIL" || code === "EACCES") {
    const { address, port } = error as { address?: string; port?: number };
    return {
      message: `Cannot listen on ${address}:${port} (${code}); choose another address with ACTIONS_LISTEN`,
      exitCode: 1,
    };
  }
  if (code === "42501") {
    return {
      message:
        "The database role may not do what this process does; make it a member: grant lead_actions to …",
      exitCode: 2,
    };
  }
  const stack = error instanceof Error ? error.stack : undefined;
  return { message: `Cannot start (${describeError(error)})\n${stack ?? ""}`, exitCode: 1 };
}

function stopOnSignals(service: ActionsService): void {
  let isStopping = false;
  const stop = async (signal: string) => {
    // A second signal: whoever sends it does not want to wait.
    if (isStopping) exit(1);
    isStopping = true;
    log.info("stopping", { signal });
    await service.close(graceMs);
    log.info("stopped");
    exit(0);
  };
  process.on("SIGTERM", () => void stop("SIGTERM"));
  process.on("SIGINT", () => void stop("SIGINT"));
}

// A fault that nobody caught leaves the process in a state nobody knows: it ends, and systemd starts another.
process.on("uncaughtException", (error) => {
  // The stack names our code, the message might quote a lead: only the first is logged.
  log.error("uncaught", {
    cause: describeError(error),
    name: error.name,
    stack: error.stack?.replace(/^[^\n]*/, ""),
  });
  exit(1);
});

try {
  stopOnSignals(await startActions(readActionsConfig(process.env), log));
} catch (error) {
  const { message, exitCode } = explain(error);
  process.stderr.write(`${message}\n`);
  exit(exitCode);
}
