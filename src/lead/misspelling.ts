/** Suggests the fields that a sender probably meant by unknown names. This module is browser compatible. */

import { fieldNames, requiredFields } from "../contract/fields.ts";
import { editDistance } from "../contract/likely_name.ts";
import { type BodyFault, displayName } from "./body_fault.ts";
import { isObject } from "./json.ts";
import { fieldAliases, foldName } from "./field_aliases.ts";

/** The maximum numbers of names to compare; a comparison costs 1 µs, and a body can have 8,000 fields. */
const [sentMax, missingMax] = [100, 25];
const suggestionsMax = 6;
/** The minimum length of a field name that is matched by similarity; shorter names resemble too many words. */
const similarLengthMin = 5;

/** The names that were sent, each with its folded form. */
type SentNames = Map<string, string>;

const knownNames: ReadonlySet<string> = new Set([...fieldNames, "cost", "extra"]);

/** Returns a suggestion for the fields that are `missing` from a lead, or `null`. */
export function leadMisspelling(
  envelope: Readonly<Record<string, unknown>>,
  missing: readonly string[],
): BodyFault | null {
  const sent: SentNames = new Map();
  for (const name in envelope) {
    if (sent.size === sentMax) break;
    if (containsLead(envelope[name])) {
      const detail = `the lead is inside ${
        displayName(name)
      }; its fields must be at the top level of the body`;
      return { detail, reason: "wrapped" };
    }
    if (!knownNames.has(name)) sent.set(name, foldName(name));
  }
  const suggestions = new Map<string, string[]>();
  const name = missing.some((field) => field !== "phone") ? findAlias(sent, fieldAliases.name) : undefined;
  if (name !== undefined) {
    suggestions.set(name, ["first_name", "last_name"]);
    sent.delete(name);
  }
  const others = [...fieldNames, "cost"].filter((name) =>
    envelope[name] === undefined && !missing.includes(name)
  );
  for (const field of missing) suggest(sent, field, suggestions, { allowSimilar: true });
  // Exact matches only, because callers may send additional fields on purpose.
  for (const field of others) suggest(sent, field, suggestions, { allowSimilar: false });
  return describe(
    suggestions,
    (meant) => `no field of a lead; ${meant.join(" and ")} ${meant.length > 1 ? "are" : "is"}`,
  );
}

/** Returns the field that an unknown `name` probably means, among the fields that are `isUnused`, or `null`. */
export function likelyField(name: string, isUnused: (field: string) => boolean): string | null {
  const sent: SentNames = new Map([[name, foldName(name)]]);
  const suggestions = new Map<string, string[]>();
  for (const field of [...fieldNames, "cost"].filter(isUnused)) {
    suggest(sent, field, suggestions, { allowSimilar: true });
  }
  return suggestions.get(name)?.[0] ?? null;
}

/** Returns a suggestion for the required fields that are `missing` from a form, or `null`. */
export function formMisspelling(
  posted: Iterable<string>,
  { required, missing }: { readonly required: readonly string[]; readonly missing: readonly string[] },
): BodyFault | null {
  const sent: SentNames = new Map();
  for (const name of posted) {
    if (sent.size === sentMax) break;
    if (!required.includes(name)) sent.set(name, foldName(name));
  }
  const suggestions = new Map<string, string[]>();
  for (const field of missing.slice(0, missingMax)) suggest(sent, field, suggestions, { allowSimilar: true });
  return describe(suggestions, (meant) => `not a required field of the form; ${meant.map(displayName)} is`);
}

function containsLead(value: unknown): boolean {
  const inside = Array.isArray(value) ? value[0] : value;
  return isObject(inside) && requiredFields.some((name) => Object.hasOwn(inside, name));
}

/** Moves the sent name that means `field` from `sent` to `suggestions`, if there is one. */
function suggest(
  sent: SentNames,
  field: string,
  suggestions: Map<string, string[]>,
  { allowSimilar }: { allowSimilar: boolean },
): void {
  const folded = foldName(field);
  if (folded === "") return;
  const aliases = Object.values(fieldAliases).find((names) => names.includes(folded)) ?? [folded];
  const name = findAlias(sent, [folded, ...aliases]) ??
    (allowSimilar ? findSimilar(sent, folded) : undefined);
  if (name === undefined) return;
  sent.delete(name);
  suggestions.set(name, [field]);
}

/** Returns the sent name whose folded form occurs earliest in `names`. */
function findAlias(sent: SentNames, names: readonly string[]): string | undefined {
  let [best, rank] = [undefined as string | undefined, names.length];
  for (const [name, folded] of sent) {
    const at = folded === "" ? -1 : names.indexOf(folded);
    if (at >= 0 && at < rank) [best, rank] = [name, at];
  }
  return best;
}

/** Returns the first sent name within two edits of `field`, or within one edit if `field` has the minimum length. */
function findSimilar(sent: SentNames, field: string): string | undefined {
  if (field.length < similarLengthMin) return undefined;
  const editsMax = field.length === similarLengthMin ? 1 : 2;
  return [...sent].find(([, folded]) => editDistance(folded, field, editsMax) <= editsMax)?.[0];
}

function describe(
  suggestions: ReadonlyMap<string, readonly string[]>,
  predicate: (meant: readonly string[]) => string,
): BodyFault | null {
  if (suggestions.size === 0) return null;
  const suggested = [...suggestions].slice(0, suggestionsMax);
  return {
    detail: suggested.map(([name, meant]) => `${displayName(name)} is ${predicate(meant)}`).join(". "),
    reason: `misspelled ${[...new Set(suggested.flatMap(([, meant]) => meant))].join(" ")}`,
  };
}
