/** Events made by a call of the SQL function `accept`, past the service. */

import { randomUUID } from "node:crypto";
import type postgres from "postgres";

/** One of the batch; what is left out is null, or ordinary. */
export interface AcceptPost {
  readonly keyId: number;
  /** `k` for a lead and `K` for a submission, when left out. */
  readonly space?: string;
  readonly digest?: string;
  readonly idempotencyKey?: string | null;
  /** Comma-separated. */
  readonly flags?: string;
  readonly lead?: string;
  readonly extra?: string | null;
  readonly raw?: string;
  readonly costCents?: number | null;
  readonly unknownArea?: string | null;
  readonly formId?: number | null;
  readonly verdict?: string;
  readonly score?: number;
  readonly reasons?: string;
  readonly lastName?: string | null;
}

/** What became of one. */
export interface AcceptedRow {
  readonly outcome: string;
  readonly event_id: string;
  readonly received_at: string;
}

const separator = "->";

/** Calls it with a batch; when all are accepted, one row has the ids one after another. */
export async function acceptPosts(
  sql: postgres.ISql,
  posts: readonly AcceptPost[],
  { windowHours = 24, windowMinutes = 10 } = {},
): Promise<AcceptedRow[]> {
  const column = (pick: (post: AcceptPost) => string | number | null | undefined) =>
    posts.map((post) => pick(post) ?? [...separator].reverse().join("")).join(separator);
  const ofForms = (pick: (post: AcceptPost) => string | number | null | undefined) =>
    posts.some(({ formId }) => formId != null)
      ? column((post) => post.formId == null ? null : pick(post))
      : "";
  return [
    ...await sql<AcceptedRow[]>`
      select outcome, event_id, received_at from accept(
        p_separator => ${separator},
        p_key_id => ${column(({ keyId }) => keyId)},
        p_space => ${column(({ space, formId }) => space ?? (formId == null ? "k" : "K"))},
        p_digest => ${column(({ digest }) => digest ?? randomUUID())},
        p_content => ${column(() => randomUUID())},
        p_idempotency_key => ${column(({ idempotencyKey }) => idempotencyKey)},
        p_flags => ${column(({ flags }) => flags ?? "")},
        p_lead => ${column(({ lead }) => lead ?? '{"last_name":"Doe"}')},
        p_extra => ${column(({ extra }) => extra)},
        p_raw => ${column(({ raw }) => raw ?? "{}")},
        p_cost_cents => ${column(({ costCents }) => costCents)},
        p_unknown_area => ${column(({ unknownArea }) => unknownArea)},
        p_window_hours => ${windowHours},
        p_form_id => ${ofForms(({ formId }) => formId)},
        p_verdict => ${ofForms(({ verdict }) => verdict ?? "clean")},
        p_score => ${ofForms(({ score }) => score ?? 0)},
        p_reasons => ${ofForms(({ reasons }) => reasons ?? "")},
        p_phone => '',
        p_email => '',
        p_last_name => ${ofForms(({ lastName }) => lastName)},
        p_form_window_minutes => ${windowMinutes})`,
  ];
}
