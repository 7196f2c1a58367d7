/** Whether all is well, in the order in which an operator who was woken has to know. */

import { type Markup, markup } from "../../http/markup.ts";
import { queryOf } from "./request.ts";
import { count, counted, shown, span } from "./text.ts";
import type { SourceRow } from "../report_rows.ts";
import type { BoundedCount } from "../../store/operator/admin_pool.ts";
import type { OpenCollisions } from "../../store/operator/collisions.ts";
import type { OldestWaiting, TenantBacklog } from "../../store/operator/overview.ts";

/** The actions tier as this process sees it; the times are milliseconds ago. */
export interface SeenTier {
  readonly state: "closed" | "open" | "half_open";
  /** Its last answer; `null`: none since the start. */
  readonly answeredAgoMs: number | null;
  /** Its last answer, or the last connection to it; `null`: none since the start. */
  readonly reachedAgoMs: number | null;
  readonly failure: { readonly cause: string; readonly code: string; readonly agoMs: number } | null;
  /** Since it is away; `null` while it is not. */
  readonly awayMs: number | null;
}

/** `"elsewhere"` when delivery is the task of other processes, `null` without an actions tier. */
export type ShownTier = SeenTier | "elsewhere" | null;

/** What the tile says. */
interface TierTile {
  readonly name: string;
  readonly tone: "bad" | "warn" | null;
  readonly small: Markup;
}

// By the causes of src/delivery/send.ts.
const causes: Readonly<Record<string, string>> = {
  name: "its name in ACTIONS_URL is not resolved",
  refused: "nothing listens at ACTIONS_URL",
  connect: "no connection to ACTIONS_URL could be made",
  handshake: "no agreement on TLS, see its certificate and ACTIONS_CA_FILE",
  not_let_in: "it does not let this service in, see ACTIONS_CLIENT_CERT_FILE and the tier's log",
  timeout: "it did not answer in time",
  cut: "it cut the connection instead of answering",
  protocol: "what answers there is no actions tier",
  unavailable: "it says that it cannot work, see its log and its database",
};

// What a certificate is refused for says more than that it is.
const codes: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: "its certificate has expired",
  CERT_NOT_YET_VALID: "its certificate is not valid yet",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is of another name than ACTIONS_URL has",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its certificate is not of an authority in ACTIONS_CA_FILE",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "its certificate is not of an authority in ACTIONS_CA_FILE",
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is not of an authority in ACTIONS_CA_FILE",
  SELF_SIGNED_CERT_IN_CHAIN: "its certificate is not of an authority in ACTIONS_CA_FILE",
};

/** Why it does not answer, and the code with which the log has it. */
export function failureText({ cause, code }: { readonly cause: string; readonly code: string }): Markup {
  return markup`${codes[code] ?? causes[cause] ?? "it does not answer"} (<code>${code}</code>)`;
}

/** When it answered last, and when it could be reached since. */
function answeredText({ answeredAgoMs, reachedAgoMs }: SeenTier): string {
  const answered = answeredAgoMs === null
    ? "no answer since this process started"
    : `last answer ${span(answeredAgoMs / 1_000)} ago`;
  return reachedAgoMs === null || reachedAgoMs === answeredAgoMs
    ? answered
    : `${answered}; reached ${span(reachedAgoMs / 1_000)} ago`;
}

/** The tile. */
export function tierTile(tier: ShownTier): TierTile {
  if (tier === null) {
    return { name: "none", tone: "warn", small: markup`<code>ACTIONS_URL</code> is not set` };
  }
  if (tier === "elsewhere") {
    return { name: "elsewhere", tone: null, small: markup`other processes deliver; see the plot below` };
  }
  const { failure, awayMs } = tier;
  if (awayMs !== null) {
    return {
      name: "does not answer",
      tone: "bad",
      small: markup`for ${span(awayMs / 1_000)}: ${failure !== null && failureText(failure)}; ${
        answeredText(tier)
      }`,
    };
  }
  return {
    name: tier.reachedAgoMs === null
      ? "not tried yet"
      : tier.reachedAgoMs === tier.answeredAgoMs
      ? "answers"
      : "can be reached",
    tone: null,
    small: markup`${answeredText(tier)}${
      failure !== null && markup`; last failure ${span(failure.agoMs / 1_000)} ago: ${failureText(failure)}`
    }`,
  };
}

/** Something that needs a person. */
export interface Problem {
  readonly tone: "bad" | "warn";
  readonly text: Markup;
}

/** What the process itself knows, whether the store is there or not. */
export interface ProcessFacts {
  readonly writable: boolean;
  readonly pending: number;
  readonly dead: number;
  readonly tier: ShownTier;
  readonly isDraining: boolean;
}

/** What the store says. */
export interface StoreFacts {
  readonly backlogs: readonly TenantBacklog[];
  readonly oldest: OldestWaiting | null;
  readonly held: BoundedCount;
  /** By tenant and source. */
  readonly collisions: readonly OpenCollisions[];
  /** As the report has them. */
  readonly sources: readonly SourceRow[];
}

// A delivery takes a second; one that is refused is tried five times within ten minutes.
const oldWarnSeconds = 10 * 60;
const oldBadSeconds = 60 * 60;
const tenantsNamed = 5;
const sourcesNamed = 5;

