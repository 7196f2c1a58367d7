/**
 * Tells whether stored texts are of a person who is known by an email address or a phone number: what an erasure
 * looks for. This module is browser compatible.
 *
 * @module
 */

import { plainNumber, toE164, withAsciiDigits } from "./phone.ts";
import { normalizeLine } from "./text.ts";

/** What is stored of one post. */
export interface StoredTexts {
  /** JSON text. */
  readonly lead: string | null;
  /** JSON text. */
  readonly extra: string | null;
  /** The body as posted: JSON text. */
  readonly raw: string | null;
  /** JSON text: `phone` and `email` of whom a form submission was found to be from. */
  readonly contact: string | null;
  readonly idempotencyKey: string | null;
}

/**
 * `theirs`: the address or number is a whole value somewhere in it. `mention`: it stands inside a longer text, such
 * as the details of a lead that may well be somebody else's.
 */
export type Relation = "theirs" | "mention" | "none";

/** Somebody who is to be found. */
export interface Person {
  /**
   * Finds every text that may be about the person, and some more: a regular expression in what JavaScript's (with the
   * flag `u`) and PostgreSQL's have in common.
   */
  readonly pattern: string;
  /** What stored texts have to do with the person. */
  readonly relation: (texts: StoredTexts) => Relation;
}

/** How one kind of contact is compared. */
interface Contact {
  /** Whether a whole value is the contact; `country` is that of the lead. */
  readonly is: (value: string, country: string) => boolean;
  /** Whether a value of the envelope's own field is the contact with something around it. */
  readonly isInField: (value: string) => boolean;
  /** Whether a text holds it. */
  readonly isIn: (text: string) => boolean;
}

/**
 * Somebody's email address, in any case and with white space around it; `null` for what holds no `@`.
 *
 * Chosen: no more is asked of its shape, because what looks like no address is stored, too.
 */
export function personByEmail(text: string): Person | null {
  const email = foldEmail(text);
  if (!/^[^@]+@[^@]+$/.test(email)) return null;
  // Not as the end of a longer name, nor as the start of a longer domain.
  const inText = new RegExp(
    `(?<![\\p{L}\\p{N}._%+-])${escaped(email)}(?![\\p{L}\\p{N}-]|\\.[\\p{L}\\p{N}])`,
    "u",
  );
  const isIn = (value: string) => inText.test(value.toLowerCase());
  return person(emailPattern(email), {
    is: (value) => foldEmail(value) === email,
    isInField: isIn,
    isIn,
  });
}

/**
 * Somebody's phone number in any format; `null` for what has fewer than seven digits.
 *
 * Chosen: a number that is stored as sent, because it is no North American one, is compared by its digits; a `+` or
 * `00` in front counts only for short ones, where a country's code cannot be told from an area's.
 */
export function personByPhone(text: string): Person | null {
  const e164 = toE164(text, "US");
  const number = plainNumber(text);
  const digits = withAsciiDigits(text).replace(/[^0-9]/g, "");
  if (digits.length < digitsMin) return null;
  const significant = e164 === null ? digits.replace(/^00/, "") : e164.slice(2);
  const front = e164 === null ? "(?<![0-9])" : `(?<![0-9+])(?:\\+?1${separator})?`;
  const inText = new RegExp(`${front}${[...significant].join(separator)}(?![0-9])`, "u");
  const isIn = (value: string) => inText.test(withAsciiDigits(value));
  return person(phonePattern(significant), {
    is(value, country) {
      const normal = toE164(value, country);
      if (normal !== null) return normal === e164;
      const plain = plainNumber(value);
      if (plain === null) return normalizeLine(value) === normalizeLine(text);
      return number !== null && comparable(plain) === comparable(number);
    },
    // The whole of a field that is a number is that number, and no other one with something around it.
    isInField: (value) => plainNumber(value) === null && isIn(value),
    isIn,
  });
}

/** Fewer are no phone number, and stand in every second text. */
const digitsMin = 7;
/** As `toE164` takes for formatting, a few at a time. */
const separator = "[\\p{White_Space}\\p{Pd}\\p{Cf}\\u2212.．()（）/／\\\\]{0,4}";

function comparable(number: string): string {
  const digits = number.replace(/^\+|^00/, "");
  return digits.length > 10 ? digits : number;
}

function foldEmail(text: string): string {
  return normalizeLine(text).toLowerCase();
}

