/** Generates the parts of docs/webhooks.md: fields, examples and the retry schedule. */

import { webhookBody } from "../src/actions/destinations.ts";
import type { DeliveredEvent } from "../src/actions/event.ts";
import { leadExamples, placeholders } from "../src/documents/examples.ts";
import { fields, flags } from "../src/contract/fields.ts";
import { attributionNames, formExample, formPlaceholders } from "../src/contract/forms.ts";
import { type Cells, code, table } from "../src/documents/markdown.ts";
import { readAttribution } from "../src/forms/attribution.ts";
import { readFields, submissionText } from "../src/forms/fields.ts";
import { submissionFlags } from "../src/forms/handle.ts";
import { foldArea } from "../src/lead/place.ts";
import { validate } from "../src/lead/validate.ts";
import { actionsVariables } from "../src/settings/actions_variables.ts";
import { variables } from "../src/settings/variables.ts";

const common = {
  eventId: placeholders.eventId,
  campaign: "",
  tenant: formPlaceholders.tenant,
  receivedAt: placeholders.receivedAt,
  attempt: 1,
} as const;

/** Returns an event with the complete example lead and an unknown field. */
function leadEvent(): DeliveredEvent {
  const body = leadExamples.complete.body.replace(/\n\}$/, ',\n  "call_id": 12345678901234567890\n}');
  const found = validate(body, new Map([[foldArea("kitchen"), "kitchen"]]));
  if (found.kind !== "valid") throw new Error("The example is not a valid lead");
  const { lead, extra, flags } = found;
  return {
    ...common,
    kind: "lead",
    form: "",
    source: placeholders.source,
    content: JSON.stringify(lead),
    extra: extra ?? "{}",
    flags,
  };
}

function formEvent(): DeliveredEvent {
  const posted = readFields(JSON.stringify(formExample));
  if (posted === null) throw new Error("The example is not a valid form");
  return {
    ...common,
    kind: "form",
    form: formPlaceholders.formKey,
    source: "acme.example",
    content: submissionText(posted),
    flags: [],
    extra: JSON.stringify({ form_key: formPlaceholders.formKey, attribution: readAttribution(posted) }),
  };
}

/** Returns the webhook's body as indented JSON, in which numbers keep all their digits. */
function webhookExample(event: DeliveredEvent, isTest = false): string {
  const { rawJSON } = JSON as unknown as { rawJSON: (text: string) => unknown };
  const body = JSON.parse(
    webhookBody(event, { isTest }),
    // The types lack the third argument, which contains the number's source text.
    ((_name: string, value: unknown, { source }: { source: string }) =>
      typeof value === "number" ? rawJSON(source) : value) as (name: string, value: unknown) => unknown,
  );
  return code("json", JSON.stringify(body, null, 2));
}

const dataRows: readonly Cells[] = [
  ["`event_id`", "the event ID, equal to `webhook-id`, the same in every repeat"],
  ["`tenant`", "the customer's slug, which the operator chose"],
  ["`source`", "the label of the sender's key"],
  ["`received_at`", "the time of acceptance: ISO 8601, UTC, with milliseconds"],
  ["`lead`", "the lead, in `lead.accepted` and `route.test`"],
  ["`submission`", "the form's fields, names and values as sent, in `form.submitted` and `route.test`"],
  [
    "`extra`",
    `for a lead, the fields that are not listed below, as sent; for a form, \`form_key\`, and in \`attribution\` any of ${
      attributionNames.map((name) => `\`${name}\``).join(", ")
    }`,
  ],
  [
    "`flags`",
    `observations, listed below; more may be added; for a form, only ${
      submissionFlags.map((flag) => `\`${flag}\``).join(", ")
    }`,
  ],
  ["`test`", "`true`, only in `route.test`"],
];

const leadRows: readonly Cells[] = [
  ...Object.entries(fields).map(([name, { required, description }]) => [
    `\`${name}\``,
    required || name === "country" ? "always" : "",
    description,
  ]),
  ["`cost_cents`", "", "The sender's `cost` for the lead, in whole cents."],
];

/** Describes the retry delays in words. */
function schedule(): string {
  const number = (name: "DELIVERY_BACKOFF_BASE_MS" | "DELIVERY_BACKOFF_CAP_MS" | "DELIVERY_ATTEMPTS_MAX") =>
    Number(variables[name].default);
  const [baseMs, capMs] = [number("DELIVERY_BACKOFF_BASE_MS"), number("DELIVERY_BACKOFF_CAP_MS")];
  const waits: string[] = [];
  for (let waitMs = baseMs; waitMs < capMs; waitMs *= 3) waits.push(duration(waitMs));
  return `A failed event is sent again after ${waits.join(", ")}, and then every ${
    duration(capMs)
  }. Each wait is shortened by up to half at random. There are ${
    number("DELIVERY_ATTEMPTS_MAX")
  } attempts, over about three days. You have ${
    duration(Number(actionsVariables.ACTIONS_EFFECT_TIMEOUT_MS.default))
  } to respond, including the time to connect.`;
}

function duration(ms: number): string {
  if (ms < 60_000) return `${ms / 1000} s`;
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`;
  return `${Math.round(ms / 3_600_000)} h`;
}

/** The page's generated parts by name. */
export const webhookParts: Readonly<Record<string, () => string>> = {
  "webhook of a lead": () => webhookExample(leadEvent()),
  "webhook of a form": () => webhookExample(formEvent()),
  "webhook data": () => table(["Member of `data`", "What it is"], dataRows),
  "webhook lead": () => table(["Field", "Present", "What it is"], leadRows),
  "webhook flags": () =>
    table(["Flag", "Meaning"], Object.entries(flags).map(([flag, meaning]) => [`\`${flag}\``, meaning])),
  "webhook schedule": schedule,
};
