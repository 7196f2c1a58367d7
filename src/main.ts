/**
 * The service process: reads the settings, runs the service, and stops it on SIGTERM or SIGINT.
 *
 * @module
 */

import process from "node:process";
import { ConfigError, readConfig } from "./config.ts";
import { limits } from "./contract/limits.ts";
import { BufferedLines, createLog } from "./log.ts";
import { DatabaseRefused, type Service, startService } from "./service.ts";
import { describeError, Unavailable } from "./store/sql.ts";

// A receiver that does not read must not keep the process.
const logGraceMs = 1_000;

const lines = new BufferedLines(1);
const log = createLog(lines, () => new Date());

function exit(code: number): never {
  lines.flush();
  process.exit(code);
}

/** One readable message for the operator; a stack only for what nobody foresaw. */
function explain(error: unknown): { message: string; exitCode: number } {
  if (error instanceof ConfigError) return { message: error.message, exitCode: 2 };
  if (error instanceof DatabaseRefused) {
    return {
      message: `The database cannot be used:\n  ${error.message.replaceAll("\n", "\n  ")}`,
      exitCode: 2,
    };
  }
  if (error instanceof Unavailable) {
    return { message: `The database cannot be reached (${error.message}); check DATABASE_URL`, exitCode: 1 };
  }
  const code = (error as { code?: unknown }).code;
  if (code === "EADDRINUSE" || code === "EADDRNOTAVAIL" || code === "EACCES") {
    const { address, port } = error as { address?: string; port?: number };
    return {
      message: `Cannot listen on ${address}:${port} (${code}); choose another address with INTAKE_LISTEN`,
      exitCode: 1,
    };
  }
  const stack = error instanceof Error ? error.stack : undefined;
  return { message: `Cannot start (${describeError(error)})\n${stack ?? ""}`, exitCode: 1 };
}

function stopOnSignals(service: Service): void {
  let isStopping = false;
  const stop = async (signal: string) => {
    // A second signal: whoever sends it does not want to wait.
    if (isStopping) exit(1);
    isStopping = true;
    log.info("stopping", { signal });
    await service.close(limits.requestTimeoutMs);
    log.info("stopped");
    await lines.drain(logGraceMs);
    exit(0);
  };
  process.on("SIGTERM", () => void stop("SIGTERM"));
  process.on("SIGINT", () => void stop("SIGINT"));
}

// A fault that nobody caught leaves the process in a state nobody knows: it ends, and systemd starts another.
process.on("uncaughtException", (error) => {
  log.error("uncaught", {
    cause: describeError(error),
    name: error.name,
    stack: error.stack?.replace(/^[^\n]*/, ""),
  });
  exit(1);
});

try {
  stopOnSignals(await startService(readConfig(process.env), log));
} catch (error) {
  const { message, exitCode } = explain(error);
  process.stderr.write(`${message}\n`);
  exit(exitCode);
}
