/** The notification of a lead or a form submission. */

import { countryDefault } from "../../contract/fields.ts";
import { isObject } from "../../lead/json.ts";
import { fieldAliases, foldName } from "../../lead/field_aliases.ts";
import { normalizeCountry } from "../../lead/place.ts";
import { normalizeLine } from "../../lead/text.ts";
import type { Sending } from "../destination.ts";
import type { DeliveredEvent } from "../event.ts";
import { unlinked } from "./mail.ts";
import {
  aboutRows,
  bareNotification,
  inline,
  isBlank,
  labelOf,
  lastMembers,
  notesOf,
  type Notification,
  type Part,
  reachOf,
  readable,
  type Reader,
  type Row,
  rowOf,
  townOf,
  visible,
} from "./content.ts";

/** Chosen: a phone shows about forty characters of a subject; the name comes last. */
const projectLengthMax = 60;
const placeLengthMax = 40;
const nameLengthMax = 80;

/** Such as `Kitchen remodel in Portland: Grace Hopper`; omits empty parts. */
function subjectOf(
  { what, place, name }: { readonly what: string; readonly place: string; readonly name: string },
): string {
  const where = place === "" ? "" : ` in ${short(place, placeLengthMax)}`;
  const who = name === "" ? "" : `: ${short(name, nameLengthMax)}`;
  return short(what, projectLengthMax) + where + who;
}

/** One line, truncated. */
function short(text: string, lengthMax: number): string {
  // Examines a bounded prefix: white space collapses, and a character may have several units.
  const start = unlinked(inline(text.slice(0, 8 * lengthMax)));
  // Must not look like an encoded word, which mail programs would decode.
  const line = start.replaceAll("=?", "= ?").replace(/\s+/g, " ").trim();
  const characters = [...line];
  return characters.length <= lengthMax ? line : `${characters.slice(0, lengthMax - 1).join("").trimEnd()}…`;
}

/** Chosen: the most that a list of mails shows. */
const preheaderPartLengthMax = 120;

/** The preview text in a list of mails. */
function preheaderOf(parts: readonly string[]): string {
  return parts.map((part) => short(part, preheaderPartLengthMax)).filter((part) => part !== "").join(" · ");
}

/** Fields with their own place in the notification. */
const placed = [
  ...["first_name", "last_name", "phone", "email", "street_address", "city", "state", "zip", "country"],
  ...["project_service", "project_area", "project_material", "project_details", "external_id", "cost_cents"],
];

/** The services' names after a part of the home. */
const nouns: Readonly<Record<string, string>> = { maintain: "maintenance" };

/**
 * Renders a lead in the order in which the reader acts: buttons, request, contact, place; cost and source last.
 */
function leadNotification(event: DeliveredEvent, reader: Reader): Notification {
  const parts = lastMembers(event.content);
  const values = new Map(parts.map(({ name, valueText }) => [name, valueText]));
  const text = (name: string) => {
    const valueText = values.get(name) ?? "null";
    return isBlank(valueText) ? "" : readable(valueText);
  };
  const [city, state, zip] = [text("city"), text("state"), text("zip")];
  const reach = reachOf({
    ...{ phone: text("phone"), email: text("email"), street: text("street_address"), city, state, zip },
    country: text("country") || countryDefault,
  });
  const name = inline(`${text("first_name")} ${text("last_name")}`).trim();
  const project = projectOf(text("project_area"), text("project_service"));
  const what = project || "New lead";
  const town = townOf({ city, state });
  const details = text("project_details");
  return {
    ...bareNotification,
    subject: subjectOf({ what, place: city || zip || state, name }),
    preheader: preheaderOf([reach.buttons[0]?.detail ?? "", details]),
    opening: `New lead for ${inline(reader.name)}`,
    title: name || what,
    subtitle: [name === "" ? "" : project, town].filter((part) => part !== "").join(" in "),
    buttons: reach.buttons,
    quote: details === "" ? null : { heading: "What is wanted", text: details },
    notes: notesOf(event, reach),
    sections: [
      {
        heading: "Project",
        rows: [
          ...row("Service", capitalized(text("project_service"))),
          ...row("Area", capitalized(areaWords(text("project_area")))),
          ...row("Material", text("project_material")),
        ],
      },
      { heading: "Contact", rows: [...row("Name", name), ...reach.rows] },
      {
        heading: "Also sent",
        rows: [...parts.filter(({ name }) => !placed.includes(name)), ...lastMembers(event.extra)]
          .filter(({ valueText }) => !isBlank(valueText)).map(rowOf),
      },
    ],
    about: aboutRows(event, reader, [
      ...row("Cost", dollars(text("cost_cents"))),
      ...row("Reference", text("external_id")),
    ]),
    replyTo: reach.email,
  };
}

function row(label: string, value: string): Row[] {
  return value === "" ? [] : [{ label, value }];
}

/** `Kitchen remodel`, of which either word may be missing. */
function projectOf(area: string, service: string): string {
  const noun = Object.hasOwn(nouns, service) ? nouns[service] as string : service;
  return capitalized(inline(`${areaWords(area)} ${noun}`).trim());
}

/** The vocabulary's term that keeps its upper case. */
function areaWords(area: string): string {
  return area === "hvac" ? "HVAC" : area;
}

