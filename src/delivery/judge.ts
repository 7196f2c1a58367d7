/**
 * What becomes of a row after its send: delivered, another attempt, or dead.
 *
 * @module
 */

import type { Claimed, Settlement } from "../store/delivery/outbox.ts";
import { notBegun, type SendOutcome } from "./send.ts";

/** The bounds of the waits. */
export interface BackoffOptions {
  readonly baseMs: number;
  readonly capMs: number;
}

/**
 * The wait after the `spent`-th attempt (from 1) in milliseconds: base × 3^(spent − 1), at most the cap, half of
 * it jitter. `random` is in [0, 1). A `Retry-After` of the tier is a floor.
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

/** The attempt that was made. */
interface Attempt {
  readonly durationMs: number;
  /** The breaker was half open: the event tried out whether the tier answers again. */
  readonly isProbe: boolean;
  /** In [0, 1), for the jitter. */
  readonly random: number;
}

/**
 * The tier knows of no route for the event: the tenant has some for other sources only, or one was just removed. It waits
 * as long as it has waited, between these bounds, and goes at once when a route is added (actions.update_has_route).
 */
const noRouteWaitMs = { least: 30_000, most: 3_600_000 };

/**
 * Judges an outcome. A refusal of a replayed row makes it dead again; a tier that is away never does: what was not sent
 * leaves no attempt, and what the tier could not work on (503), or left unanswered as a probe, spends none.
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
    // Nothing was tried, so it leaves no attempt.
    return release(row, { reason, retryMs });
  }
  if (kind === "refused" && reason === notBegun) {
    return release(row, { reason, retryMs: backoffMs(1, attempt.random, options) });
  }
  if (outcome.kind === "unreachable" && (attempt.isProbe || outcome.failure.cause === "unavailable")) {
    // It waits although the tier may be back sooner: were it the tier's trouble with this row alone, it would be the
    // next one again, and hold up all others.
    const retryMs = backoffMs(1, attempt.random, options);
    return { ...common, kind: "retry", outcome: "unreachable", reason, isSpent: false, retryMs };
  }
  const isLast = row.spent >= options.attemptsMax || (row.is_replay && kind === "refused");
  if (isLast) return { ...common, kind: "dead", outcome: kind, reason, isSpent: true, retryMs: 0 };
  const retryAfterMs = kind === "refused" ? outcome.retryAfterMs : 0;
  const retryMs = backoffMs(row.spent, attempt.random, { ...options, retryAfterMs });
  return { ...common, kind: "retry", outcome: kind, reason, isSpent: true, retryMs };
}

/** The settlement of a row that was claimed and leaves no attempt: it waits, for `reason` where there is one. */
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
