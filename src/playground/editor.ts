/** The JSON editor: a text area over a highlighted copy, in which failing and flagged members are underlined. */

/// <reference lib="dom" />

import { formatCount, limits } from "../contract/limits.ts";
import { byId, fill, make } from "./dom.ts";
import { formatted, tokenize } from "./edit_json.ts";
import { byteLength } from "./response.ts";

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

/** Returns a function that schedules `update`, at most once per frame. */
export function oncePerFrame(update: () => void): () => void {
  let isDue = false;
  return () => {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(() => {
      isDue = false;
      update();
    });
  };
}

/** Indents the text; keeps a byte order mark. */
export function formatText(): void {
  const bomLength = editor.value.startsWith("\ufeff") ? 1 : 0;
  editor.value = editor.value.slice(0, bomLength) + formatted(editor.value.slice(bomLength));
}

export function showSize(): void {
  byId("size", HTMLElement).textContent = `${formatCount(byteLength(editor.value))} of ${
    formatCount(limits.bodyBytesMax)
  } bytes`;
}

/** Shows a notice if the page's script fails. */
export function watchFailures(): void {
  const notice = byId("notice", HTMLElement);
  for (const failure of ["error", "unhandledrejection"]) {
    globalThis.addEventListener(failure, () => {
      notice.hidden = false;
      fill(notice, "This page has failed. Reload it. Your input is not stored anywhere.");
    });
  }
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
