/**
 * A release's files under `sql/`, and the older releases that keep working on a database that has them.
 *
 * Numbered files hold tables and are applied once; `functions/` holds the current text of every function,
 * `grants.sql` the rights, `builtins.sql` the rights to PostgreSQL's own functions, and `serves.txt` the older
 * releases.
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

/** A release as the database records it. */
export interface ReleaseName {
  readonly version: string;
  /** A digest of its files under `sql/`; equal for releases that need the same database. */
  readonly fingerprint: string;
}

export interface Release extends ReleaseName {
  /** In the order of application. */
  readonly files: readonly SqlFile[];
  /** Older releases that may run and start on a database that this one migrated. */
  readonly serves: readonly ReleaseName[];
}

/** The files that hold rights. A restored database has lost some of them. */
export const grantsFiles: readonly string[] = ["builtins.sql", "grants.sql"];

const ownFolder = fileURLToPath(new URL("../../../sql/", import.meta.url));

/** Reads the release in `folder`; default: this program's own. */
export async function readRelease(
  { version = manifest.version, folder = ownFolder }: {
    readonly version?: string;
    readonly folder?: string;
  } = {},
): Promise<Release> {
  const [files, serves] = await Promise.all([readFiles(folder), readFile(`${folder}serves.txt`, "utf8")]);
  const fingerprint = digestOf(files.map(({ name, digest }) => `${name} ${digest}\n`).join(""));
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
    return { name, text, digest: digestOf(text) };
  }));
}

/** Whether a file is applied only once. */
export function isNumbered(name: string): boolean {
  return /^\d{4}_\w+\.sql$/.test(name);
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function parseServes(text: string): ReleaseName[] {
  return text.split("\n").filter((line) => !/^\s*(#|$)/.test(line)).map((line) => {
    const [, version, fingerprint] = /^(\d+\.\d+\.\d+) ([0-9a-f]{64})$/.exec(line.trim()) ?? [];
    if (version === undefined || fingerprint === undefined) {
      throw new Error(`sql/serves.txt has a line that is no version with a fingerprint: ${line}`);
    }
    return { version, fingerprint };
  });
}

export function isNewer(version: string, than: string): boolean {
  const parts = (text: string) => text.split(".").map(Number);
  const [one, other] = [parts(version), parts(than)];
  const at = one.findIndex((part, index) => part !== other[index]);
  return at !== -1 && (one[at] ?? 0) > (other[at] ?? 0);
}

/** How a database's schema relates to a release. */
export type SchemaState =
  /** It has all files of the release. */
  | { readonly kind: "current" }
  /** A newer release migrated it and still serves this one. */
  | { readonly kind: "served"; readonly by: string }
  /** A newer release migrated it and no longer serves this one, only those in `serves`. */
  | { readonly kind: "left_behind"; readonly by: string; readonly serves: readonly string[] }
  /** It lacks files, or has other versions of them. */
  | { readonly kind: "lacks"; readonly files: readonly SqlFile[] };

/** Creates the tables in which migrations record their work. */
export async function createNotes(sql: postgres.Sql): Promise<void> {
  await sql`create table if not exists schema_file (
    name text primary key, digest text not null, applied_at timestamptz not null default now()
  )`;
  await sql`create table if not exists schema_release (
    fingerprint text primary key, version text not null, is_current boolean not null
  )`;
}

/** Records that a release has migrated the database, and which others it serves. */
export async function noteRelease(
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
  // During development many releases share one version; then the files decide.
  if (last === undefined || !isNewer(last.version, release.version)) return { kind: "lacks", files };
  const isServed = known.some(({ fingerprint }) => fingerprint === release.fingerprint);
  if (isServed && !files.some(({ name }) => isNumbered(name))) return { kind: "served", by: last.version };
  return { kind: "left_behind", by: last.version, serves: known.map(({ version }) => version).sort() };
}

async function readApplied(sql: postgres.Sql): Promise<Map<string, string>> {
  const rows = await sql<{ name: string; digest: string }[]>`select name, digest from schema_file`;
  return new Map(rows.map((row) => [row.name, row.digest]));
}

/** Explains that a newer release has migrated the database beyond this one. */
export function leftBehind(
  { version }: Release,
  { by, serves }: Extract<SchemaState, { kind: "left_behind" }>,
): string {
  return `release ${by} has migrated the database, and this one (${version}) is too old for it; ` +
    `start one of ${serves.join(", ")}, or restore an earlier backup`;
}
