/** Finds the `npm start` that is running with this data folder, and its database. */

import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readSecretFiles } from "../src/settings/secret_files.ts";
import { writePrivateFile } from "./private_file.ts";
import { findProcess } from "./processes.ts";

/** The folder in which `npm start` keeps its PostgreSQL and the keys. */
export const dataFolder = fileURLToPath(new URL("../.data", import.meta.url));

const file = join(dataFolder, "running.json");

/** What another `npm start` and other commands need to know. */
export interface Published {
  /** The URL of the embedded PostgreSQL's database, once it is running. */
  readonly databaseUrl?: string;
  /** URLs by name; empty while `npm start` is starting. */
  readonly addresses: readonly (readonly [name: string, url: string])[];
}

/** An `npm start` that is running or starting. */
export interface RunningStart extends Published {
  readonly pid: number;
  /** The program's name, because process ids are reused. */
  readonly command: string;
}

/** Returns another `npm start` that is running or starting; `null` if there is none. */
export function findRunning(): RunningStart | null {
  let running: RunningStart;
  try {
    running = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EACCES") return null;
    throw new Error(`${file} belongs to another account, whose npm start may be running`);
  }
  const isRunning = running.pid !== process.pid && findProcess(running.pid)?.command === running.command;
  return isRunning ? running : null;
}

/**
 * Returns `DATABASE_URL`, else the contents of `DATABASE_URL_FILE`, else the URL of the running `npm start`'s
 * PostgreSQL.
 *
 * @throws {Error} if there is no URL, or a file cannot be read
 */
export function findDatabaseUrl(): string {
  const { secrets, faults } = readSecretFiles(process.env, ["DATABASE_URL"]);
  if (faults.length > 0) throw new Error(faults.join("\n"));
  const setting = secrets.DATABASE_URL ?? process.env.DATABASE_URL;
  if (setting !== undefined && setting !== "") return setting;
  const databaseUrl = findRunning()?.databaseUrl;
  if (databaseUrl === undefined) throw new Error("DATABASE_URL is not set, and no npm start is running here");
  return databaseUrl;
}

/** Publishes this `npm start` in a file that only its owner can read, because the database's URL has a password. */
export function publishRunning(published: Published): void {
  mkdirSync(dataFolder, { recursive: true });
  const { pid } = process;
  const running: RunningStart = { pid, command: findProcess(pid)?.command ?? "", ...published };
  writePrivateFile(file, `${JSON.stringify(running)}\n`);
}

export function withdrawRunning(): void {
  rmSync(file, { force: true });
}
