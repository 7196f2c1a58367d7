/**
 * What a release of this program brings for the database: the files under its `sql/`, and which older releases go on working
 * on a database that has them.
 *
 * `sql/` holds numbered files for tables, each applied once; `sql/functions/` the current text of every function;
 * `sql/grants.sql` who may do what, `sql/builtins.sql` what of PostgreSQL's own; and `sql/serves.txt` the older releases, a line each.
 *
 * @module
 */

import manifest from "../../../package.json" with { type: "json" };
import type postgres from "postgres";
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

/** A file under `sql/`. */
export interface SqlFile {
  readonly name: string;
  readonly text: string;
  readonly digest: string;
}

/** A release, as the database remembers it. */
export interface ReleaseName {
  readonly version: string;
  /** A digest of its files under `sql/`: two releases with one need the same database. */
  readonly fingerprint: string;
}

/** What a release brings. */
export interface Release extends ReleaseName {
  /** In the order in which they are applied. */
  readonly files: readonly SqlFile[];
  /** Older releases that may be running, and may be started, on a database that was migrated by this one. */
  readonly serves: readonly ReleaseName[];
}

/** Say who may do what. A restored database has lost some of it. */
export const grantsFiles: readonly string[] = ["builtins.sql", "grants.sql"];

const ownFolder = fileURLToPath(new URL("../../../sql/", import.meta.url));

/** Reads the release whose files are in `folder`: this program's own, unless told otherwise. */
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

/** Whether a file is one of those that are applied once. */
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

/** Whether one version is newer than another. */
export function isNewer(version: string, than: string): boolean {
  const parts = (text: string) => text.split(".").map(Number);
  const [one, other] = [parts(version), parts(than)];
  const at = one.findIndex((part, index) => part !== other[index]);
  return at !== -1 && (one[at] ?? 0) > (other[at] ?? 0);
}

/** How a database stands to a release. */
export type Standing =
  /** The release has migrated it last, or it has all of its files. */
  | { readonly kind: "current" }
  /** A newer release has migrated it, and goes on serving this one. */
  | { readonly kind: "served"; readonly by: string }
  /** A newer release has migrated it, and serves this one no longer: only those of `serves`. */
  | { readonly kind: "left_behind"; readonly by: string; readonly serves: readonly string[] }
  /** It lacks files, or has them in another version. */
  | { readonly kind: "lacks"; readonly files: readonly SqlFile[] };

/** Makes the tables in which the migration keeps what it has done. */
export async function createNotes(sql: postgres.Sql): Promise<void> {
  await sql`create table if not exists schema_file (
    name text primary key, digest text not null, applied_at timestamptz not null default now()
  )`;
  await sql`create table if not exists schema_release (
    fingerprint text primary key, version text not null, is_current boolean not null
  )`;
}

/** Writes down that a release has migrated the database, and which others it serves. */
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

/** Finds out how the database stands to a release. Files that only the database knows do no harm. */
export async function readStanding(sql: postgres.Sql, release: Release): Promise<Standing> {
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
  // Of one version there may be many while it is being made: the files decide then.
  if (last === undefined || !isNewer(last.version, release.version)) return { kind: "lacks", files };
  const isServed = known.some(({ fingerprint }) => fingerprint === release.fingerprint);
  if (isServed && !files.some(({ name }) => isNumbered(name))) return { kind: "served", by: last.version };
  return { kind: "left_behind", by: last.version, serves: known.map(({ version }) => version).sort() };
}

/** The digests of the files that a database has, by their names. */
async function readApplied(sql: postgres.Sql): Promise<Map<string, string>> {
  const rows = await sql<{ name: string; digest: string }[]>`select name, digest from schema_file`;
  return new Map(rows.map((row) => [row.name, row.digest]));
}

/** Says that a release can do nothing with a database that a newer one has migrated. */
export function leftBehind(
  { version }: Release,
  { by, serves }: Extract<Standing, { kind: "left_behind" }>,
): string {
  return `release ${by} has migrated the database, which this one (${version}) is too old for; ` +
    `start one of ${serves.join(", ")}, or restore a backup of before`;
}
