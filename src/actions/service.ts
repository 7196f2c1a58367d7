/** Composes and runs the actions process; `main.ts` reads settings and signals. */

import { randomFillSync } from "node:crypto";
import { limits } from "../contract/limits.ts";
import { namesOf } from "../http/node/admission.ts";
import { listen } from "../http/node/listen.ts";
import type { Listener } from "../http/options.ts";
import { text } from "../http/reply.ts";
import { createRequestIds } from "../http/request_id.ts";
import { Router } from "../http/router.ts";
import { ActionsMeters, type ActionsObservation } from "../observe/actions_meters.ts";
import type { Log } from "../observe/log.ts";
import { logReader, ownerFields } from "../observe/log_reader.ts";
import { metricsType } from "../observe/metrics_text.ts";
import { addProcessMeters } from "../observe/process.ts";
import { addressUrl } from "../service/listeners.ts";
import { type Job, repeat } from "../service/repeat.ts";
import type { Running } from "../process/run.ts";
import type { Condition } from "../process/supervise.ts";
import { addressFault, openAt } from "../settings/places.ts";
import { ConfigError } from "../settings/reader.ts";
import { DigestStore } from "../store/delivery/digests.ts";
import { EffectStore } from "../store/delivery/effects.ts";
import { describeError, Pool } from "../store/pool.ts";
import { Primary } from "../store/primary.ts";
import { readOwnerRole, requireUsableDatabase } from "../store/schema/check.ts";
import type { ActionsConfig } from "./config.ts";
import { openDestinations } from "./destinations.ts";
import { digests } from "./digests.ts";
import { createResolver } from "./dns_cache.ts";
import { Effects } from "./effects.ts";
import { actionsRouter, idleTimeoutMs, reply } from "./handle.ts";
import { testRoutes } from "./route_test.ts";
import { openMail, type SendMail } from "./smtp.ts";

const pauseMs = 2_000;
/** Longer than a query's deadline: a query beyond it means that deadlines do not work. */
const wedgedAfterMs = 20_000;

/** Whether the process's loops run and the database answers. */
class DatabaseHealthCheck implements Job<void> {
  readonly #ping: () => Promise<void>;
  readonly #nowMs: () => number;
  #answers = false;
  #hasAnswered = false;
  #endedAtMs: number;

  constructor(ping: () => Promise<void>, nowMs: () => number) {
    this.#ping = ping;
    this.#nowMs = nowMs;
    this.#endedAtMs = nowMs();
  }

  /** The current condition. */
  get condition(): Condition {
    return {
      isReady: this.#hasAnswered,
      isAlive: this.#nowMs() - this.#endedAtMs < wedgedAfterMs,
      status: this.#answers ? "performing" : "not performing: the database does not answer",
    };
  }

  pauseMs(): number {
    return pauseMs;
  }

  async runOnce(): Promise<void> {
    try {
      await this.#ping();
      this.#answers = this.#hasAnswered = true;
    } catch {
      this.#answers = false;
    }
    this.#endedAtMs = this.#nowMs();
  }
}

// Three short statements per event; the server cancels one before our deadline.
const statementTimeoutMs = 4_500;
const poolConnectionsMax = 8;

// The service keeps few connections; this only closes dead ones.
const connectionsMax = 1_000;
// Time to receive an event; the response takes up to an effect's time more, plus three statements.
const bodyTimeoutMs = 20_000;
const statementsMs = 3 * statementTimeoutMs;

const requestId = {
  lengthMax: limits.requestIdLengthMax,
  refused: null,
  generate: createRequestIds((bytes) => randomFillSync(bytes)),
};

/**
 * Starts the process and resolves when it accepts requests.
 *
 * @throws {DatabaseRefused} if the database is not migrated
 * @throws {Unavailable} if it cannot be reached
 */
