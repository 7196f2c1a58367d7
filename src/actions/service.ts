/**
 * Puts the actions process together from its settings and runs it; `main.ts` reads the settings and the signals.
 *
 * @module
 */

import { randomFillSync } from "node:crypto";
import { limits } from "../contract/limits.ts";
import { namesOf } from "../http/node/admission.ts";
import { listen } from "../http/node/listen.ts";
import type { HttpObservation, Listener } from "../http/options.ts";
import { createRequestIds } from "../http/request_id.ts";
import type { Log } from "../observe/log.ts";
import { logReader, ownerFields } from "../observe/log_reader.ts";
import { repeat } from "../service/repeat.ts";
import type { Running } from "../service/run.ts";
import { DigestStore } from "../store/delivery/digests.ts";
import { EffectStore } from "../store/delivery/effects.ts";
import { readOwnerRole, requireUsableDatabase } from "../store/schema/check.ts";
import { describeError, Pool } from "../store/pool.ts";
import type { ActionsConfig } from "./config.ts";
import { openDestinations } from "./destinations.ts";
import { digests } from "./digests.ts";
import { Effects } from "./effects.ts";
import { actionsRouter, idleTimeoutMs, reply } from "./handle.ts";
import { createResolver } from "./resolve.ts";
import { testRoutes } from "./route_test.ts";
import { openMail, type SendMail } from "./smtp.ts";

// Three short statements an event; the server gives one up before we do (see the deadline of the store).
const statementTimeoutMs = 4_500;
const poolConnectionsMax = 8;

// The service's connections are few and kept; the bound only has to end what is dead.
const connectionsMax = 1_000;
// To send an event whole. The answer may take an effect's time more, with three statements around it.
const bodyTimeoutMs = 20_000;
const statementsMs = 3 * statementTimeoutMs;

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
    connectionsMax: poolConnectionsMax,
    statementTimeoutMs,
    onWarning: (text) => log.error("commit_warning", { text }),
  });
  try {
    await requireUsableDatabase(pool);
    const owner = await readOwnerRole(pool);
    if (owner !== null) log.error("runs_as_owner", ownerFields(owner, "lead_actions"));
    const sendMail = openMail(
      config.mail === null ? null : { ...config.mail, timeoutMs: config.effectTimeoutMs },
    );
    const listener = await open(config, { store: new EffectStore(pool), sendMail }, log);
    const stopDigests = config.mail === null ? () => {} : startDigests(config, { pool, sendMail }, log);
    const host = listener.host.includes(":") ? `[${listener.host}]` : listener.host;
    log.info("listening", { surface: "actions", url: `https://${host}:${listener.port}` });
    return {
      async close(graceMs) {
        // A mail that is under way is given its bound, as are requests.
        await Promise.all([listener.close(graceMs), stopDigests()]);
        await pool.close();
      },
    };
  } catch (error) {
    await pool.close();
    throw error;
  }
}

function startDigests(
  { effectTimeoutMs }: ActionsConfig,
  { pool, sendMail }: { readonly pool: Pool; readonly sendMail: SendMail },
  log: Log,
): () => Promise<void> {
  const nowMs = () => Date.now();
  const job = digests({ store: new DigestStore(pool), sendMail, timeoutMs: effectTimeoutMs, log, nowMs });
  const repeating = repeat(job, {
    onFailure: (error) => log.error("digests_failed", { cause: describeError(error) }),
  });
  return () => repeating.stop();
}

function open(
  config: ActionsConfig,
  { store, sendMail }: { readonly store: EffectStore; readonly sendMail: SendMail },
  log: Log,
): Promise<Listener> {
  const { effectTimeoutMs, allowedNetworks } = config;
  const nowMs = () => Date.now();
  const clockMs = () => performance.now();
  const destinations = openDestinations({
    allowedNetworks,
    sendMail,
    timeoutMs: effectTimeoutMs,
    resolve: createResolver(),
  });
  const effects = new Effects({ records: store, destinations, effectTimeoutMs, nowMs });
  const routesOf: EffectStore["routesOf"] = (slug, scope) => store.routesOf(slug, scope);
  const router = actionsRouter({
    perform: (event) => effects.perform(event),
    test: (request) => testRoutes(request, { routesOf, destinations, nowMs, clockMs }),
    ping: () => store.ping(),
    log,
    clockMs,
  });
  const { clientName } = config;
  return listen({
    address: config.listen,
    surfaces: [{ name: "actions", hosts: [], router, fault: () => reply(500, { error: "fault" }) }],
    tls: config.files,
    admit: (certificate) =>
      clientName === null || namesOf(certificate).includes(clientName) ? null : "wrong_name",
    connectionsPerAddress: Infinity,
    requestId: {
      lengthMax: limits.requestIdLengthMax,
      refused: null,
      generate: createRequestIds((bytes) => randomFillSync(bytes)),
    },
    refuse: (status) => reply(status, { error: "not_served" }),
    observe: logObservation(log),
    bounds: {
      connectionsMax,
      idleTimeoutMs,
      requestTimeoutMs: bodyTimeoutMs + effectTimeoutMs + statementsMs,
    },
  });
}

function logObservation(log: Log): (observation: HttpObservation) => void {
  const read = logReader(log);
  return (observation) => {
    // A delivery has a line of its own.
    if (observation.kind === "request") return;
    read("files" in observation ? { ...observation, files: "actions" } : observation);
  };
}
