/**
 * Handles `POST /v1/intake`, in the specification's order of checks: per-IP limit, method, body cap, key, per-key
 * limit, validation, idempotency and commit.
 */

import { type ErrorCode, errors } from "../contract/errors.ts";
import { limits } from "../contract/limits.ts";
import {
  deduplicationKey,
  digest128,
  readIdempotencyKey,
  type UsableIdempotencyKey,
} from "../gate/idempotency_key.ts";
import {
  createErrorRenderer,
  decodeBody,
  type GateParts,
  incompleteBody,
  Post,
  type RefusalDetails,
} from "../gate/post.ts";
import type { AuthenticatedRateLimiter } from "../gate/rate.ts";
import type { Exchange, Handler, Reply } from "../http/exchange.ts";
import { json } from "../http/reply.ts";
import { canonicalText } from "../lead/fingerprint.ts";
import type { Areas, Validation } from "../lead/lead.ts";
import { validate } from "../lead/validate.ts";
import type { Entry, Outcome } from "../store/serving/accept.ts";
import type { ApiKey } from "../store/serving/lookup.ts";

/** Renders an error reply. Source: SPEC, Error body. */
export const refuse = createErrorRenderer(errors);

/**
 * Renders 202 `accepted`, or 200 `duplicate` with the `flags` of the accepted post. Source: SPEC, Lead acknowledgement.
 */
function acknowledge(
  outcome: Exclude<Outcome, { kind: "revoked" }>,
  { source, flags, headers }: {
    readonly source: string;
    readonly flags: readonly string[];
    readonly headers: Readonly<Record<string, string>>;
  },
): Reply {
  return json(outcome.kind === "accepted" ? 202 : 200, {
    event_id: outcome.eventId,
    status: outcome.kind,
    received_at: outcome.receivedAt,
    source,
    flags: outcome.kind === "accepted" ? flags : outcome.flags,
  }, headers);
}

export interface IntakeParts extends GateParts {
  readonly keyLimiter: AuthenticatedRateLimiter;
}

/** Returns the handler for every method of `/v1/intake`. Source: SPEC, POST intake; DECISIONS, The intake endpoint. */
export function intakeHandler(parts: IntakeParts): Handler {
  return (exchange) => {
    const post = new Post<ErrorCode>(exchange, parts, refuse);
    return respond(exchange, post, parts).catch((error) => post.refuseUnavailable(error));
  };
}

async function respond(exchange: Exchange, post: Post<ErrorCode>, parts: IntakeParts): Promise<Reply> {
  if (!post.allowAddress()) return post.refuse("rate_limited");
  if (exchange.method !== "POST") return post.refuse("method_not_allowed", { headers: { Allow: "POST" } });

  const body = await exchange.readBody(limits.bodyBytesMax);
  if (body.kind === "too_large") return post.refuse("body_too_large");
  if (body.kind === "incomplete") return post.refuse("invalid_json", incompleteBody);

  const lookup = post.authenticate("intake");
  const key = lookup instanceof Promise ? await lookup : lookup;
  if (key === null) return post.refuseKey("intake");
  if (!post.allowAuthenticated(parts.keyLimiter, key)) return post.refuse("rate_limited");

  const lead = readLead(exchange, body.bytes, parts.reference().areaIndex);
  if (lead.kind !== "valid") return post.refuse(lead.kind, lead);

  const outcome = await post.commit(toEntry(key, lead, post));
  if (outcome.kind === "revoked") return post.refuse("unauthorized");

  return acknowledge(outcome, { source: key.label, flags: lead.flags, headers: post.headers });
}

interface ValidLead extends Extract<Validation, { kind: "valid" }> {
  readonly raw: string;
  readonly idempotencyKey: UsableIdempotencyKey;
}

/** Validates the body and the `Idempotency-Key` together, because a 422 lists the faults of both. */
function readLead(
  exchange: Exchange,
  bytes: Uint8Array,
  areas: Areas,
): ValidLead | RefusalDetails & { readonly kind: "invalid_json" | "validation_failed" } {
  const raw = decodeBody(exchange, bytes);
  const idempotencyKey = readIdempotencyKey(exchange.headerLines("idempotency-key"));
  if (idempotencyKey.kind === "repeated") return { ...idempotencyKey, kind: "invalid_json" };
  if (typeof raw !== "string") return { ...raw, kind: "invalid_json" };
  const validation = validate(raw, areas);
  if (idempotencyKey.kind !== "too_long") {
    return validation.kind === "valid" ? { ...validation, raw, idempotencyKey } : validation;
  }
  if (validation.kind === "invalid_json") return validation;
  const bodyFaults = validation.kind === "valid" ? { fields: {}, detail: undefined } : validation;
  const fields = { ...bodyFaults.fields, "Idempotency-Key": "too_long" };
  const detail = [bodyFaults.detail ?? [], idempotencyKey.detail].flat().join(". ");
  return { ...bodyFaults, kind: "validation_failed", fields, detail };
}

/** Returns the entry to commit for a lead. */
export function toEntry(
  { id: keyId, tenantId }: Pick<ApiKey, "id" | "tenantId">,
  { lead, extra, flags, raw, idempotencyKey }: ValidLead,
  { arrivedAtMs, requestId }: Pick<Entry, "arrivedAtMs" | "requestId">,
): Entry {
  const text = JSON.stringify(lead);
  return {
    kind: "lead",
    keyId,
    tenantId,
    ...deduplicationKey("lead", idempotencyKey, digest128(canonicalText(lead, extra, text))),
    flags,
    lead: text,
    extra,
    raw,
    costCents: lead.cost_cents ?? null,
    requestId,
    arrivedAtMs,
    submission: null,
  };
}
