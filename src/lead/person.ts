/** Finds a person's email address or phone number in stored texts, for erasure. This module is browser compatible. */

import { withoutByteOrderMark } from "./json.ts";
import { contactLengthMax, plainNumber, toE164, withAsciiDigits } from "./phone.ts";
import { normalizeLine } from "./text.ts";

/** The stored texts of a post; all except `identifiers` are JSON. */
export interface StoredTexts {
  readonly lead: string | null;
  readonly extra: string | null;
  /** The posted body. */
  readonly raw: string | null;
  /** The `phone` and `email` that were found in a form submission. */
  readonly contact: string | null;
  /** The `Idempotency-Key` and the request id. */
  readonly identifiers: readonly string[];
}

const emailShape = /^[^@]+@[^@]+$/;
/** Matches a character that, directly before an address, would be part of a different address. */
const localCharacter = "[\\p{L}\\p{N}._%+-]";
/** Matches text that, directly after a domain, would be part of a different domain. */
const domainContinuation = "(?:[\\p{L}\\p{N}-]|\\.[\\p{L}\\p{N}])";
/** Matches up to four separators between digits: the characters that `toE164` ignores, and the backslash. */
const separator = "[\\p{White_Space}\\p{Pd}\\p{Cf}\\u2212.．()（）/／\\\\]{0,4}";
/** The minimum number of digits of a phone number. */
const digitsMin = 7;
const digitsMax = 20;
/** The maximum number of positions tried as an address's start or end, as in `<jane@example.com>`. */
const edgesMax = 8;
const isLocalCharacter = new RegExp(`^${localCharacter}$`, "u");
const continuesDomain = new RegExp(`^${domainContinuation}`, "u");
const digitGroups = new RegExp(`[0-9]+(?:${separator.replace("{0,4}", "{1,4}")}[0-9]+)*`, "gu");

/** Removes `+` or `00` from a {@linkcode plainNumber} that has more than ten digits without it. */
function significantDigits(number: string): string {
  const digits = number.replace(/^\+|^00/, "");
  return digits.length > 10 ? digits : number;
}

function foldEmail(text: string): string {
  return normalizeLine(text).toLowerCase();
}

/**
 * Returns a post's contacts: the values that could be an email address or phone number as a whole, and the addresses and
 * numbers within `email` and `phone`.
 */
export function contactsOf(texts: StoredTexts): Set<string> {
  const parsed = [texts.lead, texts.extra, texts.raw, texts.contact].map((text) =>
    text === null ? null : parseStored(text)
  );
  const country = countryOf(parsed[0]);
  const contacts = new Set<string>();
  // The raw body repeats the members of `extra`.
  for (const value of new Set(collectTexts(parsed).values)) {
    for (const contact of contactsOfValue(value, country)) contacts.add(contact);
  }
  for (const value of new Set(contactFields(parsed))) {
    for (const contact of [...emailsIn(value), ...numbersIn(value)]) contacts.add(contact);
  }
  return contacts;
}

function contactsOfValue(value: string, country: string): string[] {
  if (value.length > contactLengthMax) return [];
  const email = foldEmail(value);
  const found = emailShape.test(email) ? [`email ${email}`] : [];
  if ((value.match(/\p{Nd}/gu) ?? []).length < digitsMin) return found;
  const e164 = toE164(value, country);
  if (e164 !== null) return [...found, `phone ${e164}`];
  const plain = plainNumber(value);
  return [...found, plain === null ? `text ${normalizeLine(value)}` : `number ${significantDigits(plain)}`];
}

/** Returns the addresses inside a value, such as `Jane <jane@example.com>`. */
function emailsIn(value: string): string[] {
  const words = value.slice(0, contactLengthMax).toLowerCase().split(/\s/u);
  return words.flatMap((word) => {
    const parts = word.split("@").map((part) => [...part]);
    return parts.slice(1).flatMap((domain, index) => {
      const domains = possibleDomains(domain);
      return possibleLocalParts(parts[index] as string[]).flatMap((local) =>
        domains.map((domain) => `email ${local}@${domain}`)
      );
    });
  });
}

