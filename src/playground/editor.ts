/** The JSON editor: a text area over a highlighted copy, in which failing and flagged members are underlined. */

/// <reference lib="dom" />

import { byId, fill, make } from "./dom.ts";
import { tokenize } from "./edit_json.ts";

/** A range of the text to underline. */
export interface Range {
  readonly start: number;
  readonly end: number;
  readonly kind: "failing" | "flagged";
}

// Longer texts are not highlighted, because thousands of elements would slow down typing.
const highlightedLengthMax = 20_000;

export const editor = byId("body", HTMLTextAreaElement);
const highlightLayer = byId("mirror", HTMLPreElement);

/** Updates the highlighted copy. */
export function highlight(text: string, ranges: readonly Range[]): void {
  if (text.length > highlightedLengthMax) {
    highlightLayer.textContent = `${text}\n`;
    return;
  }
  const parts: HTMLElement[] = [];
  let at = 0;
  for (const { kind, text: token } of tokenize(text)) {
    const range = ranges.find(({ start, end }) => at >= start && at < end);
    parts.push(make("span", { class: range === undefined ? kind : `${kind} ${range.kind}` }, token));
    at += token.length;
  }
  // Gives an empty last line its height.
  fill(highlightLayer, ...parts, "\n");
}

/** Selects a range of the text area and scrolls to it. */
export function select(start: number, end: number): void {
  editor.focus({ preventScroll: true });
  editor.setSelectionRange(start, end);
  const box = editor.parentElement as HTMLElement;
  const lines = editor.value.slice(0, start).split("\n").length - 1;
  const height = parseFloat(getComputedStyle(editor).lineHeight);
  if (lines * height < box.scrollTop || (lines + 2) * height > box.scrollTop + box.clientHeight) {
    box.scrollTop = Math.max(0, (lines - 2) * height);
  }
  box.scrollIntoView({ block: "nearest" });
}
