/** Creates events without the service: entries of a commit, and direct calls of the SQL function `accept`. */

import { randomUUID } from "node:crypto";
import type postgres from "postgres";
import type { Entry } from "../../src/store/serving/accept.ts";

/** Returns an entry without an Idempotency-Key, with an ordinary value for each omitted member. */
export function acceptEntry(parts: Partial<Entry> = {}): Entry {
  const { digest = randomUUID() } = parts;
  return {
    kind: "lead",
    keyId: 1,
    tenantId: 1,
    space: "c",
    digest,
    contentDigest: digest,
    idempotencyKey: null,
    requestId: null,
    flags: [],
    lead: "{}",
    extra: null,
    raw: "{}",
    costCents: null,
    submission: null,
    arrivedAtMs: performance.now(),
    ...parts,
  };
}

/** One entry of the batch. Omitted members are null or have an ordinary value. */
export interface AcceptPost {
  readonly keyId: number;
  /** `k` for a lead and `K` for a submission by default. */
  readonly space?: string;
  readonly digest?: string;
  readonly idempotencyKey?: string | null;
  /** Comma-separated. */
  readonly flags?: string;
  readonly lead?: string;
  readonly extra?: string | null;
  readonly raw?: string;
  readonly costCents?: number | null;
  readonly formId?: number | null;
  readonly verdict?: string;
  readonly score?: number;
  readonly reasons?: string;
  readonly lastName?: string | null;
}

/** The outcome of one entry. */
export interface AcceptedRow {
  readonly outcome: string;
  readonly event_id: string;
  readonly received_at: string;
}

const separator = "->";

/** Calls `accept` with a batch. If all entries are accepted, one row contains their ids concatenated. */
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
        p_window_hours => ${windowHours},
        p_form_id => ${ofForms(({ formId }) => formId)},
        p_verdict => ${ofForms(({ verdict }) => verdict ?? "clean")},
        p_score => ${ofForms(({ score }) => score ?? 0)},
        p_reasons => ${ofForms(({ reasons }) => reasons ?? "")},
        p_phone => '',
        p_email => '',
        p_name => ${ofForms(({ lastName }) => lastName == null ? null : `${lastName}\t${lastName}`)},
        p_form_window_minutes => ${windowMinutes})`,
  ];
}
