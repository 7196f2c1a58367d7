/** The condition of a service process, for systemd. */

import type { Config } from "../settings/config.ts";
import type { Heartbeat } from "../store/serving/heartbeat.ts";
import { nowMs } from "./store.ts";
import type { Condition } from "../process/supervise.ts";

/**
 * Shorter than the watchdog's time, longer than the longest heartbeat. If a heartbeat hangs this long, every query hangs. A store
 * that is down makes heartbeats fail, not hang.
 */
const wedgedAfterMs = 10_000;

/** The condition by the heartbeat. Without a store there is none, and the process is ready once it listens. */
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
