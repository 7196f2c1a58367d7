/**
 * Where the database is, for commands that are run beside `npm start`.
 *
 * @module
 */

import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** What `npm start` keeps between runs: the embedded PostgreSQL and its address. */
export const dataFolder = fileURLToPath(new URL("../.data", import.meta.url));

const file = join(dataFolder, "database_url");

/**
 * `DATABASE_URL`, or else the address of the embedded PostgreSQL of the `npm start` that runs now.
 *
 * @throws {Error} with what to do, when there is neither
 */
export function findDatabaseUrl(): string {
  const given = process.env.DATABASE_URL;
  if (given !== undefined && given !== "") return given;
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    throw new Error("DATABASE_URL is not set, and no npm start is running here");
  }
}

/** Lets {@linkcode findDatabaseUrl} find a server that has just started. Only its owner can read the file. */
export function publishDatabaseUrl(databaseUrl: string): void {
  mkdirSync(dataFolder, { recursive: true });
  writeFileSync(file, `${databaseUrl}\n`, { mode: 0o600 });
  chmodSync(file, 0o600);
}

/** Undoes {@linkcode publishDatabaseUrl}. */
export function withdrawDatabaseUrl(): void {
  rmSync(file, { force: true });
}
