/** Decides how a claimed row is settled. */

import type { Claimed, Settlement } from "../store/delivery/outbox.ts";
import { effectsNotBegun, type SendOutcome } from "./send.ts";

export interface BackoffOptions {
  readonly baseMs: number;
  readonly capMs: number;
}

/**
 * Returns the delay in milliseconds after attempt number `spent` (from 1): base × 3^(spent − 1), capped, times a random
 * factor from 0.5 to 1, but at least the tier's `Retry-After`. `random` is in [0, 1).
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

// The minimum delay of an event that waits.
const waitMsMin = 1_000;

interface Attempt {
  readonly durationMs: number;
  /** Whether the breaker was half open when the event was sent. */
  readonly isProbe: boolean;
  /** A random number in [0, 1), for jitter. */
  readonly random: number;
}

// The bounds of the delay for an event without a route. A new route makes the event due at once
// (actions.update_has_route).
const noRouteDelayMs = { min: 30_000, max: 3_600_000 };

/**
 * Returns the settlement for an attempt. No attempt is recorded if the event was not sent, has no route or waits for its
 * CRM or for the end of a pause, or if no failed effect was started. A 503, or no response while the breaker is half open, is recorded but does not count towards
 * the maximum. A replay that the tier refuses for any other reason becomes dead again.
 *
 * Source: DECISIONS, Delivery, and Decided since (The breaker).
 */
export function settlementOf(
  row: Claimed,
  outcome: SendOutcome,
  attempt: Attempt,
  options: BackoffOptions & { readonly attemptsMax: number },
): Settlement {
  const common = { ...claimFields(row), durationMs: attempt.durationMs, status: outcome.status };
  if (outcome.kind === "delivered") {
    return {
      ...common,
      kind: "delivered",
      outcome: "delivered",
      reason: null,
      countsTowardsMax: true,
      retryMs: 0,
    };
  }
  if (outcome.kind === "unreachable" && !outcome.isSent) {
    return releasedSettlement(row, { reason: "tier_away" });
  }
  const { kind, reason } = outcome;
  if (kind === "refused" && reason === "no_route") {
    const waitedMs = row.due_at_ms - Date.parse(row.received_at);
    // The delay equals the wait so far, so the wait doubles with each try.
    const retryMs = Math.min(Math.max(waitedMs, noRouteDelayMs.min), noRouteDelayMs.max);
    return releasedSettlement(row, { reason, retryMs });
  }
  if (kind === "refused" && reason === effectsNotBegun) {
    return releasedSettlement(row, { reason, retryMs: backoffMs(1, attempt.random, options) });
  }
  if (kind === "refused" && outcome.next === "wait") {
    return releasedSettlement(row, { reason, retryMs: Math.max(outcome.retryAfterMs, waitMsMin) });
  }
  if (outcome.kind === "unreachable" && (attempt.isProbe || outcome.failure.cause === "unavailable")) {
    // The delay lets other rows be sent, in case this row causes the failure.
    const retryMs = backoffMs(1, attempt.random, options);
    return { ...common, kind: "retry", outcome: "unreachable", reason, countsTowardsMax: false, retryMs };
  }
  if (isLast(row, outcome, options)) {
    return { ...common, kind: "dead", outcome: kind, reason, countsTowardsMax: true, retryMs: 0 };
  }
  const retryAfterMs = kind === "refused" ? outcome.retryAfterMs : 0;
  const retryMs = backoffMs(row.spent, attempt.random, { ...options, retryAfterMs });
  return { ...common, kind: "retry", outcome: kind, reason, countsTowardsMax: true, retryMs };
}

/** Whether a failed attempt is the last one. */
function isLast(
  row: Claimed,
  outcome: Exclude<SendOutcome, { kind: "delivered" }>,
  { attemptsMax }: { readonly attemptsMax: number },
): boolean {
  if (outcome.kind !== "refused") return row.spent >= attemptsMax;
  if (outcome.next === "repeat_always") return false;
  return row.spent >= attemptsMax || outcome.next === "give_up" ||
    row.is_replay && outcome.next !== "repeat_replay";
}

/** Returns a settlement that records no attempt and makes the row pending again. */
export function releasedSettlement(
  row: Claimed,
  { reason = null, retryMs = 0 }: { readonly reason?: string | null; readonly retryMs?: number } = {},
): Settlement {
  return {
    ...claimFields(row),
    kind: "released",
    outcome: "unreachable",
    status: null,
    reason,
    durationMs: 0,
    countsTowardsMax: false,
    retryMs,
  };
}

function claimFields(
  row: Claimed,
): Pick<Settlement, "eventId" | "tenantId" | "lease" | "number" | "isRepeat"> {
  return {
    eventId: row.event_id,
    tenantId: row.tenant_id,
    lease: row.lease,
    number: row.number,
    isRepeat: row.is_repeat,
  };
}
