/** Renders the notification for a lead or a form submission. */

import { countryDefault } from "../../contract/fields.ts";
import { isObject } from "../../lead/json.ts";
import { findSender } from "../../lead/sender.ts";
import type { SendRequest } from "../destination.ts";
import type { DeliveredEvent } from "../event.ts";
import { breakLinks } from "./mail.ts";
import {
  aboutRows,
  cityAndState,
  contactDetails,
  emptyNotification,
  fieldLabel,
  fieldRow,
  flagNotesFor,
  isBlank,
  lastMembers,
  type Member,
  type Notification,
  readableValue,
  type Recipient,
  type Row,
  singleLine,
  withoutInvisible,
} from "./content.ts";

// A phone shows about forty characters of a subject.
const projectLengthMax = 60;
const placeLengthMax = 40;
const nameLengthMax = 80;

/** Returns a subject such as `Kitchen remodel in Portland: Grace Hopper`, without empty parts. */
function formatSubject(
  { what, place, name }: { readonly what: string; readonly place: string; readonly name: string },
): string {
  const placeText = place === "" ? "" : ` in ${shortLine(place, placeLengthMax)}`;
  const nameText = name === "" ? "" : `: ${shortLine(name, nameLengthMax)}`;
  return shortLine(what, projectLengthMax) + placeText + nameText;
}

/** Returns the text on one line of at most `lengthMax` characters. */
function shortLine(text: string, lengthMax: number): string {
  // Bounds the work; the factor leaves room for white space that is collapsed.
  const start = breakLinks(singleLine(text.slice(0, 8 * lengthMax)));
  // Prevents mail programs from decoding an encoded word (RFC 2047).
  const line = start.replaceAll("=?", "= ?").replace(/\s+/g, " ").trim();
  const characters = [...line];
  return characters.length <= lengthMax ? line : `${characters.slice(0, lengthMax - 1).join("").trimEnd()}…`;
}

// Mail programs show no more in a list.
const preheaderPartLengthMax = 120;

function joinPreheader(parts: readonly string[]): string {
  return parts.map((part) => shortLine(part, preheaderPartLengthMax)).filter((part) => part !== "").join(
    " · ",
  );
}

/** The fields that the notification does not list under "Other fields". */
const fieldsShownElsewhere = [
  "first_name",
  "last_name",
  "phone",
  "email",
  "street_address",
  "city",
  "state",
  "zip",
  "country",
  "project_service",
  "project_area",
  "project_material",
  "project_details",
  "external_id",
  "cost_cents",
];

/** The nouns that follow a project area, for the services whose noun differs from their name. */
const serviceNouns: Readonly<Record<string, string>> = { maintain: "maintenance" };

function leadNotification(event: DeliveredEvent, recipient: Recipient): Notification {
  const parts = lastMembers(event.content);
  const values = new Map(parts.map(({ name, valueText }) => [name, valueText]));
  const text = (name: string) => {
    const valueText = values.get(name) ?? "null";
    return isBlank(valueText) ? "" : readableValue(valueText);
  };
  const [city, state, zip] = [text("city"), text("state"), text("zip")];
  const contactInfo = contactDetails({
    phone: text("phone"),
    email: text("email"),
    street: text("street_address"),
    city,
    state,
    zip,
    country: text("country") || countryDefault,
  });
  const name = singleLine(`${text("first_name")} ${text("last_name")}`).trim();
  const project = projectText(text("project_area"), text("project_service"));
  const what = project || "New lead";
  const town = cityAndState({ city, state });
  const details = text("project_details");
  return {
    ...emptyNotification,
    subject: formatSubject({ what, place: city || zip || state, name }),
    preheader: joinPreheader([contactInfo.buttons[0]?.detail ?? "", details]),
    opening: `New lead for ${singleLine(recipient.name)}`,
    title: name || what,
    subtitle: [name === "" ? "" : project, town].filter((part) => part !== "").join(" in "),
    buttons: contactInfo.buttons,
    quote: details === "" ? null : { heading: "Request", text: details },
    notes: flagNotesFor(event, contactInfo),
    sections: [
      {
        heading: "Project",
        rows: [
          ...optionalRow("Service", capitalize(text("project_service"))),
          ...optionalRow("Area", capitalize(areaText(text("project_area")))),
          ...optionalRow("Material", text("project_material")),
        ],
      },
      { heading: "Contact", rows: [...optionalRow("Name", name), ...contactInfo.rows] },
      {
        heading: "Other fields",
        rows: [
          ...parts.filter(({ name }) => !fieldsShownElsewhere.includes(name)),
          ...lastMembers(event.extra),
        ]
          .filter(({ valueText }) => !isBlank(valueText)).map(fieldRow),
      },
    ],
    about: aboutRows(event, recipient, [
      ...optionalRow("Cost", formatCost(text("cost_cents"))),
      ...optionalRow("Reference", text("external_id")),
    ]),
    replyTo: contactInfo.email,
  };
}

