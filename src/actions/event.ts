/** Parses delivered events. */

import { limits } from "../contract/limits.ts";
import { isObject, members, parseObject } from "../lead/json.ts";
import type { NotifiedEvent } from "../notification/content.ts";

/** An event as the service delivers it. */
export interface DeliveredEvent extends NotifiedEvent {
  readonly tenant: string;
  /** A submission's form key; empty for a lead. */
  readonly form: string;
  readonly attempt: number;
}

/** Returns the name of the member that contains the event's content in requests and webhooks. */
export function contentName(kind: DeliveredEvent["kind"]): "lead" | "submission" {
  return kind === "lead" ? "lead" : "submission";
}

// The request nests the lead or submission one level deeper.
const depthMax = limits.jsonDepthMax + 1;
const isSlug = (value: unknown): value is string =>
  typeof value === "string" && /^[a-z0-9-]{1,64}$/.test(value);
const isTime = (value: unknown): value is string =>
  typeof value === "string" && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$/.test(value);
const isText = (value: unknown): value is string => typeof value === "string" && value !== "";

/**
 * Parses the body of `PUT /v1/events/{event_id}`, ignoring unknown members. On failure, returns the name of the first
 * missing or invalid member, or `"body"` if the body is not a JSON object.
 */
export function parseEvent(
  text: string,
  eventId: string,
): DeliveredEvent | { readonly invalidMember: string } {
  const body = parseObject(text, depthMax);
  if (body === null) return { invalidMember: "body" };
  const { kind, tenant, source, campaign, received_at: receivedAt, attempt, flags } = body;
  if (body.event_id !== eventId) return { invalidMember: "event_id" };
  if (kind !== "lead" && kind !== "form") return { invalidMember: "kind" };
  if (!isSlug(tenant)) return { invalidMember: "tenant" };
  if (!isText(source)) return { invalidMember: "source" };
  if (campaign !== undefined && campaign !== null && !isSlug(campaign)) return { invalidMember: "campaign" };
  if (!isTime(receivedAt)) return { invalidMember: "received_at" };
  if (!Number.isSafeInteger(attempt) || (attempt as number) < 1) return { invalidMember: "attempt" };
  if (!Array.isArray(flags) || !flags.every(isText)) return { invalidMember: "flags" };
  // The content is null after an erasure.
  if (!isObject(body[contentName(kind)])) return { invalidMember: contentName(kind) };
  if (body.extra !== undefined && body.extra !== null && !isObject(body.extra)) {
    return { invalidMember: "extra" };
  }

  // If a member is repeated, its last value applies, as in JSON.parse.
  const texts = new Map(members(text).map(({ name, valueText }) => [name, valueText]));
  return {
    eventId,
    kind,
    tenant,
    source,
    campaign: campaign ?? "",
    // The service writes a submission's `extra`; a lead's `extra` is from the sender and untrusted.
    form: kind === "form" && isObject(body.extra) && isText(body.extra.form_key) ? body.extra.form_key : "",
    receivedAt,
    attempt: attempt as number,
    content: texts.get(contentName(kind)) as string,
    extra: isObject(body.extra) ? texts.get("extra") as string : "{}",
    flags,
  };
}
