/**
 * Migrates a tree's database once, copies it for each round, and connects to it.
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

/** The tree that contains this file. */
export const ownTree = fileURLToPath(new URL("../../", import.meta.url));

const run = promisify(execFile);
/** Data directories of stopped servers, by the digest of their tree's schema files. */
const templates = new Map<string, Promise<string>>();
const folders = new Set<string>();
process.once("exit", () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** Fills `folder` with a data directory: the database `proof`, migrated by the tree, and its login roles. */
export async function copyDatabase(tree: string, folder: string): Promise<void> {
  const digest = schemaDigest(tree);
  let template = templates.get(digest);
  if (template === undefined) {
    template = createTemplate(tree);
    templates.set(digest, template);
  }
  await run("cp", ["-a", `${await template}/.`, folder]);
}

/** Opens the proof's own connections, which are never read-only and never wait for a standby. */
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

/** Returns the URL with a login role that {@linkcode copyDatabase} creates. */
export function withRole(url: string, role: string): string {
  const roleUrl = new URL(url);
  roleUrl.username = role;
  roleUrl.password = "proof";
  return roleUrl.href;
}

async function createTemplate(tree: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "prove-data-"));
  chmodSync(folder, 0o711);
  folders.add(folder);
  // If only functions differ, migrating a copy of this tree's database is faster.
  const isNew = tree === ownTree || schemaDigest(tree, "tables") !== schemaDigest(ownTree, "tables");
  if (!isNew) await copyDatabase(ownTree, folder);
  const server = await startPostgres({ folder });
  try {
    if (isNew) await runStatements(server.url, ["create database proof"]);
    await run(process.execPath, [join(tree, "scripts/migrate.ts")], {
      cwd: tree,
      env: { PATH: process.env.PATH ?? "", DATABASE_URL: server.databaseUrl("proof") },
    });
    if (isNew) {
      await runStatements(server.url, [
        "create role proof_service login password 'proof' in role lead_service",
        "create role proof_actions login password 'proof' in role lead_actions",
      ]);
    }
  } finally {
    await server.stop();
  }
  return folder;
}

async function runStatements(url: string, statements: readonly string[]): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  for (const statement of statements) await sql.unsafe(statement);
  await sql.end();
}

/** Returns the digest of all schema files, or only of the numbered ones. */
function schemaDigest(tree: string, what: "all" | "tables" = "all"): string {
  const hash = createHash("sha256");
  const files = readdirSync(join(tree, "sql"), { recursive: true, encoding: "utf8" });
  const isIncluded = (name: string) =>
    name.endsWith(".sql") && (what === "all" || !name.startsWith("functions"));
  for (const file of files.filter(isIncluded).sort()) {
    hash.update(file).update(readFileSync(join(tree, "sql", file)));
  }
  return hash.digest("hex");
}
