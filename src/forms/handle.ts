/**
 * `POST /v1/forms/{tenant}/{form_key}`, in the order of checks: per-IP limit, method, body cap, key, tenant, per-tenant
 * limit, form, body, idempotency and commit.
 *
 * @module
 */

import type { FormErrorCode } from "../contract/form_errors.ts";
import { bodyText, digest128 } from "../gate/content.ts";
import { readIdempotencyKey, type UsableIdempotencyKey } from "../gate/idempotency_key.ts";
import { KeyHolder } from "../gate/key_holder.ts";
import { dedupe, gatedPost, type GateParts, type PassedPost } from "../gate/post.ts";
import type { Holder, HolderBudget } from "../gate/rate.ts";
import type { Exchange, Handler, Reply } from "../http/exchange.ts";
import type { Entry, SubmissionPart } from "../store/serving/accept.ts";
import type { Committer } from "../store/serving/committer.ts";
import type { Form, FormStore } from "../store/serving/form_lookup.ts";
import type { ApiKey, KeyStore } from "../store/serving/key_lookup.ts";
import type { Totals } from "../store/serving/totals.ts";
import { attributionOf } from "./attribution.ts";
import { contactOf } from "./contact.ts";
import { canonicalFields, missingFields, type Posted, readFields, submissionText } from "./fields.ts";
import { acknowledge, refuse } from "./reply.ts";
import { defaultThreshold, scoreSubmission } from "./spam/score.ts";
import type { VerdictReasonName } from "./spam/reasons.ts";

/** What the handler works with. */
export interface FormsParts extends GateParts {
  readonly keys: KeyStore;
  readonly forms: FormStore;
  readonly committer: Committer;
  readonly totals: Totals;
  readonly tenantBudget: HolderBudget;
  /** The wall clock in milliseconds, for fills that were too fast. */
  readonly wallMs: () => number;
}

