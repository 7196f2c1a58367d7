/** Parses delivered events without loss. */

import { limits } from "../contract/limits.ts";
import { isObject, members, parseObject } from "../lead/json.ts";

/** An event. JSON texts are kept as received, because parsing would change 12345678901234567890 and 1.10. */
export interface DeliveredEvent {
  readonly eventId: string;
  readonly kind: "lead" | "form";
  readonly tenant: string;
  readonly source: string;
  /** A submission's form key; empty for a lead. */
  readonly form: string;
  /** ISO 8601, UTC. */
  readonly receivedAt: string;
  readonly attempt: number;
  /** The lead or submission, a JSON object's text. */
  readonly content: string;
  /** Unknown fields, a JSON object's text; `{}` for none. */
  readonly extra: string;
  readonly flags: readonly string[];
}

/** The member with the event's content, in requests and webhooks. */
export function contentName(kind: DeliveredEvent["kind"]): "lead" | "submission" {
  return kind === "lead" ? "lead" : "submission";
}

// The content is as deep as a posted body, one level down in the request.
const depthMax = limits.jsonDepthMax + 1;
const isSlug = (value: unknown): value is string =>
  typeof value === "string" && /^[a-z0-9-]{1,64}$/.test(value);
const isTime = (value: unknown): value is string =>
  typeof value === "string" && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$/.test(value);
const isText = (value: unknown): value is string => typeof value === "string" && value !== "";

/**
 * Parses the body of `PUT /v1/events/{event_id}`, ignoring unknown members. Returns the name of the first missing or wrong
 * member, or `"body"` if it is not a JSON object.
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
  // null after an erasure.
  if (!isObject(body[contentName(kind)])) return { wrong: contentName(kind) };
  if (body.extra !== undefined && body.extra !== null && !isObject(body.extra)) return { wrong: "extra" };

  // The last of duplicate members wins, as in JSON.parse.
  const texts = new Map(members(text).map(({ name, valueText }) => [name, valueText]));
  return {
    eventId,
    kind,
    tenant,
    source,
    // A stranger sends a lead's extra; the service creates a submission's.
    form: kind === "form" && isObject(body.extra) && isText(body.extra.form_key) ? body.extra.form_key : "",
    receivedAt,
    attempt: attempt as number,
    content: texts.get(contentName(kind)) as string,
    extra: isObject(body.extra) ? texts.get("extra") as string : "{}",
    flags,
  };
}
