/** Finds the problems to show on the overview, the most urgent first. */

import { type Markup, markup } from "../../http/markup.ts";
import { queryString } from "./request.ts";
import { formatCount, formatSeconds, pluralize, safeText, tenantLink } from "./text.ts";
import type { SourceRow } from "../../store/operator/sources.ts";
import type { OpenCollisions } from "../../store/operator/collisions.ts";
import type { HeldCounts } from "../../store/operator/held.ts";
import type { Pause } from "../../store/operator/pauses.ts";
import type { SuspendedRoute } from "../../store/operator/route_states.ts";
import { suspensionText } from "./suspensions.ts";
import type { OldestWaiting, TenantBacklog } from "../../store/operator/overview.ts";

/** The actions tier, as seen by this process. */
export interface TierStatus {
  readonly state: "closed" | "open" | "half_open";
  /** Milliseconds since its last response; `null` if there was none since this process started. */
  readonly respondedAgoMs: number | null;
  /** Milliseconds since its last response or connection; `null` if there was none since this process started. */
  readonly reachedAgoMs: number | null;
  readonly failure: { readonly cause: string; readonly code: string; readonly agoMs: number } | null;
  /** How long the tier has been unavailable, in milliseconds; `null` while it is available. */
  readonly unavailableMs: number | null;
}

/** `"elsewhere"` if other processes deliver; `null` without an actions tier. */
export type TierView = TierStatus | "elsewhere" | null;

interface TierTile {
  readonly name: string;
  readonly tone: "bad" | "warn" | null;
  readonly small: Markup;
}

// src/delivery/send.ts defines the causes.
const causeTexts: Readonly<Record<string, string>> = {
  name: "the host name in ACTIONS_URL does not resolve",
  refused: "nothing listens at ACTIONS_URL",
  connect: "cannot connect to ACTIONS_URL",
  handshake: "the TLS handshake failed; check its certificate and ACTIONS_CA_FILE",
  client_rejected: "it rejects this service; check ACTIONS_CLIENT_CERT_FILE and the tier's log",
  timeout: "it did not respond in time",
  closed: "it closed the connection without a response",
  protocol: "the server at ACTIONS_URL is not an actions tier",
  unavailable: "it reports that it is unavailable; check its log and its database",
};

// TLS codes, which are more specific than the cause `handshake`.
const codeTexts: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: "its certificate has expired",
  CERT_NOT_YET_VALID: "its certificate is not valid yet",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is not for the host name in ACTIONS_URL",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its certificate is not signed by a CA in ACTIONS_CA_FILE",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "its certificate is not signed by a CA in ACTIONS_CA_FILE",
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is not signed by a CA in ACTIONS_CA_FILE",
  SELF_SIGNED_CERT_IN_CHAIN: "its certificate is not signed by a CA in ACTIONS_CA_FILE",
};

/** Explains a failure, followed by the code that the log shows for it. */
export function failureText({ cause, code }: { readonly cause: string; readonly code: string }): Markup {
  return markup`${codeTexts[code] ?? causeTexts[cause] ?? "it does not respond"} (<code>${code}</code>)`;
}

/** Formats how long ago the tier last responded and was last reached. */
function lastResponseText(
  { respondedAgoMs, reachedAgoMs }: TierStatus,
): string {
  const responded = respondedAgoMs === null
    ? "no response since this process started"
    : `last response ${formatSeconds(respondedAgoMs / 1_000)} ago`;
  return reachedAgoMs === null || reachedAgoMs === respondedAgoMs
    ? responded
    : `${responded}; last reached ${formatSeconds(reachedAgoMs / 1_000)} ago`;
}

/** Returns the contents of the tile for the actions tier. */
export function tierTile(tier: TierView): TierTile {
  if (tier === null) {
    return { name: "none", tone: "warn", small: markup`<code>ACTIONS_URL</code> is not set` };
  }
  if (tier === "elsewhere") {
    return { name: "elsewhere", tone: null, small: markup`other processes deliver; see the plot below` };
  }
  const { failure, unavailableMs } = tier;
  if (unavailableMs !== null) {
    return {
      name: "does not respond",
      tone: "bad",
      small: markup`for ${formatSeconds(unavailableMs / 1_000)}: ${
        failure !== null && failureText(failure)
      }; ${lastResponseText(tier)}`,
    };
  }
  return {
    name: tier.reachedAgoMs === null
      ? "not tried yet"
      : tier.reachedAgoMs === tier.respondedAgoMs
      ? "responds"
      : "reachable",
    tone: null,
    small: markup`${lastResponseText(tier)}${
      failure !== null &&
      markup`; last failure ${formatSeconds(failure.agoMs / 1_000)} ago: ${failureText(failure)}`
    }`,
  };
}

