/** Composes the surfaces of a service process. */

import { randomBytes } from "node:crypto";
import { limits } from "../contract/limits.ts";
import type { DocumentSource } from "../documents/handlers.ts";
import type { BaseUrls } from "../documents/openapi.ts";
import { refuse as refuseForm } from "../forms/handle.ts";
import { formsRouter } from "../forms/router.ts";
import { explainStored, storedFeatures } from "../forms/learning.ts";
import { RecentTexts } from "../forms/recent_texts.ts";
import { verdictReasons } from "../forms/spam/reasons.ts";
import { AuthenticatedRateLimiter, IpRateLimiter, ReadRateLimiter } from "../gate/rate.ts";
import type { Exchange, Reply } from "../http/exchange.ts";
import { json, text } from "../http/reply.ts";
import type { Router } from "../http/router.ts";
import { refuse } from "../intake/handle.ts";
import { intakeRouter } from "../intake/router.ts";
import type { Meters } from "../observe/meters.ts";
import type { Observe } from "../observe/observation.ts";
import { processVars } from "../observe/process.ts";
import type { ConsoleParts } from "../ops/console/context.ts";
import { consoleFault } from "../ops/console/router.ts";
import { opsError } from "../ops/reply.ts";
import { opsRouter } from "../ops/router.ts";
import { TimeZone } from "../http/time_zone.ts";
import { plansRouter } from "../plans/router.ts";
import { StripeClient } from "../plans/stripe_client.ts";
import type { Config } from "../settings/config.ts";
import type { PublicSurface, SurfaceName } from "../settings/surface_names.ts";
import { siteRouter } from "../site/router.ts";
import { addressUrl, type ListeningSurface } from "./listeners.ts";
import { nowMs, type Store } from "./store.ts";

/** The process state that changes after the surfaces have been created. */
export interface State {
  isDraining: boolean;
  /** The listeners' URLs by surface, once they are open. */
  urls: ReadonlyMap<string, string>;
}

export interface SurfaceParts {
  readonly store: Store;
  readonly state: State;
  readonly observe: Observe;
  readonly meters: Meters;
}

/** Creates the configured surfaces; without a store, creates only the site. */
export function createSurfaces(
  config: Config,
  { store, ...rest }: Omit<SurfaceParts, "store"> & { readonly store: Store | null },
): ListeningSurface[] {
  const reads = new ReadRateLimiter(config.publicReadRate, nowMs);
  const site = () => siteSurface(config, reads);
  if (store === null) return [site()];
  const parts = { store, ...rest, reads };
  const factories: Readonly<Record<Exclude<SurfaceName, "delivery">, () => ListeningSurface>> = {
    intake: () => intakeSurface(config, parts),
    forms: () => formsSurface(config, parts),
    subscription: () => plansSurface(config, parts),
    site,
    ops: () => opsSurface(config, parts),
  };
  return [...config.surfaces].flatMap((name) => name === "delivery" ? [] : [factories[name]()]);
}

interface Parts extends SurfaceParts {
  /** The limiter that all public reads share. */
  readonly reads: ReadRateLimiter;
}

type Fault = ListeningSurface["surface"]["fault"];

function toSurface(config: Config, name: PublicSurface, router: Router, fault: Fault): ListeningSurface {
  const { url, listen } = config[name];
  const hosts = url === null ? [] : [new URL(url).host];
  return { surface: { name, hosts, router, fault }, listen, isPrivate: false };
}

function siteSurface(config: Config, reads: ReadRateLimiter): ListeningSurface {
  const router = siteRouter({ dir: config.siteDir, reads });
  return toSurface(config, "site", router, () => text(503, "Not available\n"));
}

function intakeSurface(config: Config, { store, state, reads }: Parts): ListeningSurface {
  const { keys, committer, totals, reference, heartbeat } = store;
  const router = intakeRouter({
    keys,
    committer,
    totals,
    reference: () => reference.current,
    ipLimiter: new IpRateLimiter(config.intakeIpRate),
    keyLimiter: new AuthenticatedRateLimiter("key", config.intakeKeyRate),
    nowMs,
    health: () => heartbeat,
    isDraining: () => state.isDraining,
    reads,
    documents: documentSource(config, () => state.urls),
  });
  return toSurface(config, "intake", router, ({ requestId }) => refuse("not_accepting", { requestId }));
}