/** What is wrong, the worst first; empty when all is well. `store` is `null` when it does not answer. */
export function problemsOf(
  process: ProcessFacts,
  { store, nowMs }: { readonly store: StoreFacts | null; readonly nowMs: number },
): Problem[] {
  const found = [...processProblems(process), ...(store === null ? [] : storeProblems(store, nowMs))];
  return [...found.filter(({ tone }) => tone === "bad"), ...found.filter(({ tone }) => tone === "warn")];
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
  if (tier !== null && tier !== "elsewhere" && tier.awayMs !== null) {
    yield {
      tone: "bad",
      text: markup`<strong>The actions tier has not answered</strong> for ${span(tier.awayMs / 1_000)}: ${
        tier.failure !== null && failureText(tier.failure)
      }; ${answeredText(tier)}. ${
        waiting(facts.pending)
      }; nothing is lost, unsent events spend no attempts, and delivery resumes when the tier is back.`,
    };
  }
  if (tier === null && facts.pending > 0) {
    yield {
      tone: "warn",
      text:
        markup`<strong>There is no actions tier</strong>: <code>ACTIONS_URL</code> is not set for this process.
${waiting(facts.pending)}.`,
    };
  }
  if (facts.dead > 0) {
    yield {
      tone: "bad",
      text: markup`<strong>${counted(facts.dead, "dead letter")}</strong>: delivery was given up. <a
 href="/dead">See the reasons and replay them</a>.`,
    };
  }
  if (facts.isDraining) yield { tone: "warn", text: markup`This process is stopping.` };
}

function* storeProblems(facts: StoreFacts, nowMs: number): Generator<Problem> {
  const { backlogs, oldest, sources } = facts;
  if (facts.collisions.length > 0) yield lostLeads(facts.collisions);
  const seconds = oldest === null ? 0 : (nowMs - Date.parse(oldest.receivedAt)) / 1_000;
  if (oldest !== null && seconds > oldWarnSeconds) {
    yield {
      tone: seconds > oldBadSeconds ? "bad" : "warn",
      text: markup`<strong>The oldest event has waited ${span(seconds)}</strong>, of ${oldest.tenant}${
        oldest.reason !== null && markup` (${shown(oldest.reason)})`
      }: <a href="/leads/${oldest.eventId}">see its attempts</a>.`,
    };
  }
  yield* routeProblems(backlogs);
  const silent = sources.filter((source) => source.silent);
  if (silent.length > 0) {
    yield {
      tone: "warn",
      text: markup`<strong>${counted(silent.length, "source")} ${
        silent.length === 1 ? "has" : "have"
      } gone silent</strong>: ${
        silent.slice(0, sourcesNamed).map((one, index) =>
          markup`${index > 0 && ", "}<a href="/leads${
            queryOf({ tenant: one.tenant, source: one.source, kind: one.kind })
          }">${one.tenant} ${shown(one.source)}</a>${
            one.last_accepted_at !== null &&
            markup` (${span((nowMs - Date.parse(one.last_accepted_at)) / 1_000)})`
          }`
        )
      }${
        silent.length > sourcesNamed && `, and ${count(silent.length - sourcesNamed)} more`
      }. That is far longer than
any earlier gap. Ask whether they still post, and check their <a href="/keys">keys</a>. Revoking a key removes this
warning.`,
    };
  }
}

/** What waits for a place to go. */
function* routeProblems(backlogs: readonly TenantBacklog[]): Generator<Problem> {
  const tenants = (found: readonly TenantBacklog[], waiting: (one: TenantBacklog) => Markup) =>
    markup`${
      found.slice(0, tenantsNamed).map((one, index) =>
        markup`${index > 0 && ", "}${one.tenant} (${waiting(one)})`
      )
    }${found.length > tenantsNamed && `, and ${count(found.length - tenantsNamed)} more`}`;
  const stuck = backlogs.filter((one) => !one.sandbox && !one.hasRoute && one.waiting.count > 0);
  if (stuck.length > 0) {
    yield {
      tone: "warn",
      text: markup`<strong>${counted(stuck.length, "tenant")} without a route</strong> ${
        stuck.length === 1 ? "has" : "have"
      } events waiting: ${
        tenants(stuck, ({ waiting }) => markup`${count(waiting.count)}${waiting.isMore && "+"}`)
      }. <code>ctl tenant route TENANT …</code>
sends them immediately.`,
    };
  }
  const unrouted = backlogs.filter((one) => one.hasRoute && one.unrouted > 0);
  if (unrouted.length > 0) {
    yield {
      tone: "warn",
      text: markup`<strong>${counted(unrouted.length, "tenant")} ${
        unrouted.length === 1 ? "has" : "have"
      } events without a matching route</strong>: ${
        tenants(unrouted, ({ unrouted }) => markup`${count(unrouted)}`)
      }. Their source or form has no route, and neither does the tenant.
<code>ctl tenant route TENANT …</code> sends them immediately.`,
    };
  }
}

// The worst silent loss: the caller got a success.
function lostLeads(found: readonly OpenCollisions[]): Problem {
  const total = found.reduce((sum, one) => sum + one.count, 0);
  return {
    tone: "bad",
    text: markup`<strong>${
      total === 1 ? "1 different lead arrived" : `${count(total)} different leads arrived`
    } under a used <code>Idempotency-Key</code></strong>, and ${
      total === 1 ? "was" : "were"
    } not delivered: ${
      found.slice(0, sourcesNamed).map((one, index) =>
        markup`${index > 0 && ", "}<a href="/collisions/${one.newestId}">${one.tenant} ${
          shown(one.source)
        }</a>${one.count > 1 && ` (${count(one.count)})`}`
      )
    }${found.length > sourcesNamed && `, and ${count(found.length - sourcesNamed)} more`}. <a
 href="/collisions?show=lost">Accept each as a separate lead, or dismiss it</a>, and tell the sender.`,
  };
}

function waiting(events: number): string {
  return `${counted(events, "event")} ${events === 1 ? "waits" : "wait"}`;
}
