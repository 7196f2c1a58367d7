/**
 * What stands in a subject: one short line, of which nothing is an address.
 *
 * @module
 */

import { unlinked } from "./inert.ts";
import { inline } from "./rows.ts";

/** Chosen: a phone shows forty characters of a subject or so, and the name comes last. */
const projectLengthMax = 60;
const placeLengthMax = 40;
const nameLengthMax = 80;

/** `Kitchen remodel in Portland: Grace Hopper`; what is empty is left out. */
export function subjectOf(
  { what, place, name }: { readonly what: string; readonly place: string; readonly name: string },
): string {
  const where = place === "" ? "" : ` in ${short(place, placeLengthMax)}`;
  const who = name === "" ? "" : `: ${short(name, nameLengthMax)}`;
  return short(what, projectLengthMax) + where + who;
}

/** Text of one line, cut at so many characters. */
export function short(text: string, lengthMax: number): string {
  // No more is looked at than can be shown: white space collapses, and a character has a few units.
  const start = unlinked(inline(text.slice(0, 8 * lengthMax)));
  // Nor is anything an encoded word of a header, which mail programs would read as something else.
  const line = start.replaceAll("=?", "= ?").replace(/\s+/g, " ").trim();
  const characters = [...line];
  return characters.length <= lengthMax ? line : `${characters.slice(0, lengthMax - 1).join("").trimEnd()}…`;
}

/** Chosen: what a list of mails shows of one at most. */
const preheaderPartLengthMax = 120;

/** What stands behind the subject in a list of mails. */
export function preheaderOf(parts: readonly string[]): string {
  return parts.map((part) => short(part, preheaderPartLengthMax)).filter((part) => part !== "").join(" · ");
}
