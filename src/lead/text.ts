/**
 * Text normalization, linear in its input: no regular expression here can backtrack over a 64 KiB body. This module is
 * browser compatible.
 *
 * @module
 */

/** All of Cc but tab, LF, VT, FF, CR and NEL. */
const vanishing = /[^\P{Cc}\p{White_Space}]/gu;
const spacingControl = /\p{Cc}/gu;
const spaceRun = /\p{White_Space}+/gu;
const spaceRunInLine = /[^\P{White_Space}\n]+/gu;
const lineBreak = /\r\n?|[\u0085\u2028\u2029]/g;
const edgeOfLine = / ?\n ?/g;
/** Three blank lines. */
const blankLines = /\n{4,}/g;
const lineBreaksMax = 3;
/** Matches text that is not in its normal form. */
const unsettled = /[^\P{White_Space} ]|\p{Cc}|^ | $| {2}/u;
const oneSpace = /^\p{White_Space}$/u;
const space = 0x20;
const lineFeed = 0x0a;

/**
 * Normalizes a single-line field: lone surrogates become U+FFFD, control characters other than white space vanish,
 * white-space runs become one space, the ends are trimmed. Control characters go before runs collapse, or `A \u0001 B`
 * would keep two spaces.
 *
 * Source: SPEC, Global normalization; DECISIONS, The lead envelope.
 */
export function normalizeLine(sent: string): string {
  if (isPlain(sent, 0) || isSettled(sent)) return sent;
  return trimmed(sent.toWellFormed().replace(vanishing, "").replace(spaceRun, " "));
}

/**
 * Normalizes `project_details`: line breaks become LF, white space collapses within lines, three or more blank lines
 * become one. Other control characters stay, except U+0000, which PostgreSQL cannot store.
 *
 * Source: SPEC, Lead envelope and Global normalization.
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
 * Normalizes text "as sent": trims it and removes control characters. An inner tab or line break becomes a space, so
 * that `415<TAB>555` does not run together.
 *
 * Source: DECISIONS, The lead envelope, `phone`.
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

/**
 * Fast path, ten times cheaper than the replacements: whether a text of ASCII or Latin up to U+167F is in its normal
 * form, with at most `breaksMax` consecutive LF.
 */
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
