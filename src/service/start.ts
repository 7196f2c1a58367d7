/**
 * Puts the service together from its settings and runs it; `main.ts` reads the settings and the signals.
 *
 * @module
 */

import { randomBytes } from "node:crypto";
import { type Config, needsStore, type PublicSurface, type SurfaceName } from "../settings/config.ts";
import { brief } from "../contract/brief.ts";
import { type DocumentName, documents, surfaceOf } from "../contract/documents.ts";
import { formsBrief } from "../contract/forms_brief.ts";
import { openapi } from "../contract/openapi.ts";
import type { BaseUrls } from "../contract/openapi/paths.ts";
import { refuse as refuseForm } from "../forms/reply.ts";
import { formsRouter } from "../forms/router.ts";
import { HolderBudget, IpBudget, ReadBudget } from "../gate/rate.ts";
import { verdictReasons } from "../forms/spam/reasons.ts";
import type { Exchange, Handler, Reply } from "../http/exchange.ts";
import { versionOf } from "../http/prepared.ts";
import { json, text } from "../http/reply.ts";
import type { Router } from "../http/router.ts";
import { documentHandler } from "../intake/docs.ts";
import { refuse } from "../intake/reply.ts";
import { intakeRouter } from "../intake/router.ts";
import { addressUrl, listenAll, type Listeners, type PlacedSurface } from "./listeners.ts";
import type { Log } from "../observe/log.ts";
import { Meters } from "../observe/meters.ts";
import { nowMs, openStore, type Store } from "./store.ts";
import type { ConsoleParts } from "../ops/console/context.ts";
import { refuseOps } from "../ops/reply.ts";
import { consoleFault } from "../ops/console/router.ts";
import { opsRouter } from "../ops/router.ts";
import { plansSurface } from "./plans_surface.ts";
import bundle from "../playground/bundle.json" with { type: "json" };
import { icon } from "../playground/icon.ts";
import { playgroundPage } from "../playground/page.ts";
import { addProcessMeters, processVars } from "../observe/process.ts";
import type { Running } from "./run.ts";
import { siteRouter } from "../site/router.ts";

/**
 * Starts the service and resolves when it accepts requests.
 *
 * @throws {DatabaseRefused} when the database is not migrated or not durable
 * @throws {Unavailable} when it cannot be reached
 */
export async function startService(config: Config, log: Log): Promise<Running> {
  const meters = new Meters();
  const stopMeters = addProcessMeters(meters.registry, nowMs);
  const store = needsStore(config.surfaces) ? await openStore(config, log, meters) : null;
  const state: State = { isDraining: false, urls: new Map() };
  let listeners: Listeners;
  try {
    listeners = await listenAll(surfacesOf(config, { store, state, log, meters }), {
      config,
      log,
      onAccess: (access) => meters.access(access),
    });
  } catch (error) {
    await store?.close(0);
    throw error;
  }
  state.urls = listeners.urls;
  return {
    async close(graceMs) {
      state.isDraining = true;
      const startedAtMs = nowMs();
      await listeners.close(graceMs);
      stopMeters();
      await store?.close(Math.max(0, graceMs - (nowMs() - startedAtMs)));
    },
  };
}

/** What the handlers see change. */
interface State {
  isDraining: boolean;
  /** The listeners' own addresses by surface, once they are open. */
  urls: ReadonlyMap<string, string>;
}

/** What the surfaces are made of. */
interface Parts {
  /** `null` when none of the surfaces needs one. */
  readonly store: Store | null;
  readonly state: State;
  readonly log: Log;
  readonly meters: Meters;
}

function surfacesOf(config: Config, { store, state, log, meters }: Parts): PlacedSurface[] {
  const reads = new ReadBudget(config.publicReadRate, nowMs);
  const place = (name: PublicSurface, router: Router, fault: Fault): PlacedSurface => ({
    surface: { name, hosts: hostsOf(config[name].url), router, fault },
    listen: config[name].listen,
    isPrivate: false,
  });
  const site = () =>
    place("site", siteRouter({ dir: config.siteDir, reads }), () => text(503, "Not available\n"));
  if (store === null) return [site()];
  const make: Readonly<Record<Exclude<SurfaceName, "delivery">, () => PlacedSurface>> = {
    intake: () =>
      place(
        "intake",
        intake(config, { store, reads }, state),
        ({ requestId }) => refuse("not_accepting", { requestId }),
      ),
    forms: () =>
      place(
        "forms",
        forms(config, { store, reads }, state),
        ({ requestId }) => refuseForm("not_accepting", { requestId }),
      ),
    subscription: () => place("subscription", plansSurface(config, { store, reads, log }), notAccepting),
    site,
    ops: () => opsSurface(config, { store, state, meters }),
  };
  return [...config.surfaces].flatMap((name) => name === "delivery" ? [] : [make[name]()]);
}

