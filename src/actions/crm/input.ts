/** Builds what the expressions of a recipe see of an event. */

import { parseExactly } from "../../lead/exact_numbers.ts";
import type { EventToRender } from "../destination.ts";
import { summaryText } from "../../notification/summary.ts";
import { leadPerson, senderPerson } from "../person.ts";

/** The names that every expression sees. */
export const inputNames = [
  "event_id",
  "kind",
  "tenant",
  "source",
  "campaign",
  "received_at",
  "lead",
  "submission",
  "extra",
  "flags",
  "attribution",
  "is_test",
  "settings",
  "kept",
  "token",
  "person",
  "summary",
];
type Fields = Readonly<Record<string, unknown>>;

/** Returns the input of a recipe's expressions, except settings, kept values and the token. */
export function expressionInput(rendered: EventToRender): Record<string, unknown> {
  const { event, isTest } = rendered;
  const content = parseExactly(event.content) as Fields;
  const extra = parseExactly(event.extra) as Fields;
  const person = event.kind === "lead" ? leadPerson(content) : senderPerson(content);
  let summary: string | undefined;
  return {
    event_id: event.eventId,
    kind: event.kind,
    tenant: event.tenant,
    source: event.source,
    ...(event.campaign === "" ? {} : { campaign: event.campaign }),
    received_at: event.receivedAt,
    [event.kind === "lead" ? "lead" : "submission"]: content,
    extra,
    flags: event.flags,
    attribution: event.kind === "form" ? extra.attribution ?? {} : {},
    is_test: isTest,
    person,
    // Few expressions use it.
    get summary() {
      return summary ??= summaryText(rendered);
    },
  };
}
