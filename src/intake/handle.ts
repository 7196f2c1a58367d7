/**
 * `POST /v1/intake`, in the specification's order of checks: per-IP limit, method, body cap, key, per-key
 * limit, validation, idempotency and commit.
 *
 * @module
 */

import type { Reason } from "../contract/fields.ts";
import { bodyText, digest128 } from "../gate/content.ts";
import {
  type IdempotencyKey,
  readIdempotencyKey,
  type UsableIdempotencyKey,
} from "../gate/idempotency_key.ts";
import { KeyHolder } from "../gate/key_holder.ts";
import { dedupe, gatedPost, type GateParts, type PassedPost } from "../gate/post.ts";
import type { HolderBudget } from "../gate/rate.ts";
import type { Exchange, Handler, Reply } from "../http/exchange.ts";
import { canonicalText } from "../lead/fingerprint.ts";
import type { Verdict as LeadVerdict } from "../lead/lead.ts";
import { validate } from "../lead/validate.ts";
import type { Entry, Outcome } from "../store/serving/accept.ts";
import type { Committer } from "../store/serving/committer.ts";
import type { ApiKey, KeyStore } from "../store/serving/key_lookup.ts";
import type { Totals } from "../store/serving/totals.ts";
import { acknowledge, refuse } from "./reply.ts";

/** What the handler works with. */
export interface IntakeParts extends GateParts {
  readonly keys: KeyStore;
  readonly committer: Committer;
  readonly totals: Totals;
  readonly keyBudget: HolderBudget;
}

type ValidLead = Extract<LeadVerdict, { kind: "valid" }>;

/** The handler of `/v1/intake`, for every method. Source: SPEC, POST intake; DECISIONS, The intake endpoint. */
export function intakeHandler(parts: IntakeParts): Handler {
  return gatedPost(
    parts,
    refuse,
    (exchange, post) => answerKeyHolder(parts, exchange, post),
  );
}

async function answerKeyHolder(
  parts: IntakeParts,
  exchange: Exchange,
  { bytes, ip, arrivedAtMs }: PassedPost,
): Promise<Reply> {
  const { requestId } = exchange;
  const holder = await KeyHolder.of(exchange, parts.keys, "intake");
  if (holder === null) return refuse("unauthorized", { requestId, headers: ip.headers });
  const { key } = holder;

  const budget = parts.keyBudget.spend(key, ip, parts.nowMs());
  const { headers } = budget;
  if (!budget.allowed) {
    if (await holder.isRevokedBeforeLimit()) return refuse("unauthorized", { requestId, headers });
    parts.totals.refused(key.id, "rate_limited", "");
    return refuse("rate_limited", { requestId, headers });
  }

  const text = bodyText(exchange, bytes);
  const verdict = text === null
    ? { kind: "invalid_json" } as const
    : validate(text, parts.reference().areaIndex);
  const idempotencyKey = readIdempotencyKey(exchange.headerLines("idempotency-key"));
  if (verdict.kind === "invalid_json" || idempotencyKey.kind === "repeated") {
    if (await holder.isRevoked()) return refuse("unauthorized", { requestId, headers });
    parts.totals.refused(key.id, "invalid_json", "");
    const said = idempotencyKey.kind === "repeated" ? { detail: idempotencyKey.detail } : {};
    return refuse("invalid_json", { requestId, headers, ...said });
  }

  if (verdict.kind === "validation_failed" || idempotencyKey.kind === "too_long") {
    if (await holder.isRevoked()) return refuse("unauthorized", { requestId, headers });
    const fields = failingFields(verdict, idempotencyKey);
    if (verdict.kind === "valid" || !verdict.empty) countRefusals(parts.totals, key.id, fields);
    return refuse("validation_failed", { requestId, fields, headers });
  }

  const entry = toEntry(key, verdict, { raw: text as string, idempotencyKey, arrivedAtMs });
  const outcome = await parts.committer.commit(entry);
  if (outcome.kind === "revoked") {
    holder.forget();
    return refuse("unauthorized", { requestId, headers });
  }
  parts.totals.used(key.id, outcome.receivedAt);
  return acknowledgeOutcome(outcome, { source: key.label, flags: verdict.flags, headers });
}

/** What fails in body and headers together. */
function failingFields(
  verdict: Exclude<LeadVerdict, { kind: "invalid_json" }>,
  idempotencyKey: Exclude<IdempotencyKey, { kind: "repeated" }>,
): Readonly<Record<string, Reason>> {
  const inBody = verdict.kind === "validation_failed" ? verdict.fields : {};
  return idempotencyKey.kind === "too_long" ? { ...inBody, "Idempotency-Key": "too_long" } : inBody;
}

function countRefusals(totals: Totals, keyId: number, fields: Readonly<Record<string, Reason>>): void {
  for (const [field, reason] of Object.entries(fields)) totals.refused(keyId, reason, field);
}

function toEntry(
  key: ApiKey,
  { lead, extra, flags }: ValidLead,
  posted: { raw: string; idempotencyKey: UsableIdempotencyKey; arrivedAtMs: number },
): Entry {
  const { raw, idempotencyKey, arrivedAtMs } = posted;
  return {
    kind: "lead",
    keyId: key.id,
    tenantId: key.tenantId,
    ...dedupe("lead", idempotencyKey, digest128(canonicalText(lead, extra))),
    flags,
    lead: JSON.stringify(lead),
    extra,
    raw,
    costCents: lead.cost_cents ?? null,
    unknownArea: flags.includes("project_area_unknown") ? lead.project_area ?? null : null,
    arrivedAtMs,
    submission: null,
  };
}

function acknowledgeOutcome(
  outcome: Exclude<Outcome, { kind: "revoked" }>,
  own: {
    source: string;
    flags: readonly string[];
    headers: Readonly<Record<string, string>>;
  },
): Reply {
  const { eventId, receivedAt } = outcome;
  const flags = outcome.kind === "accepted" ? own.flags : outcome.flags;
  return acknowledge(outcome.kind, { eventId, receivedAt, source: own.source, flags }, own.headers);
}
