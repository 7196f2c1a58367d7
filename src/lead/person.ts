/**
 * Whom stored texts name, by email address and phone number, and whether they are of a certain person: what an erasure looks
 * for. This module is browser compatible.
 *
 * @module
 */

import { contactLengthMax, plainNumber, toE164, withAsciiDigits } from "./phone.ts";
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

/** One `@`, with something on both sides of it. */
export const emailShape = /^[^@]+@[^@]+$/;
/** A character class of what the name before an `@` may end with, so that a longer name is another one. */
export const nameCharacter = "[\\p{L}\\p{N}._%+-]";
/** With what a domain goes on, so that a longer one is another one. */
export const domainGoesOn = "(?:[\\p{L}\\p{N}-]|\\.[\\p{L}\\p{N}])";
/** What stands between the digits of a number: what `toE164` takes for formatting, a few at a time. */
export const separator = "[\\p{White_Space}\\p{Pd}\\p{Cf}\\u2212.．()（）/／\\\\]{0,4}";
/** Fewer digits are no phone number, and stand in every second text. */
export const digitsMin = 7;
/** More are none either: E.164 has 15 at most. */
const digitsMax = 20;
/** Bounds the places at which an address may begin or end among other signs, such as `<` and `"`. */
const edgesMax = 8;
const endsAName = new RegExp(`^${nameCharacter}$`, "u");
const goesOnAsDomain = new RegExp(`^${domainGoesOn}`, "u");
const chainOfDigits = new RegExp(`[0-9]+(?:${separator.replace("{0,4}", "{1,4}")}[0-9]+)*`, "gu");

/** A number in digits, as {@linkcode plainNumber} has it, without what does not tell numbers apart. */
export function comparable(number: string): string {
  const digits = number.replace(/^\+|^00/, "");
  return digits.length > 10 ? digits : number;
}

/** An address as it is compared: in lower case, without white space around it. */
export function foldEmail(text: string): string {
  return normalizeLine(text).toLowerCase();
}

/**
 * The contacts by which a post is somebody's: every whole value that may be an address or a number, and what stands
 * in its fields `email` and `phone` with something around it. Each is one line.
 */
export function contactsOf(texts: StoredTexts): Set<string> {
  const parsed = [texts.lead, texts.extra, texts.raw, texts.contact].map((text) =>
    text === null ? null : parseStored(text)
  );
  const country = countryOf(parsed[0]);
  const contacts = new Set<string>();
  // A member of `extra` is in the raw body, too.
  for (const value of new Set(collectTexts(parsed).values)) {
    for (const contact of wholeValue(value, country)) contacts.add(contact);
  }
  for (const value of new Set(ownFields(parsed))) {
    for (const contact of [...emailsIn(value), ...numbersIn(value)]) contacts.add(contact);
  }
  return contacts;
}

/** What a whole value is taken for. What is longer is a text. */
function wholeValue(value: string, country: string): string[] {
  if (value.length > contactLengthMax) return [];
  const email = foldEmail(value);
  const found = emailShape.test(email) ? [`email ${email}`] : [];
  if ((value.match(/\p{Nd}/gu) ?? []).length < digitsMin) return found;
  const normal = toE164(value, country);
  if (normal !== null) return [...found, `phone ${normal}`];
  const plain = plainNumber(value);
  return [...found, plain === null ? `text ${normalizeLine(value)}` : `number ${comparable(plain)}`];
}

/** The addresses in a value that has something around them: `Jane <jane@example.com>`. */
function emailsIn(value: string): string[] {
  const words = value.slice(0, contactLengthMax).toLowerCase().split(/\s/u);
  return words.flatMap((word) => {
    const parts = word.split("@").map((part) => [...part]);
    return parts.slice(1).flatMap((domain, index) => {
      const domains = endings(domain);
      return beginnings(parts[index] as string[]).flatMap((name) =>
        domains.map((domain) => `email ${name}@${domain}`)
      );
    });
  });
}

/** What may be the name before an `@`: from a sign that no name has, and the whole. Those nearest to the `@`. */
function beginnings(characters: readonly string[]): string[] {
  const found: string[] = [];
  for (let from = characters.length - 1; from >= 0 && found.length < edgesMax; from--) {
    if (from > 0 && endsAName.test(characters[from - 1] as string)) continue;
    found.push(characters.slice(from).join(""));
  }
  return found;
}

