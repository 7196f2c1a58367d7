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
import { canonicalText } from "../../../src/lead/fingerprint.ts";
import { validate } from "../../../src/lead/validate.ts";
import { buildFolder, run } from "../programs.ts";
import { keyCount, tenantCount } from "../load/keys.ts";
import type { Bench, Contender } from "../measure.ts";
import { meter } from "../usage.ts";

/**
 * How the transaction is written: BEGIN, two INSERTs and COMMIT, or a single statement that inserts both rows.
 */
export type Form = "BEGIN, two INSERTs, COMMIT" | "one statement";
const forms: readonly Form[] = ["BEGIN, two INSERTs, COMMIT", "one statement"];

/** Leads that take turns. */
const sampleCount = 8;

/** Chosen: the fastest of 8, 16, 32, 64 and 96. */
const clients = 16;

/** pgbench with prepared statements. */
export const openPgbench = (form: Form) => ({ options, stage, tree, bodies }: Bench): Contender => {
  const program = findPgbench();
  const load = writeScripts(bodies);
  return {
    run: () =>
      stage.lend(tree, async (database) => {
        const round = (seconds: number) =>
          runPgbench({ program, load, form, databaseUrl: database.url }, seconds);
        await round(options.warmUpSeconds);
        const spent = meter({ PostgreSQL: stage.pid });
        const { perSecond, transactions } = await round(options.seconds);
        if (transactions === 0) throw new Error("pgbench has ended no transaction");
        return { "leads/s": perSecond, ...spent(transactions, "lead") };
      }),
  };
};

/** The program with the highest version. */
function findPgbench(): string {
  const debian = "/usr/lib/postgresql";
  const versions = existsSync(debian) ? readdirSync(debian) : [];
  const folders = [
    ...versions.sort((a, b) => Number(b) - Number(a)).map((version) => join(debian, version, "bin")),
    ...(process.env.PATH ?? "").split(delimiter),
  ];
  const found = folders.map((folder) => join(folder, "pgbench")).find((file) => existsSync(file));
  if (found === undefined) throw new Error("pgbench is missing: apt-get install postgresql-contrib");
  return found;
}

/** The transactions of each form, with the values that they send as parameters. */
interface Scripts {
  readonly files: Readonly<Record<Form, string[]>>;
  readonly variables: readonly string[];
}

/** Writes the scripts. The leads are normalized by our validator, so the rows are as large as ours. */
function writeScripts(bodies: readonly string[]): Scripts {
  const variables: string[] = [];
  const files: Scripts["files"] = { "BEGIN, two INSERTs, COMMIT": [], "one statement": [] };
  for (const [index, body] of bodies.slice(0, sampleCount).entries()) {
    const verdict = validate(body, new Map());
    if (verdict.kind !== "valid") throw new Error(`A sample lead is not valid: ${body}`);
    const { lead, extra } = verdict;
    const flags = verdict.flags.filter((flag) => flag !== "project_area_unknown");
    const values = {
      content: hash("sha256", canonicalText(lead, extra), "hex").slice(0, 32),
      flags: `{${flags.join(",")}}`,
      lead: JSON.stringify(lead),
      raw: body,
      ...(extra === null ? {} : { extra }),
    };
    variables.push(...Object.entries(values).flatMap(([name, value]) => ["-D", `${name}${index}=${value}`]));
    for (const [number, form] of forms.entries()) {
      const file = join(buildFolder, `pgbench_${number}_${index}.sql`);
      writeFileSync(file, transaction(form, index, extra !== null));
      files[form].push(file);
    }
  }
  return { files, variables };
}

function transaction(form: Form, index: number, hasExtra: boolean): string {
  const insertEvent = `insert into event (event_id, kind, tenant_id, key_id, received_at, dedupe_space, \
dedupe_digest, content_digest, idempotency_key, flags, lead, extra, raw) \
values (new_event_id(event_id_at(clock_timestamp()), 1), 'lead', :tenant, :key, now(), 'k', \
gen_random_uuid(), :content${index}, 'provider/lead/0123456789-1-' || :number::text, :flags${index}, :lead${index}, \
${hasExtra ? `:extra${index}` : "null"}, :raw${index}) returning event_id, tenant_id`;
  const head = `\\set key random(1, ${keyCount})
\\set tenant (:key - 1) % ${tenantCount} + 1
\\set number random(100000, 999999)
`;
  if (form === "one statement") {
    return `${head}with e as (${insertEvent}) insert into outbox (event_id, tenant_id, due_at) select event_id, tenant_id, now() from e;\n`;
  }
  return `${head}begin;
${insertEvent} \\gset new_
insert into outbox (event_id, tenant_id, due_at) values (:new_event_id, :new_tenant_id, now());
commit;
`;
}

/** Its transactions, and how many a second, connecting not counted. */
async function runPgbench(
  { program, load, form, databaseUrl }: { program: string; load: Scripts; form: Form; databaseUrl: string },
  seconds: number,
): Promise<{ perSecond: number; transactions: number }> {
  const url = new URL(databaseUrl);
  const threads = Math.min(clients, availableParallelism());
  const options = ["-n", "-M", "prepared", `-c${clients}`, `-j${threads}`, `-T${seconds}`];
  const scripts = load.files[form].flatMap((file) => ["-f", file]);
  const said = await run(program, [...options, ...load.variables, ...scripts, url.pathname.slice(1)], {
    timeoutMs: (seconds + 30) * 1_000,
    // Not on the command line, which anybody on the machine can read.
    env: { PGHOST: url.hostname, PGPORT: url.port, PGUSER: url.username, PGPASSWORD: url.password },
  });
  const perSecond = Number(/^tps = ([\d.]+) \(without/m.exec(said)?.[1]);
  const transactions = Number(/^number of transactions actually processed: (\d+)/m.exec(said)?.[1]);
  const failed = /^number of failed transactions: (\d+)/m.exec(said)?.[1] ?? "0";
  if (!(perSecond >= 0) || !(transactions >= 0) || failed !== "0") {
    throw new Error(`pgbench did not do what it should:\n${said}`);
  }
  return { perSecond, transactions };
}
