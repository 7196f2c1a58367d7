/**
 * What a database remembers of the releases that it was migrated by and for, and what that means for this one.
 *
 * @module
 */

import type postgres from "postgres";
import { isNewer, isNumbered, type Release, type SqlFile } from "./release.ts";

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
