/**
 * Text normalization in linear time: no regular expression backtracks over a 64 KiB body. This module is browser
 * compatible.
 */

/** All of Cc but tab, LF, VT, FF, CR and NEL. */
const vanishing = /[^\P{Cc}\p{White_Space}]/gu;
const spacingControl = /\p{Cc}/gu;
const spaceRun = /\p{White_Space}+/gu;
const spaceRunInLine = /[^\P{White_Space}\n]+/gu;
const lineBreak = /\r\n?|[\u0085\u2028\u2029]/g;
const edgeOfLine = / ?\n ?/g;
const blankLines = /\n{4,}/g;
const lineBreaksMax = 3;
/** Matches text that is not in its normal form. */
const unsettled = /[^\P{White_Space} ]|\p{Cc}|^ | $| {2}/u;
const oneSpace = /^\p{White_Space}$/u;
const space = 0x20;
const lineFeed = 0x0a;

/**
 * Normalizes a single-line field: drops control characters, collapses white space, trims; lone surrogates become
 * U+FFFD. Control characters go first, or `A \u0001 B` would keep two spaces. Source: SPEC, Global normalization.
 */
export function normalizeLine(sent: string): string {
  if (isPlain(sent, 0) || isSettled(sent)) return sent;
  return trimmed(sent.toWellFormed().replace(vanishing, "").replace(spaceRun, " "));
}

/**
 * Normalizes `project_details`: LF line breaks, one space within lines, at most two blank lines in a row. Control
 * characters stay, except U+0000, which PostgreSQL cannot store. Source: SPEC, Global normalization.
 */
export function normalizeDetails(sent: string): string {
  if (isPlain(sent, lineBreaksMax) || isSettled(sent)) return sent;
  return trimmed(
    sent.toWellFormed().replaceAll("\0", "")
      .replace(lineBreak, "\n")
      .replace(spaceRunInLine, " ")
      .replace(edgeOfLine, "\n")
      .replace(blankLines, "\n\n"),
  );
}

/**
 * Trims text and removes control characters; inner ones that are white space become a space, so that digits stay
 * apart. Source: DECISIONS, The lead envelope, `phone`.
 */
export function asSent(sent: string): string {
  if (isPlain(sent, 0) || isSettled(sent)) return sent;
  return trimmed(sent.toWellFormed().replace(vanishing, "").replace(spacingControl, " "));
}

/** One search instead of four replacements, for text that is not plain. */
function isSettled(text: string): boolean {
  return text.isWellFormed() && !unsettled.test(text);
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

/** Fast path, ten times cheaper: whether Latin text is normal, with at most `breaksMax` consecutive LF. */
function isPlain(text: string, breaksMax: number): boolean {
  let before = space;
  let breaks = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === space) {
      if (before === space || before === lineFeed) return false;
    } else if (code === lineFeed) {
      breaks = before === lineFeed ? breaks + 1 : 1;
      if (before === space || breaks > breaksMax) return false;
    } else if (code < space || code > 0x7e && (code < 0xa1 || code > 0x167f)) return false;
    before = code;
  }
  return before !== space && before !== lineFeed;
}

/** Trims Unicode White_Space. `trim()` removes U+FEFF and keeps NEL; `/\s+$/` is quadratic. */
export function trimmed(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && oneSpace.test(text.charAt(start))) start++;
  while (end > start && oneSpace.test(text.charAt(end - 1))) end--;
  return text.slice(start, end);
}
