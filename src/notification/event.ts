/** Renders the notification for a lead or a form submission. This module is browser compatible. */

import { countryDefault } from "../contract/fields.ts";
import { findSender } from "../lead/sender.ts";
import { fieldLetters } from "../lead/technical_fields.ts";
import { breakLinks } from "./mail.ts";
import {
  cityAndState,
  contactDetails,
  emptyNotification,
  fieldLabel,
  flagNotesFor,
  isBlank,
  lastMembers,
  localTime,
  type Member,
  type Notification,
  type NotifiedEvent,
  readableValue,
  type Recipient,
  type Row,
  singleLine,
  withoutInvisible,
} from "./content.ts";
import { sortFields, visitRow } from "./fields.ts";

/** An event with the facts that its texts are rendered from; can be sent to a thread. */
export interface EventToNotify {
  readonly event: NotifiedEvent;
  readonly tenant: Recipient;
  /** Whether the event is from a route test. */
  readonly isTest: boolean;
  /** The tenant's posts with the same phone number before the event, the latest first. */
  readonly earlier: {
    readonly posts: readonly {
      readonly source: string;
      /** A submission's form key; empty for a lead. */
      readonly form: string;
      /** ISO 8601, UTC. */
      readonly receivedAt: string;
    }[];
    /** The number of further posts, such as `2` or `at least 97`; empty without any. */
    readonly more: string;
  };
}

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

/** The fields that the notification does not list again. */
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

/** The names, as {@linkcode fieldLetters}, under which partners send at what price and from whom a lead was bought. */
const saleNames =
  /^(?:lead|bid|click|buy|buyer|sell|sale|sold|purchase)?(?:cost|price|payout|bid|cpl|cpa|revenue|margin)(?:cents|usd|amount|paid|perlead)?$|^(?:lead|traffic)?(?:source|campaign|vendor|publisher|pub|affiliate|aff|supplier|seller|partner|sub)(?:id|name)?$/;

