/** `POST /v1/forms/{tenant}/{form_key}`, with its checks in the order of the code. */

import { type FormErrorCode, formErrors } from "../contract/errors.ts";
import type { Flag } from "../contract/fields.ts";
import { limits } from "../contract/limits.ts";
import {
  bodyText,
  brokenOff,
  digest128,
  type GateParts,
  Post,
  type RefusalDetails,
  refuseBy,
} from "../gate/post.ts";
import { dedupe, readIdempotencyKey, type UsableIdempotencyKey } from "../gate/idempotency_key.ts";
import type { Holder, HolderBudget } from "../gate/rate.ts";
import type { Exchange, Handler, Reply } from "../http/exchange.ts";
import { json } from "../http/reply.ts";
import { looksLikeEmail } from "../lead/email.ts";
import { formMisspelling } from "../lead/misspelling.ts";
import type { Entry, Outcome, SubmissionPart } from "../store/serving/accept.ts";
import type { ApiKey, Form, FormStore } from "../store/serving/lookup.ts";
import { attributionOf } from "./attribution.ts";
import { contactOf } from "./contact.ts";
import {
  canonicalFields,
  fieldsFault,
  missingFields,
  type Posted,
  readFields,
  submissionText,
} from "./fields.ts";
import type { RecentTexts } from "./recent_texts.ts";
import type { Lessons } from "./spam/model.ts";
import { defaultThreshold, scoreSubmission } from "./spam/score.ts";

export interface FormsParts extends GateParts {
  readonly forms: FormStore;
  readonly tenantBudget: HolderBudget;
  /** The wall clock in milliseconds, for the too-fast check. */
  readonly wallMs: () => number;
  /** What operators have taught the spam score. */
  readonly lessons: () => Lessons;
  readonly recentTexts: RecentTexts;
}

/** The handler of the path, for every method. Source: SPEC, Tenant forms; DECISIONS, Forms. */
export function formsHandler(parts: FormsParts): Handler {
  return (exchange) => {
    const post = new Post<FormErrorCode>(exchange, parts, refuse);
    return answer(exchange, post, parts).catch((error) => post.refuseUnavailable(error));
  };
}

async function answer(exchange: Exchange, post: Post<FormErrorCode>, parts: FormsParts): Promise<Reply> {
  const { tenant, form_key: formKey = "" } = exchange.params;
  if (!post.allowAddress()) return post.refuse("rate_limited");
  if (exchange.method !== "POST") return post.refuse("method_not_allowed", { headers: { Allow: "POST" } });

  const body = await exchange.readBody(limits.bodyBytesMax);
  if (body.kind === "too_large") return post.refuse("body_too_large");
  if (body.kind === "incomplete") return post.refuse("invalid_json", brokenOff);

  const found = post.authenticate("forms");
  const key = found instanceof Promise ? await found : found;
  if (key === null) return post.refuseKey("forms");
  if (tenant !== key.tenant) return post.refuse("tenant_mismatch");
  if (!post.allowHolder(parts.tenantBudget, budgetHolder(key))) return post.refuse("rate_limited");

  const form = await parts.forms.find(key.tenantId, formKey);
  if (form === null) return post.refuse("form_not_found");

  const read = readSubmission(exchange, body.bytes, form);
  if (read.kind !== "valid") return post.refuse(read.kind, read);

  const submission = examine(read.posted, form, parts);
  const outcome = await post.commit(
    toEntry(key, form, { ...read, submission, arrivedAtMs: post.arrivedAtMs }),
  );
  if (outcome.kind === "revoked") return post.refuse("unauthorized");

  return acknowledge(outcome, post.headers);
}

/**
 * The keys of a tenant share a budget, except that each key with a raised limit has its own. Chosen: two rates on one
 * bucket would be no limit: the lower one forgives what the higher one owes.
 */
function budgetHolder({ id, tenantId, raisedRate }: ApiKey): Holder {
  return { id: raisedRate === null ? tenantId : `key ${id}`, raisedRate };
}

interface ReadSubmission {
  readonly kind: "valid";
  readonly posted: Posted;
  readonly raw: string;
  readonly idempotencyKey: UsableIdempotencyKey;
}

