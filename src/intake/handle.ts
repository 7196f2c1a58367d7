/**
 * `POST /v1/intake`, in the specification's order of checks: per-IP limit, method, body cap, key, per-key
 * limit, validation, idempotency and commit.
 *
 * @module
 */

import { hash } from "node:crypto";
import { keySurface } from "../contract/api_key.ts";
import type { Reason } from "../contract/fields.ts";
import { limits } from "../contract/limits.ts";
import type { Exchange, Handler, Reply } from "../http/exchange.ts";
import { canonicalText } from "../lead/fingerprint.ts";
import type { Verdict as LeadVerdict } from "../lead/lead.ts";
import { validate } from "../lead/validate.ts";
import type { Entry, Outcome } from "../store/accept.ts";
import type { Committer } from "../store/committer.ts";
import type { ApiKey, KeyStore } from "../store/keys.ts";
import type { Reference } from "../store/reference.ts";
import { Unavailable } from "../store/sql.ts";
import type { Totals } from "../store/totals.ts";
import { type IdempotencyKey, readIdempotencyKey } from "./idempotency_key.ts";
import type { IpBudget, KeyBudget, Verdict } from "./rate.ts";
import { acknowledge, refuse } from "./reply.ts";

/** What the handler works with. */
export interface IntakeParts {
  readonly keys: KeyStore;
  readonly committer: Committer;
  readonly totals: Totals;
  readonly reference: () => Reference;
  readonly ipBudget: IpBudget;
  readonly keyBudget: KeyBudget;
  /** A monotonic clock in milliseconds. */
  readonly nowMs: () => number;
}

type ValidLead = Extract<LeadVerdict, { kind: "valid" }>;

// A 429 is an answer to a key holder too, but it must stay cheap under a flood: a key that was active this
// recently is not looked up again for it.
const limitedKeyAgeMaxMs = 1_000;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The handler of `/v1/intake`, for every method. Source: SPEC, POST intake; DECISIONS, The intake endpoint. */
export function intakeHandler(parts: IntakeParts): Handler {
  return async (exchange) => {
    const ip = parts.ipBudget.spend(exchange.clientAddress, parts.reference().ipLimits, parts.nowMs());
    if (!ip.allowed) return refuse("rate_limited", { requestId: null, headers: ip.headers });

    if (exchange.method !== "POST") {
      return refuse("method_not_allowed", {
        requestId: exchange.requestId,
        headers: { ...ip.headers, Allow: "POST" },
      });
    }

    const body = await exchange.readBody(limits.bodyBytesMax);
    if (body.kind === "too_large") return refuse("body_too_large", { requestId: null, headers: ip.headers });
    if (body.kind === "incomplete") {
      return refuse("invalid_json", { requestId: exchange.requestId, headers: ip.headers });
    }

    try {
      return await answerKeyHolder(parts, exchange, body.bytes, ip);
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      return refuse("not_accepting", { requestId: exchange.requestId, headers: ip.headers });
    }
  };
}

