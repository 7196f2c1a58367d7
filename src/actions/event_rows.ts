/**
 * Lines of text from JSON as it was received: names and values as text that can do nothing but be read.
 *
 * @module
 */

import { decode, members } from "../lead/json.ts";

/** One line: a name and its value, which may have several lines. */
export interface Row {
  readonly label: string;
  readonly value: string;
}

/** One member of a JSON object. */
export interface Part {
  readonly name: string;
  /** The value as it was written. */
  readonly valueText: string;
}

/** The members of an object; of duplicates the last. */
export function lastMembers(objectText: string): Part[] {
  const byName = new Map(members(objectText).map(({ name, valueText }) => [name, valueText]));
  return [...byName].map(([name, valueText]) => ({ name, valueText }));
}

/** A line under the member's own name. */
export function rowOf({ name, valueText }: Part): Row {
  return { label: inline(name), value: shownValue(valueText) };
}

/** `street_address`, `street-address` and `streetAddress` as "Street address". */
export function labelOf(name: string): string {
  const words = inline(name).replace(/(?<=[a-z])(?=[A-Z])/g, " ").replace(/[_-]+/g, " ").trim()
    .replace(/ [A-Z](?=[a-z])/g, (start) => start.toLowerCase())
    .replace(/(?<![a-z])(?:zip|url)(?![a-z])/gi, (word) => word.toUpperCase());
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** A string as its text, anything else as it was written. */
export function shownValue(valueText: string): string {
  return visible(valueText.startsWith('"') ? decode(valueText) : valueText);
}

/** Text of one line. */
export function inline(text: string): string {
  return visible(text).replaceAll("\n", " ");
}

/** Text without what cannot be seen or turns text around; line breaks stay. */
export function visible(text: string): string {
  if (/^[\x20-\x7e\n]*$/.test(text)) return text;
  return text.toWellFormed().replace(/\r\n?|[\u2028\u2029\u0085]/g, "\n").replaceAll("\t", " ")
    .replace(/(?!\n)\p{Cc}|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu, "");
}