type Fault = PlacedSurface["surface"]["fault"];

function notAccepting({ requestId }: Exchange): Reply {
  return json(503, { error: "not_accepting", request_id: requestId });
}

function hostsOf(url: string | null): string[] {
  return url === null ? [] : [new URL(url).host];
}

/**
 * The operator's surface answers only to its own address and, on loopback, to what a browser calls that: a page
 * of somebody else whose name resolves to it gets nothing (DNS rebinding).
 */
function opsSurface(
  { opsListen, surfaces }: Config,
  { store, state, meters }: { store: Store; state: State; meters: Meters },
): PlacedSurface {
  const host = opsListen.host.includes(":") ? `[${opsListen.host}]` : opsListen.host;
  const isLoopback = /^(localhost|127\.|\[::1\]$)/.test(host);
  return {
    surface: {
      name: "ops",
      hosts: [...new Set([host, ...(isLoopback ? ["localhost", "127.0.0.1", "[::1]"] : [])])],
      router: opsRouter({
        nowMs,
        pool: store.ops.search,
        console: consoleParts(store, state, !surfaces.has("delivery")),
        report: { pool: store.ops.report, now: () => new Date() },
        metrics: { registry: meters.registry, processVars },
      }),
      fault: (exchange) =>
        consoleFault(exchange, new Date()) ?? refuseOps("not_available", exchange.requestId),
    },
    listen: opsListen,
    isPrivate: true,
  };
}

function consoleParts(
  { console: pool, ops, heartbeat, delivery }: Store,
  state: State,
  deliversElsewhere: boolean,
): ConsoleParts {
  return {
    pool,
    searchPool: ops.search,
    now: () => new Date(),
    secret: randomBytes(32),
    health: () => heartbeat,
    breaker: () => delivery?.figures().breaker ?? (deliversElsewhere ? "elsewhere" : null),
    isDraining: () => state.isDraining,
    spamMeanings,
  };
}

const spamMeanings = Object.fromEntries(
  Object.entries(verdictReasons).map(([name, { meaning }]) => [name, meaning]),
);

/** A store, and the budget of the public reads. */
interface Served {
  readonly store: Store;
  readonly reads: ReadBudget;
}

function intake(config: Config, { store, reads }: Served, state: State): Router {
  const { keys, committer, totals, reference, heartbeat } = store;
  return intakeRouter({
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
    documents: documentHandlers("intake", () => baseUrls(config, state)),
  });
}

function forms(config: Config, { store, reads }: Served, state: State): Router {
  const { keys, forms, committer, totals, reference, heartbeat } = store;
  return formsRouter({
    keys,
    forms,
    committer,
    totals,
    reference: () => reference.current,
    ipBudget: new IpBudget(config.formsIpRate),
    tenantBudget: new HolderBudget("tenant", config.formsTenantRate),
    nowMs,
    wallMs: () => Date.now(),
    health: () => heartbeat,
    isDraining: () => state.isDraining,
    reads,
    documents: documentHandlers("forms", () => baseUrls(config, state)),
  });
}

/** Where the surfaces are, as far as this process can know of those that another one serves. */
function baseUrls(config: Config, state: State): BaseUrls {
  const of = (name: keyof BaseUrls) => {
    const { url, listen } = config[name];
    return url ?? state.urls.get(name) ?? addressUrl(listen, config.tls !== null);
  };
  return { intake: of("intake"), forms: of("forms"), subscription: of("subscription") };
}

/** The documents of a surface. They name addresses, which the listeners may have to find first. */
function documentHandlers(surface: "intake" | "forms", urls: () => BaseUrls): Record<string, Handler> {
  const { script, style } = bundle;
  const versions = { script: versionOf(script), style: versionOf(style), icon: versionOf(icon) };
  const texts: Readonly<Record<DocumentName, () => string>> = {
    openapi: () => JSON.stringify(openapi(urls())),
    brief: () => brief(urls().intake),
    playground: () => playgroundPage(urls().intake, versions),
    script: () => script,
    style: () => style,
    icon: () => icon,
    formsBrief: () => formsBrief(urls()),
  };
  const names = (Object.keys(texts) as DocumentName[])
    .filter((name) => surfaceOf(name) === surface);
  return Object.fromEntries(
    names.map((name) => [documents[name].path, documentHandler(name, texts[name])]),
  );
}
