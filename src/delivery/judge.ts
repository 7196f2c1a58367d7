/** Decides the outcome of an attempt: delivered, retried, or dead. */

import type { Claimed, Settlement } from "../store/delivery/outbox.ts";
import { notBegun, type SendOutcome } from "./send.ts";

/** The backoff's bounds. */
export interface BackoffOptions {
  readonly baseMs: number;
  readonly capMs: number;
}

/**
 * The delay after the `spent`-th attempt (from 1) in milliseconds: base × 3^(spent − 1), at most the cap, half of it
 * jitter. `random` is in [0, 1). The tier's `Retry-After` is a minimum.
 *
 * Source: DECISIONS, Delivery: 5 s × 3^n capped at 6 h; 24 attempts take about three days.
 */
export function backoffMs(
  spent: number,
  random: number,
  options: BackoffOptions & { readonly retryAfterMs?: number },
): number {
  const full = Math.min(options.capMs, options.baseMs * 3 ** Math.max(0, spent - 1));
  return Math.max(full / 2 + (full / 2) * random, options.retryAfterMs ?? 0);
}

/** An attempt. */
interface Attempt {
  readonly durationMs: number;
  /** The breaker was half open, and the event was its probe. */
  readonly isProbe: boolean;
  /** In [0, 1), for jitter. */
  readonly random: number;
}

/** The delay of an event without a route, doubling; adding a route makes it due at once (actions.update_has_route). */
const noRouteWaitMs = { least: 30_000, most: 3_600_000 };

/**
 * Decides an outcome. A refused replay is dead again; an unavailable tier never kills a row: an unsent event leaves no
 * attempt, and a 503, or an unanswered probe, spends none.
 *
 * Source: DECISIONS, Delivery, and Decided since (The breaker).
 */
export function judge(
  row: Claimed,
  outcome: SendOutcome,
  attempt: Attempt,
  options: BackoffOptions & { readonly attemptsMax: number },
): Settlement {
  const common = { ...identify(row), durationMs: attempt.durationMs, status: outcome.status };
  if (outcome.kind === "delivered") {
    return { ...common, kind: "delivered", outcome: "delivered", reason: null, isSpent: true, retryMs: 0 };
  }
  if (outcome.kind === "unreachable" && !outcome.isSent) return release(row, { reason: "tier_away" });
  const { kind, reason } = outcome;
  if (kind === "refused" && reason === "no_route") {
    const waitedMs = row.due_at_ms - Date.parse(row.received_at);
    const retryMs = Math.min(Math.max(waitedMs, noRouteWaitMs.least), noRouteWaitMs.most);
    // It was not sent, so it leaves no attempt.
    return release(row, { reason, retryMs });
  }
  if (kind === "refused" && reason === notBegun) {
    return release(row, { reason, retryMs: backoffMs(1, attempt.random, options) });
  }
  if (outcome.kind === "unreachable" && (attempt.isProbe || outcome.failure.cause === "unavailable")) {
    // It waits, because if only this row fails, it would otherwise be the next probe again and block all others.
    const retryMs = backoffMs(1, attempt.random, options);
    return { ...common, kind: "retry", outcome: "unreachable", reason, isSpent: false, retryMs };
  }
  const isLast = row.spent >= options.attemptsMax || (row.is_replay && kind === "refused");
  if (isLast) return { ...common, kind: "dead", outcome: kind, reason, isSpent: true, retryMs: 0 };
  const retryAfterMs = kind === "refused" ? outcome.retryAfterMs : 0;
  const retryMs = backoffMs(row.spent, attempt.random, { ...options, retryAfterMs });
  return { ...common, kind: "retry", outcome: kind, reason, isSpent: true, retryMs };
}

/** Settles a claimed row without an attempt: it waits, for `reason` if given. */
export function release(
  row: Claimed,
  { reason = null, retryMs = 0 }: { readonly reason?: string | null; readonly retryMs?: number } = {},
): Settlement {
  return {
    ...identify(row),
    kind: "released",
    outcome: "unreachable",
    status: null,
    reason,
    durationMs: 0,
    isSpent: false,
    retryMs,
  };
}

function identify(row: Claimed): Pick<Settlement, "eventId" | "tenantId" | "lease" | "number" | "isRepeat"> {
  return {
    eventId: row.event_id,
    tenantId: row.tenant_id,
    lease: row.lease,
    number: row.number,
    isRepeat: row.is_repeat,
  };
}
