/** As much of psql as the documents use: the name of a database, statements from standard input, and `\connect`. */

import { text } from "node:stream/consumers";
import postgres from "postgres";

const url = new URL(process.env.PSQL_URL ?? "");
if (process.argv[2] !== undefined) url.pathname = `/${process.argv[2]}`;
for (const [index, part] of (await text(process.stdin)).split(/^\\connect /m).entries()) {
  const [, database = "", statements = part] = index === 0 ? [] : /^(\w+)\n([^]*)$/.exec(part) ?? [];
  if (database !== "") url.pathname = `/${database}`;
  const sql = postgres(url.href, { max: 1, onnotice: () => {} });
  // One by one: create database takes no company.
  for (const statement of statements.split(/;\n(?![^]*\$\$;$)/m)) {
    if (statement.trim() !== "") await sql.unsafe(statement);
  }
  await sql.end();
}
