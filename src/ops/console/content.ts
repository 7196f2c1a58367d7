/**
 * The content of leads and submissions as it is stored: members one by one, nothing parsed that would lose a digit.
 */

import { type Markup, markup } from "../../http/markup.ts";
import { decode, members } from "../../lead/json.ts";
import { dollars, shown } from "./text.ts";

/** The members of a stored JSON object, ready to be read. */
function pairsOf(json: string): [name: string, value: string][] {
  return members(json).map(({ name, valueText }) => {
    if (name === "cost_cents" && /^\d+$/.test(valueText)) return ["cost", dollars(Number(valueText))];
    return [name, valueText.startsWith('"') ? decode(valueText) : valueText];
  });
}

/** A stored JSON object as a list of facts; `null` when an erasure has taken it. */
export function facts(json: string | null): Markup {
  if (json === null) return erased;
  const pairs = pairsOf(json);
  if (pairs.length === 0) return markup`<p class="quiet">It is empty.</p>`;
  return markup`<dl class="facts">${
    pairs.map(([name, value]) => markup`<dt>${shown(name)}</dt><dd>${shown(value)}</dd>`)
  }</dl>`;
}

/** A text as it came, in a box of its own that the keyboard can scroll. */
export function verbatim(text: string | null, label: string): Markup {
  if (text === null) return erased;
  return markup`<pre tabindex="0" role="region" aria-label="${label}">${shown(text)}</pre>`;
}

/** Stands where an erasure or the end of its retention has left nothing. */
export const erased: Markup =
  markup`<p class="quiet">Erased: only the id, the time and the digests are kept.</p>`;

/** The names of two objects' members with both values; `null` for one that is missing. */
export function compared(
  left: string | null,
  right: string | null,
): { readonly name: string; readonly left: string | null; readonly right: string | null }[] {
  const a = new Map(left === null ? [] : pairsOf(left));
  const b = new Map(right === null ? [] : pairsOf(right));
  return [...new Set([...a.keys(), ...b.keys()])].map((name) => ({
    name,
    left: a.get(name) ?? null,
    right: b.get(name) ?? null,
  }));
}
