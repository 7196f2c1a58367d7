import type postgres from "postgres";

/** Returns how many rows of a table `work` reads in the session that it gets. */
export async function rowsRead(
  sql: postgres.Sql,
  table: string,
  work: (session: postgres.ReservedSql) => PromiseLike<unknown>,
): Promise<number> {
  const session = await sql.reserve();
  const total = async () => {
    await session`select pg_stat_force_next_flush()`;
    const [row] = await session<{ count: number }[]>`
      select (seq_tup_read + idx_tup_fetch)::int as count from pg_stat_user_tables where relname = ${table}`;
    return row?.count ?? -1;
  };
  try {
    const before = await total();
    await work(session);
    return await total() - before;
  } finally {
    session.release();
  }
}
