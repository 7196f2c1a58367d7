/** Handles `POST /v1/forms/{tenant}/{form_key}`, with the checks in the specified order. */

import { type FormErrorCode, formErrors } from "../contract/errors.ts";
import type { Flag } from "../contract/fields.ts";
import { limits } from "../contract/limits.ts";
import {
  createErrorRenderer,
  decodeBody,
  type GateParts,
  incompleteBody,
  Post,
  type RefusalDetails,
} from "../gate/post.ts";
import {
  deduplicationKey,
  digest128,
  readIdempotencyKey,
  type UsableIdempotencyKey,
} from "../gate/idempotency_key.ts";
import type { AuthenticatedRateLimiter, Bucket } from "../gate/rate.ts";
import type { Exchange, Handler, Reply } from "../http/exchange.ts";
import { json } from "../http/reply.ts";
import { looksLikeEmail } from "../lead/email.ts";
import type { Entry, Outcome, SubmissionPart } from "../store/serving/accept.ts";
import type { ApiKey, Form, FormStore } from "../store/serving/lookup.ts";
import { readAttribution } from "./attribution.ts";
import { findContact } from "./contact.ts";
import { canonicalFields, checkFields, type Posted, submissionText } from "./fields.ts";
import type { RecentTexts } from "./recent_texts.ts";
import type { Lessons } from "./spam/model.ts";
import { defaultThreshold, scoreSubmission } from "./spam/score.ts";

export interface FormsParts extends GateParts {
  readonly forms: FormStore;
  readonly tenantLimiter: AuthenticatedRateLimiter;
  /** Returns the wall-clock time in milliseconds since 1970, for the too-fast check. */
  readonly wallMs: () => number;
  /** Returns the weights that the spam score has learned for a customer's forms. */
  readonly lessons: (tenant: string) => Lessons;
  readonly recentTexts: RecentTexts;
}

/** Returns the handler for every method of the path. Source: SPEC, Tenant forms; DECISIONS, Forms. */
export function formsHandler(parts: FormsParts): Handler {
  return (exchange) => {
    const post = new Post<FormErrorCode>(exchange, parts, refuse);
    return respond(exchange, post, parts).catch((error) => post.refuseUnavailable(error));
  };
}

async function respond(exchange: Exchange, post: Post<FormErrorCode>, parts: FormsParts): Promise<Reply> {
  const { tenant, form_key: formKey = "" } = exchange.params;
  if (!post.allowAddress()) return post.refuse("rate_limited");
  if (exchange.method !== "POST") return post.refuse("method_not_allowed", { headers: { Allow: "POST" } });

  const body = await exchange.readBody(limits.bodyBytesMax);
  if (body.kind === "too_large") return post.refuse("body_too_large");
  if (body.kind === "incomplete") return post.refuse("invalid_json", incompleteBody);

  const authenticated = post.authenticate("forms");
  const key = authenticated instanceof Promise ? await authenticated : authenticated;
  if (key === null) return post.refuseKey("forms");
  if (tenant !== key.tenant) return post.refuse("tenant_mismatch");
  if (!post.allowAuthenticated(parts.tenantLimiter, limitBucket(key))) return post.refuse("rate_limited");

  const form = await parts.forms.find(key.tenantId, formKey);
  if (form === null) return post.refuse("form_not_found");

  const read = readSubmission(exchange, body.bytes, form);
  if (read.kind !== "valid") return post.refuse(read.kind, read);

  const submission = classify(read.posted, form, { ...parts, lessons: parts.lessons(key.tenant) });
  const outcome = await post.commit(
    toEntry(key, form, { ...read, submission, arrivedAtMs: post.arrivedAtMs, requestId: post.requestId }),
  );
  if (outcome.kind === "revoked") return post.refuse("unauthorized");

  return acknowledge(outcome, post.headers);
}

/**
 * Returns the tenant's bucket, or the key's own if its limit is raised. Chosen: not one bucket with two rates, because a
 * post at the lower rate would cancel debt from the higher rate.
 */
function limitBucket({ id, tenantId, raisedRate }: ApiKey): Bucket {
  return { id: raisedRate === null ? tenantId : `key ${id}`, raisedRate };
}