/** What a request is answered with besides its body. */
interface Context {
  readonly requestId: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The handler of the path, for every method. Source: SPEC, Tenant forms; DECISIONS, Forms. */
export function formsHandler(parts: FormsParts): Handler {
  return gatedPost(
    parts,
    refuse,
    (exchange, post) => answerKeyHolder(parts, exchange, post),
  );
}

async function answerKeyHolder(
  parts: FormsParts,
  exchange: Exchange,
  { bytes, ip, arrivedAtMs }: PassedPost,
): Promise<Reply> {
  const { requestId, params } = exchange;
  const holder = await KeyHolder.of(exchange, parts.keys, "forms");
  if (holder === null) return refuse("unauthorized", { requestId, headers: ip.headers });
  const { key } = holder;

  if (params.tenant !== key.tenant) {
    return await refuseHolder(parts, holder, { requestId, headers: ip.headers, code: "tenant_mismatch" });
  }

  const budget = parts.tenantBudget.spend(budgetHolder(key), ip, parts.nowMs());
  const context = { requestId, headers: budget.headers };
  if (!budget.allowed) {
    if (await holder.isRevokedBeforeLimit()) return refuse("unauthorized", context);
    parts.totals.refused(key.id, "rate_limited", "");
    return refuse("rate_limited", context);
  }

  const form = await parts.forms.find(key.tenantId, params.form_key ?? "");
  if (form === null) return await refuseHolder(parts, holder, { ...context, code: "form_not_found" });

  const idempotencyKey = readIdempotencyKey(exchange.headerLines("idempotency-key"));
  if (idempotencyKey.kind === "repeated") {
    const { detail } = idempotencyKey;
    return await refuseHolder(parts, holder, { ...context, code: "invalid_json", detail });
  }
  const raw = bodyText(exchange, bytes);
  const posted = raw === null ? null : readFields(raw);
  if (raw === null || posted === null) {
    return await refuseHolder(parts, holder, { ...context, code: "invalid_json" });
  }
  const missing = missingFields(posted, form.required);
  if (missing.length > 0) {
    const fields = Object.fromEntries(missing.map((name) => [name, "required"]));
    // A body without any field is the probe, and adds to no total.
    const isCounted = posted.fields.size > 0;
    return await refuseHolder(parts, holder, { ...context, code: "missing_required", fields, isCounted });
  }
  if (idempotencyKey.kind === "too_long") {
    const fields = { "Idempotency-Key": "too_long" };
    return await refuseHolder(parts, holder, { ...context, code: "invalid_json", fields });
  }

  const entry = toEntry(key, form, {
    posted,
    raw,
    idempotencyKey,
    arrivedAtMs,
    receivedAtMs: parts.wallMs(),
  });
  const outcome = await parts.committer.commit(entry);
  if (outcome.kind === "revoked") {
    holder.forget();
    return refuse("unauthorized", context);
  }
  const { kind, eventId, receivedAt } = outcome;
  parts.totals.used(key.id, receivedAt);
  return acknowledge(kind, { submissionId: eventId, receivedAt }, budget.headers);
}

/**
 * Who shares a budget: all keys of the tenant but those with a raised limit, which have one of their own each.
 *
 * Chosen: one bucket at two rates in turn would be no limit, because each request at the lower rate forgives what is
 * owed beyond its burst; and an agreed backfill leaves the tenant's websites theirs.
 */
function budgetHolder({ id, tenantId, raisedRate }: ApiKey): Holder {
  return { id: raisedRate === null ? tenantId : `key ${id}`, raisedRate };
}

/** Counts a refusal by field, or as one that concerns none, and answers it; 401 when the key has been revoked. */
async function refuseHolder(
  { totals }: FormsParts,
  holder: KeyHolder,
  refusal: Context & {
    readonly code: FormErrorCode;
    readonly fields?: Readonly<Record<string, string>>;
    readonly detail?: string;
    readonly isCounted?: boolean;
  },
): Promise<Reply> {
  const { code, isCounted = true, ...rest } = refusal;
  if (await holder.isRevoked()) {
    return refuse("unauthorized", { requestId: rest.requestId, headers: rest.headers });
  }
  if (isCounted) {
    const counts = rest.fields === undefined ? [["", code] as const] : Object.entries(rest.fields);
    for (const [field, reason] of counts) totals.refused(holder.key.id, reason, field);
  }
  return refuse(code, rest);
}

function toEntry(
  key: ApiKey,
  form: Form,
  sent: {
    readonly posted: Posted;
    readonly raw: string;
    readonly idempotencyKey: UsableIdempotencyKey;
    readonly arrivedAtMs: number;
    /** By the wall clock. */
    readonly receivedAtMs: number;
  },
): Entry {
  const { posted, raw, idempotencyKey, arrivedAtMs, receivedAtMs } = sent;
  // Two forms may ask for the same; what is sent to one is no repeat of what was sent to the other.
  const content = `${form.id}\n${canonicalFields(posted)}`;
  return {
    kind: "form",
    keyId: key.id,
    tenantId: key.tenantId,
    ...dedupe("form", idempotencyKey, digest128(content)),
    flags: [],
    lead: submissionText(posted),
    extra: JSON.stringify({ form_key: form.formKey, attribution: attributionOf(posted) }),
    raw,
    costCents: null,
    arrivedAtMs,
    unknownArea: null,
    submission: examine(posted, form, receivedAtMs),
  };
}

/** Does the same work for every submission, so that a bot cannot tell by the time that it was found out. */
function examine(posted: Posted, form: Form, receivedAtMs: number): SubmissionPart {
  const { score, reasons } = scoreSubmission(posted.fields, { blocked: form.blocked, receivedAtMs });
  const names: VerdictReasonName[] = reasons.map(({ name }) => name);
  const isSpam = score >= (form.threshold ?? defaultThreshold);
  return {
    formId: form.id,
    verdict: posted.isTrapped ? "honeypot" : isSpam ? "spam" : "clean",
    score,
    reasons: posted.isTrapped ? ["honeypot_filled", ...names] : names,
    contact: contactOf(posted),
  };
}