/** Reads body and `Idempotency-Key`: faults in reading come before missing fields. */
function readSubmission(
  exchange: Exchange,
  bytes: Uint8Array,
  { required }: Form,
): ReadSubmission | RefusalDetails & { readonly kind: "invalid_json" | "missing_required" } {
  const idempotencyKey = readIdempotencyKey(exchange.headerLines("idempotency-key"));
  if (idempotencyKey.kind === "repeated") return { ...idempotencyKey, kind: "invalid_json" };
  const raw = bodyText(exchange, bytes);
  if (typeof raw !== "string") return { ...raw, kind: "invalid_json" };
  const posted = readFields(raw);
  if (posted === null) return { ...fieldsFault(raw), kind: "invalid_json" };
  const missing = missingFields(posted, required);
  if (missing.length > 0) {
    const fields = Object.fromEntries(missing.map((name) => [name, "required"]));
    const misspelling = formMisspelling(posted.fields.keys(), { required, missing });
    return { kind: "missing_required", fields, empty: posted.fields.size === 0, ...misspelling };
  }
  if (idempotencyKey.kind === "too_long") {
    const { kind, detail } = idempotencyKey;
    return { kind: "invalid_json", fields: { "Idempotency-Key": kind }, detail };
  }
  return { kind: "valid", posted, raw, idempotencyKey };
}

/** The event to commit for a submission. */
export function toEntry(
  { id: keyId, tenantId }: Pick<ApiKey, "id" | "tenantId">,
  form: Form,
  { posted, raw, idempotencyKey, submission, arrivedAtMs }: ReadSubmission & {
    readonly submission: SubmissionPart;
    readonly arrivedAtMs: number;
  },
): Entry {
  // The same content in two forms is two submissions.
  const content = `${form.id}\n${canonicalFields(posted)}`;
  return {
    kind: "form",
    keyId,
    tenantId,
    ...dedupe("form", idempotencyKey, digest128(content)),
    flags: flagsOf(submission),
    lead: submissionText(posted),
    extra: JSON.stringify({ form_key: form.formKey, attribution: attributionOf(posted) }),
    raw,
    costCents: null,
    arrivedAtMs,
    unknownArea: null,
    submission,
  };
}

export const submissionFlags = ["email_shape_suspect"] as const satisfies readonly Flag[];

/** For the customer alone: the visitor gets no flags. */
function flagsOf({ contact }: SubmissionPart): Flag[] {
  return contact.email === null || looksLikeEmail(contact.email) ? [] : [...submissionFlags];
}

/** The verdict on a submission; takes the same time for every one, so that a bot learns nothing from it. */
export function examine(
  posted: Posted,
  form: Form,
  { wallMs, lessons, recentTexts }: Pick<FormsParts, "wallMs" | "lessons" | "recentTexts">,
): SubmissionPart {
  const contact = contactOf(posted);
  const receivedAtMs = wallMs();
  const sender = contact.email ?? contact.phone ?? "";
  const { score, reasons } = scoreSubmission(posted.fields, {
    blocked: form.blocked,
    receivedAtMs,
    lessons: lessons(),
    otherSenders: (text) => recentTexts.countOthers(text, sender, receivedAtMs),
  });
  const isSpam = score >= (form.threshold ?? defaultThreshold);
  return {
    formId: form.id,
    verdict: posted.isTrapped ? "honeypot" : isSpam ? "spam" : "clean",
    score,
    reasons: posted.isTrapped ? ["honeypot_filled", ...reasons] : reasons,
    contact,
  };
}

/** An error reply with its status. Source: DECISIONS, Forms. */
export const refuse = refuseBy(formErrors);

/** 202 `accepted`, or 200 `duplicate` with id and time of the first. Source: DECISIONS, Forms. */
export function acknowledge(
  { kind, eventId, receivedAt }: Exclude<Outcome, { kind: "revoked" }>,
  headers: Readonly<Record<string, string>>,
): Reply {
  return json(
    kind === "accepted" ? 202 : 200,
    { status: kind, submission_id: eventId, received_at: receivedAt },
    headers,
  );
}
