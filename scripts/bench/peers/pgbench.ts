/**
 * pgbench as a peer: the same rows, one lead per transaction, both INSERTs in one prepared statement. It omits the API
 * key's lookup, the campaign's spend and the counts of unknown terms.
 */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { toStored } from "../events.ts";
import type { Bench, Contender } from "../measure.ts";
import { buildFolder, run, startCpuMeter } from "../programs.ts";
import { keyCount } from "../stage.ts";

/** The number of distinct leads. */
const sampleCount = 8;

/** Chosen: the fastest of 8, 16, 32, 64 and 96. */
const clients = 16;

/** Runs pgbench, with a new database for each round. */
export function pgbench({ options, postgresServer, checkout, bodies }: Bench): Contender {
  const scripts = writeScripts(bodies);
  return {
    run: () =>
      postgresServer.withDatabase(checkout, async ({ url }) => {
        await runPgbench(scripts, url, options.warmUpSeconds);
        const spent = startCpuMeter({ PostgreSQL: postgresServer.pid });
        const { perSecond, transactions } = await runPgbench(scripts, url, options.seconds);
        return { "leads/s": perSecond, ...spent(transactions, "lead") };
      }),
  };
}

/** Writes the scripts and returns their options. The leads are normalized, so that rows are as large as ours. */
function writeScripts(bodies: readonly string[]): string[] {
  return bodies.slice(0, sampleCount).flatMap((body, index) => {
    const { extra, ...values } = toStored(body);
    const file = join(buildFolder, `pgbench_${index}.sql`);
    writeFileSync(
      file,
      `\\set key random(1, ${keyCount})
\\set number random(100000, 999999)
with e as (
  insert into event (event_id, kind, tenant_id, key_id, received_at, dedupe_space,
    dedupe_digest, content_digest, idempotency_key, flags, lead, extra, raw)
  values (new_event_id(event_id_at(clock_timestamp()), 1), 'lead', :key, :key, now(), 'k',
    gen_random_uuid(), :content${index}, 'provider/lead/0123456789-1-' || :number::text, :flags${index}, :lead${index},
    ${extra === null ? "null" : `:extra${index}`}, :raw${index})
  returning event_id, tenant_id
) insert into outbox (event_id, tenant_id, due_at) select event_id, tenant_id, now() from e;
`,
    );
    const variables = Object.entries({ ...values, ...(extra === null ? {} : { extra }) });
    return [...variables.flatMap(([name, value]) => ["-D", `${name}${index}=${value}`]), "-f", file];
  });
}

/** Returns the number of transactions and their rate, without the time to connect. */
async function runPgbench(scripts: readonly string[], databaseUrl: string, seconds: number) {
  const url = new URL(databaseUrl);
  const options = ["-n", "-M", "prepared", `-c${clients}`, "-j2", `-T${seconds}`];
  const output = await run("pgbench", [...options, ...scripts, url.pathname.slice(1)], {
    timeoutMs: (seconds + 30) * 1_000,
    // The password is in the environment, because every user can read the command line.
    env: { PGHOST: url.hostname, PGPORT: url.port, PGUSER: url.username, PGPASSWORD: url.password },
  });
  const perSecond = Number(/^tps = ([\d.]+) \(without/m.exec(output)?.[1]);
  const transactions = Number(/^number of transactions actually processed: (\d+)/m.exec(output)?.[1]);
  const failed = /^number of failed transactions: (\d+)/m.exec(output)?.[1] ?? "0";
  if (!(perSecond > 0) || !(transactions > 0) || failed !== "0") {
    throw new Error(`pgbench:\n${output}`);
  }
  return { perSecond, transactions };
}
