/**
 * The body's JSON text: its parts for colouring; its members, where they stand, and how one is written, changed or taken
 * out without touching a character of the others.
 */

import { fieldNames } from "../contract/fields.ts";
import { limits } from "../contract/limits.ts";
import { members, parseObject, spaceEnd } from "../lead/json.ts";

/** What a part is. */
type TokenKind = "name" | "string" | "number" | "word" | "mark" | "space" | "other";

/** A part of the text. All of them in turn are the whole text. */
interface Token {
  readonly kind: TokenKind;
  readonly text: string;
}

// Each alternative starts with a character of its own and none can match in two ways: linear on any text.
const part =
  /("(?:[^"\\\n]|\\[^\n])*"?)(?=(\s*:)?)|(-?\d[\w.+-]*)|(true|false|null)\b|([{}[\]:,]+)|(\s+)|[^\s"{}[\]:,\d-]+|[^]/g;

/** Takes a text apart. */
export function tokenize(text: string): Token[] {
  return Array.from(text.matchAll(part), (match): Token => {
    const [whole, string, colon, number, word, mark, space] = match;
    const kind = string !== undefined
      ? colon === undefined ? "string" : "name"
      : number !== undefined
      ? "number"
      : word !== undefined
      ? "word"
      : mark !== undefined
      ? "mark"
      : space !== undefined
      ? "space"
      : "other";
    return { kind, text: whole };
  });
}

/** A member, with the indices of its name and value in the text. */
export interface Place {
  readonly name: string;
  readonly nameStart: number;
  readonly valueStart: number;
  readonly valueEnd: number;
  readonly valueText: string;
}

/** The top-level members in the order of the text, or `null` when it is not one JSON object. */
export function places(text: string): Place[] | null {
  if (parseObject(text, limits.jsonDepthMax) === null) return null;
  let at = text.indexOf("{") + 1;
  return members(text).map(({ name, nameText, valueText }) => {
    // Only white space and punctuation stand between, so the next occurrence is the member itself.
    const nameStart = text.indexOf(nameText, at);
    const colon = text.indexOf(":", nameStart + nameText.length);
    const valueStart = spaceEnd(text, colon + 1);
    at = valueStart + valueText.length;
    return { name, nameStart, valueStart, valueEnd: at, valueText };
  });
}

/** The member that counts: of several with one name the last. */
export function placeOf(found: readonly Place[], name: string): Place | undefined {
  return found.findLast((place) => place.name === name);
}

/** Sets a member to a JSON text, or with `null` takes it out. A text that is no object stays as it is. */
export function setMember(text: string, name: string, valueText: string | null): string {
  const found = places(text);
  if (found === null) return text;
  if (valueText === null) return removeMember(text, name);
  const place = placeOf(found, name);
  if (place !== undefined) return splice(text, place.valueStart, place.valueEnd, valueText);
  const member = `${JSON.stringify(name)}: ${valueText}`;
  const before = neighbour(found, name);
  if (before !== undefined) {
    return splice(text, before.valueEnd, before.valueEnd, `,${gap(text, found)}${member}`);
  }
  const open = text.indexOf("{") + 1;
  const first = found[0];
  if (first === undefined) return splice(text, open, text.lastIndexOf("}"), `\n  ${member}\n`);
  return splice(text, first.nameStart, first.nameStart, `${member},${gap(text, found)}`);
}

function removeMember(text: string, name: string): string {
  let rest = text;
  // Every one of that name, or an earlier one would count in its stead.
  for (;;) {
    const found = places(rest) as Place[];
    const index = found.findIndex((place) => place.name === name);
    if (index < 0) return rest;
    const place = found[index] as Place;
    const [previous, next] = [found[index - 1], found[index + 1]];
    if (previous !== undefined) rest = splice(rest, previous.valueEnd, place.valueEnd, "");
    else if (next !== undefined) rest = splice(rest, place.nameStart, next.nameStart, "");
    else rest = splice(rest, rest.indexOf("{") + 1, rest.lastIndexOf("}"), "");
  }
}

/** The last member that stands before this one in the envelope; for what is not in it, the last of all. */
function neighbour(found: readonly Place[], name: string): Place | undefined {
  const order: readonly string[] = [...fieldNames, "cost"];
  const rank = order.indexOf(name);
  if (rank < 0) return found.at(-1);
  return found.findLast((place) => order.indexOf(place.name) < rank && order.includes(place.name));
}

/** The white space that this text puts between its members. */
function gap(text: string, found: readonly Place[]): string {
  const [first, second] = found;
  if (first === undefined) return "\n  ";
  if (second !== undefined) {
    const comma = text.indexOf(",", first.valueEnd);
    return text.slice(comma + 1, second.nameStart);
  }
  return text.slice(text.indexOf("{") + 1, first.nameStart) || " ";
}

function splice(text: string, start: number, end: number, put: string): string {
  return text.slice(0, start) + put + text.slice(end);
}

/**
 * The same JSON with every member on a line of its own, as `JSON.stringify` would indent it; numbers, strings and
 * members that stand twice stay as they are written. A text that is no object stays as it is.
 */
export function indented(text: string): string {
  if (parseObject(text, limits.jsonDepthMax) === null) return text;
  const parts = tokenize(text).filter(({ kind }) => kind !== "space")
    .flatMap(({ kind, text }) => kind === "mark" ? [...text] : [text]);
  let depth = 0;
  let written = "";
  for (const [index, part] of parts.entries()) {
    const isEmpty = /^[{[]$/.test(parts[index - 1] ?? "");
    if (/^[}\]]$/.test(part)) {
      depth--;
      written += isEmpty ? part : `\n${"  ".repeat(depth)}${part}`;
      continue;
    }
    if (isEmpty || parts[index - 1] === ",") written += `\n${"  ".repeat(depth)}`;
    written += part === ":" ? ": " : part;
    if (/^[{[]$/.test(part)) depth++;
  }
  return written;
}
