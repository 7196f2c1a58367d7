/**
 * Puts the actions process together from its settings and runs it; `main.ts` reads the settings and the signals.
 *
 * @module
 */

import type { Log } from "../observe/log.ts";
import type { Running } from "../service/run.ts";
import { EffectStore } from "../store/delivery/effects.ts";
import { requireUsableDatabase } from "../store/schema/check.ts";
import { describeError, Pool } from "../store/pool.ts";
import type { ActionsConfig } from "./config.ts";
import { openDestinations } from "./destinations.ts";
import { Effects } from "./effects.ts";
import { actionsHandler, refuse } from "./handle.ts";
import { createResolver } from "./resolve.ts";
import { type ActionsListener, serveActions } from "./serve.ts";

// Three short statements an event; the server gives one up before we do (see the deadline of the store).
const statementTimeoutMs = 4_500;
const connectionsMax = 8;

/**
 * Starts the process and resolves when it accepts requests.
 *
 * @throws {DatabaseRefused} when the database is not migrated
 * @throws {Unavailable} when it cannot be reached
 */
export async function startActions(config: ActionsConfig, log: Log): Promise<Running> {
  const pool = new Pool({
    databaseUrl: config.databaseUrl,
    name: "actions",
    connectionsMax,
    statementTimeoutMs,
    onWarning: (text) => log.error("commit_warning", { text }),
  });
  try {
    await requireUsableDatabase(pool);
    const listener = await listen(config, new EffectStore(pool), log);
    const host = listener.host.includes(":") ? `[${listener.host}]` : listener.host;
    log.info("listening", { surface: "actions", url: `https://${host}:${listener.port}` });
    return {
      async close(graceMs) {
        await listener.close(graceMs);
        await pool.close();
      },
    };
  } catch (error) {
    await pool.close();
    throw error;
  }
}

function listen(config: ActionsConfig, store: EffectStore, log: Log): Promise<ActionsListener> {
  const { effectTimeoutMs, allowedNetworks, mail } = config;
  const nowMs = () => Date.now();
  const effects = new Effects({
    records: store,
    destinations: openDestinations({
      allowedNetworks,
      mail,
      timeoutMs: effectTimeoutMs,
      resolve: createResolver(),
    }),
    effectTimeoutMs,
    nowMs,
  });
  return serveActions({
    address: config.listen,
    files: config.files,
    clientName: config.clientName,
    handle: actionsHandler({
      perform: (event) => effects.perform(event),
      ping: () => store.ping(),
      log,
      clockMs: () => performance.now(),
    }),
    refuse,
    onRefused: ({ reason, peer }) => log.error("client_refused", { reason, client: peer }),
    onFiles: (event) => {
      if (event.kind === "renewed") log.info("certificates_renewed", { ca: event.caChanged });
      else log.error("certificates_refused", { cause: describeError(event.error) });
    },
    nowMs,
  });
}
