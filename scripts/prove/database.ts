/**
 * A migrated database of a tree, made once and copied for each round, and how it is reached.
 *
 * @module
 */

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import postgres from "postgres";
import { startPostgres } from "../embedded_postgres.ts";

/** The tree that this file stands in. */
export const ownTree = fileURLToPath(new URL("../../", import.meta.url));

const run = promisify(execFile);
/** Folders of stopped servers, by what their schema is made of. */
const made = new Map<string, Promise<string>>();
const folders = new Set<string>();
process.once("exit", () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** Puts the data of a server into `folder` that has the database `proof`, migrated by the tree, and its login roles. */
export async function copyDatabase(tree: string, folder: string): Promise<void> {
  const digest = schemaDigest(tree);
  let making = made.get(digest);
  if (making === undefined) {
    making = make(tree);
    made.set(digest, making);
  }
  await run("cp", ["-a", `${await making}/.`, folder]);
}

/** Plain connections of the proof's own: never held to reading, never waiting for a standby. */
export function openSql(url: string): postgres.Sql {
  return postgres(url, {
    max: 3,
    connect_timeout: 5,
    backoff: () => 0.2,
    onnotice: () => {},
    connection: {
      application_name: "proof",
      default_transaction_read_only: false,
      synchronous_commit: "local",
    },
  });
}

/** The address for a login that {@linkcode copyDatabase} has made. */
export function as(url: string, role: string): string {
  const other = new URL(url);
  other.username = role;
  other.password = "proof";
  return other.href;
}

async function make(tree: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "prove-data-"));
  chmodSync(folder, 0o711);
  folders.add(folder);
  // Where only functions differ, the database of this tree is brought up to date, which is quicker.
  const isNew = tree === ownTree || schemaDigest(tree, "tables") !== schemaDigest(ownTree, "tables");
  if (!isNew) await copyDatabase(ownTree, folder);
  const server = await startPostgres({ folder });
  try {
    if (isNew) await administer(server.url, ["create database proof"]);
    await run(process.execPath, [join(tree, "scripts/migrate.ts")], {
      cwd: tree,
      env: { PATH: process.env.PATH ?? "", DATABASE_URL: server.databaseUrl("proof") },
    });
    if (isNew) {
      await administer(server.url, [
        "create role proof_service login password 'proof' in role lead_service",
        "create role proof_actions login password 'proof' in role lead_actions",
      ]);
    }
  } finally {
    await server.stop();
  }
  return folder;
}

async function administer(url: string, statements: readonly string[]): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  for (const statement of statements) await sql.unsafe(statement);
  await sql.end();
}

/** Of all of it, or of the numbered files alone. */
function schemaDigest(tree: string, what: "all" | "tables" = "all"): string {
  const hash = createHash("sha256");
  const files = readdirSync(join(tree, "sql"), { recursive: true, encoding: "utf8" });
  const isMeant = (name: string) =>
    name.endsWith(".sql") && (what === "all" || !name.startsWith("functions"));
  for (const file of files.filter(isMeant).sort()) {
    hash.update(file).update(readFileSync(join(tree, "sql", file)));
  }
  return hash.digest("hex");
}
