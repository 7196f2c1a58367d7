/**
 * Creates the database roles for `npm start`. As in production, neither role owns the tables, the service cannot
 * read routes, and the actions process cannot read leads.
 */

import { randomBytes } from "node:crypto";
import postgres from "postgres";
import { connectionLimits } from "#src/store/schema/rights.ts";

/** The database URL of each process. */
export interface Logins {
  /** A member of `lead_service`. */
  readonly serviceUrl: string;
  /** A member of `lead_actions`. */
  readonly actionsUrl: string;
}

/**
 * Creates the login roles, or gives existing ones new passwords, so that the URLs of an earlier start no longer work. The
 * database must be migrated, and its owner must have the right to create roles.
 */
export async function createLogins(databaseUrl: string): Promise<Logins> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  try {
    return {
      serviceUrl: await createLogin(sql, databaseUrl, "lead_service"),
      actionsUrl: await createLogin(sql, databaseUrl, "lead_actions"),
    };
  } finally {
    await sql.end({ timeout: 5 });
  }
}

async function createLogin(
  sql: postgres.Sql,
  databaseUrl: string,
  group: "lead_service" | "lead_actions",
): Promise<string> {
  const name = `npm_start_${group}`;
  // Hexadecimal digits need no escaping in the URL or in the statement, which takes no parameters.
  const password = randomBytes(24).toString("hex");
  const [found] = await sql`select 1 from pg_roles where rolname = ${name}`;
  await sql.unsafe(
    `${found === undefined ? "create" : "alter"} role ${name} with login password '${password}'
      connection limit ${connectionLimits[group]}`,
  );
  await sql.unsafe(`grant ${group} to ${name}`);
  const url = new URL(databaseUrl);
  url.username = name;
  url.password = password;
  return url.href;
}