/** A problem that needs attention. */
export interface Problem {
  readonly tone: "bad" | "warn";
  readonly text: Markup;
}

/** The facts available without the store. */
export interface ProcessFacts {
  readonly writable: boolean;
  readonly pending: number;
  readonly dead: number;
  readonly tier: TierView;
  readonly isDraining: boolean;
}

/** The facts read from the store. */
export interface StoreFacts {
  readonly backlogs: readonly TenantBacklog[];
  readonly oldest: OldestWaiting | null;
  readonly suspended: readonly SuspendedRoute[];
  readonly held: HeldCounts;
  readonly pauses: readonly Pause[];
  /** The open collisions by tenant and source. */
  readonly collisions: readonly OpenCollisions[];
  /** The sources, as in the report. */
  readonly sources: readonly SourceRow[];
}

// A delivery takes a second; a refused one is retried five times within ten minutes.
const oldWarnSeconds = 10 * 60;
const oldBadSeconds = 60 * 60;
// A larger difference of the clocks is a fault.
const aheadSeconds = 60;
const tenantsNamedMax = 5;
const routesNamedMax = 5;
const sourcesNamedMax = 5;

/** Returns the problems, worst first; `store` is `null` while the store is unavailable. */
export function findProblems(
  process: ProcessFacts,
  { store, nowMs }: { readonly store: StoreFacts | null; readonly nowMs: number },
): Problem[] {
  const problems = [...processProblems(process), ...(store === null ? [] : storeProblems(store, nowMs))];
  const withTone = (tone: Problem["tone"]) => problems.filter((problem) => problem.tone === tone);
  return [...withTone("bad"), ...withTone("warn")];
}

function* processProblems(facts: ProcessFacts): Generator<Problem> {
  if (!facts.writable) {
    yield {
      tone: "bad",
      text:
        markup`<strong>The store accepts no writes.</strong> Posts get 503, and their callers retry. Check whether
PostgreSQL is running, is the primary, and has disk space.`,
    };
  }
  const { tier } = facts;
  if (tier !== null && tier !== "elsewhere" && tier.unavailableMs !== null) {
    yield {
      tone: "bad",
      text: markup`<strong>The actions tier has not responded</strong> for ${
        formatSeconds(tier.unavailableMs / 1_000)
      }: ${tier.failure !== null && failureText(tier.failure)}; ${lastResponseText(tier)}. ${
        waitingText(facts.pending)
      }. Nothing is lost: unsent events spend no attempts, and delivery resumes when the tier is back.`,
    };
  }
  if (tier === null && facts.pending > 0) {
    yield {
      tone: "warn",
      text: markup`<strong>No actions tier</strong>: <code>ACTIONS_URL</code> is not set for this process.
${waitingText(facts.pending)}.`,
    };
  }
  if (facts.dead > 0) {
    yield {
      tone: "bad",
      text: markup`<strong>${pluralize(facts.dead, "dead letter")}</strong> could not be delivered. <a
 href="/dead">See the reasons and replay them</a>.`,
    };
  }
  if (facts.isDraining) yield { tone: "warn", text: markup`This process is stopping.` };
}

function* storeProblems(facts: StoreFacts, nowMs: number): Generator<Problem> {
  const { backlogs, oldest, sources } = facts;
  yield* suspensionProblems(facts.suspended, nowMs);
  if (facts.collisions.length > 0) yield lostLeadsProblem(facts.collisions);
  const oldestSeconds = oldest === null ? 0 : (nowMs - Date.parse(oldest.receivedAt)) / 1_000;
  if (oldest !== null && oldestSeconds > oldWarnSeconds) {
    yield {
      tone: oldestSeconds > oldBadSeconds ? "bad" : "warn",
      text: markup`<strong>The oldest event has waited ${formatSeconds(oldestSeconds)}</strong>, for ${
        tenantLink(oldest.tenant)
      }${
        oldest.reason !== null && markup` (${safeText(oldest.reason)})`
      }. <a href="/leads/${oldest.eventId}">See its attempts</a>.`,
    };
  }
  if (oldest !== null && oldestSeconds < -aheadSeconds) {
    yield {
      tone: "bad",
      text:
        markup`<strong>The database's clock was set back</strong> or this machine's clock is behind: an event that waits, for ${
          tenantLink(oldest.tenant)
        }, was accepted ${
          formatSeconds(-oldestSeconds)
        } from now. <a href="/leads/${oldest.eventId}">See its attempts</a>, and check the clocks of both machines.`,
    };
  }
  yield* routeProblems(backlogs);
  const silentSources = sources.filter((source) => source.silent);
  if (silentSources.length > 0) {
    yield {
      tone: "warn",
      text: markup`<strong>${pluralize(silentSources.length, "source")} ${
        silentSources.length === 1 ? "has" : "have"
      } gone silent</strong>: ${
        silentSources.slice(0, sourcesNamedMax).map((one, index) =>
          markup`${index > 0 && ", "}<a href="/leads${
            queryString({ tenant: one.tenant, source: one.source, kind: one.kind })
          }">${one.tenant} ${safeText(one.source)}</a>${
            one.last_accepted_at !== null &&
            markup` (${formatSeconds((nowMs - Date.parse(one.last_accepted_at)) / 1_000)})`
          }`
        )
      }${
        silentSources.length > sourcesNamedMax &&
        `, and ${formatCount(silentSources.length - sourcesNamedMax)} more`
      }. Each has sent nothing for
more than 1.5 times its longest gap in the four weeks before. Ask whether they still send leads, and check their <a href="/keys">keys</a>. To remove this warning, revoke the
key.`,
    };
  }
}

