/**
 * What a notification says, whatever shows it: its lines and links, made of what strangers have sent.
 *
 * @module
 */

import type { Flag } from "../../contract/fields.ts";
import { dialable } from "../../lead/dial.ts";
import { decode, members, spaceEnd, valueEnd } from "../../lead/json.ts";
import type { DeliveredEvent } from "../event.ts";

/** Whose people read the notification. */
export interface Reader {
  /** The tenant's name. */
  readonly name: string;
  /** IANA; the times that they read. */
  readonly timeZone: string;
}

/** A thing to tap. The address is made by us, of what has been checked. */
export interface Button {
  readonly label: string;
  /** Under it, smaller. */
  readonly detail: string;
  readonly href: string;
}

/** Lines under a heading of their own. */
export interface Section {
  readonly heading: string;
  readonly rows: readonly Row[];
}

/** A number to be seen at a glance. */
export interface Figure {
  readonly value: string;
  readonly label: string;
  /** Under it, smaller. */
  readonly detail: string;
}

/** A notification. All of it is text that can do nothing but be read, except where `href` says otherwise. */
export interface Notification {
  /** One line. */
  readonly subject: string;
  /** What a list of mails shows behind the subject. */
  readonly preheader: string;
  /** Above everything else, in a colour that warns. */
  readonly banner: string | null;
  /** Small, above the title. */
  readonly opening: string;
  readonly title: string;
  readonly subtitle: string;
  readonly buttons: readonly Button[];
  readonly figures: readonly Figure[];
  /** What somebody wrote, in his words. */
  readonly quote: { readonly heading: string; readonly text: string } | null;
  /** To be known before one acts. */
  readonly notes: readonly string[];
  readonly sections: readonly Section[];
  /** At the end, small. */
  readonly about: readonly Row[];
  /** Where an answer goes, when not to the sender: one plain address. */
  readonly replyTo: string | null;
}

/** A notification that has nothing but what it must have. */
export const bareNotification = {
  banner: null,
  buttons: [],
  figures: [],
  quote: null,
  notes: [],
  sections: [],
  replyTo: null,
} as const satisfies Partial<Notification>;

/** One line: a name and its value, which may have several lines. */
export interface Row {
  readonly label: string;
  readonly value: string;
  /** What the value leads to; with a text of its own, that stands behind the value. Made by us, of what was checked. */
  readonly link?: { readonly href: string; readonly text?: string };
}

/** One member of a JSON object. */
export interface Part {
  readonly name: string;
  /** The value as it was written. */
  readonly valueText: string;
}

/** The members of an object; of duplicates the last. */
export function lastMembers(objectText: string): Part[] {
  const byName = new Map(members(objectText).map(({ name, valueText }) => [name, valueText]));
  return [...byName].map(([name, valueText]) => ({ name, valueText }));
}

/** A line under a readable name. */
export function rowOf({ name, valueText }: Part): Row {
  return { label: labelOf(name), value: readable(valueText) };
}

/** Whether a value says nothing: `null`, or a string of white space. */
export function isBlank(valueText: string): boolean {
  return valueText === "null" || valueText.startsWith('"') && shownValue(valueText).trim() === "";
}

/** So deep is a value shown as lines; what lies deeper stays as it was written. */
const depthMax = 4;

