/**
 * Tells whether stored texts are of a person who is known by an email address or a phone number: what an erasure
 * looks for. This module is browser compatible.
 *
 * @module
 */

import {
  collectTexts,
  comparable,
  contactsOf,
  digitsMin,
  domainGoesOn,
  emailShape,
  foldEmail,
  nameCharacter,
  parseStored,
  separator,
  type StoredTexts,
} from "./contacts.ts";
import { plainNumber, toE164, withAsciiDigits } from "./phone.ts";
import { normalizeLine } from "./text.ts";

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
      const texted = [...values, ...names, ...bodies, ...(idempotencyKey === null ? [] : [idempotencyKey])];
      return texted.some((text) => isIn(text) || isIn(unescapedUrl(text))) ? "mention" : "none";
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
