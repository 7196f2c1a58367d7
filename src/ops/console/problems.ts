/**
 * Whether all is well, in the order in which an operator who was woken has to know.
 *
 * @module
 */

import { type Markup, markup } from "../../http/markup.ts";
import type { Bounded } from "../../store/operator/admin_pool.ts";
import type { OpenCollisions } from "../../store/operator/collisions.ts";
import type { OldestWaiting, TenantStanding } from "../../store/operator/overview.ts";
import type { SourceRow } from "../report_rows.ts";
import { queryOf } from "./query.ts";
import { count, counted, shown, span } from "./text.ts";
import { answeredText, failureText, type ShownTier } from "./tier.ts";

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
  readonly standings: readonly TenantStanding[];
  readonly oldest: OldestWaiting | null;
  readonly held: Bounded;
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
        markup`<strong>The store takes no writes.</strong> Posts are answered 503 and repeated by their callers. See
whether PostgreSQL runs, is the primary, and has room on its disk.`,
    };
  }
  const { tier } = facts;
  if (tier !== null && tier !== "elsewhere" && tier.awayMs !== null) {
    yield {
      tone: "bad",
      text: markup`<strong>The actions tier does not answer</strong> for ${span(tier.awayMs / 1_000)}: ${
        tier.failure !== null && failureText(tier.failure)
      }; ${answeredText(tier)}. ${
        waiting(facts.pending)
      }; nothing is lost, what was not sent spends no attempt, and it goes on by itself when the tier is back.`,
    };
  }
  if (tier === null && facts.pending > 0) {
    yield {
      tone: "warn",
      text:
        markup`<strong>There is no actions tier</strong>: <code>ACTIONS_URL</code> is not set at this process.
${waiting(facts.pending)}.`,
    };
  }
  if (facts.dead > 0) {
    yield {
      tone: "bad",
      text: markup`<strong>${counted(facts.dead, "dead letter")}</strong>: given up after all attempts. <a
 href="/dead">See why, and replay</a>.`,
    };
  }
  if (facts.isDraining) yield { tone: "warn", text: markup`This process is stopping.` };
}

function* storeProblems(facts: StoreFacts, nowMs: number): Generator<Problem> {
  const { standings, oldest, sources } = facts;
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
  yield* routeProblems(standings);
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
any of them let pass before: ask whether it still posts, and look under <a href="/keys">keys</a>. A key that is revoked
ends this.`,
    };
  }
}

/** What waits for a place to go. */
function* routeProblems(standings: readonly TenantStanding[]): Generator<Problem> {
  const tenants = (found: readonly TenantStanding[], waiting: (one: TenantStanding) => Markup) =>
    markup`${
      found.slice(0, tenantsNamed).map((one, index) =>
        markup`${index > 0 && ", "}${one.tenant} (${waiting(one)})`
      )
    }${found.length > tenantsNamed && `, and ${count(found.length - tenantsNamed)} more`}`;
  const stuck = standings.filter((one) => !one.sandbox && !one.hasRoute && one.waiting.count > 0);
  if (stuck.length > 0) {
    yield {
      tone: "warn",
      text: markup`<strong>${counted(stuck.length, "tenant")} without a route</strong> ${
        stuck.length === 1 ? "has" : "have"
      } events waiting: ${
        tenants(stuck, ({ waiting }) => markup`${count(waiting.count)}${waiting.isMore && "+"}`)
      }. <code>ctl tenant route TENANT …</code>
sends them at once.`,
    };
  }
  const unrouted = standings.filter((one) => one.hasRoute && one.unrouted > 0);
  if (unrouted.length > 0) {
    yield {
      tone: "warn",
      text: markup`<strong>${counted(unrouted.length, "tenant")} ${
        unrouted.length === 1 ? "has" : "have"
      } events that no route takes</strong>: ${
        tenants(unrouted, ({ unrouted }) => markup`${count(unrouted)}`)
      }. They came from a source or form without a route of its own, and the tenant has none for all:
<code>ctl tenant route TENANT …</code> sends them at once.`,
    };
  }
}

// The worst silent loss there is: its caller was told that all is well.
function lostLeads(found: readonly OpenCollisions[]): Problem {
  const total = found.reduce((sum, one) => sum + one.count, 0);
  return {
    tone: "bad",
    text: markup`<strong>${
      total === 1 ? "1 lead of another person came" : `${count(total)} leads of other persons came`
    } under an <code>Idempotency-Key</code> that was used before</strong>, and ${
      total === 1 ? "was" : "were"
    } not delivered: ${
      found.slice(0, sourcesNamed).map((one, index) =>
        markup`${index > 0 && ", "}<a href="/collisions/${one.newestId}">${one.tenant} ${
          shown(one.source)
        }</a>${one.count > 1 && ` (${count(one.count)})`}`
      )
    }${found.length > sourcesNamed && `, and ${count(found.length - sourcesNamed)} more`}. <a
 href="/collisions?show=lost">Accept each as a lead of its own, or dismiss it</a>, and tell the sender.`,
  };
}

function waiting(events: number): string {
  return `${counted(events, "event")} ${events === 1 ? "waits" : "wait"}`;
}
