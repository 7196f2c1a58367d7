/**
 * What a fault test stands on: a PostgreSQL of its own, a tenant with a campaign and a key, and server
 * processes, with or without a proxy in between.
 */

import assert from "node:assert/strict";
import { asService, type OwnPostgres, ownPostgres } from "../database.ts";
import { get } from "../client.ts";
import { ctl, type RunningServer, startServer } from "../server.ts";
import { until } from "../until.ts";
import { History } from "./history.ts";
import { openProxy, type PostgresProxy } from "./postgres_proxy.ts";
import { atEnd } from "../at_end.ts";

/** A key as the operator's command issues it. */
export interface IssuedKey {
  readonly id: string;
  readonly key: string;
}

/** How to set it up. */
export interface StandOptions {
  /** Of the PostgreSQL server. */
  readonly settings?: Readonly<Record<string, string | number>>;
  /** Puts a proxy between the servers and PostgreSQL. */
  readonly proxy?: boolean;
  /** How many servers to start. Left out: one. */
  readonly servers?: number;
}

/** The parts, all running. */
export interface Stand {
  readonly postgres: OwnPostgres;
  /** PostgreSQL itself, past the proxy. */
  readonly databaseUrl: string;
  /** Fails when the stand has none. */
  readonly proxy: PostgresProxy;
  /** Of everything that this store is sent. */
  readonly history: History;
  /** Posts into the campaign `spring`. */
  readonly apiKey: IssuedKey;
  /** The one that was started first. */
  readonly server: RunningServer;
  /** Those that run. */
  readonly servers: RunningServer[];
  /** Their base addresses. */
  readonly intakeUrls: () => string[];
  issueKey(label: string): Promise<IssuedKey>;
  /** Starts one more. */
  startServer(): Promise<RunningServer>;
}

/** The limits stay out of the way. */
const env = {
  INTAKE_IP_PER_MINUTE: "100000000",
  INTAKE_IP_BURST: "1000000",
  INTAKE_KEY_PER_MINUTE: "100000000",
  INTAKE_KEY_BURST: "1000000",
};

/**
 * Sets a stand up for the tests of a file; it ends with them. A stand is slow to set up: the tests
 * of a file share one, and its history. In the end no server may have met anything unforeseen.
 */
export async function stand(options: StandOptions = {}): Promise<Stand> {
  const postgres = await ownPostgres(options.settings);
  const databaseUrl = postgres.url;
  const proxy = options.proxy ? await openProxy(postgres.server.port) : undefined;
  const started: RunningServer[] = [];
  atEnd(() => {
    const logs = started.flatMap((server) => server.logs);
    assert.deepEqual(logs.filter(({ event }) => event === "fault" || event === "uncaught"), []);
    assert.equal(started.map((server) => server.output.stderr).join(""), "");
  });
  const seenUrl = asService(proxy === undefined ? databaseUrl : proxy.databaseUrl(databaseUrl));

  await ctl(["tenant", "add", "acme"], { databaseUrl });
  await ctl(["campaign", "add", "spring", "--tenant", "acme"], { databaseUrl });
  const issueKey = (label: string): Promise<IssuedKey> =>
    ctl(["key", "issue", "acme", "--label", label, "--campaign", "spring"], { databaseUrl });

  const servers: RunningServer[] = [];
  const startOne = async () => {
    // The deadlines and bounds of slow clients are those of the listener on Node.
    const server = await startServer({ databaseUrl: seenUrl, env, runtime: "node" });
    started.push(server);
    servers.push(server);
    atEnd(() => server.kill());
    server.ended.then(() => servers.splice(servers.indexOf(server), 1));
    return server;
  };
  const apiKey = await issueKey("load");
  const server = await startOne();
  while (servers.length < (options.servers ?? 1)) await startOne();
  return {
    postgres,
    databaseUrl,
    get proxy() {
      if (proxy === undefined) throw new Error("This stand has no proxy");
      return proxy;
    },
    history: new History(),
    apiKey,
    server,
    servers,
    intakeUrls: () => servers.map((server) => server.url),
    issueKey,
    startServer: startOne,
  };
}

/** What `GET /healthz` says. */
export async function health(intakeUrl: string): Promise<{ ok: boolean; store_writable: boolean }> {
  return (await get(`${intakeUrl}/healthz`)).json;
}

/** Waits for `store_writable` to have a value and returns how long that took. */
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
