/**
 * Normalizes text in linear time; no regular expression backtracks over a long body. This module is browser compatible.
 */

import { keyInText } from "../contract/api_key.ts";

/** Matches control characters other than tab, LF, VT, FF, CR and NEL. */
const removedControl = /[^\P{Cc}\p{White_Space}]/gu;
const control = /\p{Cc}/gu;
const spaceRun = /\p{White_Space}+/gu;
const spaceRunInLine = /[^\P{White_Space}\n]+/gu;
const lineBreak = /\r\n?|[\u0085\u2028\u2029]/g;
const lineEdge = / ?\n ?/g;
const blankLines = /\n{4,}/g;
const lineBreaksMax = 3;
/** Matches text that needs normalization. */
const needsNormalization = /[^\P{White_Space} ]|\p{Cc}|^ | $| {2}/u;
const oneSpace = /^\p{White_Space}$/u;
const space = 0x20;
const lineFeed = 0x0a;

/**
 * Normalizes a single-line field: removes control characters, collapses white space, and trims; lone surrogates become
 * U+FFFD. Source: SPEC, Global normalization.
 */
export function normalizeLine(sent: string): string {
  if (isPlain(sent, 0) || isNormalized(sent)) return sent;
  // Control characters are removed first; otherwise `A \u0001 B` would keep two spaces.
  return trimWhiteSpace(sent.toWellFormed().replace(removedControl, "").replace(spaceRun, " "));
}

/** Matches separators and bidirectional controls, which could make a line look like different text. */
const misleading = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

/** Returns what is wrong with a line that an operator wrote, after "it"; `null` if it can be stored. */
export function lineFault(line: string, lengthMax: number): string | null {
  if (line === "") return "must not be blank";
  if (misleading.test(line) || !line.isWellFormed()) {
    return "must not contain control characters, line separators or malformed Unicode";
  }
  if (keyInText.test(line)) return "must not contain an API key";
  return isLongerThan(line, lengthMax) ? `is longer than ${lengthMax} characters` : null;
}

/**
 * Normalizes `project_details`: line breaks become LF, white space within a line becomes one space, three or more blank
 * lines become one, and the text is trimmed. Keeps control characters other than NUL. Source: SPEC, Global
 * normalization.
 */
export function normalizeDetails(sent: string): string {
  if (isPlain(sent, lineBreaksMax) || isNormalized(sent)) return sent;
  return trimWhiteSpace(
    sent.toWellFormed().replaceAll("\0", "")
      .replace(lineBreak, "\n")
      .replace(spaceRunInLine, " ")
      .replace(lineEdge, "\n")
      .replace(blankLines, "\n\n"),
  );
}

/**
 * Trims text and removes control characters without collapsing spaces. Tabs and line breaks become spaces, so that digits
 * stay separate. Source: DECISIONS, The lead envelope, `phone`.
 */
export function withoutControls(sent: string): string {
  if (isPlain(sent, 0) || isNormalized(sent)) return sent;
  return trimWhiteSpace(sent.toWellFormed().replace(removedControl, "").replace(control, " "));
}

/** Matches text in which some characters are not in normalization form C. */
const maybeDecomposed = /[^\0-\u02ff]/;
/** Matches more combining marks in a row than any language uses; the time for normalization grows with their square. */
const longMarks = /\p{M}{9}/u;

/** Returns a text in Unicode normalization form C, or unchanged if a letter has more than 8 combining marks. */
export function composed(text: string): string {
  return maybeDecomposed.test(text) && !longMarks.test(text) ? text.normalize("NFC") : text;
}

/** Whether a text needs no normalization; one search costs less than four replacements. */
function isNormalized(text: string): boolean {
  return text.isWellFormed() && !needsNormalization.test(text);
}

/** Whether a well-formed text has more than `lengthMax` runes (Unicode code points). */
export function isLongerThan(text: string, lengthMax: number): boolean {
  if (text.length <= lengthMax) return false;
  if (text.length > 2 * lengthMax) return true;
  let runes = text.length;
  for (let at = 0; at < text.length; at++) {
    if ((text.charCodeAt(at) & 0xfc00) === 0xdc00) runes--;
  }
  return runes > lengthMax;
}

/** A cheaper {@linkcode isNormalized} for text below U+1680, which allows up to `breaksMax` consecutive line feeds. */
function isPlain(text: string, breaksMax: number): boolean {
  let previous = space;
  let breaks = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === space) {
      if (previous === space || previous === lineFeed) return false;
    } else if (code === lineFeed) {
      breaks = previous === lineFeed ? breaks + 1 : 1;
      if (previous === space || breaks > breaksMax) return false;
    } else if (code < space || code > 0x7e && (code < 0xa1 || code > 0x167f)) return false;
    previous = code;
  }
  return previous !== space && previous !== lineFeed;
}

/**
 * Trims Unicode White_Space. Rejected: `trim()`, which removes U+FEFF and keeps NEL, and `/\s+$/`, which is quadratic.
 */
export function trimWhiteSpace(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && oneSpace.test(text.charAt(start))) start++;
  while (end > start && oneSpace.test(text.charAt(end - 1))) end--;
  return text.slice(start, end);
}
