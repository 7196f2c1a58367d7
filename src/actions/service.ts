/** Assembles the actions process. */

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
import { loggingObserver, ownerFields } from "../observe/log_observer.ts";
import { metricsType } from "../observe/metrics_text.ts";
import { addProcessMeters } from "../observe/process.ts";
import { addressUrl } from "../service/listeners.ts";
import { type Job, repeat } from "../service/repeat.ts";
import { clocks } from "../process/deadline_thread.ts";
import type { Running } from "../process/run.ts";
import type { Health } from "../process/supervise.ts";
import { listenAddressFault, resolveTarget } from "../settings/listen_targets.ts";
import { ConfigError } from "../settings/reader.ts";
import { DigestStore } from "../store/delivery/digests.ts";
import { earlierPostsTimeoutMs, findEarlierPosts, noEarlierPosts } from "../store/delivery/earlier_posts.ts";
import { EffectStore } from "../store/delivery/effects.ts";
import { TokenStore } from "../store/delivery/tokens.ts";
import { describeError, Pool } from "../store/pool.ts";
import { Primary } from "../store/primary.ts";
import { readOwnerRole, requireUsableDatabase } from "../store/schema/check.ts";
import type { ActionsConfig } from "./config.ts";
import { runTimeoutMs } from "./crm/engine.ts";
import { Expressions } from "./crm/expressions.ts";
import { createDestinations } from "./destinations.ts";
import { digestJob } from "./digests.ts";
import { createResolver } from "./dns_cache.ts";
import { EffectRunner } from "./effects.ts";
import { actionsRouter, idleTimeoutMs, jsonReply } from "./handle.ts";
import { testRoutes } from "./route_test.ts";
import { openMail, type SendMail } from "./smtp.ts";

const pauseMs = 2_000;
// Longer than any query's deadline.
const stuckAfterMs = 20_000;

/** Checks that timers fire and the database responds. */
class DatabaseHealthCheck implements Job<void> {
  readonly #ping: () => Promise<void>;
  readonly #nowMs: () => number;
  #isResponding = false;
  #hasResponded = false;
  #lastRunEndedAtMs: number;

  constructor(ping: () => Promise<void>, nowMs: () => number) {
    this.#ping = ping;
    this.#nowMs = nowMs;
    this.#lastRunEndedAtMs = nowMs();
  }

  get health(): Health {
    return {
      isReady: this.#hasResponded,
      isAlive: this.#nowMs() - this.#lastRunEndedAtMs < stuckAfterMs,
      status: this.#isResponding ? "delivering" : "not delivering: the database is not responding",
    };
  }

  pauseMs(): number {
    return pauseMs;
  }

  async runOnce(): Promise<void> {
    try {
      await this.#ping();
      this.#isResponding = this.#hasResponded = true;
    } catch {
      this.#isResponding = false;
    }
    this.#lastRunEndedAtMs = this.#nowMs();
  }
}

// Shorter than the store's own deadline, so that the server cancels a statement first.
const statementTimeoutMs = 4_500;
// With the one for lookups, a third of connectionLimits.lead_actions (store/schema/rights.ts).
const poolConnectionsMax = 7;

const connectionsMax = 1_000;
const bodyTimeoutMs = 20_000;
// Processing an event takes at most the time limit of an effect or recipe plus three statements.
const statementsMs = 3 * statementTimeoutMs;

const requestIdOptions = {
  lengthMax: limits.requestIdLengthMax,
  refused: null,
  generate: createRequestIds((bytes) => randomFillSync(bytes)),
};

/**
 * Starts the process; resolves when it accepts requests.
 *
 * @throws {DatabaseRefused} if the database cannot be used, for example because it is not migrated
 * @throws {Unavailable} if the database cannot be reached
 */
export async function startActions(config: ActionsConfig, log: Log): Promise<Running> {
  const primary = new Primary(config.databaseUrl);
  const pool = new Pool({
    primary,
    name: "actions",
    connectionsMax: poolConnectionsMax,
    statementTimeoutMs,
    onWarning: (text) => log.error("commit_warning", { text }),
  });
  // Apart, because a missed deadline closes a pool's connections, and a claim must not wait for a lookup.
  const lookupPool = new Pool({
    primary,
    name: "actions lookups",
    connectionsMax: 1,
    statementTimeoutMs: earlierPostsTimeoutMs,
  });
  try {
    await requireUsableDatabase(pool);
    const owner = await readOwnerRole(pool);
    if (owner !== null) log.error("runs_as_owner", ownerFields(owner, "lead_actions"));
    const sendMail = openMail(
      config.mail === null ? null : { ...config.mail, timeoutMs: config.effectTimeoutMs },
    );
    const reporting = createReporting(log);
    const expressions = new Expressions(clocks);
    const parts = { store: new EffectStore(pool), sendMail, pool, lookupPool, reporting, expressions };
    const listener = await openListener(config, parts, log);
    const metrics = await openMetrics(config, reporting).catch(async (error) => {
      await listener.close(0);
      throw error;
    });
    const stopDigests = config.mail === null ? () => {} : startDigests(config, parts, log);
    const host = listener.host.includes(":") ? `[${listener.host}]` : listener.host;
    log.info("listening", { surface: "actions", url: `https://${host}:${listener.port}` });
    if (metrics !== null) log.info("listening", { surface: "ops", url: addressUrl(metrics, false) });
    const health = new DatabaseHealthCheck(() => parts.store.ping(), () => performance.now());
    const healthCheckJob = repeat(health, { onFailure: () => {} });
    void healthCheckJob.soon();
    return {
      health: () => health.health,
      async close(graceMs) {
        void healthCheckJob.stop();
        await Promise.all([listener.close(graceMs), stopDigests()]);
        await metrics?.close(0);
        expressions.close();
        await Promise.all([pool.close(), lookupPool.close()]);
      },
    };
  } catch (error) {
    await Promise.all([pool.close(), lookupPool.close()]);
    throw error;
  }
}

