/** Tokenizes JSON text, locates its members, and changes single members without touching the others. */

import { fieldNames } from "../contract/fields.ts";
import { limits } from "../contract/limits.ts";
import { members, parseObject, skipWhiteSpace } from "../lead/json.ts";

type TokenKind = "name" | "string" | "number" | "word" | "mark" | "space" | "other";

/** A token; joined together, a text's tokens equal the text. */
interface Token {
  readonly kind: TokenKind;
  readonly text: string;
}

// Each alternative can match in one way only, so matching takes linear time.
const tokenPattern =
  /("(?:[^"\\\n]|\\[^\n])*"?)(?=(\s*:)?)|(-?\d[\w.+-]*)|(true|false|null)\b|([{}[\]:,]+)|(\s+)|[^\s"{}[\]:,\d-]+|[^]/g;

export function tokenize(text: string): Token[] {
  return Array.from(text.matchAll(tokenPattern), (match): Token => {
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

/** The position of a member's name and value in the text. */
export interface MemberRange {
  readonly name: string;
  readonly nameStart: number;
  readonly valueStart: number;
  readonly valueEnd: number;
  readonly valueText: string;
}

/** Returns the top-level members in order, or `null` if the text is not a JSON object. */
export function locateMembers(text: string): MemberRange[] | null {
  if (parseObject(text, limits.jsonDepthMax) === null) return null;
  let at = text.indexOf("{") + 1;
  return members(text).map(({ name, nameText, valueText }) => {
    // Only white space and punctuation precede the name, so its next occurrence is the member's.
    const nameStart = text.indexOf(nameText, at);
    const colon = text.indexOf(":", nameStart + nameText.length);
    const valueStart = skipWhiteSpace(text, colon + 1);
    at = valueStart + valueText.length;
    return { name, nameStart, valueStart, valueEnd: at, valueText };
  });
}

/** Returns the last member with a name, which overrides earlier ones. */
export function findMember(members: readonly MemberRange[], name: string): MemberRange | undefined {
  return members.findLast((member) => member.name === name);
}

/** Sets a member to a JSON text, or removes the member if `valueText` is `null`. Text that is not an object is returned unchanged. */
export function setMember(text: string, name: string, valueText: string | null): string {
  const located = locateMembers(text);
  if (located === null) return text;
  if (valueText === null) return removeMember(text, name);
  const member = findMember(located, name);
  if (member !== undefined) return splice(text, member.valueStart, member.valueEnd, valueText);
  const added = `${JSON.stringify(name)}: ${valueText}`;
  const preceding = precedingMember(located, name);
  if (preceding !== undefined) {
    return splice(text, preceding.valueEnd, preceding.valueEnd, `,${memberSeparator(text, located)}${added}`);
  }
  const open = text.indexOf("{") + 1;
  const first = located[0];
  if (first === undefined) return splice(text, open, text.lastIndexOf("}"), `\n  ${added}\n`);
  return splice(text, first.nameStart, first.nameStart, `${added},${memberSeparator(text, located)}`);
}

function removeMember(text: string, name: string): string {
  let remaining = text;
  // Removes all members with this name, because otherwise an earlier one would take effect.
  for (;;) {
    const located = locateMembers(remaining) as MemberRange[];
    const index = located.findIndex((member) => member.name === name);
    if (index < 0) return remaining;
    const member = located[index] as MemberRange;
    const [previous, next] = [located[index - 1], located[index + 1]];
    if (previous !== undefined) remaining = splice(remaining, previous.valueEnd, member.valueEnd, "");
    else if (next !== undefined) remaining = splice(remaining, member.nameStart, next.nameStart, "");
    else remaining = splice(remaining, remaining.indexOf("{") + 1, remaining.lastIndexOf("}"), "");
  }
}

/** Returns the last member whose field precedes `name` in envelope order; for an unknown name, the last member. */
function precedingMember(members: readonly MemberRange[], name: string): MemberRange | undefined {
  const order: readonly string[] = [...fieldNames, "cost"];
  const rank = order.indexOf(name);
  if (rank < 0) return members.at(-1);
  return members.findLast((member) => order.indexOf(member.name) < rank && order.includes(member.name));
}

/** Returns the white space to put between members, as used in the text. */
function memberSeparator(text: string, members: readonly MemberRange[]): string {
  const [first, second] = members;
  if (first === undefined) return "\n  ";
  if (second !== undefined) {
    const comma = text.indexOf(",", first.valueEnd);
    return text.slice(comma + 1, second.nameStart);
  }
  return text.slice(text.indexOf("{") + 1, first.nameStart) || " ";
}

function splice(text: string, start: number, end: number, inserted: string): string {
  return text.slice(0, start) + inserted + text.slice(end);
}

/**
 * Indents JSON as `JSON.stringify` would, but preserves numbers, strings and repeated members as written. Text that is not
 * an object is returned unchanged.
 */
export function formatted(text: string): string {
  if (parseObject(text, limits.jsonDepthMax) === null) return text;
  const parts = tokenize(text).filter(({ kind }) => kind !== "space")
    .flatMap(({ kind, text }) => kind === "mark" ? [...text] : [text]);
  let depth = 0;
  let output = "";
  for (const [index, part] of parts.entries()) {
    const isEmpty = /^[{[]$/.test(parts[index - 1] ?? "");
    if (/^[}\]]$/.test(part)) {
      depth--;
      output += isEmpty ? part : `\n${"  ".repeat(depth)}${part}`;
      continue;
    }
    if (isEmpty || parts[index - 1] === ",") output += `\n${"  ".repeat(depth)}`;
    output += part === ":" ? ": " : part;
    if (/^[{[]$/.test(part)) depth++;
  }
  return output;
}
