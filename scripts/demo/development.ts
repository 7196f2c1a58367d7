/** Marks the database of `npm start` as a development database. */

import type postgres from "postgres";

const markSetting = "lead_intake.development";

/**
 * Marks a database; requires a superuser's connection.
 *
 * Chosen: a database setting, because a name or URL does not show a database's purpose, and a dump without
 * `--create` does not contain such settings.
 */
export async function markDevelopment(sql: postgres.Sql, name: string): Promise<void> {
  await sql`alter database ${sql(name)} set ${sql.unsafe(markSetting)} = 'on'`;
}

/** Whether this connection's database is marked. */
export async function isDevelopment(sql: postgres.Sql): Promise<boolean> {
  const [row] = await sql<{ mark: string | null }[]>`select current_setting(${markSetting}, true) as mark`;
  return row?.mark === "on";
}
