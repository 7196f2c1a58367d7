/**
 * `POST /v1/intake`, in the specification's order of checks: per-IP limit, method, body cap, key, per-key limit,
 * validation, idempotency and commit.
 */

import { type ErrorCode, errors } from "../contract/errors.ts";
import { limits } from "../contract/limits.ts";
import { dedupe, readIdempotencyKey, type UsableIdempotencyKey } from "../gate/idempotency_key.ts";
import {
  bodyText,
  brokenOff,
  digest128,
  type GateParts,
  Post,
  type RefusalDetails,
  refuseBy,
} from "../gate/post.ts";
import type { HolderBudget } from "../gate/rate.ts";
import type { Exchange, Handler, Reply } from "../http/exchange.ts";
import { json } from "../http/reply.ts";
import { canonicalText } from "../lead/fingerprint.ts";
import type { Areas, Validation } from "../lead/lead.ts";
import { validate } from "../lead/validate.ts";
import type { Entry, Outcome } from "../store/serving/accept.ts";
import type { ApiKey } from "../store/serving/lookup.ts";

/** An error reply with its status. Source: SPEC, Error body. */
export const refuse = refuseBy(errors);

/** 202 `accepted` or 200 `duplicate`, which has the first post's `flags`. Source: SPEC, Lead acknowledgement. */
export function acknowledge(
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
  readonly keyBudget: HolderBudget;
}

/** The handler of `/v1/intake`, for every method. Source: SPEC, POST intake; DECISIONS, The intake endpoint. */
export function intakeHandler(parts: IntakeParts): Handler {
  return (exchange) => {
    const post = new Post<ErrorCode>(exchange, parts, refuse);
    return answer(exchange, post, parts).catch((error) => post.refuseUnavailable(error));
  };
}

async function answer(exchange: Exchange, post: Post<ErrorCode>, parts: IntakeParts): Promise<Reply> {
  if (!post.allowAddress()) return post.refuse("rate_limited");
  if (exchange.method !== "POST") return post.refuse("method_not_allowed", { headers: { Allow: "POST" } });

  const body = await exchange.readBody(limits.bodyBytesMax);
  if (body.kind === "too_large") return post.refuse("body_too_large");
  if (body.kind === "incomplete") return post.refuse("invalid_json", brokenOff);

  const found = post.authenticate("intake");
  const key = found instanceof Promise ? await found : found;
  if (key === null) return post.refuseKey("intake");
  if (!post.allowHolder(parts.keyBudget, key)) return post.refuse("rate_limited");

  const read = readLead(exchange, body.bytes, parts.reference().areaIndex);
  if (read.kind !== "valid") return post.refuse(read.kind, read);

  const outcome = await post.commit(toEntry(key, read, post.arrivedAtMs));
  if (outcome.kind === "revoked") return post.refuse("unauthorized");

  return acknowledge(outcome, { source: key.label, flags: read.flags, headers: post.headers });
}

interface ReadLead extends Extract<Validation, { kind: "valid" }> {
  readonly raw: string;
  readonly idempotencyKey: UsableIdempotencyKey;
}

/** Validates body and `Idempotency-Key` together: a 422 names what fails in both. */
function readLead(
  exchange: Exchange,
  bytes: Uint8Array,
  areas: Areas,
): ReadLead | RefusalDetails & { readonly kind: "invalid_json" | "validation_failed" } {
  const raw = bodyText(exchange, bytes);
  const idempotencyKey = readIdempotencyKey(exchange.headerLines("idempotency-key"));
  if (idempotencyKey.kind === "repeated") return { ...idempotencyKey, kind: "invalid_json" };
  if (typeof raw !== "string") return { ...raw, kind: "invalid_json" };
  const validation = validate(raw, areas);
  if (idempotencyKey.kind !== "too_long") {
    return validation.kind === "valid" ? { ...validation, raw, idempotencyKey } : validation;
  }
  if (validation.kind === "invalid_json") return validation;
  const inBody = validation.kind === "valid" ? { fields: {}, detail: undefined } : validation;
  const fields = { ...inBody.fields, "Idempotency-Key": "too_long" };
  const detail = [inBody.detail ?? [], idempotencyKey.detail].flat().join(". ");
  return { ...inBody, kind: "validation_failed", fields, detail };
}

/** The event that a lead becomes when it is committed. */
export function toEntry(
  { id: keyId, tenantId }: Pick<ApiKey, "id" | "tenantId">,
  { lead, extra, flags, raw, idempotencyKey }: ReadLead,
  arrivedAtMs: number,
): Entry {
  const text = JSON.stringify(lead);
  return {
    kind: "lead",
    keyId,
    tenantId,
    ...dedupe("lead", idempotencyKey, digest128(canonicalText(lead, extra, text))),
    flags,
    lead: text,
    extra,
    raw,
    costCents: lead.cost_cents ?? null,
    unknownArea: flags.includes("project_area_unknown") ? lead.project_area ?? null : null,
    arrivedAtMs,
    submission: null,
  };
}
