/**
 * How a database is known to be a development one: by a mark that `npm start` puts on its own, and by nothing else.
 *
 * @module
 */

import type postgres from "postgres";

const mark = "lead_intake.development";

/**
 * Marks a database, as its superuser. Chosen: a setting of the database, because neither its name nor its address says
 * what it is for, and a dump that is restored elsewhere leaves such settings behind.
 */
export async function markDevelopment(sql: postgres.Sql, name: string): Promise<void> {
  await sql`alter database ${sql(name)} set ${sql.unsafe(mark)} = 'on'`;
}

/** Whether the database of this connection is marked. */
export async function isDevelopment(sql: postgres.Sql): Promise<boolean> {
  const [row] = await sql<{ mark: string | null }[]>`select current_setting(${mark}, true) as mark`;
  return row?.mark === "on";
}
