/**
 * A service whose alerts are rehearsed: it is started again with other settings, and posted to.
 *
 * @module
 */

import type { RunningServer } from "../server.ts";
import { until } from "../until.ts";
import { freshKey, type IssuedKey, lead } from "../world.ts";
import { type MonitoredStand, monitoredStand } from "./stand.ts";

/** The service and what it stands on. */
export interface RehearsedService extends Omit<MonitoredStand, "start"> {
  /** The one that was started last. */
  readonly server: RunningServer;
  /** Of a tenant with a route. */
  readonly key: IssuedKey;
  /** Starts it; the one before has ended. */
  start(env?: Readonly<Record<string, string>>): Promise<void>;
  /** Ends it, and starts it again with these settings. */
  again(env?: Readonly<Record<string, string>>): Promise<void>;
  /** Posts so many leads at once, and returns the statuses. */
  posts(count: number, options?: PostOptions): Promise<number[]>;
  /** Posts so many leads at once until all of them are taken: a busy machine may answer 503, just after a start above all. */
  taken(count: number, options?: PostOptions): Promise<void>;
}

/** What is posted; left out: a lead, by the key of the tenant with a route. */
export interface PostOptions {
  readonly key?: string;
  readonly body?: unknown;
}

/** Starts one; it ends with the tests of the file. */
export async function rehearsedService(): Promise<RehearsedService> {
  const monitored = await monitoredStand();
  const { stand } = monitored;
  const key = await stand.routed();
  let server = await monitored.start();
  const start = async (env?: Readonly<Record<string, string>>) => {
    server = await monitored.start(env);
  };
  const posts = async (count: number, options: PostOptions = {}) => {
    const one = async () => {
      const body = options.body ?? lead();
      const headers = { "Idempotency-Key": freshKey() };
      const post = { key: options.key ?? key.text, body, headers };
      return (await stand.world.intake(post as never, server)).status;
    };
    return await Promise.all(Array.from({ length: count }, one));
  };
  return {
    ...monitored,
    key,
    start,
    get server() {
      return server;
    },
    async again(env) {
      await server.stop();
      await start(env);
    },
    posts,
    async taken(count, options) {
      await until(async () => (await posts(count, options)).every((status) => status === 202), {
        what: "the leads are taken",
      });
    },
  };
}
