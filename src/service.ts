/**
 * Puts the service together from its settings and runs it; `main.ts` reads the settings and the signals.
 *
 * @module
 */

import { randomFillSync, randomInt, randomUUID } from "node:crypto";
import type { Config } from "./config.ts";
import { keyInText } from "./contract/api_key.ts";
import { brief } from "./contract/brief.ts";
import { documents } from "./contract/documents.ts";
import { unreadErrors } from "./contract/errors.ts";
import { limits } from "./contract/limits.ts";
import { openapi } from "./contract/openapi.ts";
import type { Exchange, Reply } from "./http/exchange.ts";
import type { Access, CertificateEvent, Listener, RefusalStatus, Surface } from "./http/options.ts";
import { json } from "./http/reply.ts";
import { createRequestIds } from "./http/request_id.ts";
import { Router } from "./http/router.ts";
import { listen } from "./http/serve.ts";
import { startDelivery } from "./delivery/delivery.ts";
import { documentHandler, versionOf } from "./intake/docs.ts";
import { intakeHandler } from "./intake/handle.ts";
import { healthHandler } from "./intake/health.ts";
import { IpBudget, KeyBudget } from "./intake/rate.ts";
import { refuse } from "./intake/reply.ts";
import { publicRead, vocabularyHandler } from "./intake/vocabulary.ts";
import type { Log } from "./log.ts";
import bundle from "./playground/bundle.json" with { type: "json" };
import { icon } from "./playground/icon.ts";
import { playgroundPage } from "./playground/page.ts";
import type { Running } from "./run.ts";
import { AcceptStore } from "./store/accept.ts";
import { requireUsableDatabase } from "./store/check.ts";
import { Committer } from "./store/committer.ts";
import { Heartbeat } from "./store/heartbeat.ts";
import { KeyStore } from "./store/keys.ts";
import { readReference, ReferenceReader } from "./store/reference.ts";
import { describeError, Pool } from "./store/sql.ts";
import { Totals } from "./store/totals.ts";

// The 503 has to leave within 10 s (DECISIONS, The intake endpoint), the statement ends before we give it up.
const commitDeadlineMs = 9_500;
const statementTimeoutMs = 9_000;
// After an outage, a statement that is still silent this long sits on a dead connection.
const renewGraceMs = 500;

const nowMs = () => performance.now();

/**
 * Starts the service and resolves when it accepts requests.
 *
 * @throws {DatabaseRefused} when the database is not migrated or not durable
 * @throws {Unavailable} when it cannot be reached
 */
export async function startService(config: Config, log: Log): Promise<Running> {
  const store = await openStore(config, log);
  let isDraining = false;
  let baseUrl = config.intakeUrl ?? "";
  const router = intakeRouter(config, store, () => isDraining);
  addDocuments(router, () => baseUrl);
  const listener = await listenIntake(config, router, log).catch(async (error) => {
    await store.close(0);
    // Deno does not say which address it was.
    const { host: address, port } = config.intakeListen;
    throw Object.assign(error, { address, port });
  });
  if (config.intakeUrl === null) baseUrl = urlOf(config, listener);
  // Every listener is open; each has said where.
  return {
    async close(graceMs) {
      isDraining = true;
      const startedAtMs = nowMs();
      await listener.close(graceMs);
      await store.close(Math.max(0, graceMs - (nowMs() - startedAtMs)));
    },
  };
}

/** The store's parts, opened in the order in which they need one another. */
type Store = Awaited<ReturnType<typeof openStore>>;

async function openStore(config: Config, log: Log) {
  const { databaseUrl } = config;
  let isAway = () => false;
  const reads = new Pool({
    databaseUrl,
    name: "read",
    connectionsMax: 2,
    statementTimeoutMs,
    isAway: () => isAway(),
  });
  try {
    await requireUsableDatabase(reads);
    const reference = new ReferenceReader(reads, nowMs, await readReference(reads, nowMs));
    const node = randomUUID();
    const accepts = new AcceptStore({
      databaseUrl,
      node,
      statementTimeoutMs,
      onWarning: (text) => log.error("commit_warning", { text }),
    });
    const heartbeat: Heartbeat = new Heartbeat({
      databaseUrl,
      nowMs,
      slot: randomInt(64),
      onChange: (writable, cause) => {
        if (writable) {
          log.info("store_writable");
          accepts.renew(renewGraceMs);
          reads.renew(renewGraceMs);
        } else {
          log.error("store_not_writable", { cause: describeError(cause) });
          committer.refuseWaiting();
          // Lookups fail fast as commits do.
          reads.leaveStuck(0);
        }
      },
    });
    isAway = () => !heartbeat.writable;
    const committer = new Committer({
      accept: (entries, deadlineMs) => accepts.accept(entries, deadlineMs),
      writable: () => heartbeat.writable,
      nowMs,
      deadlineMs: commitDeadlineMs,
      onRefused: (error) => log.error("entry_refused", { cause: describeError(error) }),
      onCommitted: (entries) => {
        heartbeat.wrote();
        delivery?.wake(new Set(entries.map((entry) => entry.tenantId)));
      },
    });
    await heartbeat.start();
    const delivery = config.delivery === null ? null : startDelivery(
      { ...config.delivery, databaseUrl, node, newLease: () => randomUUID() },
      {
        pool: reads,
        nowMs,
        random: Math.random,
        onFailure: (what, error) => log.error("delivery_failure", { what, cause: describeError(error) }),
        onBreaker: (state) => log.info("breaker", { state }),
        onAttempt: () => {},
      },
    );
    const keys = new KeyStore(reads, nowMs);
    const totals = new Totals(reads, (error) => log.error("totals_kept", { cause: describeError(error) }));
    return {
      reference,
      committer,
      heartbeat,
      keys,
      totals,
      async close(graceMs: number) {
        await committer.idle();
        await delivery?.close(graceMs);
        reference.close();
        await totals.close();
        await Promise.all([heartbeat.close(), accepts.close(), reads.close()]);
      },
    };
  } catch (error) {
    await reads.close();
    throw error;
  }
}

