/**
 * The JSON editor: a plain text area over a coloured copy of its text, in which the members that fail or are
 * flagged are underlined.
 */

/// <reference lib="dom" />

import { byId, fill, make } from "./dom.ts";
import { type Place, tokenize } from "./edit_json.ts";

/** A stretch of the text that is to be seen. */
export interface Stretch {
  readonly start: number;
  readonly end: number;
  readonly kind: "failing" | "flagged";
}

// Longer texts are shown in one colour: thousands of elements would make typing slow.
const colouredLengthMax = 20_000;

const area = byId("body", HTMLTextAreaElement);
const mirror = byId("mirror", HTMLPreElement);

/** The text area itself. */
export const editor = area;

/** Paints the copy of the text. */
export function paint(text: string, stretches: readonly Stretch[]): void {
  if (text.length > colouredLengthMax) {
    mirror.textContent = `${text}\n`;
    return;
  }
  const parts: HTMLElement[] = [];
  let at = 0;
  for (const { kind, text: token } of tokenize(text)) {
    const stretch = stretches.find(({ start, end }) => at >= start && at < end);
    parts.push(make("span", { class: stretch === undefined ? kind : `${kind} ${stretch.kind}` }, token));
    at += token.length;
  }
  // A last line without anything in it would have no height otherwise.
  fill(mirror, ...parts, "\n");
}

/** Shows a member, or another stretch, in the text area. */
export function select(start: number, end: number): void {
  area.focus({ preventScroll: true });
  area.setSelectionRange(start, end);
  const box = area.parentElement as HTMLElement;
  const lines = area.value.slice(0, start).split("\n").length - 1;
  const height = parseFloat(getComputedStyle(area).lineHeight);
  if (lines * height < box.scrollTop || (lines + 2) * height > box.scrollTop + box.clientHeight) {
    box.scrollTop = Math.max(0, (lines - 2) * height);
  }
  box.scrollIntoView({ block: "nearest" });
}

/** The stretch of a member, name and value. */
export function stretchOf(place: Place, kind: Stretch["kind"]): Stretch {
  return { start: place.nameStart, end: place.valueEnd, kind };
}
