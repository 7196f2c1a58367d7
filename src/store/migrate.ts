/**
 * Brings a database to the shape that this program expects, and tells whether it has it.
 *
 * `sql/` holds numbered files for tables, each applied once in a transaction of its own, and
 * `sql/functions/` the current text of every function, applied again when it has changed.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import postgres from "postgres";

/** A file under `sql/`. */
interface SqlFile {
  readonly name: string;
  readonly text: string;
  readonly digest: string;
}

const sqlFolder = fileURLToPath(new URL("../../sql/", import.meta.url));

async function readFolder(folder: string): Promise<SqlFile[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".sql")).sort();
  return Promise.all(names.map(async (name) => {
    const text = await readFile(`${folder}${name}`, "utf8");
    return { name, text, digest: createHash("sha256").update(text).digest("hex") };
  }));
}

// Arbitrary, but the same for every version: two migrations at once wait for each other.
const migrationLock = 20_260_824;

/**
 * Applies what is missing, one migration at a time over all nodes, and returns the names of the
 * files it applied; an empty array means that the database was current.
 *
 * @throws {Error} when a numbered file that was applied has been edited since
 */
export async function migrate(databaseUrl: string): Promise<string[]> {
  const sql = postgres(databaseUrl, {
    max: 1,
    onnotice: () => {},
    connect_timeout: 10,
    connection: { application_name: "lead-intake migrate", synchronous_commit: "on" },
  });
  try {
    await sql`select pg_advisory_lock(${migrationLock})`;
    await sql`create table if not exists schema_file (
      name text primary key, digest text not null, applied_at timestamptz not null default now()
    )`;
    return await applyFiles(sql);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

async function applyFiles(sql: postgres.Sql): Promise<string[]> {
  const rows = await sql<{ name: string; digest: string }[]>`select name, digest from schema_file`;
  const applied = new Map(rows.map((row) => [row.name, row.digest]));
  const tables = await readFolder(sqlFolder);
  const functions = (await readFolder(`${sqlFolder}functions/`))
    .map((file) => ({ ...file, name: `functions/${file.name}` }));

  const edited = tables.find((file) => applied.has(file.name) && applied.get(file.name) !== file.digest);
  if (edited !== undefined) {
    throw new Error(
      `This database was made by another version of this repository: it has another sql/${edited.name}.
Use that version, or another database. The database of npm start is made anew when the folder .data is moved away or deleted.
(If you have changed that file: what was applied is never changed; undo it and add a new file.)`,
    );
  }
  const missing = [
    ...tables.filter((file) => !applied.has(file.name)),
    ...functions.filter((file) => applied.get(file.name) !== file.digest),
  ];
  for (const file of missing) {
    await sql.begin(async (transaction) => {
      // Functions call one another, and their files are applied in the order of their names.
      await transaction`set local check_function_bodies = off`;
      await transaction.unsafe(file.text);
      await transaction`
        insert into schema_file (name, digest) values (${file.name}, ${file.digest})
        on conflict (name) do update set digest = excluded.digest, applied_at = now()`;
    });
  }
  return missing.map((file) => file.name);
}

/**
 * The files under `sql/` that the database lacks or has in another version; empty when it is
 * current. Files that only the database knows are a newer program's and do no harm.
 */
export async function missingFiles(sql: postgres.Sql): Promise<string[]> {
  const [tables, functions] = await Promise.all([
    readFolder(sqlFolder),
    readFolder(`${sqlFolder}functions/`),
  ]);
  const [exists] = await sql`select to_regclass('schema_file') is not null as found`;
  const rows = exists?.found
    ? await sql<{ name: string; digest: string }[]>`select name, digest from schema_file`
    : [];
  const applied = new Map(rows.map((row) => [row.name, row.digest]));
  return [
    ...tables.filter((file) => applied.get(file.name) !== file.digest).map((file) => file.name),
    ...functions.map((file) => ({ name: `functions/${file.name}`, digest: file.digest }))
      .filter((file) => applied.get(file.name) !== file.digest).map((file) => file.name),
  ];
}