function optionalRow(label: string, value: string): Row[] {
  return value === "" ? [] : [{ label, value }];
}

/** Returns a project such as `Kitchen remodel`; either word may be missing. */
function projectText(area: string, service: string): string {
  const noun = Object.hasOwn(serviceNouns, service) ? serviceNouns[service] as string : service;
  return capitalize(singleLine(`${areaText(area)} ${noun}`).trim());
}

function areaText(area: string): string {
  return area === "hvac" ? "HVAC" : area;
}

function capitalize(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function formatCost(centsText: string): string {
  const cents = Number(centsText);
  return centsText !== "" && Number.isSafeInteger(cents)
    ? `$${(cents / 100).toFixed(2)}`
    : withoutInvisible(centsText);
}

const campaignLabels: Readonly<Record<string, string>> = {
  utm_source: "Campaign source",
  utm_medium: "Campaign medium",
  utm_campaign: "Campaign",
  utm_term: "Campaign term",
  utm_content: "Campaign content",
  gclid: "Google click id",
};

const visitFields = ["page_url", "referrer"];

const formNameLengthMax = 40;

function submissionNotification(event: DeliveredEvent, recipient: Recipient): Notification {
  const fields = lastMembers(event.content).filter(({ valueText }) => !isBlank(valueText));
  const { formKey, campaign, more: otherFields } = readExtra(event.extra);
  const sender = readSender(fields);
  const contactInfo = contactDetails(sender.contact);
  const from = formKey === null ? singleLine(event.source) : `the ${formTitle(formKey)} form`;
  const what = `New message from ${from}`;
  const visit = fields.filter(({ name }) => visitFields.includes(name));
  return {
    ...emptyNotification,
    subject: formatSubject({ what, place: "", name: sender.name }),
    preheader: joinPreheader([sender.message]),
    opening: `New message for ${singleLine(recipient.name)}`,
    title: sender.name || "New message",
    subtitle: `From ${from}`,
    buttons: contactInfo.buttons,
    quote: sender.message === "" ? null : { heading: sender.messageLabel, text: sender.message },
    notes: flagNotesFor(event, contactInfo),
    sections: [
      { heading: "Contact", rows: contactInfo.rows },
      {
        heading: "Answers",
        rows: fields.filter((field) => !visit.includes(field) && !sender.used.has(field)).map(fieldRow),
      },
      { heading: "Visit", rows: [...visit.map(fieldRow), ...campaign] },
      { heading: "Other fields", rows: otherFields.map(fieldRow) },
    ],
    about: aboutRows(
      event,
      recipient,
      formKey === null ? [] : [{ label: "Form", value: singleLine(formKey) }],
    ),
    replyTo: contactInfo.email,
  };
}

function readExtra(extraText: string) {
  const extra = lastMembers(extraText);
  const form = extra.find(({ name, valueText }) => name === "form_key" && valueText.startsWith('"'));
  const attribution = extra.find(({ name, valueText }) => name === "attribution" && isObjectText(valueText));
  return {
    formKey: form === undefined ? null : readableValue(form.valueText),
    campaign: attribution === undefined ? [] : lastMembers(attribution.valueText).map(campaignRow),
    more: extra.filter((part) => part !== form && part !== attribution && !isBlank(part.valueText)),
  };
}

function isObjectText(valueText: string): boolean {
  return isObject(JSON.parse(valueText));
}

function campaignRow({ name, valueText }: Member): Row {
  const label = Object.hasOwn(campaignLabels, name) ? campaignLabels[name] as string : singleLine(name);
  return { label, value: readableValue(valueText) };
}

/** Turns `roof-quote` and `roof-quote-form` into "roof quote". */
function formTitle(formKey: string): string {
  return shortLine(
    fieldLabel(formKey).toLowerCase().replace(/(?: |^)form$/, "") || "form",
    formNameLengthMax,
  );
}

/** Reads the sender from the fields; `used` has the fields that the result contains. */
function readSender(fields: readonly Member[]) {
  const { name, country, find, take, used } = findSender(
    fields.map((field) => [field.name, field]),
    ({ valueText }) => /^(?:true|false)$/.test(valueText) ? "" : readableValue(valueText),
  );
  return {
    contact: {
      phone: take("phone").trim(),
      email: take("email").trim(),
      street: take("street_address"),
      city: take("city"),
      state: take("state"),
      zip: take("zip"),
      country,
    },
    name: singleLine(name),
    messageLabel: fieldLabel(find("project_details")?.name ?? ""),
    message: take("project_details"),
    used,
  };
}

/** Renders an event for its recipients; a banner marks a route test. */
export function eventNotification(
  { event, tenant, isTest }: Pick<SendRequest, "event" | "tenant" | "isTest">,
): Notification {
  const notification = event.kind === "lead"
    ? leadNotification(event, tenant)
    : submissionNotification(event, tenant);
  if (!isTest) return notification;
  return {
    ...notification,
    subject: `Test: ${notification.subject}`,
    banner: "This is a test with a made-up lead. No reply is needed.",
  };
}
