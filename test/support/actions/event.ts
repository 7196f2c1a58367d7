/** Creates events as the service delivers them. */

import { randomBytes } from "node:crypto";
import type { SendRequest } from "../../../src/actions/destination.ts";
import { type DeliveredEvent, parseEvent } from "../../../src/actions/event.ts";
import { noEarlierPosts } from "../../../src/store/delivery/earlier_posts.ts";

/** The parts of an event that a test sets. `lead` and `extra` are JSON text. */
export interface EventParts {
  readonly eventId?: string;
  readonly kind?: "lead" | "form";
  readonly tenant?: string;
  readonly source?: string;
  readonly campaign?: string;
  readonly attempt?: number;
  readonly content?: string;
  readonly extra?: string;
  readonly flags?: readonly string[];
}

/** Returns an event id in the service's format. */
export function newEventId(): string {
  return randomBytes(19).toString("hex");
}

/** The tenant that receives the event. */
export const acme = { slug: "acme", name: "Acme Remodeling", timeZone: "America/Los_Angeles" };

/** An invented lead. */
export const plainLead =
  '{"first_name":"Ada","last_name":"Lovelace","phone":"+15551234567","email":"ada@example.com","country":"US"}';

/** Returns the body of `PUT /v1/events/{event_id}`. */
export function eventBody(parts: EventParts & { readonly eventId: string }): string {
  const kind = parts.kind ?? "lead";
  const text = JSON.stringify;
  return `{"event_id":${text(parts.eventId)},"kind":"${kind}","tenant":${text(parts.tenant ?? "acme")},` +
    `"source":${text(parts.source ?? "partner-x")},"campaign":${
      text(parts.campaign ?? null)
    },"received_at":"2026-09-03T14:05:12.345Z",` +
    `"attempt":${parts.attempt ?? 1},"${kind === "lead" ? "lead" : "submission"}":${
      parts.content ?? plainLead
    },` +
    `"extra":${parts.extra ?? "{}"},"flags":${text(parts.flags ?? [])}}`;
}

/** Returns a parsed event. */
export function event(parts: EventParts = {}): DeliveredEvent {
  const eventId = parts.eventId ?? newEventId();
  const parsed = parseEvent(eventBody({ ...parts, eventId }), eventId);
  if ("invalidMember" in parsed) throw new Error(`The test's event is wrong: ${parsed.invalidMember}`);
  return parsed;
}

/** Returns an event that is being sent to an address. */
export function sending(
  event: DeliveredEvent,
  parts: Partial<SendRequest["route"]> & Partial<Omit<SendRequest, "event" | "route">> = {},
): SendRequest {
  const { address = "", secrets = [], recipe = null, ...rest } = parts;
  return {
    event,
    route: { id: 1, kind: "", address, secrets, recipe },
    tenant: { ...acme, slug: event.tenant },
    nowMs: Date.UTC(2026, 8, 3, 14, 5, 13),
    repeat: 0,
    isTest: false,
    earlier: noEarlierPosts,
    progress: null,
    saveProgress: () => Promise.resolve(),
    ...rest,
  };
}
