/** Starts and stops the service; `main.ts` reads the settings, and `process/run.ts` handles the signals. */

import type { Config } from "../settings/config.ts";
import { needsStore } from "../settings/surface_names.ts";
import type { Log } from "../observe/log.ts";
import { loggingObserver } from "../observe/log_observer.ts";
import { Meters } from "../observe/meters.ts";
import type { Observation } from "../observe/observation.ts";
import { addProcessMeters } from "../observe/process.ts";
import { listenAll, type Listeners } from "./listeners.ts";
import type { Running } from "../process/run.ts";
import type { Health } from "../process/supervise.ts";
import type { Heartbeat } from "../store/serving/heartbeat.ts";
import { nowMs, openStore } from "./store.ts";
import { createSurfaces, type State } from "./surfaces.ts";

/**
 * Starts the service and resolves when it accepts requests.
 *
 * @throws {DatabaseRefused} if the database is not migrated or not durable
 * @throws {Unavailable} if the database cannot be reached
 */
export async function startService(config: Config, log: Log): Promise<Running> {
  const writeLog = loggingObserver(log);
  const meters = new Meters(Date.now);
  const observe = (observation: Observation) => {
    writeLog(observation);
    meters.observe(observation);
  };
  const store = needsStore(config.surfaces) ? await openStore(config, observe, meters) : null;
  const state: State = { isDraining: false, urls: new Map() };
  let listeners: Listeners;
  try {
    listeners = await listenAll(createSurfaces(config, { store, state, observe, meters }), {
      config,
      observe,
    });
  } catch (error) {
    await store?.close(0);
    throw error;
  }
  state.urls = listeners.urls;
  // Added last, because a failed start is retried and must leave nothing running.
  const stopMeters = addProcessMeters(meters.registry, { nowMs, lastFailure: config.lastFailure });
  return {
    health: () => healthOf(config, store?.heartbeat ?? null),
    async close(graceMs) {
      state.isDraining = true;
      const startedAtMs = nowMs();
      await listeners.close(graceMs);
      stopMeters();
      await store?.close(Math.max(0, graceMs - (nowMs() - startedAtMs)));
    },
  };
}

// Shorter than the watchdog interval and longer than the heartbeat's timeout. A heartbeat fails while the store is down,
// and hangs only if every query hangs.
const hangingAfterMs = 10_000;

/** Derives the health from the heartbeat. Without a store, the process is ready once it listens. */
function healthOf({ surfaces }: Pick<Config, "surfaces">, heartbeat: Heartbeat | null): Health {
  if (heartbeat === null) return { isReady: true, isAlive: true, status: "serving" };
  const { writable, pending, dead, endedAtMs } = heartbeat;
  const activity = surfaces.has("intake") || surfaces.has("forms") ? "accepting" : "serving";
  const state = writable ? activity : `not ${activity}: the database does not accept writes`;
  return {
    isReady: writable,
    isAlive: nowMs() - endedAtMs < hangingAfterMs,
    status: `${state}; ${pending} pending, ${dead} dead`,
  };
}
