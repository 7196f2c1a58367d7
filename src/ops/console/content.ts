/** Renders the stored content of leads and submissions without losing digits of numbers. */

import { attributionSources, formKeyName, honeypotName, startedAtName } from "../../contract/forms.ts";
import { type Markup, markup } from "../../http/markup.ts";
import { decodeString, members } from "../../lead/json.ts";
import { findSender } from "../../lead/sender.ts";
import { normalizeLine } from "../../lead/text.ts";
import type { ConsoleParts } from "./context.ts";
import { formatCents, safeText } from "./text.ts";

/** Returns the members of a stored JSON object as pairs of name and text. */
function memberPairs(json: string): [name: string, value: string][] {
  return members(json).map(({ name, valueText }) => {
    if (name === "cost_cents" && /^\d+$/.test(valueText)) return ["cost", formatCents(Number(valueText))];
    return [name, valueText.startsWith('"') ? decodeString(valueText) : valueText];
  });
}

/** Renders a stored JSON object as a description list; `json` is `null` if it was erased. */
export function factList(json: string | null): Markup {
  if (json === null) return erasedNote;
  const pairs = memberPairs(json);
  if (pairs.length === 0) return markup`<p class="quiet">Empty.</p>`;
  return markup`<dl class="facts">${
    pairs.map(([name, value]) => markup`<dt>${safeText(name)}</dt><dd>${safeText(value)}</dd>`)
  }</dl>`;
}

/** Renders a text verbatim, in a box that the keyboard can scroll. */
export function verbatim(text: string | null, label: string): Markup {
  if (text === null) return erasedNote;
  return markup`<pre tabindex="0" role="region" aria-label="${label}">${safeText(text)}</pre>`;
}

/** The placeholder for removed content. */
export const erasedNote: Markup =
  markup`<p class="quiet">Erased. Only the id, the time and the digests remain.</p>`;

/** Pairs the members of two objects by name; a missing value is `null`. */
export function pairMembers(
  left: string | null,
  right: string | null,
): { readonly name: string; readonly left: string | null; readonly right: string | null }[] {
  const a = new Map(left === null ? [] : memberPairs(left));
  const b = new Map(right === null ? [] : memberPairs(right));
  return [...new Set([...a.keys(), ...b.keys()])].map((name) => ({
    name,
    left: a.get(name) ?? null,
    right: b.get(name) ?? null,
  }));
}

const nonContentFields: readonly string[] = [honeypotName, formKeyName, startedAtName, ...attributionSources];

/** Returns a submission's sender, contact, and longest other value, each empty if there is none. */
export function readFields(fields: Readonly<Record<string, unknown>>) {
  const content = Object.entries(fields).filter(([name]) => !nonContentFields.includes(name))
    .map(([name, value]) => [name, normalizeLine(String(value ?? ""))] as const);
  const { name, take, used } = findSender(content, String);
  const [email, phone] = [take("email"), take("phone")];
  const others = content.map(([, value]) => value).filter((value) => !used.has(value));
  return { name, contact: email || phone, text: others.reduce((a, b) => b.length > a.length ? b : a, "") };
}

/** Lists reasons with their meanings. */
export function reasonList(names: readonly string[], parts: ConsoleParts): Markup {
  if (names.length === 0) return markup``;
  return markup`<ul class="reasons">${
    names.map((name) => {
      const meaning = parts.spamMeanings[name];
      return markup`<li><code>${safeText(name)}</code>${
        meaning !== undefined && markup` <span class="quiet">${meaning}</span>`
      }</li>`;
    })
  }</ul>`;
}
