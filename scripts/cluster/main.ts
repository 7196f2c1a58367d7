/**
 * `node scripts/cluster/main.ts`: a PostgreSQL cluster on this machine that fails over by itself, with the service's database on it; and
 * `node scripts/cluster/main.ts faults`, which makes it fail over under load and says what became of what the clients were told.
 *
 * @module
 */

import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { Cluster } from "./cluster.ts";
import { faults } from "./faults.ts";
import { type Round, runRounds } from "./rounds.ts";
import { makeDatabase, startService } from "./service.ts";
import { openSink } from "./sink.ts";
import { table } from "./table.ts";

const usage = `Usage: node scripts/cluster/main.ts                   runs until Ctrl-C
       node scripts/cluster/main.ts faults [--each N] [--only NAME]… [--rate N] [--seed N]

Needs Debian's patroni, etcd-server, haproxy and postgresql-15. It listens on loopback, and leaves nothing behind.

  --each N     fail-overs of each kind; 1 when left out
  --only NAME  one kind: ${faults.map(({ name }) => name).join(", ")}
  --rate N     leads a second, 300 when left out
  --seed N     repeats the choices of a run
  --not-strict commits do not wait while there is no standby (synchronous_mode without strict)`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    each: { type: "string", default: "1" },
    only: { type: "string", multiple: true },
    rate: { type: "string", default: "300" },
    seed: { type: "string" },
    "not-strict": { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
if (values.help || positionals.some((word) => word !== "faults")) {
  console.error(usage);
  process.exit(values.help ? 0 : 2);
}

const stopped = new Promise<void>((settle) => {
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => settle());
});
const cluster = await Cluster.start({ isStrict: !values["not-strict"] });
let isGood = true;
try {
  const database = await makeDatabase(cluster);
  if (positionals.length === 0) {
    console.log(`Servers, data and logs in ${cluster.folder}
export OWNER_URL='${database.url("lead_owner", cluster.servers)}'
export DATABASE_URL='${database.url("intake_login", cluster.servers)}'
export ACTIONS_DATABASE_URL='${database.url("actions_login", cluster.servers)}'
By HAProxy it is ${cluster.proxy}. patronictl -c ${cluster.folder}/one/patroni.json list
A sandbox's key is ${database.apiKey}. Ctrl-C ends it all.`);
    await stopped;
  } else {
    isGood = await Promise.race([
      runFaults(cluster, database),
      stopped.then(() => false),
    ]);
  }
} finally {
  await cluster.stop();
}
process.exit(isGood ? 0 : 1);

async function runFaults(
  cluster: Cluster,
  database: Awaited<ReturnType<typeof makeDatabase>>,
): Promise<boolean> {
  const sink = await openSink();
  const start = (name: string, runtime: "node" | "deno", at: string) =>
    startService({
      ...{ name, runtime, databaseUrl: database.url("intake_login", at), actionsUrl: sink.url },
      folder: cluster.folder,
    });
  const services = [
    await start("list, Node", "node", cluster.servers),
    await start("list, Deno", "deno", cluster.servers),
    await start("HAProxy", "node", cluster.proxy),
  ];
  const seed = Number(values.seed ?? randomInt(2 ** 31));
  const rounds: Round[] = [];
  // When it is stopped in the middle, too.
  void stopped.then(() => console.log(`\n${table(rounds)}`));
  console.log(`--seed ${seed} --each ${values.each} --rate ${values.rate}`);
  try {
    await runRounds({ cluster, database, services, sink }, {
      ...{ each: Number(values.each), seed, perSecond: Number(values.rate) },
      ...(values.only === undefined ? {} : { only: values.only }),
      onRound(round) {
        rounds.push(round);
        say(round);
      },
    });
  } finally {
    // Also when something gave up in the middle.
    console.log(`\n${table(rounds)}`);
  }
  for (const service of services) await service.stop();
  sink.close();
  return rounds.every(({ violations }) => violations.length === 0);
}

function say({ fault, violations, accepted, primaryMs, acceptingMs, backends }: Round): void {
  const again = Object.entries(acceptingMs).map(([name, ms]) => `${name} ${Math.round(ms)}`).join(", ");
  console.log(
    `${fault}: primary after ${
      Math.round(primaryMs)
    } ms; accepting after (ms): ${again}; ${accepted} accepted, ${backends} connections`,
  );
  for (const violation of violations) console.log(`  ${violation}`);
}
