/** The canonical text of a lead, for its content hash. This module is browser compatible. */

import { readDecimal } from "./decimal.ts";
import { decode, spaceEnd, stringEnd, wordEnd } from "./json.ts";
import type { Lead } from "./lead.ts";
import { foldArea } from "./place.ts";

/** A longer `extra` (in UTF-16 units) is compared verbatim: sorting it would cost more than all other work. */
const canonicalExtraMax = 16_384;

/**
 * The canonical text of a normalized lead: equal for any spelling of the same lead (1.10 is 1.1, but 1 is not "1").
 * `text` is the lead as `JSON.stringify` writes it. Source: DECISIONS, The lead envelope, content hash.
 */
export function canonicalText(lead: Lead, extra: string | null, text: string = JSON.stringify(lead)): string {
  // Folded, because the vocabulary may change between a lead and its repeat.
  const area = lead.project_area === undefined ? undefined : foldArea(lead.project_area);
  const leadText = area === lead.project_area ? text : JSON.stringify({ ...lead, project_area: area });
  if (extra === null) return leadText;
  // JSON.stringify emits no line break, so the parts stay apart; the mark sets a verbatim `extra` apart too.
  return `${leadText}\n${extra.length <= canonicalExtraMax ? canonicalJson(extra) : `verbatim ${extra}`}`;
}

function canonicalJson(text: string): string {
  return new Canonical(text).value();
}

/** Rewrites a valid JSON text in one pass. Rejected: a `JSON.parse` reviver's `source`, which older browsers lack. */
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

  /** Sorted by name; of duplicates the last. */
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

  #more(closing: string): boolean {
    this.#at = spaceEnd(this.#text, this.#at);
    if (this.#text[this.#at] === ",") this.#at = spaceEnd(this.#text, this.#at + 1);
    if (this.#text[this.#at] !== closing) return true;
    this.#at++;
    return false;
  }

  /** A literal without escapes is canonical. */
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

/** A number as digits and exponent; `true`, `false` and `null` unchanged. */
export function canonicalWord(word: string): string {
  if (word >= "a") return word;
  const { negative, digits, point } = readDecimal(word);
  return `${negative ? "-" : ""}${digits}e${point}`;
}
