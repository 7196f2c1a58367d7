/**
 * Matches stored texts with a person's email address or phone number, for erasures. This module is browser compatible.
 */

import { contactLengthMax, plainNumber, toE164, withAsciiDigits } from "./phone.ts";
import { normalizeLine } from "./text.ts";

export interface StoredTexts {
  /** JSON text. */
  readonly lead: string | null;
  /** JSON text. */
  readonly extra: string | null;
  /** The posted body: JSON text. */
  readonly raw: string | null;
  /** JSON text: `phone` and `email` found in a form submission. */
  readonly contact: string | null;
  readonly idempotencyKey: string | null;
}

export const emailShape = /^[^@]+@[^@]+$/;
/** Character class for the part before an `@`; a longer name is another address. */
export const nameCharacter = "[\\p{L}\\p{N}._%+-]";
/** Continues a domain; a longer domain is another address. */
export const domainGoesOn = "(?:[\\p{L}\\p{N}-]|\\.[\\p{L}\\p{N}])";
/** Separators between digits, a few at a time; the same as `toE164` accepts. */
export const separator = "[\\p{White_Space}\\p{Pd}\\p{Cf}\\u2212.．()（）/／\\\\]{0,4}";
/** Fewer digits are not a phone number. */
export const digitsMin = 7;
const digitsMax = 20;
/** Maximum number of edges at which an address may begin or end among characters such as `<`. */
const edgesMax = 8;
const endsAName = new RegExp(`^${nameCharacter}$`, "u");
const goesOnAsDomain = new RegExp(`^${domainGoesOn}`, "u");
const chainOfDigits = new RegExp(`[0-9]+(?:${separator.replace("{0,4}", "{1,4}")}[0-9]+)*`, "gu");

/** Reduces the result of {@linkcode plainNumber} to the digits that distinguish numbers. */
export function comparable(number: string): string {
  const digits = number.replace(/^\+|^00/, "");
  return digits.length > 10 ? digits : number;
}

export function foldEmail(text: string): string {
  return normalizeLine(text).toLowerCase();
}

/** The contacts of a post: whole values that may be an address or a number, and those within `email` and `phone`. */
export function contactsOf(texts: StoredTexts): Set<string> {
  const parsed = [texts.lead, texts.extra, texts.raw, texts.contact].map((text) =>
    text === null ? null : parseStored(text)
  );
  const country = countryOf(parsed[0]);
  const contacts = new Set<string>();
  // The raw body repeats the members of `extra`.
  for (const value of new Set(collectTexts(parsed).values)) {
    for (const contact of wholeValue(value, country)) contacts.add(contact);
  }
  for (const value of new Set(ownFields(parsed))) {
    for (const contact of [...emailsIn(value), ...numbersIn(value)]) contacts.add(contact);
  }
  return contacts;
}

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

/** Addresses embedded in a value: `Jane <jane@example.com>`. */
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

/** Candidates for the part before an `@`, nearest to it first. */
function beginnings(characters: readonly string[]): string[] {
  const found: string[] = [];
  for (let from = characters.length - 1; from >= 0 && found.length < edgesMax; from--) {
    if (from > 0 && endsAName.test(characters[from - 1] as string)) continue;
    found.push(characters.slice(from).join(""));
  }
  return found;
}

function endings(characters: readonly string[]): string[] {
  const found: string[] = [];
  for (let end = 1; end <= characters.length && found.length < edgesMax; end++) {
    if (goesOnAsDomain.test(characters.slice(end, end + 2).join(""))) continue;
    found.push(characters.slice(0, end).join(""));
  }
  return found;
}

/** Numbers embedded in a value: `415-867-5309 x12`. */
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

/** Collects every string, number and member name. Bodies nest at most 64 levels. */
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

/** `theirs`: a whole value is the address or number. `mention`: a longer text contains it. */
type Relation = "theirs" | "mention" | "none";

export interface Person {
  /** A superset filter, in the common syntax of JavaScript (flag `u`) and PostgreSQL. */
  readonly pattern: string;
  /** A post with any of these contacts ({@linkcode contactsOf}) is the person's. */
  readonly contacts: readonly string[];
  readonly relation: (texts: StoredTexts) => Relation;
}

/** A person by email address, in any case; `null` without one `@`: suspect addresses are stored too. */
export function personByEmail(text: string): Person | null {
  const email = foldEmail(text);
  if (!emailShape.test(email)) return null;
  const inText = new RegExp(`(?<!${nameCharacter})${escaped(email)}(?!${domainGoesOn})`, "u");
  return person(emailPattern(email), {
    contacts: [`email ${email}`],
    isIn: (value) => inText.test(value.toLowerCase()),
  });
}

/**
 * A person by phone number in any format; `null` for fewer than seven digits. A number stored as sent matches by
 * digits.
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
      // `JSON.parse` keeps only the last of duplicate members.
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

/** Decodes percent-encoded ASCII, also twice: `page_url` may hold `?email=jane%40example.com`. */
function unescapedUrl(text: string): string {
  return text.replace(
    /%(?:25)*([2-7][0-9a-f])/gi,
    (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}

/** JSON escapes of any character, and of ASCII. */
const anyEscape = "\\\\u[0-9a-fA-F]{4}";
const asciiEscape = "\\\\u00[2-7]|\\\\u212[aA]|\\\\u0130";

// No flags: PostgreSQL's case folding depends on the locale.
function emailPattern(email: string): string {
  const letters = [...email].map((char) => {
    if (/[a-z]/.test(char)) return `[${char}${char.toUpperCase()}${foldingTo(char)}]`;
    if (/[0-9]/.test(char)) return char;
    if (!/[!-~]/.test(char)) return "[^!-~]*";
    const hex = [...char.charCodeAt(0).toString(16)].map((digit) => `[${digit}${digit.toUpperCase()}]`).join(
      "",
    );
    return `(${escaped(char)}|%(25)*${hex})`;
  });
  const escape = /^[\x21-\x7e]*$/.test(email) ? asciiEscape : anyEscape;
  return `${letters.join("")}|${escape}`;
}

/** Non-ASCII characters that lower-case to this letter: the Kelvin sign, the dotted capital I. */
function foldingTo(letter: string): string {
  if (letter === "k") return "\u212a";
  return letter === "i" ? "\u0130" : "";
}

function phonePattern(digits: string): string {
  const gap = "(%(25)*2[089BbDdEeFf]|[^0-9A-Za-z]|\\\\[bfnrt])*";
  return `${[...digits].join(gap)}|[${foreignDigits()}]|${anyEscape}`;
}

let foreign: string | null = null;

/** Character ranges of the decimal digits outside ASCII. */
function foreignDigits(): string {
  if (foreign !== null) return foreign;
  const ranges: string[] = [];
  for (let code = 0x80; code <= 0x1ffff; code++) {
    if (!/\p{Nd}/u.test(String.fromCodePoint(code))) continue;
    // Unicode encodes digits in sets of ten.
    ranges.push(`${String.fromCodePoint(code)}-${String.fromCodePoint(code + 9)}`);
    code += 9;
  }
  return foreign = ranges.join("");
}
