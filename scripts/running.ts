/** Detects an `npm start` that is already running with this data folder. */

import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { dataFolder } from "./database_url.ts";
import { findProcess } from "./processes.ts";

/** An `npm start` that is running or starting. */
export interface RunningStart {
  readonly pid: number;
  /** The program's name, because process ids are reused. */
  readonly command: string;
  /** URLs by name; empty while `npm start` is starting. */
  readonly addresses: readonly (readonly [name: string, url: string])[];
}

const file = join(dataFolder, "running.json");

/** Returns another `npm start` that is running or starting; `null` if there is none. */
export function findRunning(): RunningStart | null {
  let running: RunningStart;
  try {
    running = JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return null;
  }
  const isRunning = running.pid !== process.pid && findProcess(running.pid)?.command === running.command;
  return isRunning ? running : null;
}

/** Publishes this `npm start`, so that another `npm start` finds it. */
export function publishRunning(addresses: RunningStart["addresses"]): void {
  mkdirSync(dataFolder, { recursive: true });
  const running: RunningStart = {
    pid: process.pid,
    command: findProcess(process.pid)?.command ?? "",
    addresses,
  };
  writeFileSync(file, `${JSON.stringify(running)}\n`);
}

export function withdrawRunning(): void {
  rmSync(file, { force: true });
}
