/**
 * An event as the service delivers it, read without loss.
 *
 * @module
 */

import { limits } from "../contract/limits.ts";
import { isObject, members, parseObject } from "../lead/json.ts";

/** One event. The texts are JSON as it was received: parsed, 12345678901234567890 and 1.10 would become others. */
export interface DeliveredEvent {
  readonly eventId: string;
  readonly kind: "lead" | "form";
  readonly tenant: string;
  readonly source: string;
  /** The key of the form of a submission; empty for a lead. */
  readonly form: string;
  /** ISO 8601, UTC. */
  readonly receivedAt: string;
  readonly attempt: number;
  /** The lead or the submission: the text of a JSON object. */
  readonly content: string;
  /** What lay outside the envelope: the text of a JSON object, `{}` for nothing. */
  readonly extra: string;
  readonly flags: readonly string[];
}

/** Where an event's content stands, in the request as in the webhook. */
export function contentName(kind: DeliveredEvent["kind"]): "lead" | "submission" {
  return kind === "lead" ? "lead" : "submission";
}

// The content may be as deep as a posted body, and stands one level down in the request.
const depthMax = limits.jsonDepthMax + 1;
const isSlug = (value: unknown): value is string =>
  typeof value === "string" && /^[a-z0-9-]{1,64}$/.test(value);
const isTime = (value: unknown): value is string =>
  typeof value === "string" && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$/.test(value);
const isText = (value: unknown): value is string => typeof value === "string" && value !== "";

/**
 * Reads the body of `PUT /v1/events/{event_id}`. Members that are not known are passed over.
 *
 * Returns the name of the first member that is missing or wrong, or `"body"` for what is no JSON object.
 */
export function parseEvent(text: string, eventId: string): DeliveredEvent | { readonly wrong: string } {
  const body = parseObject(text, depthMax);
  if (body === null) return { wrong: "body" };
  const { kind, tenant, source, received_at: receivedAt, attempt, flags } = body;
  if (body.event_id !== eventId) return { wrong: "event_id" };
  if (kind !== "lead" && kind !== "form") return { wrong: "kind" };
  if (!isSlug(tenant)) return { wrong: "tenant" };
  if (!isText(source)) return { wrong: "source" };
  if (!isTime(receivedAt)) return { wrong: "received_at" };
  if (!Number.isSafeInteger(attempt) || (attempt as number) < 1) return { wrong: "attempt" };
  if (!Array.isArray(flags) || !flags.every(isText)) return { wrong: "flags" };
  // null after an erasure: there is nothing left to deliver.
  if (!isObject(body[contentName(kind)])) return { wrong: contentName(kind) };
  if (body.extra !== undefined && body.extra !== null && !isObject(body.extra)) return { wrong: "extra" };

  // Of duplicate members the last one wins, as it does in JSON.parse.
  const texts = new Map(members(text).map(({ name, valueText }) => [name, valueText]));
  return {
    eventId,
    kind,
    tenant,
    source,
    // A lead's extra is whatever a stranger has sent; a submission's is made by the service.
    form: kind === "form" && isObject(body.extra) && isText(body.extra.form_key) ? body.extra.form_key : "",
    receivedAt,
    attempt: attempt as number,
    content: texts.get(contentName(kind)) as string,
    extra: isObject(body.extra) ? texts.get("extra") as string : "{}",
    flags,
  };
}