function intakeRouter(config: Config, store: Store, isDraining: () => boolean): Router {
  const { keys, committer, totals, reference, heartbeat } = store;
  return new Router({
    notFound: ({ requestId }) => refuse("not_found", { requestId }),
    methodNotAllowed: ({ requestId }) => refuse("method_not_allowed", { requestId, headers: publicRead }),
  })
    .any(
      "/v1/intake",
      intakeHandler({
        keys,
        committer,
        totals,
        reference: () => reference.current,
        ipBudget: new IpBudget(config.intakeIpRate),
        keyBudget: new KeyBudget(config.intakeKeyRate),
        nowMs,
      }),
    )
    .get("/v1/vocabulary", vocabularyHandler(() => reference.current, nowMs))
    .get("/healthz", healthHandler(() => heartbeat, isDraining));
}

/** The documents name the address of the intake, which the listener may have to find first. */
function addDocuments(router: Router, baseUrl: () => string): void {
  const { script, style } = bundle;
  const versions = { script: versionOf(script), style: versionOf(style), icon: versionOf(icon) };
  router
    .get(documents.openapi.path, documentHandler("openapi", () => JSON.stringify(openapi(baseUrl()))))
    .get(documents.brief.path, documentHandler("brief", () => brief(baseUrl())))
    .get(documents.playground.path, documentHandler("playground", () => playgroundPage(baseUrl(), versions)))
    .get(documents.script.path, documentHandler("script", () => script))
    .get(documents.style.path, documentHandler("style", () => style))
    .get(documents.icon.path, documentHandler("icon", () => icon));
}

async function listenIntake(config: Config, router: Router, log: Log): Promise<Listener> {
  const surface: Surface = {
    name: "intake",
    hosts: config.intakeUrl === null ? [] : [new URL(config.intakeUrl).host],
    router,
    fault: ({ requestId }) => refuse("not_accepting", { requestId }),
  };
  const listener = await listen({
    address: config.intakeListen,
    surfaces: [surface],
    tls: config.tls,
    trustedProxies: config.trustedProxies,
    requestId: {
      lengthMax: limits.requestIdLengthMax,
      refused: keyInText,
      generate: createRequestIds((bytes) => randomFillSync(bytes)),
    },
    refuse: refuseUnread,
    onAccess: (access) => logAccess(log, access),
    onFault: (error, exchange) => logFault(log, error, exchange),
    onCertificate: (event) => logCertificate(log, event),
    bounds: { requestTimeoutMs: limits.requestTimeoutMs },
  });
  log.info("listening", { surface: "intake", url: urlOf(config, listener) });
  return listener;
}

/** The listener's own address. */
function urlOf(config: Config, listener: Listener): string {
  const scheme = config.tls === null ? "http" : "https";
  const host = listener.host.includes(":") ? `[${listener.host}]` : listener.host;
  return `${scheme}://${host}:${listener.port}`;
}

/** The answer to what no surface sees; the intake's error body, with the nearest of its codes. */
function refuseUnread(status: RefusalStatus, requestId: string): Reply {
  return json(status, { error: unreadErrors[status].code, request_id: requestId });
}

function logAccess(log: Log, access: Access): void {
  log.info("request", {
    request_id: access.requestId,
    surface: access.surface,
    method: access.method,
    route: access.route,
    status: access.status,
    duration_ms: Math.round(access.durationMs * 100) / 100,
    bytes: access.bytes,
    client: access.clientAddress,
    key_id: access.keyId,
    ...(access.aborted ? { aborted: true } : {}),
  });
}

// The stack names our code, the message might quote a lead: only the first is logged.
function logFault(log: Log, error: unknown, exchange: Exchange | null): void {
  const stack = error instanceof Error
    ? (error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line)).join("\n")
    : "";
  log.error("fault", {
    request_id: exchange?.requestId ?? null,
    route: exchange?.route ?? null,
    name: error instanceof Error ? error.name : typeof error,
    cause: describeError(error),
    stack,
  });
}

function logCertificate(log: Log, event: CertificateEvent): void {
  if (event.kind === "renewed") log.info("certificate_renewed");
  else log.error("certificate_refused", { cause: describeError(event.error) });
}
