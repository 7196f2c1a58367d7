/** Extracts a notification's content from untrusted data, independently of the format. This module is browser compatible. */

import type { Flag } from "../contract/fields.ts";
import { parseDialableNumber } from "../lead/dial.ts";
import { arrayElements, decodeString, members } from "../lead/json.ts";

/** An event as its recipients see it. The JSON texts are verbatim, because parsing would alter numbers such as 1.10. */
export interface NotifiedEvent {
  readonly eventId: string;
  readonly kind: "lead" | "form";
  readonly source: string;
  /** The slug of the key's campaign; empty without one. */
  readonly campaign: string;
  /** ISO 8601, UTC. */
  readonly receivedAt: string;
  /** The lead or submission, as the text of a JSON object. */
  readonly content: string;
  /** A lead's unknown fields, or a submission's form key and attribution, as the text of a JSON object. */
  readonly extra: string;
  readonly flags: readonly string[];
}

export interface Recipient {
  /** The tenant's name. */
  readonly name: string;
  /** An IANA time zone. */
  readonly timeZone: string;
}

export interface Button {
  readonly label: string;
  /** Small text below the label. */
  readonly detail: string;
  /** The URL, built from validated parts. */
  readonly href: string;
}

export interface Section {
  readonly heading: string;
  readonly rows: readonly Row[];
}

/** A prominent number. */
export interface Figure {
  readonly value: string;
  readonly label: string;
  /** Small text below the label. */
  readonly detail: string;
}

/** A notification. All texts are plain text. */
export interface Notification {
  /** The subject, on one line. */
  readonly subject: string;
  /** The preview text in a mail program's message list. */
  readonly preheader: string;
  /** A warning at the top. */
  readonly banner: string | null;
  /** Small text above the title. */
  readonly opening: string;
  readonly title: string;
  readonly subtitle: string;
  readonly buttons: readonly Button[];
  readonly figures: readonly Figure[];
  /** The sender's own words. */
  readonly quote: { readonly heading: string; readonly text: string } | null;
  /** Notes to read before contacting the sender. */
  readonly notes: readonly string[];
  readonly sections: readonly Section[];
  /** Small text at the end. */
  readonly about: readonly Row[];
  /** The Reply-To address; `null` for none. */
  readonly replyTo: string | null;
}

export const emptyNotification = {
  banner: null,
  buttons: [],
  figures: [],
  quote: null,
  notes: [],
  sections: [],
  replyTo: null,
} as const satisfies Partial<Notification>;

export interface Row {
  readonly label: string;
  /** One or more lines of text. */
  readonly value: string;
  /** A link on the value or, with `text`, after it. The URL is built from validated parts. */
  readonly link?: { readonly href: string; readonly text?: string };
}

/** A member of a JSON object. */
export interface Member {
  readonly name: string;
  /** The value's JSON text. */
  readonly valueText: string;
}

/** Returns the members of an object; a repeated member has its last value. */
export function lastMembers(objectText: string): Member[] {
  const byName = new Map(members(objectText).map(({ name, valueText }) => [name, valueText]));
  return [...byName].map(([name, valueText]) => ({ name, valueText }));
}

/** What a browser and a program send for a checkbox. */
const checkboxTexts: Readonly<Record<string, string>> = { on: "yes", true: "yes", false: "no" };

export function fieldRow({ name, valueText }: Member): Row {
  const value = readableValue(valueText);
  return {
    label: fieldLabel(name),
    value: Object.hasOwn(checkboxTexts, value) ? checkboxTexts[value] as string : value,
  };
}

export function isBlank(valueText: string): boolean {
  return readableValue(valueText).trim() === "";
}

// Deeper values are shown as JSON.
const depthMax = 4;

/**
 * Formats a JSON value as text: booleans as yes and no, lists with commas or as bullets, and one line per member, without blank
 * elements and members. Numbers are shown as sent.
 */
export function readableValue(valueText: string, depth = 0): string {
  if (valueText === "null") return "";
  if (valueText === "true") return "yes";
  if (valueText === "false") return "no";
  const isList = valueText.startsWith("[");
  if (depth === depthMax || !isList && !valueText.startsWith("{")) return valueAsText(valueText);
  if (!isList) {
    return lastMembers(valueText).map(({ name, valueText }) => ({
      label: `${fieldLabel(name)}:`,
      value: readableValue(valueText, depth + 1),
    })).filter(({ value }) => value.trim() !== "").map(({ label, value }) => labeledValue(label, value)).join(
      "\n",
    );
  }
  const items = arrayElements(valueText).map((item) => readableValue(item, depth + 1))
    .filter((item) => item.trim() !== "");
  const isShort = items.every((item) => !item.includes("\n"));
  return isShort ? items.join(", ") : items.map((item) => `- ${item.replaceAll("\n", "\n  ")}`).join("\n");
}

function labeledValue(label: string, value: string): string {
  return value.includes("\n") ? `${label}\n  ${value.replaceAll("\n", "\n  ")}` : `${label} ${value}`;
}

