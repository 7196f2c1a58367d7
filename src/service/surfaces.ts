/** Composes the surfaces of a service process. */

import { randomBytes } from "node:crypto";
import { limits } from "../contract/limits.ts";
import { refuse as refuseForm } from "../forms/handle.ts";
import { formsRouter } from "../forms/router.ts";
import { explainStored } from "../forms/learning.ts";
import { RecentTexts } from "../forms/recent_texts.ts";
import { verdictReasons } from "../forms/spam/reasons.ts";
import { HolderBudget, IpBudget, ReadBudget } from "../gate/rate.ts";
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
import { refuseOps } from "../ops/reply.ts";
import { opsRouter } from "../ops/router.ts";
import { TimeZone } from "../http/time_zone.ts";
import { plansRouter } from "../plans/router.ts";
import { StripeClient } from "../plans/stripe_client.ts";
import type { Config } from "../settings/config.ts";
import type { PublicSurface, SurfaceName } from "../settings/surface_names.ts";
import { siteRouter } from "../site/router.ts";
import { documentSource } from "./documents.ts";
import type { PlacedSurface } from "./listeners.ts";
import { nowMs, type Store } from "./store.ts";

/** What changes after the surfaces are created. */
export interface State {
  isDraining: boolean;
  /** The listeners' URLs by surface, once they are open. */
  urls: ReadonlyMap<string, string>;
}

/** The surfaces' dependencies. */
export interface SurfaceParts {
  readonly store: Store;
  readonly state: State;
  readonly observe: Observe;
  readonly meters: Meters;
}

/** The configured surfaces; without a store only the site. */
export function surfacesOf(
  config: Config,
  { store, ...rest }: Omit<SurfaceParts, "store"> & { readonly store: Store | null },
): PlacedSurface[] {
  const reads = new ReadBudget(config.publicReadRate, nowMs);
  const site = () => siteSurface(config, reads);
  if (store === null) return [site()];
  const parts = { store, ...rest, reads };
  const make: Readonly<Record<Exclude<SurfaceName, "delivery">, () => PlacedSurface>> = {
    intake: () => intakeSurface(config, parts),
    forms: () => formsSurface(config, parts),
    subscription: () => plansSurface(config, parts),
    site,
    ops: () => opsSurface(config, parts),
  };
  return [...config.surfaces].flatMap((name) => name === "delivery" ? [] : [make[name]()]);
}

interface Parts extends SurfaceParts {
  /** The shared budget of public reads. */
  readonly reads: ReadBudget;
}

type Fault = PlacedSurface["surface"]["fault"];

function place(config: Config, name: PublicSurface, router: Router, fault: Fault): PlacedSurface {
  const { url, listen } = config[name];
  const hosts = url === null ? [] : [new URL(url).host];
  return { surface: { name, hosts, router, fault }, listen, isPrivate: false };
}

function siteSurface(config: Config, reads: ReadBudget): PlacedSurface {
  const router = siteRouter({ dir: config.siteDir, reads });
  return place(config, "site", router, () => text(503, "Not available\n"));
}

function intakeSurface(config: Config, { store, state, reads }: Parts): PlacedSurface {
  const { keys, committer, totals, reference, heartbeat } = store;
  const router = intakeRouter({
    keys,
    committer,
    totals,
    reference: () => reference.current,
    ipBudget: new IpBudget(config.intakeIpRate),
    keyBudget: new HolderBudget("key", config.intakeKeyRate),
    nowMs,
    health: () => heartbeat,
    isDraining: () => state.isDraining,
    reads,
    documents: documentSource(config, () => state.urls),
  });
  return place(config, "intake", router, ({ requestId }) => refuse("not_accepting", { requestId }));
}

function formsSurface(config: Config, { store, state, reads }: Parts): PlacedSurface {
  const { keys, forms, committer, totals, reference, heartbeat, learning } = store;
  const router = formsRouter({
    keys,
    forms,
    lessons: () => learning.current,
    recentTexts: new RecentTexts(),
    committer,
    totals,
    reference: () => reference.current,
    ipBudget: new IpBudget(config.formsIpRate),
    tenantBudget: new HolderBudget("tenant", config.formsTenantRate),
    nowMs,
    wallMs: Date.now,
    health: () => heartbeat,
    isDraining: () => state.isDraining,
    reads,
    documents: documentSource(config, () => state.urls),
    held: config.linkSecrets.length === 0 ? null : { links: store.heldLinks, secrets: config.linkSecrets },
  });
  return place(config, "forms", router, ({ requestId }) => refuseForm("not_accepting", { requestId }));
}

function plansSurface(config: Config, { store, state, observe, reads }: Parts): PlacedSurface {
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
    ipBudget: new IpBudget(limits.checkoutIpRate),
    nowMs,
    clockMs: Date.now,
    observe,
  });
  return place(config, "subscription", router, notAccepting);
}

function notAccepting({ requestId }: Exchange): Reply {
  return json(503, { error: "not_accepting", request_id: requestId });
}

/**
 * The operator's surface answers only to its own address and, on loopback, to a browser's names for it (DNS rebinding).
 */
function opsSurface(config: Config, parts: Parts): PlacedSurface {
  const { pools } = parts.store;
  const shown = consoleParts(config, parts);
  const router = opsRouter({
    pool: pools.search,
    console: shown,
    report: { pool: pools.pages, now: () => new Date() },
    metrics: { registry: parts.meters.registry, processVars },
  });
  return {
    surface: {
      name: "ops",
      hosts: ({ host: address }) => {
        const host = address.includes(":") ? `[${address}]` : address;
        const isLoopback = /^(127\.|\[::1\]$)/.test(host);
        return [...new Set([host, ...(isLoopback ? ["localhost", "127.0.0.1", "[::1]"] : [])])];
      },
      router,
      fault: (exchange) => consoleFault(exchange, shown) ?? refuseOps("not_available", exchange.requestId),
    },
    listen: config.opsListen,
    isPrivate: true,
  };
}

function consoleParts({ surfaces, consoleTimeZone }: Config, { store, state }: Parts): ConsoleParts {
  const { pools, heartbeat, delivery, learning } = store;
  const deliversElsewhere = !surfaces.has("delivery");
  return {
    pool: pools.pages,
    searchPool: pools.search,
    reportPool: pools.pages,
    now: () => new Date(),
    secret: randomBytes(32),
    health: () => heartbeat,
    tier: () => delivery?.tier() ?? (deliversElsewhere ? "elsewhere" : null),
    isDraining: () => state.isDraining,
    zone: new TimeZone(consoleTimeZone),
    spamMeanings,
    explainSpam: (stored) => explainStored(stored, learning.current),
  };
}

const spamMeanings = Object.fromEntries(
  Object.entries(verdictReasons).map(([name, { meaning }]) => [name, meaning]),
);
