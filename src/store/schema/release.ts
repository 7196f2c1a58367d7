/**
 * Reads a release's files under `sql/`, and compares a database with them.
 *
 * Numbered files contain tables and are applied once. `functions/` contains the current text of every function,
 * `grants.sql` the rights, `builtins.sql` the rights to PostgreSQL's own functions, and `serves.txt` the older releases
 * that can run on a database that this release migrated.
 */

import manifest from "../../../package.json" with { type: "json" };
import type postgres from "postgres";
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

export interface SqlFile {
  readonly name: string;
  readonly text: string;
  readonly digest: string;
}

export interface ReleaseName {
  readonly version: string;
  /** A digest of the SQL files, equal for releases that need the same database. */
  readonly fingerprint: string;
}

export interface Release extends ReleaseName {
  /** The files in the order in which they are applied. */
  readonly files: readonly SqlFile[];
  /** The older releases that may start and run on a database that this one migrated. */
  readonly serves: readonly ReleaseName[];
}

/** The files that set rights. Every migration applies them, because a restored database may lack some rights. */
export const grantsFiles: readonly string[] = ["builtins.sql", "grants.sql"];

const ownFolder = fileURLToPath(new URL("../../../sql/", import.meta.url));

/** Reads the release in `folder`. Default: this program's release. */
export async function readRelease(
  { version = manifest.version, folder = ownFolder }: {
    readonly version?: string;
    readonly folder?: string;
  } = {},
): Promise<Release> {
  const [files, serves] = await Promise.all([readFiles(folder), readFile(`${folder}serves.txt`, "utf8")]);
  const fingerprint = sha256(files.map(({ name, digest }) => `${name} ${digest}\n`).join(""));
  return { version, fingerprint, files, serves: parseServes(serves) };
}

async function readFiles(folder: string): Promise<SqlFile[]> {
  const [top, functions] = await Promise.all([readdir(folder), readdir(`${folder}functions/`)]);
  const names = [
    ...top.filter(isNumbered).sort(),
    ...functions.filter((name) => name.endsWith(".sql")).sort().map((name) => `functions/${name}`),
    ...grantsFiles,
  ];
  return Promise.all(names.map(async (name) => {
    const text = await readFile(folder + name, "utf8");
    return { name, text, digest: sha256(text) };
  }));
}

/** Returns whether a file is applied only once. */
export function isNumbered(name: string): boolean {
  return /^\d{4}_\w+\.sql$/.test(name);
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function parseServes(text: string): ReleaseName[] {
  return text.split("\n").filter((line) => !/^\s*(#|$)/.test(line)).map((line) => {
    const [, version, fingerprint] = /^(\d+\.\d+\.\d+) ([0-9a-f]{64})$/.exec(line.trim()) ?? [];
    if (version === undefined || fingerprint === undefined) {
      throw new Error(`sql/serves.txt has a line without a version and a fingerprint: ${line}`);
    }
    return { version, fingerprint };
  });
}

function isNewer(version: string, than: string): boolean {
  const parts = (text: string) => text.split(".").map(Number);
  const [one, other] = [parts(version), parts(than)];
  const differsAt = one.findIndex((part, index) => part !== other[index]);
  return differsAt !== -1 && (one[differsAt] ?? 0) > (other[differsAt] ?? 0);
}

/** How a database's schema relates to a release. */
export type SchemaState =
  /** The database has all files of the release. */
  | { readonly kind: "current" }
  /** A newer release migrated the database and still supports this one. */
  | { readonly kind: "served"; readonly by: string }
  /** A newer release migrated the database and no longer supports this one, only the releases in `serves`. */
  | { readonly kind: "too_old"; readonly by: string; readonly serves: readonly string[] }
  /** The database lacks files, or has other versions of them. */
  | { readonly kind: "incomplete"; readonly files: readonly SqlFile[] };

/** Creates the tables in which migrations record their work. */
export async function createSchemaTables(sql: postgres.Sql): Promise<void> {
  await sql`create table if not exists schema_file (
    name text primary key, digest text not null, applied_at timestamptz not null default now()
  )`;
  await sql`create table if not exists schema_release (
    fingerprint text primary key, version text not null, is_current boolean not null
  )`;
}

/** Records that a release migrated the database, and the older releases that can still run on it. */
export async function recordRelease(
  sql: postgres.Sql,
  { version, fingerprint, serves }: Release,
): Promise<void> {
  await sql`delete from schema_release`;
  for (const release of [...serves, { version, fingerprint }]) {
    await sql`
      insert into schema_release (fingerprint, version, is_current)
      values (${release.fingerprint}, ${release.version}, ${release.fingerprint === fingerprint})
      on conflict (fingerprint) do update set version = excluded.version, is_current = excluded.is_current`;
  }
}

/** Compares a database with a release. Files that only the database has are ignored. */
export async function readSchemaState(sql: postgres.Sql, release: Release): Promise<SchemaState> {
  const [has] = await sql`
    select to_regclass('schema_file') is not null as files, to_regclass('schema_release') is not null as releases`;
  const applied = has?.files ? await readApplied(sql) : new Map<string, string>();
  const files = release.files.filter(({ name, digest }) => applied.get(name) !== digest);
  if (files.length === 0) return { kind: "current" };
  const known = has?.releases
    ? await sql<{ fingerprint: string; version: string; is_current: boolean }[]>`
      select fingerprint, version, is_current from schema_release`
    : [];
  const last = known.find((one) => one.is_current);
  // Development versions share one version number, so only the files tell them apart.
  if (last === undefined || !isNewer(last.version, release.version)) return { kind: "incomplete", files };
  const isServed = known.some(({ fingerprint }) => fingerprint === release.fingerprint);
  if (isServed && !files.some(({ name }) => isNumbered(name))) return { kind: "served", by: last.version };
  return { kind: "too_old", by: last.version, serves: known.map(({ version }) => version).sort() };
}

async function readApplied(sql: postgres.Sql): Promise<Map<string, string>> {
  const rows = await sql<{ name: string; digest: string }[]>`select name, digest from schema_file`;
  return new Map(rows.map((row) => [row.name, row.digest]));
}

/** Returns why a release cannot use a database that a newer one migrated: a sentence without a final period. */
export function tooOldMessage(
  { version }: Release,
  { by, serves }: Extract<SchemaState, { kind: "too_old" }>,
): string {
  return `release ${by} has migrated the database, and this one (${version}) is too old for it; ` +
    `start one of ${serves.join(", ")}, or restore an earlier backup`;
}
