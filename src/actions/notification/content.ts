/** A notification's content, independent of its format: lines and links from strangers' data. */

import type { Flag } from "../../contract/fields.ts";
import { dialable } from "../../lead/dial.ts";
import { decode, members, spaceEnd, valueEnd } from "../../lead/json.ts";
import type { DeliveredEvent } from "../event.ts";

/** The recipients. */
export interface Reader {
  /** The tenant's name. */
  readonly name: string;
  /** IANA time zone. */
  readonly timeZone: string;
}

/** A button. Its URL is ours, from validated parts. */
export interface Button {
  readonly label: string;
  /** Small text below. */
  readonly detail: string;
  readonly href: string;
}

/** Lines with a heading. */
export interface Section {
  readonly heading: string;
  readonly rows: readonly Row[];
}

/** A prominent number. */
export interface Figure {
  readonly value: string;
  readonly label: string;
  /** Small text below. */
  readonly detail: string;
}

/** A notification: plain text, except for links in `href`. */
export interface Notification {
  /** One line. */
  readonly subject: string;
  /** The preview text in a list of mails. */
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
  /** Notes to read before acting. */
  readonly notes: readonly string[];
  readonly sections: readonly Section[];
  /** Small text at the end. */
  readonly about: readonly Row[];
  /** The Reply-To address, if not the sender's. */
  readonly replyTo: string | null;
}

/** An empty notification. */
export const bareNotification = {
  banner: null,
  buttons: [],
  figures: [],
  quote: null,
  notes: [],
  sections: [],
  replyTo: null,
} as const satisfies Partial<Notification>;

/** A name and its value, possibly of several lines. */
export interface Row {
  readonly label: string;
  readonly value: string;
  /** The value's link, or a separate link after it. Our own URL, from validated parts. */
  readonly link?: { readonly href: string; readonly text?: string };
}

/** A member of a JSON object. */
export interface Part {
  readonly name: string;
  /** The value's JSON text. */
  readonly valueText: string;
}

/** The members of an object; the last of duplicates. */
export function lastMembers(objectText: string): Part[] {
  const byName = new Map(members(objectText).map(({ name, valueText }) => [name, valueText]));
  return [...byName].map(([name, valueText]) => ({ name, valueText }));
}

/** A line with a readable name. */
export function rowOf({ name, valueText }: Part): Row {
  return { label: labelOf(name), value: readable(valueText) };
}

/** Whether a value is `null` or blank. */
export function isBlank(valueText: string): boolean {
  return valueText === "null" || valueText.startsWith('"') && shownValue(valueText).trim() === "";
}

/** Deeper values are shown as JSON. */
const depthMax = 4;

/**
 * A value as text: yes and no, lists with commas, an object's members one per line, nested ones indented. Digits stay as
 * sent.
 */
export function readable(valueText: string, depth = 0): string {
  if (valueText === "true") return "yes";
  if (valueText === "false") return "no";
  const isList = valueText.startsWith("[");
  if (depth === depthMax || !isList && !valueText.startsWith("{")) return shownValue(valueText);
  if (!isList) {
    const parts = lastMembers(valueText).map(({ name, valueText }) =>
      entry(`${labelOf(name)}:`, readable(valueText, depth + 1))
    );
    return parts.join("\n");
  }
  const items = elements(valueText).map((item) => readable(item, depth + 1));
  const isShort = items.every((item) => !item.includes("\n"));
  return isShort ? items.join(", ") : items.map((item) => `- ${item.replaceAll("\n", "\n  ")}`).join("\n");
}

function entry(label: string, value: string): string {
  return value.includes("\n") ? `${label}\n  ${value.replaceAll("\n", "\n  ")}` : `${label} ${value}`;
}

/** The JSON texts of an array's elements. */
function elements(arrayText: string): string[] {
  const found: string[] = [];
  let at = spaceEnd(arrayText, 1);
  while (at < arrayText.length - 1) {
    const end = valueEnd(arrayText, at);
    found.push(arrayText.slice(at, end));
    // Skip the comma or the closing bracket.
    at = spaceEnd(arrayText, spaceEnd(arrayText, end) + 1);
  }
  return found;
}