export async function startActions(config: ActionsConfig, log: Log): Promise<Running> {
  const pool = new Pool({
    primary: new Primary(config.databaseUrl),
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
    const told = tell(log);
    const tools = { store: new EffectStore(pool), sendMail, pool, told };
    const listener = await open(config, tools, log);
    const figures = await openFigures(config, told).catch(async (error) => {
      await listener.close(0);
      throw error;
    });
    const stopDigests = config.mail === null ? () => {} : startDigests(config, tools, log);
    const host = listener.host.includes(":") ? `[${listener.host}]` : listener.host;
    log.info("listening", { surface: "actions", url: `https://${host}:${listener.port}` });
    if (figures !== null) log.info("listening", { surface: "ops", url: addressUrl(figures, false) });
    const health = new DatabaseHealthCheck(() => tools.store.ping(), () => performance.now());
    const checking = repeat(health, { onFailure: () => {} });
    void checking.soon();
    return {
      condition: () => health.condition,
      async close(graceMs) {
        void checking.stop();
        // A mail in flight may finish, as requests may.
        await Promise.all([listener.close(graceMs), stopDigests()]);
        await figures?.close(0);
        await pool.close();
      },
    };
  } catch (error) {
    await pool.close();
    throw error;
  }
}

/** The observers and metrics of the parts. */
interface Told {
  readonly meters: ActionsMeters;
  readonly observe: (observation: ActionsObservation) => void;
}

/** The parts' dependencies. */
interface Tools {
  readonly store: EffectStore;
  readonly sendMail: SendMail;
  readonly pool: Pool;
  readonly told: Told;
}

function startDigests(
  { effectTimeoutMs, heldLinks }: ActionsConfig,
  { pool, sendMail, told }: Tools,
  log: Log,
): () => Promise<void> {
  const nowMs = () => Date.now();
  const { observe } = told;
  const store = new DigestStore(pool);
  const job = digests({ store, sendMail, heldLinks, timeoutMs: effectTimeoutMs, log, nowMs, observe });
  const repeating = repeat(job, {
    onFailure: (error) => log.error("digests_failed", { cause: describeError(error) }),
  });
  return () => repeating.stop();
}

function open(
  config: ActionsConfig,
  { store, sendMail, told }: Tools,
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
  const { meters, observe } = told;
  meters.expect(destinations.map(({ kind }) => kind));
  const effects = new Effects({ records: store, destinations, effectTimeoutMs, nowMs, clockMs, observe });
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
    address: openAt(config.listen, config.sockets),
    surfaces: [{ name: "actions", hosts: [], router, fault: () => reply(500, { error: "fault" }) }],
    tls: config.files,
    admit: (certificate) =>
      clientName === null || namesOf(certificate).includes(clientName) ? null : "wrong_name",
    connectionsPerAddress: Infinity,
    requestId,
    refuse: (status) => reply(status, { error: "not_served" }),
    observe,
    bounds: {
      connectionsMax,
      idleTimeoutMs,
      requestTimeoutMs: bodyTimeoutMs + effectTimeoutMs + statementsMs,
    },
  });
}

/** The log and the counters. */
function tell(log: Log): Told {
  const read = logReader(log);
  const meters = new ActionsMeters();
  const observe = (observation: ActionsObservation) => {
    const told = "files" in observation ? { ...observation, files: "actions" } : observation;
    meters.observe(told);
    // Deliveries and digests have their own lines.
    if (told.kind !== "request" && told.kind !== "effect" && told.kind !== "digest") read(told);
  };
  return { meters, observe };
}

/** `GET /metrics` over plain HTTP at its own address, so that a scraper needs no delivery certificate. */
async function openFigures(
  { opsListen, sockets, lastFailure }: ActionsConfig,
  { meters }: Told,
): Promise<Listener | null> {
  if (opsListen === null) return null;
  const { registry } = meters;
  const router = new Router({
    notFound: () => reply(404, { error: "not_found" }),
    methodNotAllowed: () => reply(405, { error: "method_not_allowed" }),
  }).get("/metrics", () => text(200, registry.text(), { "Content-Type": metricsType }));
  const listener = await listen({
    address: openAt(opsListen, sockets),
    requireAddress: (address) => {
      const fault = addressFault("ACTIONS_OPS_LISTEN", address, { isOperators: true });
      if (fault !== null) throw new ConfigError([fault]);
    },
    surfaces: [{ name: "ops", hosts: [], router, fault: () => reply(500, { error: "fault" }) }],
    requestId,
    refuse: (status) => reply(status, { error: "not_served" }),
    observe: (observation) => meters.observe(observation),
  });
  const stopMeters = addProcessMeters(registry, { nowMs: () => performance.now(), lastFailure });
  return {
    ...listener,
    async close(graceMs) {
      stopMeters();
      await listener.close(graceMs);
    },
  };
}