function person(pattern: string, contact: Contact): Person {
  return {
    pattern,
    relation(texts) {
      const { lead, extra, raw, contact: found, idempotencyKey } = texts;
      const bodies = [lead, extra, raw, found].filter((text) => text !== null);
      const parsed = bodies.map(parse);
      const country = countryOf(parsed[0]);
      const values: string[] = [];
      const names: string[] = [];
      for (const value of parsed) collect(value, values, names);
      if (values.some((value) => contact.is(value, country))) return "theirs";
      // The envelope's own field is the person's, also with an extension behind the number.
      if (ownFields(parsed).some(contact.isInField)) return "theirs";
      // The texts as they are, too: of a member that came twice, JSON.parse knows the last.
      const texted = [...values, ...names, ...bodies, ...(idempotencyKey === null ? [] : [idempotencyKey])];
      return texted.some((text) => contact.isIn(text) || contact.isIn(unescapedUrl(text)))
        ? "mention"
        : "none";
    },
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\ufeff/, ""));
  } catch {
    return text;
  }
}

function member(value: unknown, name: string): string[] {
  if (value === null || typeof value !== "object") return [];
  const found = (value as Record<string, unknown>)[name];
  return typeof found === "string" ? [found] : [];
}

function countryOf(lead: unknown): string {
  const [country = "US"] = member(lead, "country");
  return country;
}

function ownFields(parsed: readonly unknown[]): string[] {
  return parsed.flatMap((value) => [...member(value, "phone"), ...member(value, "email")]);
}

/** Every string and number in it, and every member's name. Bodies are nested 64 levels deep at most. */
function collect(value: unknown, values: string[], names: string[]): void {
  if (typeof value === "string") values.push(value);
  else if (typeof value === "number") values.push(String(value));
  else if (value !== null && typeof value === "object") {
    if (!Array.isArray(value)) names.push(...Object.keys(value));
    for (const inner of Object.values(value)) collect(inner, values, names);
  }
}

/**
 * With the characters of ASCII that an address of the web has escaped, also twice: a form's `page_url` may hold
 * `?email=jane%40example.com`.
 */
function unescapedUrl(text: string): string {
  return text.replace(
    /%(?:25)*([2-7][0-9a-f])/gi,
    (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}

/** What JSON text may hold in place of a character: an escape of anything, or of what is in ASCII. */
const anyEscape = "\\\\u[0-9a-fA-F]{4}";
const asciiEscape = "\\\\u00[2-7]|\\\\u212[aA]|\\\\u0130";

// No flags: PostgreSQL's own idea of upper and lower case depends on the locale.
function emailPattern(email: string): string {
  const letters = [...email].map((char) => {
    if (/[a-z]/.test(char)) return `[${char}${char.toUpperCase()}${foldingTo(char)}]`;
    if (/[0-9]/.test(char)) return char;
    // Lower and upper case may have other lengths.
    if (!/[!-~]/.test(char)) return "[^!-~]*";
    const hex = [...char.charCodeAt(0).toString(16)].map((digit) => `[${digit}${digit.toUpperCase()}]`).join(
      "",
    );
    return `(${escaped(char)}|%(25)*${hex})`;
  });
  const escape = /^[\x21-\x7e]*$/.test(email) ? asciiEscape : anyEscape;
  return `${letters.join("")}|${escape}`;
}

/** What is not in ASCII and becomes this letter in lower case: the Kelvin sign, and the dotted capital I. */
function foldingTo(letter: string): string {
  if (letter === "k") return "\u212a";
  return letter === "i" ? "\u0130" : "";
}

function phonePattern(digits: string): string {
  const gap = "(%(25)*2[089BbDdEeFf]|[^0-9A-Za-z]|\\\\[bfnrt])*";
  return `${[...digits].join(gap)}|[${foreignDigits()}]|${anyEscape}`;
}

let foreign: string | null = null;

/** The decimal digits outside ASCII as ranges of a character class. */
function foreignDigits(): string {
  if (foreign !== null) return foreign;
  const ranges: string[] = [];
  for (let code = 0x80; code <= 0x1ffff; code++) {
    if (!/\p{Nd}/u.test(String.fromCodePoint(code))) continue;
    // Unicode encodes them in sets of ten.
    ranges.push(`${String.fromCodePoint(code)}-${String.fromCodePoint(code + 9)}`);
    code += 9;
  }
  return foreign = ranges.join("");
}