/** `street_address`, `street-address` and `streetAddress` as "Street address". */
export function labelOf(name: string): string {
  const words = inline(name).replace(/(?<=[a-z])(?=[A-Z])/g, " ").replace(/[_-]+/g, " ").trim()
    .replace(/ [A-Z](?=[a-z])/g, (start) => start.toLowerCase())
    .replace(/(?<![a-z])(?:zip|url)(?![a-z])/gi, (word) => word.toUpperCase());
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** A string's text, or the JSON text of anything else. */
function shownValue(valueText: string): string {
  return visible(valueText.startsWith('"') ? decode(valueText) : valueText);
}

/** Text in one line. */
export function inline(text: string): string {
  return visible(text).replaceAll("\n", " ");
}

/** Text without invisible and bidirectional control characters; keeps line breaks. */
export function visible(text: string): string {
  if (/^[\x20-\x7e\n]*$/.test(text)) return text;
  return text.toWellFormed().replace(/\r\n?|[\u2028\u2029\u0085]/g, "\n").replaceAll("\t", " ")
    .replace(/(?!\n)\p{Cc}|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu, "");
}

const formats = {
  /** Thursday, September 3, 2026 at 7:05 AM PDT */
  moment: {
    ...{ weekday: "long", year: "numeric", month: "long", day: "numeric" },
    ...{ hour: "numeric", minute: "2-digit", timeZoneName: "short" },
  },
  /** Sep 3, 7:05 AM PDT */
  brief: { month: "short", day: "numeric", hour: "numeric", minute: "2-digit", timeZoneName: "short" },
  /** Thursday, September 3 */
  day: { weekday: "long", month: "long", day: "numeric" },
} as const satisfies Record<string, Intl.DateTimeFormatOptions>;

/**
 * The time in English. Chosen: UTC for a zone that this runtime does not know, because a mail without the zone is better
 * than none.
 */
export function localTime(at: string | number, timeZone: string, form: keyof typeof formats): string {
  const format = (zone: string) => new Intl.DateTimeFormat("en-US", { ...formats[form], timeZone: zone });
  let made: Intl.DateTimeFormat;
  try {
    made = format(timeZone);
  } catch {
    made = format("UTC");
  }
  // Some runtimes write a narrow space before AM and PM.
  return made.format(new Date(at)).replace(/\p{Zs}/gu, " ");
}

/** A sent value as text, or `""`. */
interface Contact {
  readonly phone: string;
  readonly email: string;
  /** The address lines. */
  readonly street: string;
  readonly city: string;
  readonly state: string;
  readonly zip: string;
  /** Normalized. */
  readonly country: string;
}

/** How to reach the sender. */
interface Reach {
  readonly buttons: readonly Button[];
  readonly rows: readonly Row[];
  /** The mail address, if well-formed. */
  readonly email: string | null;
  /** Whether the number cannot be dialed with a tap. */
  readonly isPhoneDoubtful: boolean;
}

/**
 * One plain ASCII address without characters that are special in a header or a `mailto:` link.
 *
 * Chosen: narrower than the envelope's rule; other addresses are shown as text.
 */
const plainAddress =
  /^(?=.{6,254}$)(?=[^@]{1,64}@)[A-Za-z0-9_](?:[A-Za-z0-9_+'-]|\.(?=[A-Za-z0-9_+'-]))*@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z]{2,63}$/;

/** Whether a text is one plain mail address. */
export function isPlainAddress(text: string): boolean {
  return plainAddress.test(text);
}

/** The place in one line: `Portland, OR`. */
export function townOf({ city, state }: Pick<Contact, "city" | "state">): string {
  return [city, state].filter((part) => part !== "").map(inline).join(", ");
}