interface Reporting {
  readonly meters: ActionsMeters;
  readonly observe: (observation: ActionsObservation) => void;
}

interface Parts {
  readonly store: EffectStore;
  readonly sendMail: SendMail;
  readonly pool: Pool;
  readonly lookupPool: Pool;
  readonly reporting: Reporting;
  readonly expressions: Expressions;
}

function startDigests(
  { effectTimeoutMs, heldLinks }: ActionsConfig,
  { pool, sendMail, reporting: { observe } }: Parts,
  log: Log,
): () => Promise<void> {
  const nowMs = () => Date.now();
  const store = new DigestStore(pool);
  const job = digestJob({ store, sendMail, heldLinks, timeoutMs: effectTimeoutMs, log, nowMs, observe });
  const digestRepeat = repeat(job, {
    onFailure: (error) => log.error("digests_failed", { cause: describeError(error) }),
  });
  return () => digestRepeat.stop();
}

function openListener(
  config: ActionsConfig,
  { store, sendMail, pool, lookupPool, expressions, reporting: { meters, observe } }: Parts,
  log: Log,
): Promise<Listener> {
  const { effectTimeoutMs, allowedNetworks } = config;
  const nowMs = () => Date.now();
  const monotonicMs = () => performance.now();
  const destinations = createDestinations({
    allowedNetworks,
    sendMail,
    timeoutMs: effectTimeoutMs,
    resolve: createResolver(),
    tokens: new TokenStore(pool),
    expressions,
    monotonicMs,
  });
  meters.initialize(destinations.map(({ kind }) => kind));
  const earlierPosts = (eventId: string) =>
    findEarlierPosts(lookupPool, eventId).catch((error) => {
      log.error("earlier_posts_failed", { event_id: eventId, cause: describeError(error) });
      return noEarlierPosts;
    });
  const effects = new EffectRunner({
    records: store,
    earlierPosts,
    destinations,
    effectTimeoutMs,
    nowMs,
    monotonicMs,
    observe,
  });
  const routesOf: EffectStore["routesOf"] = (slug, scope) => store.routesOf(slug, scope);
  const router = actionsRouter({
    perform: (event) => effects.perform(event),
    test: (request) => testRoutes(request, { routesOf, earlierPosts, destinations, nowMs, monotonicMs }),
    ping: () => store.ping(),
    log,
    monotonicMs,
  });
  const { clientName } = config;
  return listen({
    address: resolveTarget(config.listen, config.sockets),
    surfaces: [{ name: "actions", hosts: [], router, fault: () => jsonReply(500, { error: "fault" }) }],
    tls: config.files,
    admit: (certificate) =>
      clientName === null || namesOf(certificate).includes(clientName) ? null : "wrong_name",
    connectionsPerAddress: Infinity,
    requestId: requestIdOptions,
    refuse: (status) => jsonReply(status, { error: "not_served" }),
    observe,
    bounds: {
      connectionsMax,
      idleTimeoutMs,
      requestTimeoutMs: bodyTimeoutMs + runTimeoutMs(effectTimeoutMs) + statementsMs,
    },
  });
}

function createReporting(log: Log): Reporting {
  const write = loggingObserver(log);
  const meters = new ActionsMeters();
  const observe = (observation: ActionsObservation) => {
    const forActions = "files" in observation ? { ...observation, files: "actions" } : observation;
    meters.observe(forActions);
    // The request handlers and the digest job write their own log lines.
    if (forActions.kind !== "request" && forActions.kind !== "effect" && forActions.kind !== "digest") {
      write(forActions);
    }
  };
  return { meters, observe };
}

/** Serves `GET /metrics` over plain HTTP, so that a scraper needs no client certificate. */
async function openMetrics(
  { opsListen, sockets, lastFailure }: ActionsConfig,
  { meters }: Reporting,
): Promise<Listener | null> {
  if (opsListen === null) return null;
  const { registry } = meters;
  const router = new Router({
    notFound: () => jsonReply(404, { error: "not_found" }),
    methodNotAllowed: () => jsonReply(405, { error: "method_not_allowed" }),
  }).get("/metrics", () => text(200, registry.text(), { "Content-Type": metricsType }));
  const listener = await listen({
    address: resolveTarget(opsListen, sockets),
    requireAddress: (address) => {
      const fault = listenAddressFault("ACTIONS_OPS_LISTEN", address, { isOperators: true });
      if (fault !== null) throw new ConfigError([fault]);
    },
    surfaces: [{ name: "ops", hosts: [], router, fault: () => jsonReply(500, { error: "fault" }) }],
    requestId: requestIdOptions,
    refuse: (status) => jsonReply(status, { error: "not_served" }),
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
