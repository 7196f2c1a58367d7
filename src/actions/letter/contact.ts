/**
 * How somebody is reached: by a phone number that can be dialled and an address that has the shape of one. Everything
 * else that he wrote stays text.
 *
 * @module
 */

import { dialable } from "../../lead/dial.ts";
import type { Button } from "./letter.ts";
import { inline, type Row } from "./rows.ts";

/** What was sent, as text; empty for what was not. */
export interface Contact {
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
export interface Reach {
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
  const tel = number && `tel:${number.e164}`;
  const mailto = address && mailtoOf(address);
  return {
    buttons: [
      ...(number && tel ? [{ label: "Call", detail: number.shown, href: tel }] : []),
      ...(address && mailto ? [{ label: "Mail", detail: address, href: mailto }] : []),
    ],
    rows: [
      ...rowOf("Phone", number?.shown ?? phone, tel),
      ...rowOf("Email", email, mailto),
      ...placeRows(contact),
    ],
    email: address,
    isPhoneDoubtful: phone !== "" && number === null,
  };
}

function rowOf(label: string, value: string, href: string | null): Row[] {
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