/** Extracts the contact. */
export function reachOf(contact: Contact): Reach {
  const { phone, email } = contact;
  const number = phone === "" ? null : dialable(phone, contact.country);
  const address = isPlainAddress(email) ? email : null;
  const mailto = address && mailtoOf(address);
  return {
    buttons: [
      ...(number ? [{ label: "Call", detail: number.shown, href: number.uri }] : []),
      ...(address && mailto ? [{ label: "Mail", detail: address, href: mailto }] : []),
    ],
    rows: [
      ...contactRow("Phone", number?.shown ?? phone, number && number.uri),
      ...contactRow("Email", email, mailto),
      ...placeRows(contact),
    ],
    email: address,
    isPhoneDoubtful: phone !== "" && number === null,
  };
}

function contactRow(label: string, value: string, href: string | null): Row[] {
  if (value === "") return [];
  return [{ label, value: inline(value), ...(href === null ? {} : { link: { href } }) }];
}

function mailtoOf(address: string): string {
  const at = address.lastIndexOf("@");
  const part = (text: string) => encodeURIComponent(text).replaceAll("'", "%27");
  return `mailto:${part(address.slice(0, at))}@${part(address.slice(at + 1))}`;
}

function placeRows(contact: Contact): Row[] {
  const { street, zip } = contact;
  const town = [townOf(contact), inline(zip)].filter((part) => part !== "").join(" ");
  const country = contact.country === "US" ? "" : countryName(contact.country);
  const lines = [inline(street), town, country].filter((part) => part !== "");
  if (lines.length === 0) return [];
  const map = mapOf(contact);
  const link = map === null ? {} : { link: { href: map, text: "Open the map" } };
  return [{ label: street === "" ? "Place" : "Address", value: lines.join("\n"), ...link }];
}

/** `CA` as Canada; other text is kept. */
function countryName(country: string): string {
  if (!/^[A-Z]{2}$/.test(country)) return inline(country);
  return new Intl.DisplayNames("en", { type: "region" }).of(country) ?? country;
}

/** Maximum length of a Google Maps query. */
const mapLengthMax = 2_000;

/**
 * A map link for a street with a city or postal code; less would be a pin in the wrong place.
 *
 * Chosen: Google's search URL, which needs no key and opens the maps app on Android and iOS; `geo:` does nothing in most
 * mail programs.
 *
 * Source: Google, Maps URLs (search).
 */
function mapOf({ street, city, state, zip, country }: Contact): string | null {
  if (street === "" || city === "" && zip === "") return null;
  const place = [street, city, `${state} ${zip}`, country].map((part) => inline(part).trim())
    .filter((part) => part !== "").join(", ");
  const href = `https://www.google.com/maps/search/?api=1&query=${encodeURIComponent(place)}`;
  return href.length > mapLengthMax ? null : href;
}

/** The closing lines: time, kind-specific ones, source and event id. */
export function aboutRows(event: DeliveredEvent, reader: Reader, more: readonly Row[]): Row[] {
  return [
    { label: "Received", value: localTime(event.receivedAt, reader.timeZone, "moment") },
    ...more,
    { label: "Source", value: inline(event.source) },
    { label: "Event", value: event.eventId },
  ];
}

/**
 * The flags in words for the lead's reader; empty for flags that the notification shows anyway.
 */
const flagNotes: Readonly<Record<Flag, string>> = {
  phone_unnormalized: "The phone number could not be checked. It is shown as it was sent.",
  project_area_unknown: "The part of the home is named in the sender's own words.",
  project_service_unknown: "The kind of work is named in the sender's own words.",
  email_shape_suspect: "The email address does not look like one. It may be mistyped.",
  extra_fields_preserved: "",
  country_unrecognized: "The country was not recognized. It is shown as it was sent.",
};

/** Notes to read before acting. */
export function notesOf(event: DeliveredEvent, reach: Reach): string[] {
  return event.flags.flatMap((flag) => {
    if (!Object.hasOwn(flagNotes, flag)) return [labelOf(flag)];
    // A number with a Call button needs no warning.
    if (flag === "phone_unnormalized" && !reach.isPhoneDoubtful) return [];
    const note = flagNotes[flag as Flag];
    return note === "" ? [] : [note];
  });
}