function capitalized(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function dollars(centsText: string): string {
  const cents = Number(centsText);
  return centsText !== "" && Number.isSafeInteger(cents)
    ? `$${(cents / 100).toFixed(2)}`
    : visible(centsText);
}

/** Labels of campaign parameters. */
const campaignLabels: Readonly<Record<string, string>> = {
  utm_source: "Campaign source",
  utm_medium: "Campaign medium",
  utm_campaign: "Campaign",
  utm_term: "Campaign term",
  utm_content: "Campaign content",
  gclid: "Google click id",
};

const visitNames = ["page_url", "referrer"];

/** Fields to search for the contact; as many as at acceptance. */
const comparedFieldsMax = 500;
const formNameLengthMax = 40;

/**
 * Renders a submission: the contact first, then the fields in the form's order with readable labels, without blank ones;
 * page URLs stand with the campaign.
 */
function submissionNotification(event: DeliveredEvent, reader: Reader): Notification {
  const fields = lastMembers(event.content).filter(({ valueText }) => !isBlank(valueText));
  const { formKey, campaign, more } = readExtra(event.extra);
  const found = contactIn(fields);
  const reach = reachOf(found.contact);
  const from = formKey === null ? inline(event.source) : `the ${formWords(formKey)} form`;
  const what = `New message from ${from}`;
  const visit = fields.filter(({ name }) => visitNames.includes(name));
  return {
    ...bareNotification,
    subject: subjectOf({ what, place: "", name: found.name }),
    preheader: preheaderOf([found.message]),
    opening: `New message for ${inline(reader.name)}`,
    title: found.name || "New message",
    subtitle: `From ${from}`,
    buttons: reach.buttons,
    quote: found.message === "" ? null : { heading: found.messageLabel, text: found.message },
    notes: notesOf(event, reach),
    sections: [
      { heading: "Contact", rows: reach.rows },
      {
        heading: "Answers",
        rows: fields.filter((field) => !visit.includes(field) && !found.told.includes(field)).map(rowOf),
      },
      { heading: "Where it came from", rows: [...visit.map(rowOf), ...campaign] },
      { heading: "Also sent", rows: more.map(rowOf) },
    ],
    about: aboutRows(event, reader, formKey === null ? [] : [{ label: "Form", value: inline(formKey) }]),
    replyTo: reach.email,
  };
}

function readExtra(extraText: string) {
  const extra = lastMembers(extraText);
  const form = extra.find(({ name, valueText }) => name === "form_key" && valueText.startsWith('"'));
  const attribution = extra.find(({ name, valueText }) => name === "attribution" && isObjectText(valueText));
  return {
    formKey: form === undefined ? null : readable(form.valueText),
    campaign: attribution === undefined ? [] : lastMembers(attribution.valueText).map(campaignRow),
    more: extra.filter((part) => part !== form && part !== attribution && !isBlank(part.valueText)),
  };
}

function isObjectText(valueText: string): boolean {
  return isObject(JSON.parse(valueText));
}

function campaignRow({ name, valueText }: Part): Row {
  const label = Object.hasOwn(campaignLabels, name) ? campaignLabels[name] as string : inline(name);
  return { label, value: readable(valueText) };
}

/** `roof-quote` as "roof quote"; the word "form" follows. */
function formWords(formKey: string): string {
  return short(labelOf(formKey).toLowerCase().replace(/(?: |^)form$/, "") || "form", formNameLengthMax);
}

/** The sender in the fields; `told` are fields that need not be repeated. */
function contactIn(fields: readonly Part[]) {
  const byName = new Map<string, Part>();
  for (const field of fields.slice(0, comparedFieldsMax)) {
    const folded = foldName(field.name);
    if (folded !== "" && !byName.has(folded) && !/^(?:true|false)$/.test(field.valueText)) {
      byName.set(folded, field);
    }
  }
  const told: Part[] = [];
  const text = (what: keyof typeof fieldAliases) => {
    const part = fieldAliases[what].map((name) => byName.get(name)).find((part) => part !== undefined);
    return { part, words: part === undefined ? "" : readable(part.valueText) };
  };
  const take = (what: keyof typeof fieldAliases) => {
    const { part, words } = text(what);
    if (part !== undefined) told.push(part);
    return words;
  };
  const country = normalizeLine(take("country")) || countryDefault;
  const contact = {
    ...{ phone: take("phone").trim(), email: take("email").trim() },
    ...{ street: take("street_address"), city: take("city"), state: take("state"), zip: take("zip") },
    country: normalizeCountry(country) ?? country,
  };
  const isWhole = text("last_name").words === "" && text("name").words !== "";
  const name = isWhole ? take("name") : `${take("first_name")} ${take("last_name")}`;
  const messageLabel = text("project_details").part?.name ?? "";
  return {
    contact,
    name: inline(name).trim(),
    message: take("project_details"),
    messageLabel: labelOf(messageLabel),
    told,
  };
}

/** Renders an event for its recipients; a route test is clearly marked. */
export function eventNotification(
  { event, tenant, isTest }: Pick<Sending, "event" | "tenant" | "isTest">,
): Notification {
  const notification = event.kind === "lead"
    ? leadNotification(event, tenant)
    : submissionNotification(event, tenant);
  if (!isTest) return notification;
  return {
    ...notification,
    subject: `Test: ${notification.subject}`,
    banner: "This is a test with an invented lead. No one is waiting for an answer.",
  };
}
