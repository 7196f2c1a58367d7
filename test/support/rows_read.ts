import type postgres from "postgres";

/** Returns how many rows of a table `work` reads in its session. */
export async function rowsRead(
  sql: postgres.Sql,
  table: string,
  work: () => Promise<unknown>,
): Promise<number> {
  const total = async () => {
    await sql`select pg_stat_force_next_flush()`;
    const [row] = await sql<{ count: number }[]>`
      select (seq_tup_read + idx_tup_fetch)::int as count from pg_stat_user_tables where relname = ${table}`;
    return row?.count ?? -1;
  };
  const before = await total();
  await work();
  return await total() - before;
}
