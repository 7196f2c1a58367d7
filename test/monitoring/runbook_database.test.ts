import postgres from "postgres";
import { atEnd } from "../support/at_end.ts";
import { post } from "../support/client.ts";
import { asService, ownPostgres } from "../support/database.ts";
import { type Standby, startStandby } from "../support/faults/standby.ts";
import { withSql } from "../support/faults/store.ts";
import { Prometheus } from "../support/monitoring/prometheus.ts";
import { rehearse } from "../support/monitoring/rehearsal.ts";
import { ctl, startServer } from "../support/server.ts";
import { until } from "../support/until.ts";
import { lead, publishedLimits } from "../support/world.ts";

const { server: database, url: databaseUrl } = await ownPostgres({ archive_mode: "on", max_connections: 60 });
await ctl(["tenant", "add", "acme"], { databaseUrl });
const { key } = await ctl(["key", "issue", "acme", "--label", "partner"], { databaseUrl });
const raised = Object.fromEntries(Object.keys(publishedLimits).map((name) => [name, "1000000"]));
const server = await startServer({ databaseUrl: asService(databaseUrl), env: raised });
atEnd(() => server.kill());
const scraped = await Prometheus.open();
scraped.watch("lead-intake", server.urls.ops as string);
const prometheus = () => scraped;

/** Posts so many leads at once, whatever becomes of them. */
const posts = (count: number) =>
  Promise.all(
    Array.from(
      { length: count },
      () => post(`${server.url}/v1/intake`, { key, body: JSON.stringify(lead()) }),
    ),
  );

rehearse(prometheus, ["StoreNotWritable", "PostsFail"], {
  breakIt: async () => {
    database.kill("SIGINT");
    await database.ended;
  },
  meanwhile: () => posts(3),
  mendIt: () => database.restart(),
  afterwards: () => posts(10),
  isQuick: true,
});

const others: postgres.Sql[] = [];
rehearse(prometheus, ["DatabaseConnectionsRunOut"], {
  breakIt: async () => {
    const taken = Array.from({ length: 46 }, () => postgres(databaseUrl, { max: 1, onnotice: () => {} }));
    others.push(...taken);
    await Promise.all(taken.map((sql) => sql`select 1`));
  },
  mendIt: () => Promise.all(others.map((sql) => sql.end({ timeout: 5 }))),
});

/** As `postgresql.conf` has it, and a piece of WAL to be archived. */
const archiveWith = (command: string) =>
  withSql(databaseUrl, async (sql) => {
    await sql.unsafe(`alter system set archive_command = '${command}'`);
    await sql`select pg_reload_conf()`;
    await sql`select pg_switch_wal()`;
  });

rehearse(prometheus, ["ArchiveFails"], {
  breakIt: async () => {
    await archiveWith("true");
    await until(async () => (await scraped.query("lead_database_archived_timestamp_seconds > 0")).length > 0);
    await archiveWith("false");
  },
  mendIt: () => archiveWith("true"),
});

let standby: Standby | null = null;
rehearse(prometheus, ["StandbyLost"], {
  breakIt: async () => {
    standby = await startStandby(database);
    await until(async () => (await scraped.query("lead_database_standbys == 1")).length > 0);
    await standby.server.stop();
  },
  mendIt: () => standby?.server.restart(),
});

rehearse(prometheus, ["FailedOver"], {
  breakIt: async () => {
    const port = standby?.server.port;
    const both = asService(databaseUrl).replace(/(127\.0\.0\.1):(\d+)/, `$1:$2,$1:${port}`);
    await server.stop();
    const another = await startServer({ databaseUrl: both, env: raised });
    atEnd(() => another.kill());
    scraped.watch("lead-intake", another.urls.ops as string);
    await until(async () => (await scraped.query("lead_database_timeline == 1")).length > 0);
    await standby?.caughtUp();
    database.kill("SIGQUIT");
    await database.ended;
    await standby?.promote();
  },
  mendIt: () => {},
});
