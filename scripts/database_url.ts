/**
 * Where the database is, for commands that are run beside `npm start`.
 *
 * @module
 */

import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readSecretFiles } from "../src/settings/secret_files.ts";

/** What `npm start` keeps between runs: the embedded PostgreSQL and its address. */
export const dataFolder = fileURLToPath(new URL("../.data", import.meta.url));

const file = join(dataFolder, "database_url");

/**
 * `DATABASE_URL`, or what stands in the file that `DATABASE_URL_FILE` names, or else the address of the embedded PostgreSQL of the `npm start` that runs now.
 *
 * @throws {Error} with what to do, when there is none of them, or the file cannot be read
 */
export function findDatabaseUrl(): string {
  const { secrets, faults } = readSecretFiles(process.env, ["DATABASE_URL"]);
  if (faults.length > 0) throw new Error(faults.join("\n"));
  const given = secrets.DATABASE_URL ?? process.env.DATABASE_URL;
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