async function answerKeyHolder(
  parts: IntakeParts,
  exchange: Exchange,
  bytes: Uint8Array,
  ip: Verdict,
): Promise<Reply> {
  const { requestId } = exchange;
  const keyText = exchange.header("x-api-key") ?? "";
  // A wrong checksum costs no query; so does a key of the other surface.
  if (keySurface(keyText) !== "intake") return refuse("unauthorized", { requestId, headers: ip.headers });
  const digest = hash("sha256", keyText, "hex");
  const cached = parts.keys.cached(digest);
  const key = cached ?? await parts.keys.find(digest);
  if (key === null) return refuse("unauthorized", { requestId, headers: ip.headers });
  exchange.keyId = String(key.id);

  const budget = parts.keyBudget.spend(key, ip, parts.nowMs());
  const { headers } = budget;
  // From the cache a key may only be led to its commit; before any other answer the store is asked.
  const isRevoked = async () => cached !== null && await parts.keys.find(digest) === null;

  if (!budget.allowed) {
    if (parts.keys.cached(digest, limitedKeyAgeMaxMs) === null && await isRevoked()) {
      return refuse("unauthorized", { requestId, headers });
    }
    parts.totals.refused(key.id, "rate_limited", "");
    return refuse("rate_limited", { requestId, headers });
  }

  const text = isIdentity(exchange.header("content-encoding")) ? decode(bytes) : null;
  const verdict = text === null
    ? { kind: "invalid_json" } as const
    : validate(text, parts.reference().areaIndex);
  if (verdict.kind === "invalid_json") {
    if (await isRevoked()) return refuse("unauthorized", { requestId, headers });
    parts.totals.refused(key.id, "invalid_json", "");
    return refuse("invalid_json", { requestId, headers });
  }

  const idempotencyKey = readIdempotencyKey(exchange.header("idempotency-key"));
  if (verdict.kind === "validation_failed" || idempotencyKey.kind === "too_long") {
    if (await isRevoked()) return refuse("unauthorized", { requestId, headers });
    const fields = failingFields(verdict, idempotencyKey);
    if (verdict.kind === "valid" || !verdict.empty) countRefusals(parts.totals, key.id, fields);
    return refuse("validation_failed", { requestId, fields, headers });
  }

  const entry = toEntry(key, verdict, { raw: text as string, idempotencyKey });
  const outcome = await parts.committer.commit(entry);
  if (outcome.kind === "revoked") {
    parts.keys.forget(digest);
    return refuse("unauthorized", { requestId, headers });
  }
  parts.totals.used(key.id, outcome.receivedAt);
  return acknowledgeOutcome(outcome, { source: key.label, flags: verdict.flags, headers });
}

/** What fails in body and headers together. */
function failingFields(
  verdict: Exclude<LeadVerdict, { kind: "invalid_json" }>,
  idempotencyKey: IdempotencyKey,
): Readonly<Record<string, Reason>> {
  const inBody = verdict.kind === "validation_failed" ? verdict.fields : {};
  return idempotencyKey.kind === "too_long" ? { ...inBody, "Idempotency-Key": "too_long" } : inBody;
}

function countRefusals(totals: Totals, keyId: number, fields: Readonly<Record<string, Reason>>): void {
  for (const [field, reason] of Object.entries(fields)) totals.refused(keyId, reason, field);
}

function isIdentity(contentEncoding: string | undefined): boolean {
  return contentEncoding === undefined || contentEncoding === "" ||
    contentEncoding.toLowerCase() === "identity";
}

/** The body's text, or `null` when its bytes are not UTF-8. A byte order mark stays: the raw body is kept whole. */
function decode(bytes: Uint8Array): string | null {
  try {
    return utf8.decode(bytes);
  } catch {
    return null;
  }
}

/** The first 128 bits of a SHA-256. Chosen: half of it, because it fits PostgreSQL's `uuid` and halves the index. */
function digest128(data: string | Uint8Array): string {
  return hash("sha256", data, "hex").slice(0, 32);
}

function toEntry(
  key: ApiKey,
  { lead, extra, flags }: ValidLead,
  posted: { raw: string; idempotencyKey: Exclude<IdempotencyKey, { kind: "too_long" }> },
): Entry {
  const { raw, idempotencyKey } = posted;
  const contentDigest = digest128(canonicalText(lead, extra));
  const byKey = idempotencyKey.kind === "present";
  return {
    kind: "lead",
    keyId: key.id,
    tenantId: key.tenantId,
    space: byKey ? "k" : "c",
    digest: byKey ? digest128(idempotencyKey.bytes) : contentDigest,
    contentDigest,
    idempotencyKey: byKey ? idempotencyKey.text : null,
    flags,
    lead: JSON.stringify(lead),
    extra,
    raw,
    costCents: lead.cost_cents ?? null,
    unknownArea: flags.includes("project_area_unknown") ? lead.project_area ?? null : null,
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