/**
 * A value in words: yes and no, lists with commas, the members of an object one a line, what is inside them indented.
 * Digits stay as they were written.
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

/** The elements of a valid JSON array, as they were written. */
function elements(arrayText: string): string[] {
  const found: string[] = [];
  let at = spaceEnd(arrayText, 1);
  while (at < arrayText.length - 1) {
    const end = valueEnd(arrayText, at);
    found.push(arrayText.slice(at, end));
    // Past the comma to the next element, or past the closing bracket.
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

/** A string as its text, anything else as it was written. */
function shownValue(valueText: string): string {
  return visible(valueText.startsWith('"') ? decode(valueText) : valueText);
}

/** Text of one line. */
export function inline(text: string): string {
  return visible(text).replaceAll("\n", " ");
}

/** Text without what cannot be seen or turns text around; line breaks stay. */
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
 * The time in words, in English, as is everything that the service writes.
 *
 * Chosen: a zone that this process does not know, since it has other tables of them than the database, is UTC: a mail
 * without the wished zone is better than none.
 */
export function localTime(at: string | number, timeZone: string, form: keyof typeof formats): string {
  const format = (zone: string) => new Intl.DateTimeFormat("en-US", { ...formats[form], timeZone: zone });
  let made: Intl.DateTimeFormat;
  try {
    made = format(timeZone);
  } catch {
    made = format("UTC");
  }
  // Some runtimes put a narrow space before AM and PM.
  return made.format(new Date(at)).replace(/\p{Zs}/gu, " ");
}

/** What was sent, as text; empty for what was not. */
interface Contact {
  readonly phone: string;
  readonly email: string;
  /** Lines of the place. */
  readonly street: string;
  readonly city: string;
  readonly state: string;
  readonly zip: string;
  /** Normalized. */
  readonly country: string;
}

/** How he is reached. */
interface Reach {
  readonly buttons: readonly Button[];
  readonly rows: readonly Row[];
  /** The address, when it has the shape of one. */
  readonly email: string | null;
  /** Whether a number was sent that nobody can dial with a tap. */
  readonly isPhoneDoubtful: boolean;
}

/**
 * One plain address of ASCII letters, which means the same to every mail program and server: nothing in it ends a
 * header or begins another recipient, and nothing of it is special in a `mailto:` address.
 *
 * Chosen: narrower than what the envelope takes for an address. Whatever is beyond it is shown, and can be copied.
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

/** Reads a contact. */
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

/** `CA` as Canada; what is no code of a country stays what it is. */
function countryName(country: string): string {
  if (!/^[A-Z]{2}$/.test(country)) return inline(country);
  return new Intl.DisplayNames("en", { type: "region" }).of(country) ?? country;
}

/** What Google takes of an address. */
const mapLengthMax = 2_000;

/**
 * The street address on a map.
 *
 * Chosen: Google's address for searches, which is documented for every platform, needs no key, and opens the map's own
 * program on Android and iOS where there is one; `geo:` opens nothing in most mail programs, and Apple's nothing on
 * Android. Only of a street with a city or a postal code: anything less is a pin in the wrong place.
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

/** When it came, what the kind of event adds, where it came from, and by which id the service knows it. */
export function aboutRows(event: DeliveredEvent, reader: Reader, more: readonly Row[]): Row[] {
  return [
    { label: "Received", value: localTime(event.receivedAt, reader.timeZone, "moment") },
    ...more,
    { label: "Source", value: inline(event.source) },
    { label: "Event", value: event.eventId },
  ];
}

/**
 * The flags as whoever reads the lead understands them; those of the contract are for whoever sends it. Empty for what
 * the notification shows by itself.
 */
const flagNotes: Readonly<Record<Flag, string>> = {
  phone_unnormalized: "The phone number could not be checked. It is shown as it was sent.",
  project_area_unknown: "The part of the home is named in the sender's own words.",
  project_service_unknown: "The kind of work is named in the sender's own words.",
  email_shape_suspect: "The email address does not look like one. It may be mistyped.",
  extra_fields_preserved: "",
  country_unrecognized: "The country was not recognized. It is shown as it was sent.",
};

/** What is to be known before one acts. */
export function notesOf(event: DeliveredEvent, reach: Reach): string[] {
  return event.flags.flatMap((flag) => {
    if (!Object.hasOwn(flagNotes, flag)) return [labelOf(flag)];
    // A number that can be dialled with a tap needs no warning.
    if (flag === "phone_unnormalized" && !reach.isPhoneDoubtful) return [];
    const note = flagNotes[flag as Flag];
    return note === "" ? [] : [note];
  });
}
