/**
 * pgbench as a peer: the same rows as ours, one lead a transaction, prepared statements.
 *
 * It is spared the look at the API key, the campaign's spend and the counts of unknown terms: it inserts the
 * event and its outbox row, nothing else.
 *
 * @module
 */

import { hash } from "node:crypto";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { delimiter, join } from "node:path";
import { canonicalText } from "../../src/lead/fingerprint.ts";
import { validate } from "../../src/lead/validate.ts";
import { run } from "./children.ts";
import { keyCount, tenantCount } from "./stage.ts";

/**
 * How the transaction is written: `statements` are BEGIN, two INSERTs and COMMIT; `one` is a single statement
 * that inserts both rows.
 */
export type PgbenchForm = "statements" | "one";

/** Leads that take turns. */
const sampleCount = 8;

/** The program with the highest version, or `undefined`. Debian: package postgresql-15 or later. */
export function findPgbench(): string | undefined {
  const debian = "/usr/lib/postgresql";
  const versions = existsSync(debian) ? readdirSync(debian) : [];
  const candidates = [
    ...versions.sort((a, b) => Number(b) - Number(a)).map((version) => join(debian, version, "bin")),
    ...(process.env.PATH ?? "").split(delimiter),
  ];
  return candidates.map((folder) => join(folder, "pgbench")).find((file) => existsSync(file));
}

/** Its version, as it says it. */
export async function pgbenchVersion(program: string): Promise<string> {
  return (await run(program, ["--version"], { timeoutMs: 5_000 })).stdout.trim();
}

/** The transactions of each form, with the values that they send as parameters. */
export interface PgbenchLoad {
  readonly files: Readonly<Record<PgbenchForm, readonly string[]>>;
  readonly variables: readonly string[];
}

/** Writes the scripts. The leads are normalized by our validator, so the rows are as large as ours. */
export function writeScripts(folder: string, bodies: readonly string[]): PgbenchLoad {
  const variables: string[] = [];
  const files: Record<PgbenchForm, string[]> = { statements: [], one: [] };
  for (const [index, body] of bodies.slice(0, sampleCount).entries()) {
    const verdict = validate(body, new Map());
    if (verdict.kind !== "valid") {
      throw new Error(`A sample lead is not valid: ${body}`);
    }
    const { lead, extra } = verdict;
    const flags = verdict.flags.filter((flag) => flag !== "project_area_unknown");
    const values = {
      content: hash("sha256", canonicalText(lead, extra), "hex").slice(0, 32),
      flags: `{${flags.join(",")}}`,
      lead: JSON.stringify(lead),
      raw: body,
      ...(extra === null ? {} : { extra }),
    };
    for (const [name, value] of Object.entries(values)) {
      variables.push("-D", `${name}${index}=${value}`);
    }
    for (const form of ["statements", "one"] as const) {
      const file = join(folder, `pgbench_${form}_${index}.sql`);
      writeFileSync(file, transaction(form, index, extra !== null));
      files[form].push(file);
    }
  }
  return { files, variables };
}

function transaction(form: PgbenchForm, index: number, hasExtra: boolean): string {
  const insertEvent = `insert into event (event_id, kind, tenant_id, key_id, received_at, dedupe_space, \
dedupe_digest, content_digest, idempotency_key, flags, lead, extra, raw) \
values (new_event_id(event_id_at(clock_timestamp()), 1), 'lead', :tenant, :key, now(), 'k', \
gen_random_uuid(), :content${index}, 'provider/lead/0123456789-1-' || :number::text, :flags${index}, :lead${index}, \
${hasExtra ? `:extra${index}` : "null"}, :raw${index}) returning event_id, tenant_id`;
  const head = `\\set key random(1, ${keyCount})
\\set tenant (:key - 1) % ${tenantCount} + 1
\\set number random(100000, 999999)
`;
  if (form === "one") {
    return `${head}with e as (${insertEvent}) insert into outbox (event_id, tenant_id, due_at) select event_id, tenant_id, now() from e;\n`;
  }
  return `${head}begin;
${insertEvent} \\gset new_
insert into outbox (event_id, tenant_id, due_at) values (:new_event_id, :new_tenant_id, now());
commit;
`;
}

/** How a round of pgbench is run. */
export interface PgbenchRound {
  readonly form: PgbenchForm;
  readonly clients: number;
  readonly seconds: number;
}

/**
 * Runs pgbench and returns its transactions a second, connecting not counted.
 *
 * @throws {Error} when a transaction failed
 */
export async function runPgbench(
  { program, load, databaseUrl }: { program: string; load: PgbenchLoad; databaseUrl: string },
  { form, clients, seconds }: PgbenchRound,
): Promise<number> {
  const url = new URL(databaseUrl);
  const threads = Math.min(clients, availableParallelism());
  const options = ["-n", "-M", "prepared", `-c${clients}`, `-j${threads}`, `-T${seconds}`];
  const scripts = load.files[form].flatMap((file) => ["-f", file]);
  const { stdout } = await run(program, [...options, ...load.variables, ...scripts, url.pathname.slice(1)], {
    timeoutMs: (seconds + 30) * 1_000,
    // Not on the command line, which anybody on the machine can read.
    env: { PGHOST: url.hostname, PGPORT: url.port, PGUSER: url.username, PGPASSWORD: url.password },
  });
  const perSecond = Number(/^tps = ([\d.]+) \(without/m.exec(stdout)?.[1]);
  const failed = /^number of failed transactions: (\d+)/m.exec(stdout)?.[1] ?? "0";
  if (!(perSecond > 0) || failed !== "0") {
    throw new Error(`pgbench did not do what it should:\n${stdout}`);
  }
  return perSecond;
}
