/** Renders a lead canonically, for its content hash. This module is browser compatible. */

import { parseDecimal } from "./decimal.ts";
import { decodeString, skipWhiteSpace, stringEnd, wordEnd } from "./json.ts";
import type { Lead } from "./lead.ts";
import { foldArea } from "./place.ts";
import { composed } from "./text.ts";

/**
 * The length of `extra`, in UTF-16 units, above which it is compared verbatim; sorting it would cost more than the rest
 * of the post.
 */
const canonicalExtraMax = 16_384;

/**
 * Returns a normalized lead's canonical text, which is equal for all spellings of the lead (1.10 equals 1.1, but 1 does
 * not equal "1", an accent is one character or two) unless `extra` is long. `text` is `JSON.stringify(lead)`. Source: DECISIONS, The lead envelope,
 * content hash.
 */
export function canonicalText(lead: Lead, extra: string | null, text: string = JSON.stringify(lead)): string {
  // The area is folded, because the vocabulary's spelling may change between a lead and its repeat.
  const area = lead.project_area === undefined ? undefined : foldArea(lead.project_area);
  const leadText = area === lead.project_area ? text : JSON.stringify({ ...lead, project_area: area });
  if (extra === null) return composed(leadText);
  // JSON.stringify emits no line break, so the one added here separates the parts unambiguously.
  return `${composed(leadText)}\n${
    extra.length <= canonicalExtraMax ? canonicalJson(extra) : `verbatim ${extra}`
  }`;
}

function canonicalJson(text: string): string {
  return new Canonicalizer(text).value();
}

/**
 * Rewrites valid JSON canonically. Rejected: the `source` that `JSON.parse` passes to a reviver, which old browsers lack.
 */
class Canonicalizer {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(): string {
    this.#at = skipWhiteSpace(this.#text, this.#at);
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

  /** Rewrites an object with its members sorted by name; the last duplicate wins. */
  #object(): string {
    const members = new Map<string, string>();
    this.#at++;
    while (this.#hasNext("}")) {
      const name = this.#string();
      this.#at = this.#text.indexOf(":", this.#at) + 1;
      members.set(name, this.value());
    }
    return `{${[...members.keys()].sort().map((name) => `${name}:${members.get(name)}`)}}`;
  }

  #array(): string {
    const elements: string[] = [];
    this.#at++;
    while (this.#hasNext("]")) elements.push(this.value());
    return `[${elements}]`;
  }

  #hasNext(closing: string): boolean {
    this.#at = skipWhiteSpace(this.#text, this.#at);
    if (this.#text[this.#at] === ",") this.#at = skipWhiteSpace(this.#text, this.#at + 1);
    if (this.#text[this.#at] !== closing) return true;
    this.#at++;
    return false;
  }

  /** Rewrites a string literal in normalization form C, without needless escapes. */
  #string(): string {
    const literal = this.#take(stringEnd(this.#text, this.#at));
    return literal.includes("\\") ? JSON.stringify(composed(decodeString(literal))) : composed(literal);
  }

  #take(end: number): string {
    const start = this.#at;
    this.#at = end;
    return this.#text.slice(start, end);
  }
}

/** Rewrites a number as its digits and exponent; returns `true`, `false` and `null` unchanged. */
export function canonicalWord(word: string): string {
  if (word >= "a") return word;
  const { isNegative, digits, point } = parseDecimal(word);
  return `${isNegative ? "-" : ""}${digits}e${point}`;
}
