/**
 * A database for a test of the store, and the superuser's connections to it. Both end with the tests of the file.
 */

import postgres from "postgres";
import { atEnd } from "./at_end.ts";
import { createDatabase, type DatabaseOptions, type TestDatabase } from "./database.ts";

/** The database to open. */
export interface StoreOptions extends DatabaseOptions {
  /** The address of an existing database; by default one is created. */
  readonly url?: string | undefined;
}

/** A database and connections to it. */
export interface TestStore {
  readonly database: TestDatabase;
  /** Its address. */
  readonly databaseUrl: string;
  /** Connections as the superuser. */
  readonly sql: postgres.Sql;
}

/** Creates the database, or opens the one at an address. */
export async function openStore({ url, ...options }: StoreOptions = {}): Promise<TestStore> {
  const drop = () => Promise.resolve();
  const database = url === undefined ? await createDatabase(options) : { name: "", url, drop };
  const sql = postgres(database.url, { max: 4, onnotice: () => {} });
  atEnd(() => sql.end({ timeout: 5 }));
  return { database, databaseUrl: database.url, sql };
}
