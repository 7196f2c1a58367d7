/**
 * Reads JSON without loss: returns members as written, so that 1.10, `\u0000` and `__proto__` are preserved. Takes linear
 * time without recursion. This module is browser compatible.
 */

export interface Member {
  /** The decoded name; lone surrogates become U+FFFD. */
  readonly name: string;
  /** The name as written, with its quotation marks. */
  readonly nameText: string;
  readonly valueText: string;
}

/** Matches an escaped surrogate pair, an escaped lone surrogate (captured), or escaped backslashes. */
const escapes =
  /\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|(?:\\\\)+/g;
const surrogateEscape = /\\u[dD][89a-fA-F]/;

/**
 * Parses a JSON object that is nested at most `depthMax` levels; `null` for any other text. The last duplicate wins;
 * `__proto__` is an ordinary name.
 */
export function parseObject(text: string, depthMax: number): Readonly<Record<string, unknown>> | null {
  // Some engines' parsers overflow the stack on deep nesting.
  if (isDeeperThan(text, depthMax)) return null;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  return isObject(value) ? value : null;
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the members of a valid JSON object in text order, including duplicates. */
export function members(text: string): Member[] {
  const list: Member[] = [];
  let at = afterMark(text, skipWhiteSpace(text, 0));
  while (text.charCodeAt(at) === quote) {
    const nameEnd = stringEnd(text, at);
    const nameText = text.slice(at, nameEnd);
    const start = afterMark(text, skipWhiteSpace(text, nameEnd));
    const end = valueEnd(text, start);
    list.push({ name: decodeString(nameText), nameText, valueText: text.slice(start, end) });
    at = afterMark(text, skipWhiteSpace(text, end));
  }
  return list;
}

/** Returns the index of the token after the bracket, colon or comma at `at`. */
function afterMark(text: string, at: number): number {
  return skipWhiteSpace(text, at + 1);
}

/** Removes the byte order mark that may precede a JSON text. */
export function withoutByteOrderMark(text: string): string {
  return text.startsWith("\ufeff") ? text.slice(1) : text;
}

/** Replaces escaped lone surrogates, which PostgreSQL and other strict parsers refuse, with `\ufffd`. */
export function replaceLoneSurrogates(text: string): string {
  if (!surrogateEscape.test(text)) return text;
  return text.replace(escapes, (escape, lone) => lone === undefined ? escape : "\\ufffd");
}

/** Removes `\u0000` escapes, which PostgreSQL cannot store. */
export function removeNul(text: string): string {
  if (!text.includes("\\u0000")) return text;
  return text.replace(/\\u0000|((?:\\\\)+)/g, "$1");
}

/** Decodes a JSON string literal; lone surrogates become U+FFFD. */
export function decodeString(literal: string): string {
  return literal.includes("\\") ? JSON.parse(literal).toWellFormed() : literal.slice(1, -1);
}

/** Returns the index of the first character at or after `at` that is not JSON white space. */
export function skipWhiteSpace(text: string, at: number): number {
  let code = text.charCodeAt(at);
  while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) code = text.charCodeAt(++at);
  return at;
}

/** Returns the index after the string literal at `at`; the text's length if it is unterminated. */
export function stringEnd(text: string, at: number): number {
  for (let end = text.indexOf('"', at + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    // Takes linear time, because each run of backslashes is counted once.
    while (text.charCodeAt(end - 1 - backslashes) === backslash) backslashes++;
    if (backslashes % 2 === 0) return end + 1;
  }
  return text.length;
}

/** Returns the index after the number, `true`, `false` or `null` at `at`. */
export function wordEnd(text: string, at: number): number {
  while (isWordPart(text.charCodeAt(at))) at++;
  return at;
}

const quote = 0x22;
const backslash = 0x5c;
const openBracket = 0x5b;
const openBrace = 0x7b;
const closeBracket = 0x5d;
const closeBrace = 0x7d;

/** Whether a character can be part of a number, `true`, `false` or `null`; false for the `NaN` past the end. */
function isWordPart(code: number): boolean {
  return code >= 0x61 && code <= 0x7a || code >= 0x2d && code <= 0x39 || code === 0x2b || code === 0x45;
}

/** Returns the index after the JSON value at `at`; at most the text's length. */
export function valueEnd(text: string, at: number): number {
  const first = text.charCodeAt(at);
  if (first === quote) return stringEnd(text, at);
  if (first !== openBrace && first !== openBracket) return wordEnd(text, at);
  let depth = 0;
  do {
    const code = text.charCodeAt(at);
    at = code === quote ? stringEnd(text, at) : at + 1;
    depth += depthChange(code);
  } while (depth > 0 && at < text.length);
  return at;
}

function depthChange(code: number): number {
  if (code === openBrace || code === openBracket) return 1;
  return code === closeBrace || code === closeBracket ? -1 : 0;
}

/** Whether a valid text is nested deeper than `depthMax`; for an invalid text, the result is an estimate. */
function isDeeperThan(text: string, depthMax: number): boolean {
  if (!hasMoreBracketsThan(text, depthMax)) return false;
  let depth = 0;
  for (let at = 0; at < text.length && depth <= depthMax;) {
    const code = text.charCodeAt(at);
    at = code === quote ? stringEnd(text, at) : at + 1;
    depth += depthChange(code);
  }
  return depth > depthMax;
}

/** Whether a text has more than `countMax` opening brackets; `indexOf` is faster than a loop over all characters. */
function hasMoreBracketsThan(text: string, countMax: number): boolean {
  let count = 0;
  for (const bracket of ["[", "{"]) {
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1)) {
      count++;
      if (count > countMax) return true;
    }
  }
  return false;
}

/** Returns the JSON text of each element of an array. */
export function arrayElements(text: string): string[] {
  const elements: string[] = [];
  let at = skipWhiteSpace(text, text.indexOf("[") + 1);
  while (at < text.length && text[at] !== "]") {
    const end = valueEnd(text, at);
    elements.push(text.slice(at, end));
    at = skipWhiteSpace(text, end);
    at = text[at] === "," ? skipWhiteSpace(text, at + 1) : text.length;
  }
  return elements;
}

/** Removes the white space between JSON tokens. */
export function minifyJson(text: string): string {
  let minified = "";
  for (let at = skipWhiteSpace(text, 0); at < text.length; at = skipWhiteSpace(text, at)) {
    let end = at;
    while (end < text.length && skipWhiteSpace(text, end) === end) {
      end = text[end] === '"' ? stringEnd(text, end) : end + 1;
    }
    minified += text.slice(at, end);
    at = end;
  }
  return minified;
}

/** Indents JSON and keeps every digit of its numbers; returns any other text unchanged. */
export function indentJson(text: string): string {
  const { rawJSON } = JSON as unknown as { rawJSON: (text: string) => unknown };
  // TypeScript does not know the third argument, which has the number as written.
  const keepDigits = (_name: string, value: unknown, context: { readonly source: string }) =>
    typeof value === "number" ? rawJSON(context.source) : value;
  try {
    return JSON.stringify(JSON.parse(text, keepDigits as Parameters<typeof JSON.parse>[1]), null, 2);
  } catch {
    return text;
  }
}
