/** A lead as typed beside the lead as stored, with what differs character by character. */

import { fieldNames } from "../contract/fields.ts";
import { dollars } from "../contract/limits.ts";
import type { Validation } from "../lead/lead.ts";
import { likelyField } from "../lead/misspelling.ts";
import { placeOf, places } from "./edit_json.ts";

/** A piece of text, and whether the other text lacks it. */
export interface Piece {
  readonly text: string;
  readonly differs: boolean;
}

/** Both texts in pieces. */
export interface Difference {
  readonly before: readonly Piece[];
  readonly after: readonly Piece[];
}

// The table of the comparison has this many cells at most: a blink on a phone.
const cellsMax = 40_000;

/**
 * Compares two texts. What they share at both ends is set aside; of the rest the longest common subsequence is
 * kept, unless it is too long for that: then all of it differs.
 */
export function difference(before: string, after: string): Difference {
  const a = [...before];
  const b = [...after];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  const kept = common(a.slice(start, a.length - end), b.slice(start, b.length - end));
  return {
    before: pieces(a, (at) => at < start || at >= a.length - end || kept.before.has(at - start)),
    after: pieces(b, (at) => at < start || at >= b.length - end || kept.after.has(at - start)),
  };
}

/** The places of the longest common subsequence in both lists. */
function common(a: readonly string[], b: readonly string[]): { before: Set<number>; after: Set<number> } {
  const before = new Set<number>();
  const after = new Set<number>();
  if (a.length * b.length > cellsMax) return { before, after };
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

function pieces(text: readonly string[], isShared: (at: number) => boolean): Piece[] {
  const found: { text: string; differs: boolean }[] = [];
  for (const [at, char] of text.entries()) {
    const differs = !isShared(at);
    const last = found.at(-1);
    if (last?.differs === differs) last.text += char;
    else found.push({ text: char, differs });
  }
  return found;
}

/** One row: a field that was typed, or is stored, or both. */
export interface ComparedField {
  readonly name: string;
  /** `null`: it was not sent. */
  readonly typed: string | null;
  /** `null`: it is left out. */
  readonly stored: string | null;
  readonly difference: Difference;
  /** What a person would want to be told about the row. */
  readonly note: string;
}

type Valid = Extract<Validation, { kind: "valid" }>;

/** The rows of a valid body, in envelope order, then what is kept under `extra`. */
export function compare(body: string, { lead, extra }: Valid): ComparedField[] {
  const sent = places(body.replace(/^\ufeff/, "")) ?? [];
  const rows: ComparedField[] = [];
  for (const name of fieldNames) {
    const typed = typedText(placeOf(sent, name)?.valueText);
    const stored = lead[name] ?? null;
    if (typed === null && stored === null) continue;
    rows.push(row(name, typed, stored, typed === null ? "the default" : stored === null ? "left out" : ""));
  }
  const cost = placeOf(sent, "cost")?.valueText;
  if (cost !== undefined && cost !== "null" && lead.cost_cents !== undefined) {
    rows.push(row("cost", cost, dollars(lead.cost_cents), `${lead.cost_cents} cents`));
  }
  for (const { name, valueText } of extra === null ? [] : places(extra) ?? []) {
    const likely = likelyField(name, (field) => placeOf(sent, field) === undefined);
    const note = likely === null ? "under extra" : `under extra; did you mean ${likely}?`;
    rows.push(row(name, placeOf(sent, name)?.valueText ?? valueText, valueText, note));
  }
  return rows;
}

/** A string's own text; anything else as it is written. */
function typedText(valueText: string | undefined): string | null {
  if (valueText === undefined || valueText === "null") return null;
  return String(JSON.parse(valueText)).toWellFormed();
}

function row(name: string, typed: string | null, stored: string | null, note: string): ComparedField {
  return { name, typed, stored, note, difference: difference(typed ?? "", stored ?? "") };
}
