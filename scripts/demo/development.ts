/** Marks npm start's own database as a development one; nothing else does. */

import type postgres from "postgres";

const mark = "lead_intake.development";

/**
 * Marks a database, as its superuser. Chosen: a database setting, because a name or URL does not say what a database is
 * for, and a dump does not carry such settings elsewhere.
 */
export async function markDevelopment(sql: postgres.Sql, name: string): Promise<void> {
  await sql`alter database ${sql(name)} set ${sql.unsafe(mark)} = 'on'`;
}

/** Whether this connection's database is marked. */
export async function isDevelopment(sql: postgres.Sql): Promise<boolean> {
  const [row] = await sql<{ mark: string | null }[]>`select current_setting(${mark}, true) as mark`;
  return row?.mark === "on";
}
