/** Detects an `npm start` that already runs on this data folder. */

import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { dataFolder } from "./database_url.ts";
import { findProcess } from "./processes.ts";

/** An `npm start` that runs or is starting. */
export interface RunningStart {
  readonly pid: number;
  /** The program's name, because process ids are reused. */
  readonly command: string;
  /** URLs by name; empty while it starts. */
  readonly addresses: readonly (readonly [name: string, url: string])[];
}

const file = join(dataFolder, "running.json");

/** The other `npm start`, or `null`. */
export function findRunning(): RunningStart | null {
  let running: RunningStart;
  try {
    running = JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return null;
  }
  const isThere = running.pid !== process.pid && findProcess(running.pid)?.command === running.command;
  return isThere ? running : null;
}

/** Lets another `npm start` find this one. */
export function publishRunning(addresses: RunningStart["addresses"]): void {
  mkdirSync(dataFolder, { recursive: true });
  const running: RunningStart = {
    pid: process.pid,
    command: findProcess(process.pid)?.command ?? "",
    addresses,
  };
  writeFileSync(file, `${JSON.stringify(running)}\n`);
}

/** Undoes {@linkcode publishRunning}. */
export function withdrawRunning(): void {
  rmSync(file, { force: true });
}
