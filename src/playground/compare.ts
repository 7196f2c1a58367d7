/**
 * A lead as typed beside the lead as stored.
 *
 * @module
 */

import { fieldNames } from "../contract/fields.ts";
import { dollars } from "../documents/guidance.ts";
import type { Validation } from "../lead/lead.ts";
import { type Difference, difference } from "./difference.ts";
import { placeOf, places } from "./edit_json.ts";

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
    rows.push(row(name, placeOf(sent, name)?.valueText ?? valueText, valueText, "under extra"));
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
