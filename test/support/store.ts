/**
 * What a test of the store works with: a database of its own, and the superuser's connections to it. Both end with
 * the tests of the file.
 */

import postgres from "postgres";
import { atEnd } from "./at_end.ts";
import { createDatabase, type DatabaseOptions, type TestDatabase } from "./database.ts";

/** A database, and a way into it. */
export interface TestStore {
  readonly database: TestDatabase;
  /** Its address. */
  readonly databaseUrl: string;
  /** As the superuser. */
  readonly sql: postgres.Sql;
}

/** Creates one. */
export async function openStore(options: DatabaseOptions = {}): Promise<TestStore> {
  const database = await createDatabase(options);
  const sql = postgres(database.url, { max: 3, onnotice: () => {} });
  atEnd(() => sql.end({ timeout: 5 }));
  return { database, databaseUrl: database.url, sql };
}
