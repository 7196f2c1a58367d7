/** Finds the person of an event, in the shapes that CRMs want. */

import { countryDefault } from "../contract/fields.ts";
import { parseDialableNumber } from "../lead/dial.ts";
import { looksLikeEmail } from "../lead/email.ts";
import { withoutMarks } from "../lead/exact_numbers.ts";
import { splitName } from "../lead/full_name.ts";
import { toE164 } from "../lead/phone.ts";
import { findSender } from "../lead/sender.ts";

/** The members of a {@linkcode Person}. */
export const personMembers = [
  "first_name",
  "last_name",
  "full_name",
  "email",
  "phone",
  "phone_national",
  "street",
  "city",
  "state",
  "zip",
  "country",
] as const;

/**
 * A lead's or a visitor's contact; members without a value are absent. `email` has the shape of one; `phone` is E.164 if the number
 * could be normalized, otherwise as sent; `phone_national` has ten digits. A visitor's `country` is named, or follows from a state
 * or ZIP code without a foreign number.
 */
export type Person = Readonly<Partial<Record<(typeof personMembers)[number], string>>>;

type Fields = Readonly<Record<string, unknown>>;

export function leadPerson(lead: Fields): Person {
  const text = (name: string) => fieldText(lead[name]);
  const [first, last] = [text("first_name"), text("last_name")];
  return withoutBlanks({
    first_name: first,
    last_name: last,
    full_name: `${first} ${last}`.trim(),
    ...contact(text("phone"), text("email"), text("country") || countryDefault),
    street: text("street_address"),
    city: text("city"),
    state: text("state"),
    zip: text("zip"),
    country: text("country") || countryDefault,
  });
}

export function senderPerson(submission: Fields): Person {
  const sender = findSender(Object.entries(submission), fieldText);
  const { name, country, find, take } = sender;
  const lastName = fieldText(find("last_name"));
  const [first, last] = lastName === ""
    ? splitName(name)
    : [name.slice(0, Math.max(0, name.length - sender.lastName.length)).trim(), sender.lastName];
  const reached = contact(take("phone").trim(), take("email").trim().toLowerCase(), country);
  const [state, zip] = [take("state"), take("zip")];
  const isAtHome = `${state}${zip}`.trim() !== "" && !/^\+(?!1)/.test(reached.phone);
  return withoutBlanks({
    first_name: first,
    last_name: last,
    full_name: name,
    ...reached,
    street: take("street_address"),
    city: take("city"),
    state,
    zip,
    country: find("country") !== undefined || isAtHome ? country : "",
  });
}

function contact(phone: string, email: string, country: string) {
  const number = /^\+1[2-9]\d{9}$/.test(phone) ? phone : toE164(phone, country);
  return {
    email: looksLikeEmail(email) ? email : "",
    phone: number ?? foreignNumber(phone, country) ?? phone,
    phone_national: number?.slice(2) ?? "",
  };
}

/** Returns a foreign number as E.164; `null` if it is ambiguous or has an extension. */
function foreignNumber(phone: string, country: string): string | null {
  const uri = phone === "" ? undefined : parseDialableNumber(phone, country)?.uri;
  return uri === undefined || uri.includes(";") ? null : uri.slice("tel:".length);
}

function fieldText(value: unknown): string {
  if (typeof value === "string") return withoutMarks(value);
  return typeof value === "number" ? String(value) : "";
}

function withoutBlanks(person: Required<Person>): Person {
  return Object.fromEntries(Object.entries(person).filter(([, value]) => value.trim() !== ""));
}
