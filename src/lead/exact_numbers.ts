/**
 * Carries numbers that a double cannot hold, such as 12345678901234567890 and 1.10, through expressions with the sender's
 * digits. Such a number is a text between two characters that are not for interchange; in JSON it becomes a number again.
 * This module is browser compatible.
 */

const open = "\ufdd0";
const close = "\ufdd1";
const marks = /[\ufdd0\ufdd1]/g;
/**
 * A marked text that is a value. Not after a backslash, where the quotation mark belongs to a longer text, and not before a colon,
 * because a member's name cannot be a number. Only a number, because decoding functions can make marks of a sender's text.
 */
const markedNumber = /(?<!\\)"\ufdd0(-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\ufdd1"(?!:)/g;
/** The marks in a JSON text, as characters or escapes; an escaped backslash is matched first, so that none starts in it. */
const marksInJson = /\\\\|\\ufdd[01]|[\ufdd0\ufdd1]/gi;

/**
 * Parses JSON; a number whose digits a double would change becomes a marked text. With `onlyIntegers`, 1.10 and 1e3 stay numbers,
 * which expressions can compare.
 */
export function parseExactly(text: string, { onlyIntegers = false } = {}): unknown {
  // The sender's own marks would be taken for ours.
  const unmarked = text.replace(marksInJson, (found) => found === "\\\\" ? found : "\ufffd");
  // TypeScript does not know the third argument, which has the number as written.
  const reviver = (_name: string, value: unknown, context?: { readonly source?: string }) =>
    typeof value === "number" && context?.source !== undefined && String(value) !== context.source &&
      (!onlyIntegers || /^-?[0-9]+$/.test(context.source))
      ? open + context.source + close
      : value;
  return JSON.parse(unmarked, reviver as (name: string, value: unknown) => unknown);
}

/** Writes JSON; marked texts become numbers. */
export function stringifyExactly(value: unknown): string | undefined {
  return JSON.stringify(value)?.replace(markedNumber, "$1").replace(marks, "");
}

/** Returns a text without the marks. */
export function withoutMarks(text: string): string {
  return text.replace(marks, "");
}
