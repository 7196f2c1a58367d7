/**
 * How a service process is, as systemd is told.
 *
 * @module
 */

import type { Config } from "../settings/config.ts";
import type { Heartbeat } from "../store/serving/heartbeat.ts";
import { nowMs } from "./store.ts";
import type { Condition } from "../process/supervise.ts";

/**
 * Well before the watchdog's time, well after the longest beat: one that neither ends nor is given up shows that nothing
 * else of the store's would either. A store that is away ends its beats.
 */
const wedgedAfterMs = 10_000;

/** What the process is now, by its heartbeat; one without a store has none, and serves as soon as it listens. */
export function conditionOf({ surfaces }: Pick<Config, "surfaces">, heartbeat: Heartbeat | null): Condition {
  if (heartbeat === null) return { isReady: true, isAlive: true, status: "serving" };
  const { writable, pending, dead, endedAtMs } = heartbeat;
  const does = surfaces.has("intake") || surfaces.has("forms") ? "accepting" : "serving";
  const how = writable ? does : `not ${does}: the database takes no writes`;
  return {
    isReady: writable,
    isAlive: nowMs() - endedAtMs < wedgedAfterMs,
    status: `${how}; ${pending} pending, ${dead} dead`,
  };
}