/** Returns the possible local parts before an `@`, shortest first. */
function possibleLocalParts(characters: readonly string[]): string[] {
  const found: string[] = [];
  for (let from = characters.length - 1; from >= 0 && found.length < edgesMax; from--) {
    if (from > 0 && isLocalCharacter.test(characters[from - 1] as string)) continue;
    found.push(characters.slice(from).join(""));
  }
  return found;
}

function possibleDomains(characters: readonly string[]): string[] {
  const found: string[] = [];
  for (let end = 1; end <= characters.length && found.length < edgesMax; end++) {
    if (continuesDomain.test(characters.slice(end, end + 2).join(""))) continue;
    found.push(characters.slice(0, end).join(""));
  }
  return found;
}

/** Returns the possible numbers inside a value that is not itself a number, such as `415-867-5309 x12`. */
function numbersIn(value: string): string[] {
  if (plainNumber(value) !== null) return [];
  const found: string[] = [];
  const text = withAsciiDigits(value.slice(0, contactLengthMax));
  for (const { 0: matched, index } of text.matchAll(digitGroups)) {
    const groups = matched.split(/[^0-9]+/);
    for (const first of groups.keys()) {
      const isInternational = first === 0 && text[index - 1] === "+";
      let digits = "";
      for (const group of groups.slice(first)) {
        digits += group;
        if (digits.length > digitsMax) break;
        if (digits.length >= digitsMin) found.push(`digits ${digits}`);
        if (digits.length === 10 && !isInternational) found.push(`national ${digits}`);
        if (digits.length === 11 && digits.startsWith("1")) found.push(`national ${digits.slice(1)}`);
      }
    }
  }
  return found;
}

function parseStored(text: string): unknown {
  try {
    return JSON.parse(withoutByteOrderMark(text));
  } catch {
    return text;
  }
}

function stringMember(value: unknown, name: string): string[] {
  if (value === null || typeof value !== "object") return [];
  const found = (value as Record<string, unknown>)[name];
  return typeof found === "string" ? [found] : [];
}

function countryOf(lead: unknown): string {
  const [country = "US"] = stringMember(lead, "country");
  return country;
}

function contactFields(parsed: readonly unknown[]): string[] {
  return parsed.flatMap((value) => [...stringMember(value, "phone"), ...stringMember(value, "email")]);
}

