/**
 * One text for each lead, however it was spelled. This module is browser compatible.
 *
 * @module
 */

import { readDecimal } from "./decimal.ts";
import { decode, spaceEnd, stringEnd, wordEnd } from "./json.ts";
import type { Lead } from "./lead.ts";
import { foldArea } from "./place.ts";

/**
 * An `extra` of more UTF-16 units is compared as it was written. Chosen: 16 KiB, many times what partners send, because
 * sorting the eight thousand members that a body has room for takes as long as all else that is done with them.
 */
const canonicalExtraMax = 16_384;

/**
 * The canonical form of a normalized lead, `extra` (as the validator gives it) included: equal for the
 * same lead spelled otherwise (order of members, escapes, white space, 1.10 for 1.1), different for
 * different leads; an `extra` of over {@linkcode canonicalExtraMax} as it was written. The caller hashes it, and may
 * pass the lead's `text` as `JSON.stringify` writes it, whose members are in the envelope's order.
 *
 * Source: DECISIONS, The lead envelope, content hash.
 *
 * Chosen: numbers compare as exact decimals, so 1.10 is 1.1 and 1e2 is 100, but neighbours that a
 * double cannot tell apart stay different, because a lost lead costs more than one sent twice; the
 * number 1 and the string "1" differ. The order of an array's elements counts.
 */
export function canonicalText(lead: Lead, extra: string | null, text: string = JSON.stringify(lead)): string {
  // Folded: the vocabulary may have learnt or dropped the term between a lead and its repeat.
  const area = lead.project_area === undefined ? undefined : foldArea(lead.project_area);
  const told = area === lead.project_area ? text : JSON.stringify({ ...lead, project_area: area });
  if (extra === null) return told;
  // JSON.stringify emits no raw line break, so the two parts cannot run into each other. The verbatim form is marked: it
  // may spell what the canonical form of another `extra` is.
  return `${told}\n${extra.length <= canonicalExtraMax ? canonicalJson(extra) : `verbatim ${extra}`}`;
}

/** The canonical form of a valid JSON text: equal for equal values, however they were written. */
function canonicalJson(text: string): string {
  return new Canonical(text).value();
}

/**
 * Rewrites a valid JSON text in one pass. It recurses as deep as the text nests, which the validator
 * bounds. Rejected: `JSON.parse` with a reviver's `source`, because browsers of last year lack it.
 */
class Canonical {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(): string {
    this.#at = spaceEnd(this.#text, this.#at);
    switch (this.#text[this.#at]) {
      case "{":
        return this.#object();
      case "[":
        return this.#array();
      case '"':
        return this.#string();
      default:
        return canonicalWord(this.#take(wordEnd(this.#text, this.#at)));
    }
  }

  /** Members by name, of duplicates the last. */
  #object(): string {
    const found = new Map<string, string>();
    this.#at++;
    while (this.#more("}")) {
      const name = this.#string();
      this.#at = this.#text.indexOf(":", this.#at) + 1;
      found.set(name, this.value());
    }
    return `{${[...found.keys()].sort().map((name) => `${name}:${found.get(name)}`)}}`;
  }

  #array(): string {
    const found: string[] = [];
    this.#at++;
    while (this.#more("]")) found.push(this.value());
    return `[${found}]`;
  }

  /** Steps over a comma to what follows it, or over the closing bracket. */
  #more(closing: string): boolean {
    this.#at = spaceEnd(this.#text, this.#at);
    if (this.#text[this.#at] === ",") this.#at = spaceEnd(this.#text, this.#at + 1);
    if (this.#text[this.#at] !== closing) return true;
    this.#at++;
    return false;
  }

  /** A literal without escapes is the only one of its text that has none. */
  #string(): string {
    const literal = this.#take(stringEnd(this.#text, this.#at));
    return literal.includes("\\") ? JSON.stringify(decode(literal)) : literal;
  }

  #take(end: number): string {
    const start = this.#at;
    this.#at = end;
    return this.#text.slice(start, end);
  }
}

/** The canonical form of a number, which becomes digits and exponent, or of `true`, `false` and `null`, which stay. */
export function canonicalWord(word: string): string {
  if (word >= "a") return word;
  const { negative, digits, point } = readDecimal(word);
  return `${negative ? "-" : ""}${digits}e${point}`;
}