function* suspensionProblems(suspended: readonly SuspendedRoute[], nowMs: number): Generator<Problem> {
  for (const route of suspended.slice(0, routesNamedMax)) {
    yield {
      tone: "bad",
      text: markup`${
        suspensionText(route, { nowMs, quoteMax: 200, ofTenant: tenantLink(route.tenant) })
      } <a href="/tenants/${route.tenant}">See what to do</a>.`,
    };
  }
  const more = suspended.slice(routesNamedMax);
  if (more.length > 0) {
    const slugs = [...new Set(more.map(({ tenant }) => tenant))];
    yield {
      tone: "bad",
      text: markup`<strong>Leads wait for ${pluralize(more.length, "more CRM route")}</strong>: ${
        slugs.slice(0, tenantsNamedMax).map((slug, index) => markup`${index > 0 && ", "}${tenantLink(slug)}`)
      }${slugs.length > tenantsNamedMax && `, and ${formatCount(slugs.length - tenantsNamedMax)} more`}.`,
    };
  }
}

/** Finds tenants whose events wait for a route. */
function* routeProblems(backlogs: readonly TenantBacklog[]): Generator<Problem> {
  const tenantList = (tenants: readonly TenantBacklog[], waiting: (backlog: TenantBacklog) => Markup) =>
    markup`${
      tenants.slice(0, tenantsNamedMax).map((one, index) =>
        markup`${index > 0 && ", "}${tenantLink(one.tenant)} (${waiting(one)})`
      )
    }${tenants.length > tenantsNamedMax && `, and ${formatCount(tenants.length - tenantsNamedMax)} more`}`;
  const stuck = backlogs.filter((one) =>
    !one.sandbox && !one.hasRoute && !one.isPaused && one.waiting.count > 0
  );
  if (stuck.length > 0) {
    yield {
      tone: "warn",
      text: markup`<strong>${pluralize(stuck.length, "tenant")} without a route</strong> ${
        stuck.length === 1 ? "has" : "have"
      } events waiting: ${
        tenantList(stuck, ({ waiting }) => markup`${formatCount(waiting.count)}${waiting.isMore && "+"}`)
      }. <code>ctl tenant route TENANT …</code>
sends them immediately.`,
    };
  }
  const unrouted = backlogs.filter((one) => one.hasRoute && one.unrouted > 0);
  if (unrouted.length > 0) {
    yield {
      tone: "warn",
      text: markup`<strong>${pluralize(unrouted.length, "tenant")} ${
        unrouted.length === 1 ? "has" : "have"
      } events without a matching route</strong>: ${
        tenantList(unrouted, ({ unrouted }) => markup`${formatCount(unrouted)}`)
      }. Their source or form has no route, and neither does the tenant.
<code>ctl tenant route TENANT …</code> sends them immediately.`,
    };
  }
}

// The caller got a success response, so only this message reveals the loss.
function lostLeadsProblem(collisions: readonly OpenCollisions[]): Problem {
  const total = collisions.reduce((sum, one) => sum + one.count, 0);
  return {
    tone: "bad",
    text: markup`<strong>${
      total === 1 ? "1 different lead was" : `${formatCount(total)} different leads were`
    } posted with a used <code>Idempotency-Key</code></strong> and not delivered: ${
      collisions.slice(0, sourcesNamedMax).map((one, index) =>
        markup`${index > 0 && ", "}<a href="/collisions/${one.newestId}">${one.tenant} ${
          safeText(one.source)
        }</a>${one.count > 1 && ` (${formatCount(one.count)})`}`
      )
    }${
      collisions.length > sourcesNamedMax && `, and ${formatCount(collisions.length - sourcesNamedMax)} more`
    }. <a
 href="/collisions?show=lost">Accept each as a separate lead, or dismiss it</a>, and tell the sender.`,
  };
}

function waitingText(events: number): string {
  return `${pluralize(events, "event")} ${events === 1 ? "is" : "are"} waiting`;
}