/** Collects all strings, numbers and member names. The recursion is safe, because bodies nest at most 64 levels. */
function collectTexts(
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

/** `contact`: the person is the post's contact. `mention`: a longer text contains the address or number. */
type Relation = "contact" | "mention" | "none";

export interface Person {
  /**
   * A regular expression that matches a text in every related post and in some others. Its syntax is common to
   * JavaScript (flag `u`) and PostgreSQL.
   */
  readonly pattern: string;
  /** The contacts, as returned by {@linkcode contactsOf}, each of which identifies a post as the person's. */
  readonly contacts: readonly string[];
  readonly relation: (texts: StoredTexts) => Relation;
}

/**
 * Returns the person with an email address, ignoring case; `null` unless the text has one `@` between other characters
 * (suspect addresses are stored too).
 */
export function personByEmail(text: string): Person | null {
  const email = foldEmail(text);
  if (!emailShape.test(email)) return null;
  const inText = new RegExp(`(?<!${localCharacter})${escapeRegExp(email)}(?!${domainContinuation})`, "u");
  return person(emailPattern(email), {
    contacts: [`email ${email}`],
    isMentionedIn: (value) => inText.test(value.toLowerCase()),
  });
}

/** Returns the person with a phone number, in any format; `null` for fewer than seven digits. */
export function personByPhone(text: string): Person | null {
  const e164 = toE164(text, "US");
  const number = plainNumber(text);
  const digits = withAsciiDigits(text).replace(/[^0-9]/g, "");
  if (digits.length < digitsMin) return null;
  const significant = e164 === null ? digits.replace(/^00/, "") : e164.slice(2);
  const prefixPattern = e164 === null ? "(?<![0-9])" : `(?<![0-9+])(?:\\+?1${separator})?`;
  const inText = new RegExp(`${prefixPattern}${[...significant].join(separator)}(?![0-9])`, "u");
  return person(phonePattern(significant), {
    contacts: [
      ...(e164 === null ? [] : [`phone ${e164}`]),
      ...(number === null ? [] : [`number ${significantDigits(number)}`]),
      `text ${normalizeLine(text)}`,
      e164 === null ? `digits ${significant}` : `national ${significant}`,
    ],
    isMentionedIn: (value) => inText.test(withAsciiDigits(value)),
  });
}

function person(
  pattern: string,
  { contacts, isMentionedIn }: { contacts: readonly string[]; isMentionedIn: (text: string) => boolean },
): Person {
  return {
    pattern,
    contacts,
    relation(texts) {
      const found = contactsOf(texts);
      if (contacts.some((contact) => found.has(contact))) return "contact";
      const { lead, extra, raw, contact, identifiers } = texts;
      const bodies = [lead, extra, raw, contact].filter((text) => text !== null);
      const { values, names } = collectTexts(bodies.map(parseStored));
      // Includes the unparsed texts, because `JSON.parse` keeps only the last duplicate of a member.
      const searched = new Set([
        ...values,
        ...names,
        ...bodies,
        ...identifiers,
      ]);
      return [...searched].some((text) => isMentionedIn(text) || isMentionedIn(decodePercentEscapes(text)))
        ? "mention"
        : "none";
    },
  };
}

/** Decodes ASCII that is percent-encoded, even repeatedly, because `page_url` may contain `?email=jane%40example.com`. */
function decodePercentEscapes(text: string): string {
  return text.replace(
    /%(?:25)*([2-7][0-9a-f])/gi,
    (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

function escapeRegExp(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}

/** Match the JSON escapes of any character, and of the characters that are ASCII or become ASCII in lower case. */
const anyEscape = "\\\\u[0-9a-fA-F]{4}";
const asciiEscape = "\\\\u00[2-7]|\\\\u212[aA]|\\\\u0130";

// Spells out both cases, because PostgreSQL's case folding depends on the locale.
function emailPattern(email: string): string {
  const letters = [...email].map((char) => {
    if (/[a-z]/.test(char)) return `[${char}${char.toUpperCase()}${characterFoldingTo(char)}]`;
    if (/[0-9]/.test(char)) return char;
    if (!/[!-~]/.test(char)) return "[^!-~]*";
    const hex = [...char.charCodeAt(0).toString(16)].map((digit) => `[${digit}${digit.toUpperCase()}]`).join(
      "",
    );
    return `(${escapeRegExp(char)}|%(25)*${hex})`;
  });
  const escape = /^[\x21-\x7e]*$/.test(email) ? asciiEscape : anyEscape;
  return `${letters.join("")}|${escape}`;
}

/**
 * Returns the non-ASCII character whose lower case starts with a letter (the Kelvin sign or the dotted capital I), or
 * `""`.
 */
function characterFoldingTo(letter: string): string {
  if (letter === "k") return "\u212a";
  return letter === "i" ? "\u0130" : "";
}

function phonePattern(digits: string): string {
  const gap = "(%(25)*2[089BbDdEeFf]|[^0-9A-Za-z]|\\\\[bfnrt])*";
  return `${[...digits].join(gap)}|[${nonAsciiDigits()}]|${anyEscape}`;
}

let digitRanges: string | null = null;

/** Returns the character ranges of all non-ASCII decimal digits. */
function nonAsciiDigits(): string {
  if (digitRanges !== null) return digitRanges;
  const ranges: string[] = [];
  for (let code = 0x80; code <= 0x1ffff; code++) {
    if (!/\p{Nd}/u.test(String.fromCodePoint(code))) continue;
    // Unicode encodes digits in sets of ten.
    ranges.push(`${String.fromCodePoint(code)}-${String.fromCodePoint(code + 9)}`);
    code += 9;
  }
  return digitRanges = ranges.join("");
}
