/** Starts and stops the service; `main.ts` reads settings and signals. */

import type { Config } from "../settings/config.ts";
import { needsStore } from "../settings/surface_names.ts";
import type { Log } from "../observe/log.ts";
import { logReader } from "../observe/log_reader.ts";
import { Meters } from "../observe/meters.ts";
import type { Observation } from "../observe/observation.ts";
import { addProcessMeters } from "../observe/process.ts";
import { conditionOf } from "./condition.ts";
import { listenAll, type Listeners } from "./listeners.ts";
import type { Running } from "../process/run.ts";
import { nowMs, openStore } from "./store.ts";
import { type State, surfacesOf } from "./surfaces.ts";

/**
 * Starts the service and resolves when it accepts requests.
 *
 * @throws {DatabaseRefused} if the database is not migrated or not durable
 * @throws {Unavailable} if it cannot be reached
 */
export async function startService(config: Config, log: Log): Promise<Running> {
  const writeLog = logReader(log);
  const meters = new Meters(Date.now);
  const observe = (observation: Observation) => {
    writeLog(observation);
    meters.observe(observation);
  };
  const store = needsStore(config.surfaces) ? await openStore(config, observe, meters) : null;
  const state: State = { isDraining: false, urls: new Map() };
  let listeners: Listeners;
  try {
    listeners = await listenAll(surfacesOf(config, { store, state, observe, meters }), {
      config,
      observe,
    });
  } catch (error) {
    await store?.close(0);
    throw error;
  }
  state.urls = listeners.urls;
  // A failed start is retried, so it must leave nothing running.
  const stopMeters = addProcessMeters(meters.registry, { nowMs, lastFailure: config.lastFailure });
  return {
    condition: () => conditionOf(config, store?.heartbeat ?? null),
    async close(graceMs) {
      state.isDraining = true;
      const startedAtMs = nowMs();
      await listeners.close(graceMs);
      stopMeters();
      await store?.close(Math.max(0, graceMs - (nowMs() - startedAtMs)));
    },
  };
}
