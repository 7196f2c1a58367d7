/**
 * Puts the service together from its settings and runs it; `main.ts` reads the settings and the signals.
 *
 * @module
 */

import { randomFillSync } from "node:crypto";
import { logAccess, logCertificate, logFault } from "./access_log.ts";
import type { Config } from "./config.ts";
import { keyInText } from "./contract/api_key.ts";
import { brief } from "./contract/brief.ts";
import { documents } from "./contract/documents.ts";
import { unreadErrors } from "./contract/errors.ts";
import { limits } from "./contract/limits.ts";
import { openapi } from "./contract/openapi.ts";
import type { Reply } from "./http/exchange.ts";
import type { Listener, RefusalStatus, Surface } from "./http/options.ts";
import { json } from "./http/reply.ts";
import { createRequestIds } from "./http/request_id.ts";
import { Router } from "./http/router.ts";
import { listen } from "./http/serve.ts";
import { documentHandler, versionOf } from "./intake/docs.ts";
import { intakeHandler } from "./intake/handle.ts";
import { healthHandler } from "./intake/health.ts";
import { IpBudget, KeyBudget } from "./intake/rate.ts";
import { publicRead, refuse } from "./intake/reply.ts";
import { vocabularyHandler } from "./intake/vocabulary.ts";
import type { Log } from "./log.ts";
import { nowMs, openStore, type Store } from "./open_store.ts";
import bundle from "./playground/bundle.json" with { type: "json" };
import { icon } from "./playground/icon.ts";
import { playgroundPage } from "./playground/page.ts";
import type { Running } from "./run.ts";

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
