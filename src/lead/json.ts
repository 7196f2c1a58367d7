/**
 * Lossless JSON: finds members as written, so that 1.10, `\u0000` and `__proto__` survive. No recursion, nothing
 * quadratic. This module is browser compatible.
 */

export interface Member {
  /** The decoded name; lone surrogates become U+FFFD. */
  readonly name: string;
  /** The name as written, with its quotes. */
  readonly nameText: string;
  readonly valueText: string;
}

/** A surrogate pair in escapes, a lone surrogate (captured), or escaped backslashes. */
const escapes =
  /\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|(?:\\\\)+/g;
const surrogateEscape = /\\u[dD][89a-fA-F]/;

/**
 * Parses one JSON object nested at most `depthMax` levels; otherwise `null`. The last duplicate wins; `__proto__` is
 * ordinary.
 */
export function parseObject(text: string, depthMax: number): Readonly<Record<string, unknown>> | null {
  // Checked first: some engines' parsers overflow on deep nesting.
  if (isDeeperThan(text, depthMax)) return null;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  return isObject(value) ? value : null;
}

export interface ParsedMember extends Member {
  readonly value: unknown;
}

/** {@linkcode parseObject} and {@linkcode members} in one pass, at a third of the cost for thousands of members. */
export function parseMembers(text: string, depthMax: number): ParsedMember[] | null {
  if (isDeeperThan(text, depthMax)) return null;
  const tokens = memberTokens(text);
  if (tokens === null) return null;
  const found: ParsedMember[] = [];
  try {
    for (let at = 0; at < tokens.length; at += 2) {
      const [nameText, valueText] = [tokens[at] as string, tokens[at + 1] as string];
      found.push({ name: parseToken(nameText) as string, nameText, value: parseToken(valueText), valueText });
    }
  } catch {
    return null;
  }
  return found;
}

/** Avoids `JSON.parse` for plain strings and numbers. */
function parseToken(token: string): unknown {
  const first = token.charCodeAt(0);
  if (first === quote && plainString.test(token)) return token.slice(1, -1);
  if (first !== quote && number.test(token)) return Number(token);
  return JSON.parse(token);
}

/** Names and values in turn, as written; `null` for a malformed object. */
function memberTokens(text: string): string[] | null {
  const tokens: string[] = [];
  let at = spaceEnd(text, 0);
  if (text.charCodeAt(at) !== openBrace) return null;
  at = spaceEnd(text, at + 1);
  if (text.charCodeAt(at) === closeBrace) return spaceEnd(text, at + 1) === text.length ? tokens : null;
  while (text.charCodeAt(at) === quote) {
    const nameEnd = stringEnd(text, at);
    tokens.push(text.slice(at, nameEnd));
    at = spaceEnd(text, nameEnd);
    if (text.charCodeAt(at) !== colon) return null;
    at = spaceEnd(text, at + 1);
    const end = valueEnd(text, at);
    tokens.push(text.slice(at, end));
    at = spaceEnd(text, end);
    if (text.charCodeAt(at) === closeBrace) return spaceEnd(text, at + 1) === text.length ? tokens : null;
    if (text.charCodeAt(at) !== comma) return null;
    at = spaceEnd(text, at + 1);
  }
  return null;
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The members of a valid JSON object in text order, duplicates included. */
export function members(text: string): Member[] {
  const found: Member[] = [];
  let at = spaceEnd(text, text.indexOf("{") + 1);
  while (text.charCodeAt(at) === quote) {
    const nameEnd = stringEnd(text, at);
    const nameText = text.slice(at, nameEnd);
    const valueStart = spaceEnd(text, text.indexOf(":", nameEnd) + 1);
    at = valueEnd(text, valueStart);
    found.push({ name: decode(nameText), nameText, valueText: text.slice(valueStart, at) });
    at = spaceEnd(text, at);
    // Skips the comma, or the closing brace.
    at = spaceEnd(text, at + 1);
  }
  return found;
}

/** Replaces escapes of lone surrogates by `\ufffd`: PostgreSQL and other strict parsers refuse them. */
export function replaceLoneSurrogates(text: string): string {
  if (!surrogateEscape.test(text)) return text;
  return text.replace(escapes, (escape, lone) => lone === undefined ? escape : "\\ufffd");
}

export function withoutNul(text: string): string {
  if (!text.includes("\\u0000")) return text;
  return text.replace(/\\u0000|((?:\\\\)+)/g, "$1");
}

/** Decodes a JSON string literal; lone surrogates become U+FFFD. */
export function decode(literal: string): string {
  return literal.includes("\\") ? JSON.parse(literal).toWellFormed() : literal.slice(1, -1);
}

export function spaceEnd(text: string, at: number): number {
  let code = text.charCodeAt(at);
  while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) code = text.charCodeAt(++at);
  return at;
}