function formsSurface(config: Config, { store, state, reads }: Parts): ListeningSurface {
  const { keys, forms, committer, totals, reference, heartbeat, learning } = store;
  const router = formsRouter({
    keys,
    forms,
    lessons: (tenant) => learning.lessonsFor(tenant),
    recentTexts: new RecentTexts(),
    committer,
    totals,
    reference: () => reference.current,
    ipLimiter: new IpRateLimiter(config.formsIpRate),
    tenantLimiter: new AuthenticatedRateLimiter("tenant", config.formsTenantRate),
    nowMs,
    wallMs: Date.now,
    health: () => heartbeat,
    isDraining: () => state.isDraining,
    reads,
    documents: documentSource(config, () => state.urls),
    held: config.linkSecrets.length === 0 ? null : { links: store.heldLinks, secrets: config.linkSecrets },
  });
  return toSurface(config, "forms", router, ({ requestId }) => refuseForm("not_accepting", { requestId }));
}

function plansSurface(config: Config, { store, state, observe, reads }: Parts): ListeningSurface {
  const provider = config.checkout?.provider ?? null;
  const router = plansRouter({
    plans: store.plans,
    reads,
    siteUrl: () => config.site.url ?? state.urls.get("site") ?? null,
    contact: config.contactEmail,
    store: store.checkouts,
    origins: config.checkout?.origins ?? new Set(),
    provider: provider === null ? null : {
      client: new StripeClient({
        apiUrl: provider.apiUrl,
        secretKey: provider.secretKey,
        random: Math.random,
        nowMs,
      }),
      urls: provider,
    },
    secrets: provider?.webhookSecrets ?? [],
    ipLimiter: new IpRateLimiter(limits.checkoutIpRate),
    nowMs,
    clockMs: Date.now,
    observe,
  });
  return toSurface(config, "subscription", router, notAccepting);
}

function notAccepting({ requestId }: Exchange): Reply {
  return json(503, { error: "not_accepting", request_id: requestId });
}

/**
 * Creates the operator's surface. To prevent DNS rebinding, it accepts as `Host` only that of `OPS_URL`, its own address and, on
 * loopback, `localhost`, `127.0.0.1` and `[::1]`.
 */
function opsSurface(config: Config, parts: Parts): ListeningSurface {
  const { pools } = parts.store;
  const consoleParts = createConsoleParts(config, parts);
  const router = opsRouter({
    console: consoleParts,
    report: { pool: pools.pages, now: () => new Date() },
    metrics: { registry: parts.meters.registry, processVars },
  });
  return {
    surface: {
      name: "ops",
      hosts: ({ host: address }) => {
        const host = address.includes(":") ? `[${address}]` : address;
        const isLoopback = /^(127\.|\[::1\]$)/.test(host);
        const proxied = config.opsUrl === null ? [] : [new URL(config.opsUrl).host];
        return [...new Set([host, ...(isLoopback ? ["localhost", "127.0.0.1", "[::1]"] : []), ...proxied])];
      },
      router,
      fault: (exchange) =>
        consoleFault(exchange, consoleParts) ?? opsError("not_available", exchange.requestId),
    },
    listen: config.opsListen,
    isPrivate: true,
  };
}

function createConsoleParts(
  { surfaces, consoleTimeZone, opsTrustedProxies }: Config,
  { store, state }: Parts,
): ConsoleParts {
  const { pools, heartbeat, delivery, learning, sender } = store;
  const deliversElsewhere = !surfaces.has("delivery");
  return {
    pool: pools.pages,
    searchPool: pools.search,
    now: () => new Date(),
    secret: randomBytes(32),
    trustedProxies: opsTrustedProxies,
    health: () => heartbeat,
    tier: () => delivery?.tier() ?? (deliversElsewhere ? "elsewhere" : null),
    isDraining: () => state.isDraining,
    dryRun: sender === null ? null : (test) => sender.dryRun(JSON.stringify(test)),
    zone: new TimeZone(consoleTimeZone),
    spamMeanings,
    explainSpam: (stored) => explainStored(stored, learning.lessonsFor(stored.tenant)),
    labelFeatures: storedFeatures,
  };
}

const spamMeanings = Object.fromEntries(
  Object.entries(verdictReasons).map(([name, { meaning }]) => [name, meaning]),
);

/** Returns a document source that loads the renderer at the first request. */
function documentSource(config: Config, openUrls: () => ReadonlyMap<string, string>): DocumentSource {
  return async (name) => {
    const { documentText } = await import("./document_texts.ts");
    return documentText(name, { urls: baseUrls(config, openUrls()), contactEmail: config.contactEmail });
  };
}

/** Returns the surfaces' base URLs; for a surface in another process, the URL comes from the settings. */
function baseUrls(config: Config, openUrls: ReadonlyMap<string, string>): BaseUrls {
  const baseUrl = (name: keyof BaseUrls) => {
    const { url, listen } = config[name];
    // A listener on a socket requires a URL in the settings.
    const settingsUrl = "socket" in listen ? "" : addressUrl(listen, config.tls !== null);
    return url ?? openUrls.get(name) ?? settingsUrl;
  };
  return { intake: baseUrl("intake"), forms: baseUrl("forms"), subscription: baseUrl("subscription") };
}