function leadNotification(event: NotifiedEvent, recipient: Recipient, isQuotable: boolean): Notification {
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
  const town = `${cityAndState({ city, state })} ${singleLine(zip)}`.trim();
  const details = text("project_details");
  const { answers, consent, visit } = sortFields([
    ...parts.filter(({ name }) => !fieldsShownElsewhere.includes(name)),
    ...lastMembers(event.extra).filter(({ name }) => !isQuotable || !saleNames.test(fieldLetters(name))),
  ]);
  return {
    ...emptyNotification,
    subject: formatSubject({ what, place: city || zip || state, name }),
    preheader: joinPreheader([contactInfo.buttons[0]?.detail ?? "", details]),
    opening: `New lead for ${singleLine(recipient.name)}`,
    title: name || what,
    subtitle: [name === "" ? "" : project, town].filter((part) => part !== "").join(" in "),
    buttons: contactInfo.buttons,
    quote: details === "" ? null : { heading: "Request", text: details },
    notes: [...contactInfo.notes, ...flagNotesFor(event)],
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
      { heading: "Other fields", rows: answers },
      { heading: "Consent", rows: consent },
      // The pages and campaign of a partner's site name the source.
      { heading: "Visit", rows: isQuotable ? [] : visit },
    ],
    about: [
      ...(isQuotable ? [] : optionalRow("Cost", formatCost(text("cost_cents")))),
      ...optionalRow("Reference", text("external_id")),
    ],
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

const formNameLengthMax = 40;

function submissionNotification(event: NotifiedEvent, recipient: Recipient): Notification {
  const fields = lastMembers(event.content);
  const { formKey, campaign, more } = readExtra(event.extra);
  const sender = readSender(fields);
  const contactInfo = contactDetails(sender.contact);
  const from = formKey === null ? "the website" : formTitle(formKey);
  const what = `New message from ${from}`;
  const { answers, consent, visit } = sortFields(fields.filter((field) => !sender.used.has(field)));
  const other = sortFields(more);
  const { city, state, zip } = sender.contact;
  const place = `${cityAndState({ city, state })} ${singleLine(zip)}`.trim();
  return {
    ...emptyNotification,
    subject: formatSubject({ what, place: "", name: sender.name }),
    preheader: joinPreheader([sender.message]),
    opening: `New message for ${singleLine(recipient.name)}`,
    title: sender.name || "New message",
    subtitle: [`From ${from}`, place].filter((part) => part !== "").join(", "),
    buttons: contactInfo.buttons,
    quote: sender.message === "" ? null : { heading: sender.messageLabel, text: sender.message },
    notes: [...contactInfo.notes, ...flagNotesFor(event)],
    sections: [
      { heading: "Contact", rows: contactInfo.rows },
      { heading: "Answers", rows: answers },
      { heading: "Other fields", rows: other.answers },
      { heading: "Consent", rows: [...consent, ...other.consent] },
      { heading: "Visit", rows: withoutRepeats([...visit, ...campaign, ...other.visit]) },
    ],
    about: formKey === null ? [] : [{ label: "Form", value: singleLine(formKey) }],
    replyTo: contactInfo.email,
  };
}

function readExtra(extraText: string) {
  const extra = lastMembers(extraText);
  const form = extra.find(({ name, valueText }) => name === "form_key" && valueText.startsWith('"'));
  const attribution = extra.find(({ name, valueText }) =>
    name === "attribution" && valueText.startsWith("{")
  );
  return {
    formKey: form === undefined ? null : readableValue(form.valueText),
    campaign: attribution === undefined ? [] : lastMembers(attribution.valueText).map(visitRow),
    more: extra.filter((part) => part !== form && part !== attribution),
  };
}

/** Leaves out rows that repeat another one: a form may have a hidden field for a parameter of its page's address. */
function withoutRepeats(rows: readonly Row[]): Row[] {
  return [...new Map(rows.map((row) => [`${row.label}\n${row.value}`, row])).values()];
}

/** Turns `roof-quote` and `roof-quote-form` into "the roof quote form". */
function formTitle(formKey: string): string {
  const name = fieldLabel(formKey).toLowerCase().replace(/(?: |^)form$/, "") || "form";
  return `the ${shortLine(name, formNameLengthMax)} form`;
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

/** Returns the note on posts with the same phone number. Only their kinds are quotable, not their sources. */
function earlierNotes(
  { posts, more }: EventToNotify["earlier"],
  timeZone: string,
  isQuotable: boolean,
): string[] {
  if (posts.length === 0) return [];
  const each = posts.map(({ receivedAt, source, form }) => {
    const from = !isQuotable
      ? `from ${singleLine(source)}`
      : form === ""
      ? "as a lead"
      : `from ${formTitle(form)}`;
    return `on ${localTime(receivedAt, timeZone, "brief")} ${from}`;
  });
  return [
    `Also received ${[...each, ...(more === "" ? [] : [`and ${more} more`])].join("; ")} (same phone number)`,
  ];
}

/**
 * Renders an event for its recipients; a banner marks a route test.
 *
 * `isQuotable`: whether the reader may quote all of it to the sender, as a reply to an email does. It then has no cost, source or
 * campaign, also not those of a partner's extra fields.
 */
export function eventNotification(
  { event, tenant, isTest, earlier }: EventToNotify,
  { isQuotable }: { readonly isQuotable: boolean },
): Notification {
  const content = event.kind === "lead"
    ? leadNotification(event, tenant, isQuotable)
    : submissionNotification(event, tenant);
  const notification = {
    ...content,
    notes: [...earlierNotes(earlier, tenant.timeZone, isQuotable), ...content.notes],
    about: [
      { label: "Received", value: localTime(event.receivedAt, tenant.timeZone, "moment") },
      ...content.about,
      ...(isQuotable
        ? []
        : [...optionalRow("Source", singleLine(event.source)), ...optionalRow("Campaign", event.campaign)]),
      { label: "Event", value: event.eventId },
    ],
  };
  if (!isTest) return notification;
  return {
    ...notification,
    subject: `Test: ${notification.subject}`,
    banner: "This is a test with a made-up lead. No reply is needed.",
  };
}