/** The index after the string literal at `at`; the text's length if it is unterminated. */
export function stringEnd(text: string, at: number): number {
  for (let end = text.indexOf('"', at + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    // Each run of backslashes is counted once.
    while (text.charCodeAt(end - 1 - backslashes) === backslash) backslashes++;
    if (backslashes % 2 === 0) return end + 1;
  }
  return text.length;
}

export function wordEnd(text: string, at: number): number {
  while (isWordPart(text.charCodeAt(at))) at++;
  return at;
}

// deno-lint-ignore no-control-regex -- a string has none of them
const plainString = /^"[^\\\x00-\x1f]*$/;
const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const quote = 0x22;
const backslash = 0x5c;
const openBracket = 0x5b;
const openBrace = 0x7b;
const closeBracket = 0x5d;
const closeBrace = 0x7d;
const colon = 0x3a;
const comma = 0x2c;

/** Letters, digits, `+`, `-` and `.`; false for the NaN past the end. */
function isWordPart(code: number): boolean {
  return code >= 0x61 && code <= 0x7a || code >= 0x2d && code <= 0x39 || code === 0x2b || code === 0x45;
}

/** The index after the JSON value at `at`; at most the text's length. */
export function valueEnd(text: string, at: number): number {
  const first = text.charCodeAt(at);
  if (first === quote) return stringEnd(text, at);
  if (first !== openBrace && first !== openBracket) return wordEnd(text, at);
  let depth = 0;
  do {
    const code = text.charCodeAt(at);
    at = code === quote ? stringEnd(text, at) : at + 1;
    depth += step(code);
  } while (depth > 0 && at < text.length);
  return at;
}

function step(code: number): number {
  if (code === openBrace || code === openBracket) return 1;
  return code === closeBrace || code === closeBracket ? -1 : 0;
}

/** Exact for valid texts only. */
function isDeeperThan(text: string, depthMax: number): boolean {
  if (!hasMoreThan(text, depthMax)) return false;
  let depth = 0;
  for (let at = 0; at < text.length && depth <= depthMax;) {
    const code = text.charCodeAt(at);
    at = code === quote ? stringEnd(text, at) : at + 1;
    depth += step(code);
  }
  return depth > depthMax;
}

/** Whether there are more than `countMax` opening brackets; `indexOf` beats a loop. */
function hasMoreThan(text: string, countMax: number): boolean {
  let count = 0;
  for (const bracket of ["[", "{"]) {
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1)) {
      count++;
      if (count > countMax) return true;
    }
  }
  return false;
}

/** The texts of an array's elements. */
export function elements(text: string): string[] {
  const found: string[] = [];
  let at = spaceEnd(text, text.indexOf("[") + 1);
  while (at < text.length && text[at] !== "]") {
    const end = valueEnd(text, at);
    found.push(text.slice(at, end));
    at = spaceEnd(text, end);
    at = text[at] === "," ? spaceEnd(text, at + 1) : text.length;
  }
  return found;
}

/** The text without white space between tokens. */
export function withoutSpace(text: string): string {
  let written = "";
  for (let at = spaceEnd(text, 0); at < text.length; at = spaceEnd(text, at)) {
    let end = at;
    while (end < text.length && spaceEnd(text, end) === end) {
      end = text[end] === '"' ? stringEnd(text, end) : end + 1;
    }
    written += text.slice(at, end);
    at = end;
  }
  return written;
}
