/**
 * A fixture for fault tests: a separate PostgreSQL, a tenant with a campaign and a key, and servers, with an
 * optional proxy in between.
 */

import { asService, ownPostgres } from "../database.ts";
import { get } from "../client.ts";
import type { RunningServer } from "../server.ts";
import { until } from "../until.ts";
import { TestEnv } from "../test_env.ts";
import { History } from "./history.ts";
import { openProxy, type PostgresProxy } from "./postgres_proxy.ts";

/** Options of the fixture. */
export interface FixtureOptions {
  /** Settings of the PostgreSQL server. */
  readonly settings?: Readonly<Record<string, string | number>>;
  /** Puts a proxy between the servers and PostgreSQL. */
  readonly proxy?: boolean;
  /** The number of servers; default: one. */
  readonly servers?: number;
}

/** Creates a fixture for the tests of a file, which share it because its start is slow. */
export async function fixture(options: FixtureOptions = {}) {
  const postgres = await ownPostgres(options.settings);
  const databaseUrl = postgres.url;
  const proxy = options.proxy ? await openProxy(postgres.server.port) : undefined;
  const testEnv = await TestEnv.open(databaseUrl);
  for (const event of ["commit_warning", "totals_kept"]) testEnv.expectLogged(event);
  const tenant = await testEnv.tenant();
  const campaignId = await testEnv.campaign(tenant);
  const issueKey = () => testEnv.issue({ tenant, campaignId });
  const servers: RunningServer[] = [];
  /** Starts another server. */
  const start = async () => {
    const seenUrl = asService(proxy?.databaseUrl(databaseUrl) ?? databaseUrl);
    // The timeouts for slow clients are those of the listener on Node.
    const server = await testEnv.start({}, { databaseUrl: seenUrl, runtime: "node" });
    servers.push(server);
    server.ended.then(() => servers.splice(servers.indexOf(server), 1));
    return server;
  };
  const server = await start();
  while (servers.length < (options.servers ?? 1)) await start();
  return {
    postgres,
    databaseUrl,
    proxy: proxy as PostgresProxy,
    history: new History(),
    issueKey,
    /** Its leads are charged to a campaign. */
    apiKey: await issueKey(),
    /** The server that was started first, and all that run. */
    server,
    servers,
    startServer: start,
    intakeUrls: () => servers.map((server) => server.url),
  };
}

/** Returns the response of `GET /healthz`. */
export async function health(intakeUrl: string): Promise<{ ok: boolean; store_writable: boolean }> {
  return (await get(`${intakeUrl}/healthz`)).json;
}

/** Waits until `store_writable` has a value and returns the elapsed milliseconds. */
export async function storeWritable(
  intakeUrl: string,
  writable: boolean,
  deadlineMs: number,
): Promise<number> {
  const startMs = performance.now();
  await until(async () => (await health(intakeUrl)).store_writable === writable, {
    deadlineMs,
    what: `store_writable is ${writable}`,
  });
  return performance.now() - startMs;
}
