/** Compares a lead as typed with the lead as stored, character by character. */

import { fieldNames } from "../contract/fields.ts";
import { formatCents } from "../contract/limits.ts";
import type { Validation } from "../lead/lead.ts";
import { likelyField } from "../lead/misspelling.ts";
import { findMember, locateMembers } from "./edit_json.ts";

/** A piece of text; `differs` means that the other text lacks it. */
export interface Piece {
  readonly text: string;
  readonly differs: boolean;
}

export interface Difference {
  readonly before: readonly Piece[];
  readonly after: readonly Piece[];
}

// Limits the work of a comparison, so that it is fast even on a phone.
const comparisonCellsMax = 40_000;

/**
 * Compares two texts by their common prefix and suffix, and the longest common subsequence in between. If the middle is
 * too long to compare, all of it differs.
 */
export function compareTexts(before: string, after: string): Difference {
  const a = [...before];
  const b = [...after];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  const shared = commonSubsequence(a.slice(start, a.length - end), b.slice(start, b.length - end));
  return {
    before: toPieces(a, (at) => at < start || at >= a.length - end || shared.before.has(at - start)),
    after: toPieces(b, (at) => at < start || at >= b.length - end || shared.after.has(at - start)),
  };
}

/** Returns the indices of the longest common subsequence in both lists; empty if the lists are too long. */
function commonSubsequence(
  a: readonly string[],
  b: readonly string[],
): { before: Set<number>; after: Set<number> } {
  const before = new Set<number>();
  const after = new Set<number>();
  if (a.length * b.length > comparisonCellsMax) return { before, after };
  const width = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * width);
  const at = (i: number, j: number) => lengths[i * width + j] as number;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i] === b[j]) {
      before.add(i++);
      after.add(j++);
    } else if (at(i + 1, j) >= at(i, j + 1)) i++;
    else j++;
  }
  return { before, after };
}

function toPieces(text: readonly string[], isShared: (at: number) => boolean): Piece[] {
  const pieces: { text: string; differs: boolean }[] = [];
  for (const [at, char] of text.entries()) {
    const differs = !isShared(at);
    const last = pieces.at(-1);
    if (last?.differs === differs) last.text += char;
    else pieces.push({ text: char, differs });
  }
  return pieces;
}

/** A field as typed and as stored. */
export interface ComparedField {
  readonly name: string;
  /** The text as typed; `null` if the field was not sent or is `null`. */
  readonly typed: string | null;
  /** The text as stored; `null` if the field is not stored. */
  readonly stored: string | null;
  readonly difference: Difference;
  readonly note: string;
}

type Valid = Extract<Validation, { kind: "valid" }>;

/** Compares the fields of a valid body, in envelope order, followed by the members of `extra`. */
export function compare(body: string, { lead, extra }: Valid): ComparedField[] {
  const sent = locateMembers(body.replace(/^\ufeff/, "")) ?? [];
  const rows: ComparedField[] = [];
  for (const name of fieldNames) {
    const typed = typedText(findMember(sent, name)?.valueText);
    const stored = lead[name] ?? null;
    if (typed === null && stored === null) continue;
    rows.push(
      comparedField(name, typed, stored, typed === null ? "the default" : stored === null ? "omitted" : ""),
    );
  }
  const cost = findMember(sent, "cost")?.valueText;
  if (cost !== undefined && cost !== "null" && lead.cost_cents !== undefined) {
    rows.push(comparedField("cost", cost, formatCents(lead.cost_cents), `${lead.cost_cents} cents`));
  }
  for (const { name, valueText } of extra === null ? [] : locateMembers(extra) ?? []) {
    const likely = likelyField(name, (field) => findMember(sent, field) === undefined);
    const note = likely === null ? "under extra" : `under extra; did you mean ${likely}?`;
    rows.push(comparedField(name, findMember(sent, name)?.valueText ?? valueText, valueText, note));
  }
  return rows;
}

/** Decodes a JSON value to the text as typed; returns `null` if the value is missing or `null`. */
function typedText(valueText: string | undefined): string | null {
  if (valueText === undefined || valueText === "null") return null;
  return String(JSON.parse(valueText)).toWellFormed();
}

function comparedField(
  name: string,
  typed: string | null,
  stored: string | null,
  note: string,
): ComparedField {
  return { name, typed, stored, note, difference: compareTexts(typed ?? "", stored ?? "") };
}
