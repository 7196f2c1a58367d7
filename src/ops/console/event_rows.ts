/** The table of leads and submissions: who, what and from whom first, then the state, the time and the id. */

import { type Markup, markup, type Value } from "../../http/markup.ts";
import { removalKind, type StoredEvent } from "../../store/operator/events.ts";
import { readFields } from "./content.ts";
import { table } from "./layout.ts";
import {
  badge,
  badges,
  eventLink,
  formatCents,
  type PageClock,
  safeText,
  tenantLink,
  timeElement,
  truncated,
} from "./text.ts";

/** Renders events, read without their bodies. `isOfTenant`: whether all are of one tenant, which the page names. */
export function eventTable(
  events: readonly StoredEvent[],
  { clock, isOfTenant = false, ...options }: {
    readonly clock: PageClock;
    readonly isOfTenant?: boolean;
    readonly label: string;
    readonly empty: Markup;
    readonly caption?: Value;
  },
): Markup {
  return table(
    ["Lead", isOfTenant ? "Source" : "Tenant and source", "State", "Received", "Id", "Flags"],
    events.map((event) => ({
      cells: [
        leadCell(event),
        markup`${!isOfTenant && markup`${tenantLink(event.tenant)} <br>`}<span class="quiet">${
          safeText(event.source)
        }</span>`,
        stateCell(event),
        timeElement(event.receivedAt, clock),
        eventLink(event.eventId),
        event.flags.length > 0 && badges(event.flags),
      ],
    })),
    { ...options, look: "cards" },
  );
}

const nameLengthMax = 60;
const partLengthMax = 30;

/** Renders the name and, below it, a lead's area, service, place and cost or a submission's form, and the phone's end. */
export function leadCell(event: StoredEvent): Markup {
  const { name, parts } = event.kind === "lead" ? readLead(event) : readSubmission(event);
  const shown = parts.filter((part) => part !== "").map((part) => truncated(part, partLengthMax));
  return markup`${
    name === ""
      ? markup`<span class="quiet">${
        event.lead === null ? `content ${removalKind(event)}` : "no name"
      }</span>`
      : markup`<strong>${truncated(name, nameLengthMax)}</strong>`
  }${shown.length > 0 && markup`<br>${shown.map((part, index) => markup`${index > 0 && " · "}${part}`)}`}`;
}

interface Summary {
  readonly name: string;
  readonly parts: readonly string[];
}

function readLead({ lead }: StoredEvent): Summary {
  const content: Readonly<Record<string, unknown>> = lead === null ? {} : JSON.parse(lead);
  const text = (name: string) => typeof content[name] === "string" ? content[name] : "";
  const cents = content["cost_cents"];
  return {
    name: `${text("first_name")} ${text("last_name")}`.trim(),
    parts: [
      text("project_area"),
      text("project_service"),
      `${text("zip")} ${text("city")}`.trim(),
      typeof cents === "number" ? formatCents(cents) : "",
      phoneEnd(text("phone").slice(-4)),
    ],
  };
}

function readSubmission({ lead, submission }: StoredEvent): Summary {
  const { name, contact } = readFields(lead === null ? {} : JSON.parse(lead));
  return {
    name: name === "" ? contact : name,
    parts: [`form ${submission?.formKey ?? ""}`, phoneEnd(submission?.phoneEnd ?? "")],
  };
}

const phoneEnd = (digits: string) => digits === "" ? "" : `…${digits}`;

/** Renders the delivery state and its reason. */
function stateCell({ delivery, returned }: StoredEvent): Markup {
  const reason = delivery.state === "pending" || delivery.state === "dead" ? delivery.reason : null;
  return markup`${badge(delivery.state)}${
    reason !== null && markup` <br><span class="quiet">${safeText(reason)}</span>`
  }${returned !== null && markup` <br>${badge("returned")}`}`;
}
