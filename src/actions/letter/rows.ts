/**
 * Lines of text from JSON as it was received: names and values as text that can do nothing but be read.
 *
 * @module
 */

import { decode, members, spaceEnd, valueEnd } from "../../lead/json.ts";

/** One line: a name and its value, which may have several lines. */
export interface Row {
  readonly label: string;
  readonly value: string;
  /** What the value leads to; with a text of its own, that stands behind the value. Made by us, of what was checked. */
  readonly link?: { readonly href: string; readonly text?: string };
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

/** A line under a readable name. */
export function rowOf({ name, valueText }: Part): Row {
  return { label: labelOf(name), value: readable(valueText) };
}

/** Whether a value says nothing: `null`, or a string of white space. */
export function isBlank(valueText: string): boolean {
  return valueText === "null" || valueText.startsWith('"') && shownValue(valueText).trim() === "";
}

/** So deep is a value shown as lines; what lies deeper stays as it was written. */
const depthMax = 4;

/**
 * A value in words: yes and no, lists with commas, the members of an object one a line, what is inside them indented.
 * Digits stay as they were written.
 */
export function readable(valueText: string, depth = 0): string {
  if (valueText === "true") return "yes";
  if (valueText === "false") return "no";
  const isList = valueText.startsWith("[");
  if (depth === depthMax || !isList && !valueText.startsWith("{")) return shownValue(valueText);
  if (!isList) {
    const parts = lastMembers(valueText).map(({ name, valueText }) =>
      entry(`${labelOf(name)}:`, readable(valueText, depth + 1))
    );
    return parts.join("\n");
  }
  const items = elements(valueText).map((item) => readable(item, depth + 1));
  const isShort = items.every((item) => !item.includes("\n"));
  return isShort ? items.join(", ") : items.map((item) => `- ${item.replaceAll("\n", "\n  ")}`).join("\n");
}

function entry(label: string, value: string): string {
  return value.includes("\n") ? `${label}\n  ${value.replaceAll("\n", "\n  ")}` : `${label} ${value}`;
}

/** The elements of a valid JSON array, as they were written. */
function elements(arrayText: string): string[] {
  const found: string[] = [];
  let at = spaceEnd(arrayText, 1);
  while (at < arrayText.length - 1) {
    const end = valueEnd(arrayText, at);
    found.push(arrayText.slice(at, end));
    // Past the comma to the next element, or past the closing bracket.
    at = spaceEnd(arrayText, spaceEnd(arrayText, end) + 1);
  }
  return found;
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