/**
 * Turns `street_address`, `streetAddress` and `form_fields[street-address]` into "Street address", and the numbers that form
 * builders give to fields (`12.2`, `input_5`) into "Field 12.2" and "Field 5".
 */
export function fieldLabel(name: string): string {
  const words = singleLine(name).replace(/^(?:wpforms\[fields\]|(?:form_?)?fields)(?=\[[^\]]|\.)/i, "")
    .replace(/(?<=[a-z])(?=[A-Z])/g, " ").replace(/[[\]_-]+/g, " ").trim()
    .replace(/ [A-Z](?=[a-z])/g, (start) => start.toLowerCase())
    .replace(/(?<![a-z])(?:zip|url|ip|sms|tcpa|gdpr)(?![a-z])/gi, (word) => word.toUpperCase())
    .replace(/^(?:input )?(?=\d[\d .]*$)/i, "Field ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The characters that PHP's escaping adds; `&lt;` and `&gt;` stay, because a sender may have written about markup. */
const escapedCharacters: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&quot;": '"',
  "&#39;": "'",
  "&#039;": "'",
  "&apos;": "'",
};

/** Returns a string's text, without the escaping of a site that escaped too early, or the JSON text of anything else. */
function valueAsText(valueText: string): string {
  if (!valueText.startsWith('"')) return withoutInvisible(valueText);
  return withoutInvisible(decodeString(valueText))
    .replace(/&(?:amp|quot|apos|#0?39);/g, (escaped) => escapedCharacters[escaped] as string);
}

/** Returns the text on one line, without invisible characters. */
export function singleLine(text: string): string {
  return withoutInvisible(text).replaceAll("\n", " ");
}

/** Removes control characters and bidirectional marks; turns line separators into line feeds and tabs into spaces. */
export function withoutInvisible(text: string): string {
  if (/^[\x20-\x7e\n]*$/.test(text)) return text;
  return text.toWellFormed().replace(/\r\n?|[\u2028\u2029\u0085]/g, "\n").replaceAll("\t", " ")
    .replace(/(?!\n)\p{Cc}|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu, "");
}

const timeFormats = {
  /** Thursday, September 3, 2026 at 7:05 AM PDT */
  moment: {
    weekday: "long",
    year: "numeric",
    month: "long",
    day: "numeric",
    hour: "numeric",
    minute: "2-digit",
    timeZoneName: "short",
  },
  /** Sep 3, 7:05 AM PDT */
  brief: { month: "short", day: "numeric", hour: "numeric", minute: "2-digit", timeZoneName: "short" },
  /** Thursday, September 3 */
  day: { weekday: "long", month: "long", day: "numeric" },
} as const satisfies Record<string, Intl.DateTimeFormatOptions>;

/**
 * Formats a time in English.
 *
 * Chosen: UTC for a zone that this runtime does not know, because an email with the wrong zone is better than none.
 */
export function localTime(at: string | number, timeZone: string, form: keyof typeof timeFormats): string {
  const formatter = timeFormatter(timeZone, form) ?? timeFormatter("UTC", form);
  // Some runtimes write a narrow space before AM and PM.
  return (formatter?.format(typeof at === "string" ? Date.parse(at) : at) ?? "").replace(/\p{Zs}/gu, " ");
}

/** Formatters by zone and form, because creating one takes half a millisecond. */
const formatters = new Map<string, Intl.DateTimeFormat | null>();
const formattersMax = 100;

/** Returns `null` for a zone that this runtime does not know. */
function timeFormatter(timeZone: string, form: keyof typeof timeFormats): Intl.DateTimeFormat | null {
  const key = `${form} ${timeZone}`;
  let formatter = formatters.get(key);
  if (formatter === undefined) {
    try {
      formatter = new Intl.DateTimeFormat("en-US", { ...timeFormats[form], timeZone });
    } catch {
      formatter = null;
    }
    if (formatters.size >= formattersMax) formatters.clear();
    formatters.set(key, formatter);
  }
  return formatter;
}

/** The sender's values as text; empty if not sent. */
interface Contact {
  readonly phone: string;
  readonly email: string;
  readonly street: string;
  readonly city: string;
  readonly state: string;
  readonly zip: string;
  /** The country's code, or the sender's text if no country was recognized. */
  readonly country: string;
}

interface ContactDetails {
  readonly buttons: readonly Button[];
  readonly rows: readonly Row[];
  /** The email address if it is well-formed, otherwise `null`. */
  readonly email: string | null;
  /** What is wrong with a phone number or an email address that has no button. */
  readonly notes: readonly string[];
}

/**
 * Matches one plain ASCII address without characters that are special in a header or a `mailto:` link.
 *
 * Chosen: narrower than the envelope's rule; other addresses are shown as text.
 */
const plainAddress =
  /^(?=.{6,254}$)(?=[^@]{1,64}@)[A-Za-z0-9_](?:[A-Za-z0-9_+'-]|\.(?=[A-Za-z0-9_+'-]))*@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z]{2,63}$/;

export function isPlainAddress(text: string): boolean {
  return plainAddress.test(text);
}

const addressFaults: readonly (readonly [RegExp, string])[] = [
  [/^[^@]*$/, "has no @"],
  [/\s|[,;<>]/, "has spaces or other characters besides one address"],
  [/@.*@/, "has more than one @"],
  [/[^!-~]/, "has letters outside A to Z, which not every mail program can send to"],
  [/^@|^\.|\.\.|\.@|@\.|\.$|@$/, "has nothing before or after the @ or a dot"],
  [/@[^.]*$/, "has no ending such as .com"],
];

/** Describes why an address is not plain ({@linkcode isPlainAddress}). */
function addressFault(text: string): string {
  return addressFaults.find(([pattern]) => pattern.test(text))?.[1] ??
    "has characters that are not used in addresses";
}

/** Returns the city and state on one line, such as `Portland, OR`. */
export function cityAndState({ city, state }: Pick<Contact, "city" | "state">): string {
  return [city, state].filter((part) => part !== "").map(singleLine).join(", ");
}

export function contactDetails(contact: Contact): ContactDetails {
  const { phone, email } = contact;
  const number = phone === "" ? null : parseDialableNumber(phone, contact.country);
  const address = isPlainAddress(email) ? email : null;
  const mailto = address && mailtoLink(address);
  return {
    buttons: [
      ...(number ? [{ label: "Call", detail: number.display, href: number.uri }] : []),
      ...(address && mailto ? [{ label: "Email", detail: address, href: mailto }] : []),
    ],
    rows: [
      ...contactRow("Phone", number?.display ?? phone, number && number.uri),
      ...contactRow("Email", email, mailto),
      ...addressRows(contact),
    ],
    email: address,
    notes: [
      ...(phone === "" || number !== null ? [] : ["The phone number may be wrong. It is shown as sent."]),
      ...(email === "" || address !== null
        ? []
        : [`The email address ${addressFault(email)}, so replies cannot go to it. It is shown as sent.`]),
    ],
  };
}

function contactRow(label: string, value: string, href: string | null): Row[] {
  if (value === "") return [];
  return [{ label, value: singleLine(value), ...(href === null ? {} : { link: { href } }) }];
}

function mailtoLink(address: string): string {
  const at = address.lastIndexOf("@");
  const part = (text: string) => encodeURIComponent(text).replaceAll("'", "%27");
  return `mailto:${part(address.slice(0, at))}@${part(address.slice(at + 1))}`;
}

function addressRows(contact: Contact): Row[] {
  const { street, zip } = contact;
  const town = [cityAndState(contact), singleLine(zip)].filter((part) => part !== "").join(" ");
  const country = contact.country === "US" ? "" : countryName(contact.country);
  const lines = [singleLine(street), town, country].filter((part) => part !== "");
  if (lines.length === 0) return [];
  const map = mapLink(contact);
  const link = map === null ? {} : { link: { href: map, text: "Open in Google Maps" } };
  return [{ label: street === "" ? "Place" : "Address", value: lines.join("\n"), ...link }];
}

/** Turns a country code such as `CA` into `Canada`; returns any other text on one line. */
function countryName(country: string): string {
  if (!/^[A-Z]{2}$/.test(country)) return singleLine(country);
  return new Intl.DisplayNames("en", { type: "region" }).of(country) ?? country;
}

/** The maximum length of a Google Maps URL. */
const mapLengthMax = 2_000;

/**
 * Returns a map link for a street with a city or postal code; otherwise `null`, because the pin would be in the wrong
 * place. Also returns `null` if the link would be too long.
 *
 * Chosen: Google's search URL, which needs no key and opens the maps app on Android and iOS; `geo:` does nothing in
 * most mail programs.
 *
 * Source: Google, Maps URLs (search).
 */
function mapLink({ street, city, state, zip, country }: Contact): string | null {
  if (street === "" || city === "" && zip === "") return null;
  const place = [street, city, `${state} ${zip}`, country].map((part) => singleLine(part).trim())
    .filter((part) => part !== "").join(", ");
  const href = `https://www.google.com/maps/search/?api=1&query=${encodeURIComponent(place)}`;
  return href.length > mapLengthMax ? null : href;
}

/**
 * The flags in words; empty for a flag that needs no note, because the notification shows its fields, or {@linkcode ContactDetails}
 * notes what cannot be called or replied to.
 */
const flagNotes: Readonly<Record<Flag, string>> = {
  phone_unnormalized: "",
  project_area_unknown: "The project area is in the sender's own words.",
  project_service_unknown: "The service is in the sender's own words.",
  email_shape_suspect: "",
  extra_fields_preserved: "",
  country_unrecognized: "The country was not recognized. It is shown as sent.",
};

export function flagNotesFor({ flags }: NotifiedEvent): string[] {
  return flags.map((flag) => Object.hasOwn(flagNotes, flag) ? flagNotes[flag as Flag] : fieldLabel(flag))
    .filter((note) => note !== "");
}
