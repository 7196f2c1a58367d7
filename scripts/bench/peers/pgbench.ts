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
import { type Database, keyCount, tenantCount } from "../stage.ts";
import type { Bench, Contender } from "../suite.ts";
import { climb } from "../tuning.ts";

/**
 * How the transaction is written: BEGIN, two INSERTs and COMMIT, or a single statement that inserts both rows.
 */
type Form = "BEGIN, two INSERTs, COMMIT" | "one statement";
const forms: readonly Form[] = ["BEGIN, two INSERTs, COMMIT", "one statement"];

/** How pgbench is run. */
interface Settings {
  readonly clients: number;
  readonly form: Form;
}

/** Leads that take turns. */
const sampleCount = 8;

/** pgbench with the form and the clients with which it is fastest. */
export async function openPgbench({ options, stage, tree, bodies }: Bench): Promise<Contender> {
  const { quick, warmUpSeconds, seconds } = options;
  const program = findPgbench();
  const load = writeScripts(bodies);
  const round = (database: Database, settings: Settings, seconds: number) =>
    runPgbench({ program, load, databaseUrl: database.url }, settings, seconds);
  const { best, note } = await climb<Settings>("pgbench", { clients: 32, form: "one statement" }, [
    { form: forms },
    { clients: quick ? [] : [8, 16, 64, 96] },
    // Again, with the clients that suit it.
    { form: forms },
  ], (settings) => stage.lend(tree, (database) => round(database, settings, quick ? 2 : 5)));
  return {
    note: `${(await run(program, ["--version"], { timeoutMs: 5_000 })).trim()}: ${note}`,
    run: () =>
      stage.lend(tree, async (database) => {
        await round(database, best, warmUpSeconds);
        return { "leads/s": await round(database, best, seconds) };
      }),
  };
}

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

/** Its transactions a second, connecting not counted. */
async function runPgbench(
  { program, load, databaseUrl }: { program: string; load: Scripts; databaseUrl: string },
  { form, clients }: Settings,
  seconds: number,
): Promise<number> {
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
  const failed = /^number of failed transactions: (\d+)/m.exec(said)?.[1] ?? "0";
  if (!(perSecond > 0) || failed !== "0") throw new Error(`pgbench did not do what it should:\n${said}`);
  return perSecond;
}
