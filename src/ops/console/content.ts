/**
 * The content of leads and submissions as it is stored: members one by one, nothing parsed that would lose a digit.
 *
 * @module
 */

import { type Markup, markup } from "../../http/markup.ts";
import { decode, members, spaceEnd, valueEnd } from "../../lead/json.ts";
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

// Beyond these a page is no list any more; the JSON below has them all.
const itemsMax = 200;

/** A stored JSON object, whatever is in it, as lists within lists, and behind a disclosure as it came. */
export function extras(json: string): Markup {
  const left = { items: itemsMax, isCut: false };
  const list = listOf(json, left);
  return markup`${list}${
    left.isCut && markup`<p class="quiet">There is more of it, in the JSON.</p>`
  }<details><summary>As JSON</summary>${verbatim(json, "Extra")}</details>`;
}

function listOf(json: string, left: { items: number; isCut: boolean }): Markup {
  const isList = json.startsWith("[");
  const items = isList ? elements(json).map((value) => ({ name: null, value })) : members(json)
    .map(({ name, valueText }) => ({ name, value: valueText }));
  if (items.length === 0) return markup`<span class="quiet">${isList ? "an empty list" : "empty"}</span>`;
  return markup`<ul class="extras">${
    items.map(({ name, value }) => {
      left.isCut ||= left.items === 0;
      if (left.isCut) return null;
      left.items -= 1;
      return markup`<li>${name !== null && markup`<span class="name">${shown(name)}</span> `}${
        /^[{[]/.test(value) ? listOf(value, left) : scalar(value)
      }</li>`;
    })
  }</ul>`;
}

/** The elements of a valid JSON array as they were written. */
function elements(json: string): string[] {
  const found: string[] = [];
  for (let at = spaceEnd(json, 1); at < json.length && json[at] !== "]";) {
    const end = valueEnd(json, at);
    found.push(json.slice(at, end));
    at = spaceEnd(json, end);
    if (json[at] === ",") at = spaceEnd(json, at + 1);
  }
  return found;
}

const words: Readonly<Record<string, string>> = { true: "yes", false: "no", null: "nothing" };

function scalar(value: string): Markup {
  if (value.startsWith('"')) {
    return value === '""' ? markup`<span class="quiet">an empty text</span>` : shown(decode(value));
  }
  return shown(words[value] ?? value);
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
