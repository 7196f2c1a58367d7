/**
 * Text as the envelope wants it: well-formed, one space between words, no control characters. Every
 * function is linear in its input; no regular expression here can backtrack over a 64 KiB body.
 * This module is browser compatible.
 *
 * @module
 */

/** Control characters that are no white space: all of Cc but tab, LF, VT, FF, CR and NEL. */
const vanishing = /[^\P{Cc}\p{White_Space}]/gu;
/** What of Cc is left once {@linkcode vanishing} has gone. */
const spacingControl = /\p{Cc}/gu;
const spaceRun = /\p{White_Space}+/gu;
const spaceRunInLine = /[^\P{White_Space}\n]+/gu;
const lineBreak = /\r\n?|[\u0085\u2028\u2029]/g;
const edgeOfLine = / ?\n ?/g;
/** Four line breaks have three blank lines between them. */
const blankLines = /\n{4,}/g;
const lineBreaksMax = 3;
/** What any of the normal forms may change: control characters, and any white space but single spaces inside. */
const unsettled = /[^\P{White_Space} ]|\p{Cc}|^ | $| {2}/u;
const oneSpace = /^\p{White_Space}$/u;
const space = 0x20;
const lineFeed = 0x0a;

/**
 * Normalizes a field of one line: lone surrogates become U+FFFD, control characters vanish (tab, LF,
 * VT, FF, CR and NEL become a space first), runs of Unicode White_Space become one U+0020, the ends
 * are trimmed.
 *
 * Source: SPEC, Global normalization; DECISIONS, The lead envelope.
 *
 * Chosen: control characters vanish before runs collapse, because `A \u0001 B` would keep two spaces
 * otherwise; surrogates are mended before anything vanishes, because two lone halves must not meet.
 * Characters that are invisible yet neither (U+200B, U+FEFF) stay, because Unicode calls them text.
 */
export function normalizeLine(sent: string): string {
  if (isPlain(sent, 0) || isSettled(sent)) return sent;
  return trimmed(sent.toWellFormed().replace(vanishing, "").replace(spaceRun, " "));
}

/**
 * Normalizes `project_details`: line breaks of every kind become LF, inside a line runs of white
 * space collapse and its ends are trimmed, three or more blank lines become one, the whole is
 * trimmed.
 *
 * Source: SPEC, Lead envelope and Global normalization; DECISIONS, The lead envelope.
 *
 * Chosen: control characters other than white space stay, because SPEC exempts this one field from
 * their removal; U+0000 alone goes, because PostgreSQL cannot hold it and no lead may fail there.
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
 * Text "as sent": trimmed and without control characters, inner spacing untouched.
 *
 * Source: DECISIONS, The lead envelope, `phone`.
 *
 * Chosen: an inner tab or line break still becomes a space, because the rule for control characters
 * makes it one before they go, and `415<TAB>555` must not run together.
 */
export function asSent(sent: string): string {
  if (isPlain(sent, 0) || isSettled(sent)) return sent;
  return trimmed(sent.toWellFormed().replace(vanishing, "").replace(spacingControl, " "));
}

/** Whether a text that is not plain is in its normal form all the same: one search instead of four replacements. */
function isSettled(text: string): boolean {
  return text.isWellFormed() && !unsettled.test(text);
}

/** Tells whether a well-formed text has more than `lengthMax` runes (Unicode code points). */
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
 * Tells whether a text is certainly in its normal form already: printable ASCII, or Latin to U+167F,
 * where Unicode has no white space but U+00A0, with single spaces inside, and up to so many LF in a row. Most values
 * are, and the replacements cost ten times as much as this loop.
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

/**
 * Removes Unicode White_Space at both ends. Not `String.prototype.trim`, which takes U+FEFF and leaves NEL;
 * not `/\s+$/`, which is quadratic on a long inner run.
 */
export function trimmed(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && oneSpace.test(text.charAt(start))) start++;
  while (end > start && oneSpace.test(text.charAt(end - 1))) end--;
  return text.slice(start, end);
}
