/** Suggests the field that an unknown name probably means. This module is browser compatible. */

import { fieldNames, requiredFields } from "../contract/fields.ts";
import { type BodyFault, shownName } from "./body_fault.ts";
import { isObject } from "./json.ts";
import { fieldAliases, foldName } from "./field_aliases.ts";

/** Bounds on compared names: a body has room for 8,000, and each comparison costs 1 µs. */
const [sentMax, wantedMax] = [100, 25];
const suggestionsMax = 6;
/** Shorter names resemble too many words. */
const nearLengthMin = 5;

type Sent = Map<string, string>;

const isKnown: ReadonlySet<string> = new Set([...fieldNames, "cost", "extra"]);

/** Suggests names for the fields `missing` of a lead; `null` for none. */
export function leadMisspelling(
  envelope: Readonly<Record<string, unknown>>,
  missing: readonly string[],
): BodyFault | null {
  const sent: Sent = new Map();
  for (const name in envelope) {
    if (sent.size === sentMax) break;
    if (holdsLead(envelope[name])) {
      const detail = `the lead is inside ${shownName(name)}; its fields belong at the top level of the body`;
      return { detail, reason: "wrapped" };
    }
    if (!isKnown.has(name)) sent.set(name, foldName(name));
  }
  const found = new Map<string, string[]>();
  const name = missing.some((wanted) => wanted !== "phone") ? known(sent, fieldAliases.name) : undefined;
  if (name !== undefined) {
    found.set(name, ["first_name", "last_name"]);
    sent.delete(name);
  }
  const others = [...fieldNames, "cost"].filter((name) =>
    envelope[name] === undefined && !missing.includes(name)
  );
  for (const wanted of missing) take(sent, wanted, found, { near: true });
  // Exact matches only: a lead may have names of its own.
  for (const wanted of others) take(sent, wanted, found, { near: false });
  return describe(
    found,
    (meant) => `no field of a lead; ${meant.join(" and ")} ${meant.length > 1 ? "are" : "is"}`,
  );
}

/** The field of a lead that an unknown `name` probably means, of those that `isFree`; `null` for none. */
export function likelyField(name: string, isFree: (field: string) => boolean): string | null {
  const sent: Sent = new Map([[name, foldName(name)]]);
  const found = new Map<string, string[]>();
  for (const wanted of [...fieldNames, "cost"].filter(isFree)) take(sent, wanted, found, { near: true });
  return found.get(name)?.[0] ?? null;
}

/** Suggests names for a form's `missing` required fields; `null` for none. */
export function formMisspelling(
  posted: Iterable<string>,
  { required, missing }: { readonly required: readonly string[]; readonly missing: readonly string[] },
): BodyFault | null {
  const sent: Sent = new Map();
  for (const name of posted) {
    if (sent.size === sentMax) break;
    if (!required.includes(name)) sent.set(name, foldName(name));
  }
  const found = new Map<string, string[]>();
  for (const wanted of missing.slice(0, wantedMax)) take(sent, wanted, found, { near: true });
  return describe(found, (meant) => `no field that the form requires; ${meant.map(shownName)} is`);
}

function holdsLead(value: unknown): boolean {
  const inside = Array.isArray(value) ? value[0] : value;
  return isObject(inside) && requiredFields.some((name) => Object.hasOwn(inside, name));
}

/** Moves the match for a wanted name from `sent` to `found`. */
function take(sent: Sent, wanted: string, found: Map<string, string[]>, { near }: { near: boolean }): void {
  const folded = foldName(wanted);
  if (folded === "") return;
  const group = Object.values(fieldAliases).find((names) => names.includes(folded)) ?? [folded];
  const name = known(sent, [folded, ...group]) ?? (near ? nearest(sent, folded) : undefined);
  if (name === undefined) return;
  sent.delete(name);
  found.set(name, [wanted]);
}

/** The best-ranked sent name that folds to one of `names`. */
function known(sent: Sent, names: readonly string[]): string | undefined {
  let [best, rank] = [undefined as string | undefined, names.length];
  for (const [name, folded] of sent) {
    const at = folded === "" ? -1 : names.indexOf(folded);
    if (at >= 0 && at < rank) [best, rank] = [name, at];
  }
  return best;
}

/** The first sent name within one or two edits. */
function nearest(sent: Sent, wanted: string): string | undefined {
  if (wanted.length < nearLengthMin) return undefined;
  const most = wanted.length === nearLengthMin ? 1 : 2;
  return [...sent].find(([, folded]) => isWithin(folded, wanted, most))?.[0];
}

/** Whether the edit distance, with swaps, is at most `most`; computes only the necessary band. */
function isWithin(left: string, right: string, most: number): boolean {
  if (Math.abs(left.length - right.length) > most) return false;
  let before: number[] = [];
  let above = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (let row = 1; row <= left.length; row++) {
    const current = new Array<number>(right.length + 1).fill(Infinity);
    current[0] = row;
    for (let column = Math.max(1, row - most); column <= Math.min(right.length, row + most); column++) {
      const at = (cells: readonly number[], back: number) => cells[column - back] as number;
      const isSame = left[row - 1] === right[column - 1];
      const isSwapped = row > 1 && left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      current[column] = Math.min(
        at(above, 1) + (isSame ? 0 : 1),
        at(above, 0) + 1,
        at(current, 1) + 1,
        isSwapped ? at(before, 2) + 1 : Infinity,
      );
    }
    [before, above] = [above, current];
  }
  return (above[right.length] as number) <= most;
}

function describe(
  found: ReadonlyMap<string, readonly string[]>,
  words: (meant: readonly string[]) => string,
): BodyFault | null {
  if (found.size === 0) return null;
  const suggested = [...found].slice(0, suggestionsMax);
  return {
    detail: suggested.map(([name, meant]) => `${shownName(name)} is ${words(meant)}`).join(". "),
    reason: `misspelled ${[...new Set(suggested.flatMap(([, meant]) => meant))].join(" ")}`,
  };
}