interface ValidSubmission {
  readonly kind: "valid";
  readonly posted: Posted;
  readonly raw: string;
  readonly idempotencyKey: UsableIdempotencyKey;
}

/** Reads the body and `Idempotency-Key`. Checks for malformed input first, then missing fields, then an invalid key. */
function readSubmission(
  exchange: Exchange,
  bytes: Uint8Array,
  { required }: Form,
): ValidSubmission | RefusalDetails & { readonly kind: "invalid_json" | "missing_required" } {
  const idempotencyKey = readIdempotencyKey(exchange.headerLines("idempotency-key"));
  if (idempotencyKey.kind === "repeated") return { ...idempotencyKey, kind: "invalid_json" };
  const raw = decodeBody(exchange, bytes);
  if (typeof raw !== "string") return { ...raw, kind: "invalid_json" };
  const checked = checkFields(raw, required);
  if (checked.kind !== "valid") return checked;
  if (idempotencyKey.kind === "too_long") {
    const { kind, detail } = idempotencyKey;
    return { kind: "invalid_json", fields: { "Idempotency-Key": kind }, detail };
  }
  return { ...checked, raw, idempotencyKey };
}

/** Returns the entry to commit for a submission. */
export function toEntry(
  { id: keyId, tenantId }: Pick<ApiKey, "id" | "tenantId">,
  form: Form,
  { posted, raw, idempotencyKey, submission, arrivedAtMs, requestId }:
    & ValidSubmission
    & Pick<Entry, "arrivedAtMs" | "requestId">
    & {
      readonly submission: SubmissionPart;
    },
): Entry {
  // The same content posted to another form is a different submission.
  const content = `${form.id}\n${canonicalFields(posted, { isIdentified: isIdentified(submission) })}`;
  return {
    kind: "form",
    keyId,
    tenantId,
    ...deduplicationKey("form", idempotencyKey, digest128(content)),
    flags: customerFlags(submission),
    lead: submissionText(posted),
    extra: JSON.stringify({ form_key: form.formKey, attribution: readAttribution(posted) }),
    raw,
    costCents: null,
    requestId,
    arrivedAtMs,
    submission,
  };
}

/** Whether a post names its sender, so that an equal one is the same visitor's, and not another's vote or measurement. */
function isIdentified({ contact: { email, phone, fullName } }: SubmissionPart): boolean {
  return (email ?? phone ?? fullName) !== null;
}

export const submissionFlags = ["email_shape_suspect"] as const satisfies readonly Flag[];

/** Returns the flags that the customer receives; the response has none. */
function customerFlags({ contact }: SubmissionPart): Flag[] {
  return contact.email === null || looksLikeEmail(contact.email) ? [] : [...submissionFlags];
}

/** Scores a submission, even if the honeypot is filled in, so that a bot cannot tell the difference. */
export function classify(
  posted: Posted,
  form: Form,
  { wallMs, lessons, recentTexts }: Pick<FormsParts, "wallMs" | "recentTexts"> & {
    readonly lessons: Lessons;
  },
): SubmissionPart {
  const contact = findContact(posted);
  const receivedAtMs = wallMs();
  const sender = contact.email ?? contact.phone ?? "";
  const { score, reasons } = scoreSubmission(posted.fields, {
    blocked: form.blocked,
    receivedAtMs,
    lessons,
    otherSenders: (text) => recentTexts.countOthers(text, sender, receivedAtMs),
  });
  const isSpam = score >= (form.threshold ?? defaultThreshold);
  return {
    formId: form.id,
    verdict: posted.isHoneypotFilled ? "honeypot" : isSpam ? "spam" : "clean",
    score,
    reasons: posted.isHoneypotFilled ? ["honeypot_filled", ...reasons] : reasons,
    contact,
  };
}

/** Renders an error reply. Source: DECISIONS, Forms. */
export const refuse = createErrorRenderer(formErrors);

/** Renders 202 `accepted`, or 200 `duplicate` with the id and time of the first post. Source: DECISIONS, Forms. */
function acknowledge(
  { kind, eventId, receivedAt }: Exclude<Outcome, { kind: "revoked" }>,
  headers: Readonly<Record<string, string>>,
): Reply {
  return json(
    kind === "accepted" ? 202 : 200,
    { status: kind, submission_id: eventId, received_at: receivedAt },
    headers,
  );
}
