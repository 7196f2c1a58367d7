/** Finds the database URL for commands that run alongside `npm start`. */

import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readSecretFiles } from "../src/settings/secret_files.ts";

/** The folder in which `npm start` keeps its PostgreSQL, the database URL and the keys. */
export const dataFolder = fileURLToPath(new URL("../.data", import.meta.url));

const file = join(dataFolder, "database_url");

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
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    throw new Error("DATABASE_URL is not set, and no npm start is running here");
  }
}

/** Publishes a started server's URL for {@linkcode findDatabaseUrl}, in a file that only its owner can read. */
export function publishDatabaseUrl(databaseUrl: string): void {
  mkdirSync(dataFolder, { recursive: true });
  writeFileSync(file, `${databaseUrl}\n`, { mode: 0o600 });
  chmodSync(file, 0o600);
}

export function withdrawDatabaseUrl(): void {
  rmSync(file, { force: true });
}