/** What may be the domain behind it: up to where no domain goes on, and the whole. */
function endings(characters: readonly string[]): string[] {
  const found: string[] = [];
  for (let end = 1; end <= characters.length && found.length < edgesMax; end++) {
    if (goesOnAsDomain.test(characters.slice(end, end + 2).join(""))) continue;
    found.push(characters.slice(0, end).join(""));
  }
  return found;
}

/** The numbers in a value that has something around them: `415-867-5309 x12`. */
function numbersIn(value: string): string[] {
  if (plainNumber(value) !== null) return [];
  const found: string[] = [];
  const text = withAsciiDigits(value.slice(0, contactLengthMax));
  for (const { 0: chain, index } of text.matchAll(chainOfDigits)) {
    const groups = chain.split(/[^0-9]+/);
    for (const first of groups.keys()) {
      const isAbroad = first === 0 && text[index - 1] === "+";
      let digits = "";
      for (const group of groups.slice(first)) {
        digits += group;
        if (digits.length > digitsMax) break;
        if (digits.length >= digitsMin) found.push(`digits ${digits}`);
        if (digits.length === 10 && !isAbroad) found.push(`national ${digits}`);
        if (digits.length === 11 && digits.startsWith("1")) found.push(`national ${digits.slice(1)}`);
      }
    }
  }
  return found;
}

/** What a text of JSON says; a text that is none is a value by itself. */
export function parseStored(text: string): unknown {
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

/** Every string and number in them, and every member's name. Bodies are nested 64 levels deep at most. */
export function collectTexts(
  parsed: readonly unknown[],
): { readonly values: string[]; readonly names: string[] } {
  const values: string[] = [];
  const names: string[] = [];
  const collect = (value: unknown) => {
    if (typeof value === "string") values.push(value);
    else if (typeof value === "number") values.push(String(value));
    else if (value !== null && typeof value === "object") {
      if (!Array.isArray(value)) names.push(...Object.keys(value));
      for (const inner of Object.values(value)) collect(inner);
    }
  };
  parsed.forEach(collect);
  return { values, names };
}

/**
 * `theirs`: the address or number is a whole value somewhere in it. `mention`: it stands inside a longer text, such
 * as the details of a lead that may well be somebody else's.
 */
type Relation = "theirs" | "mention" | "none";

/** Somebody who is to be found. */
export interface Person {
  /**
   * Finds every text that may be about the person, and some more: a regular expression in what JavaScript's (with the
   * flag `u`) and PostgreSQL's have in common.
   */
  readonly pattern: string;
  /** Any of these among the contacts of a post ({@linkcode contactsOf}) makes it the person's. */
  readonly contacts: readonly string[];
  /** What stored texts have to do with the person. */
  readonly relation: (texts: StoredTexts) => Relation;
}

/**
 * Somebody's email address, in any case and with white space around it; `null` for what holds no `@`.
 *
 * Chosen: no more is asked of its shape, because what looks like no address is stored, too.
 */
export function personByEmail(text: string): Person | null {
  const email = foldEmail(text);
  if (!emailShape.test(email)) return null;
  // Not as the end of a longer name, nor as the start of a longer domain.
  const inText = new RegExp(`(?<!${nameCharacter})${escaped(email)}(?!${domainGoesOn})`, "u");
  return person(emailPattern(email), {
    contacts: [`email ${email}`],
    isIn: (value) => inText.test(value.toLowerCase()),
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
  return person(phonePattern(significant), {
    contacts: [
      ...(e164 === null ? [] : [`phone ${e164}`]),
      ...(number === null ? [] : [`number ${comparable(number)}`]),
      `text ${normalizeLine(text)}`,
      e164 === null ? `digits ${significant}` : `national ${significant}`,
    ],
    isIn: (value) => inText.test(withAsciiDigits(value)),
  });
}

function person(
  pattern: string,
  { contacts, isIn }: { contacts: readonly string[]; isIn: (text: string) => boolean },
): Person {
  return {
    pattern,
    contacts,
    relation(texts) {
      const found = contactsOf(texts);
      if (contacts.some((contact) => found.has(contact))) return "theirs";
      const { lead, extra, raw, contact, idempotencyKey } = texts;
      const bodies = [lead, extra, raw, contact].filter((text) => text !== null);
      const { values, names } = collectTexts(bodies.map(parseStored));
      // The texts as they are, too: of a member that came twice, JSON.parse knows the last.
      const texted = new Set([
        ...values,
        ...names,
        ...bodies,
        ...(idempotencyKey === null ? [] : [idempotencyKey]),
      ]);
      return [...texted].some((text) => isIn(text) || isIn(unescapedUrl(text))) ? "mention" : "none";
    },
  };
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
