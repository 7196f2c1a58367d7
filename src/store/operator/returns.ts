/** Returns leads, which credits their cost, and undoes returns. */

import type postgres from "postgres";
import type { Pool } from "../pool.ts";
import { queryOne } from "../query.ts";
import { isoTime, operatorCall } from "./admin_pool.ts";

/** The reasons for which a customer returns a lead. */
export const returnReasons = [
  "wrong_number",
  "duplicate",
  "out_of_area",
  "not_a_homeowner",
  "spam",
  "other",
] as const;
export type ReturnReason = typeof returnReasons[number];

/** The maximum length of a note, in characters. */
export const noteLengthMax = 500;

/** A lead's return. */
export interface LeadReturn {
  readonly reason: ReturnReason;
  readonly creditCents: number;
  /** ISO 8601, UTC. */
  readonly at: string;
  /** The operator's unverified name. */
  readonly by: string;
}

/** Selects the return of the event e, if it was not undone, with the given further members. */
export const selectReturn = (sql: postgres.Sql, members = sql``) =>
  sql`(
    select case when r.undoes is null then json_build_object(
      'reason', r.reason, 'creditCents', r.cents, 'at', ${isoTime(sql, sql`r.at`)}, 'by', r.by ${members}
    ) end
    from lead_return as r where r.event_id = e.event_id order by r.id desc limit 1
  )`;

/** The outcome of a return, or of undoing one; `creditCents` is what was credited or taken back, or the earlier credit. */
export interface ReturnOutcome {
  /**
   * `already`: returned before; `not_returned`: nothing to undo; `form`: a submission; `erased`: no note can be stored,
   * because the content was removed.
   */
  readonly outcome: "returned" | "undone" | "already" | "not_returned" | "form" | "erased" | "unknown";
  readonly creditCents: number | null;
}

/**
 * Returns a lead, or undoes its return if `reason` is `null`, and audits it. `operator` is the console operator's name, `null` for
 * ctl.
 *
 * Chosen: the credit counts when the lead was received, so that the lead and its credit are in the same statement.
 */
export async function returnLead(
  pool: Pool,
  { eventId, reason, note, operator }: {
    readonly eventId: string;
    readonly reason: ReturnReason | null;
    readonly note: string | null;
    readonly operator: string | null;
  },
): Promise<ReturnOutcome> {
  const row = await queryOne(pool, (sql) => {
    const call = operatorCall(sql, operator, "return_lead", sql`${eventId}, ${reason}, ${note}`);
    return sql<ReturnOutcome[]>`select outcome, credit_cents as "creditCents" from ${call}`;
  });
  return row ?? { outcome: "unknown", creditCents: null };
}
