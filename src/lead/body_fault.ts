/**
 * Describes what is wrong with a refused body, for the sender and the log, without values from the body. This module is
 * browser compatible. Source: DECISIONS, Decided since (400 `invalid_json` and 422).
 */

import { keyInText } from "../contract/api_key.ts";
import { fieldNames } from "../contract/fields.ts";
import { limits } from "../contract/limits.ts";
import { isObject, skipWhiteSpace } from "./json.ts";

/** The JSON faults. Their names are logged; their texts follow the line and column in `detail`. */
export const jsonFaults = {
  trailing_comma: "a trailing comma; remove it",
  stray_comma: "a comma without a value before it",
  missing_comma: "a missing comma",
  missing_colon: "a missing colon after a name",
  missing_value: "a missing value",
  text_after_string: 'text after a string; escape a double quote inside a string as \\"',
  text_after_value: "text after a value, instead of a comma or a closing bracket",
  single_quotes: "a single quote; JSON allows only double quotes",
  typographic_quotes: 'a typographic quote; JSON allows only the straight double quote "',
  comment: "a comment, which JSON does not allow",
  placeholder: "a template placeholder that was not replaced",
  unquoted_name: "a name without double quotes",
  unquoted_text: "text without double quotes",
  not_a_number: "NaN and Infinity are not valid JSON; omit the field",
  foreign_word: "a literal from another language; JSON has only true, false and null, in lower case",
  leading_zero: "a number with a leading zero; put text, such as a ZIP code, in double quotes",
  malformed_number: "an invalid number; put text, such as a phone number, in double quotes",
  line_break: "a line break in a string; escape it as \\n, or close the string before it",
  control_character: "a control character in a string; write a tab as \\t, any other as \\u and four digits",
  bad_escape: "an invalid escape sequence; write \\\\ for a backslash",
  unclosed_string: "a string without its closing quote",
  unclosed_object: "an object without its closing }",
  unclosed_array: "an array without its closing ]",
  mismatched_bracket: "a closing bracket of the wrong kind",
  text_after_end: "text after the end of the JSON value",
  too_deep: `nested deeper than ${limits.jsonDepthMax} levels`,
  byte_order_mark: "a byte order mark, which is allowed only once, at the start of the body",
  invalid_space: "a space character that JSON does not allow, such as a no-break space",
  no_json: "not JSON; a JSON object starts with {",
} as const;

export type JsonFaultKind = keyof typeof jsonFaults;

/** A fault and its index in the text. */
export interface JsonFault {
  readonly kind: JsonFaultKind;
  readonly at: number;
}

/** The recognized formats other than JSON. Their names are logged; their texts are the `detail`. */
export const bodyFormats = {
  empty: "the body is empty; send a JSON object",
  form_encoded: "the body is form-encoded; send a JSON object",
  multipart: "the body is multipart/form-data; send a JSON object",
  html: "the body is an HTML page; send a JSON object",
  xml: "the body is XML; send a JSON object",
  percent_encoded: "the body is percent-encoded; send the JSON itself",
  base64: "the body is base64; send the JSON itself",
  object_object: "the body is a JavaScript object converted to a string; serialize it with JSON.stringify",
  utf16: "the body is UTF-16; send UTF-8",
  compressed: "the body is compressed; send it uncompressed",
  not_utf8: "the body is not UTF-8; it may be Latin-1 or Windows-1252",
} as const;

export type BodyFormat = keyof typeof bodyFormats;

/** The patterns for the start of a text without leading white space; the first match wins. */
const formatPatterns: readonly (readonly [BodyFormat, RegExp])[] = [
  ["utf16", /^(?:\0[{\s]|[{\s]\0)/],
  ["empty", /^$/],
  ["html", /^<(?:!doctype html|html)/i],
  ["xml", /^</],
  ["multipart", /^--[^\s][^\n]{0,100}\n[^\n]{0,20}content-disposition:/i],
  ["percent_encoded", /^%7b/i],
  ["object_object", /^\[object \w{1,20}\]/],
  // Base64 of `{"`, `{ `, `{` and a line break, and `[{`.
  ["base64", /^(?:ey[A-DI-L]|ew[k-r0-3]|W3[s-v])[\w+/-]{8}/],
  ["form_encoded", /^[\w.%+[\]-]{1,100}=/],
];

/** The number of leading characters that the patterns examine. */
const startLength = 200;

/** Returns the likely format of a text that is not JSON; `null` if unknown. */
function recognizeText(text: string): BodyFormat | null {
  const start = text.trimStart().slice(0, startLength);
  return formatPatterns.find(([, pattern]) => pattern.test(start))?.[0] ?? null;
}

/** The magic numbers of gzip, zlib, zip and Zstandard. */
const compressedPrefixes = [[0x1f, 0x8b], [0x78, 0x01], [0x78, 0x9c], [0x78, 0xda], [0x50, 0x4b, 3], [
  0x28,
  0xb5,
  0x2f,
  0xfd,
]];
const utf16ByteOrderMarks = [[0xff, 0xfe], [0xfe, 0xff]];

/** Returns the likely format of bytes that are not UTF-8. */
function recognizeBytes(bytes: Uint8Array): BodyFormat {
  const startsWith = (prefixes: readonly (readonly number[])[]) =>
    prefixes.some((prefix) => prefix.every((byte, index) => bytes[index] === byte));
  if (startsWith(compressedPrefixes)) return "compressed";
  return startsWith(utf16ByteOrderMarks) || bytes[0] === 0 || bytes[1] === 0 ? "utf16" : "not_utf8";
}

type Expected = "value" | "first value" | "name" | "first name" | "colon" | "comma" | "end";

const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const word = /[\p{L}_$][\p{L}\d_$]*/uy;
// deno-lint-ignore no-control-regex -- JSON strings must not contain control characters
const plain = /[^"\\\x00-\x1f]*/y;
const escape = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const numberStart = /[-+.\d]/;
const foreignWords = /^(?:True|TRUE|False|FALSE|None|NULL|Null|nil|undefined)$/;

/** Returns the first fault in a text; `null` for valid JSON that is not nested too deeply. */
export function findJsonFault(text: string): JsonFault | null {
  return new JsonScanner(text).run();
}

class JsonScanner {
  readonly #text: string;
  /** The indexes of the brackets that are still open. */
  readonly #openIndexes: number[] = [];
  #expected: Expected = "value";
  #at = 0;
  #lastCommaIndex = 0;
  /** The index after the last string. */
  #stringEnd = -1;

  constructor(text: string) {
    this.#text = text;
  }

  run(): JsonFault | null {
    for (;;) {
      this.#at = skipWhiteSpace(this.#text, this.#at);
      if (this.#at >= this.#text.length) return this.#faultAtEnd();
      const fault = this.#step(this.#text.charAt(this.#at));
      if (fault !== null) return fault;
    }
  }

  #fault(kind: JsonFaultKind, at = this.#at): JsonFault {
    return { kind, at };
  }

  #faultAtEnd(): JsonFault | null {
    const opened = this.#openIndexes.at(-1);
    if (opened !== undefined) {
      return this.#fault(this.#isObject() ? "unclosed_object" : "unclosed_array", opened);
    }
    return this.#expected === "end" ? null : this.#fault("missing_value");
  }

  #isObject(): boolean {
    return this.#text.charAt(this.#openIndexes.at(-1) as number) === "{";
  }

  #step(first: string): JsonFault | null {
    switch (this.#expected) {
      case "name":
      case "first name":
        return this.#name(first);
      case "colon":
        return first === ":" ? this.#next("value") : this.#unexpected("missing_colon");
      case "comma":
        return this.#afterMember(first);
      case "end":
        return this.#unexpected("text_after_end");
      default:
        return this.#value(first);
    }
  }

  #next(expected: Expected): null {
    this.#at += 1;
    this.#expected = expected;
    return null;
  }

  #name(first: string): JsonFault | null {
    if (first === '"') return this.#string("colon");
    if (first === "}") {
      return this.#expected === "first name"
        ? this.#close()
        : this.#fault("trailing_comma", this.#lastCommaIndex);
    }
    if (first === ",") return this.#fault("stray_comma");
    if (first === "{") return this.#fault("placeholder");
    return this.#unexpected("unquoted_name");
  }

  #value(first: string): JsonFault | null {
    if (this.#openIndexes.length === 0 && /[}\],:]/.test(first)) return this.#fault("no_json");
    if (first === '"') return this.#string(this.#afterValue());
    if (first === "{" || first === "[") return this.#openBracket(first);
    if (first === "]" && this.#expected === "first value") return this.#close();
    if (first === "]" || first === "}") {
      const isTrailing = this.#expected === "value" && !this.#isObject();
      return isTrailing ? this.#fault("trailing_comma", this.#lastCommaIndex) : this.#fault("missing_value");
    }
    if (first === ",") return this.#fault(this.#isObject() ? "missing_value" : "stray_comma");
    if (numberStart.test(first)) return this.#number();
    return this.#word();
  }

  #openBracket(first: string): JsonFault | null {
    if (this.#text.startsWith("{{", this.#at)) return this.#fault("placeholder");
    if (this.#openIndexes.length === limits.jsonDepthMax) return this.#fault("too_deep");
    this.#openIndexes.push(this.#at);
    return this.#next(first === "{" ? "first name" : "first value");
  }

  #close(): null {
    this.#openIndexes.pop();
    return this.#next(this.#afterValue());
  }

  #afterValue(): Expected {
    return this.#openIndexes.length === 0 ? "end" : "comma";
  }

  #afterMember(first: string): JsonFault | null {
    if (first === ",") {
      this.#lastCommaIndex = this.#at;
      return this.#next(this.#isObject() ? "name" : "value");
    }
    if (first === "}" || first === "]") {
      return (first === "}") === this.#isObject() ? this.#close() : this.#fault("mismatched_bracket");
    }
    if (/["{[]/.test(first)) return this.#fault("missing_comma");
    const isAfterString = skipWhiteSpace(this.#text, this.#stringEnd) === this.#at;
    return this.#unexpected(isAfterString ? "text_after_string" : "text_after_value");
  }

  #string(then: Expected): JsonFault | null {
    const opened = this.#at++;
    for (;;) {
      this.#at = end(plain, this.#text, this.#at);
      const stop = this.#text.charAt(this.#at);
      if (stop === '"') {
        this.#stringEnd = this.#at + 1;
        return this.#next(then);
      }
      if (stop === "") return this.#fault("unclosed_string", opened);
      if (stop !== "\\") return this.#fault(/[\r\n]/.test(stop) ? "line_break" : "control_character");
      const after = end(escape, this.#text, this.#at);
      if (after === this.#at) {
        return this.#at + 1 === this.#text.length
          ? this.#fault("unclosed_string", opened)
          : this.#fault("bad_escape");
      }
      this.#at = after;
    }
  }

  #number(): JsonFault | null {
    const start = this.#at;
    if (/^[-+]Infinity/.test(this.#text.slice(start, start + 9))) return this.#fault("not_a_number");
    const after = end(number, this.#text, start);
    if (/[-+.\w]/.test(this.#text.charAt(after))) {
      const isPadded = /^-?0$/.test(this.#text.slice(start, Math.min(after, start + 3))) &&
        /\d/.test(this.#text.charAt(after));
      return this.#fault(isPadded ? "leading_zero" : "malformed_number");
    }
    this.#at = after;
    this.#expected = this.#afterValue();
    return null;
  }

  #word(): JsonFault | null {
    const after = end(word, this.#text, this.#at);
    const token = this.#text.slice(this.#at, Math.min(after, this.#at + 10));
    if (/^(?:true|false|null)$/.test(token)) {
      this.#at = after;
      this.#expected = this.#afterValue();
      return null;
    }
    if (/^(?:NaN|Infinity)$/.test(token)) return this.#fault("not_a_number");
    if (foreignWords.test(token)) return this.#fault("foreign_word");
    return this.#unexpected(this.#openIndexes.length === 0 ? "no_json" : "unquoted_text");
  }

  /** Returns the fault that the next character indicates; `otherwise` if it indicates none. */
  #unexpected(otherwise: JsonFaultKind): JsonFault {
    const first = this.#text.charAt(this.#at);
    if (first === "'" || first === "`") return this.#fault("single_quotes");
    if (/[“”„‟‘’‚«»″]/.test(first)) return this.#fault("typographic_quotes");
    if (first === "\ufeff") return this.#fault("byte_order_mark");
    if (/[\p{White_Space}\u200b-\u200d\u2060]/u.test(first)) return this.#fault("invalid_space");
    if (first === "#" || /^\/[/*]/.test(this.#text.slice(this.#at, this.#at + 2))) {
      return this.#fault("comment");
    }
    return this.#fault(otherwise);
  }
}

/** Returns the index after a sticky pattern's match at `at`; `at` itself if there is no match. */
function end(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

export interface BodyFault {
  /** An explanation for the sender, without any part of the body except field names. */
  readonly detail: string;
  /** The kind of fault and the affected fields, if any, for the log. */
  readonly reason: string;
}

/** A fault and its index in the text; the index is `null` if the fault concerns the whole body. */
interface LocatedFault extends BodyFault {
  readonly at: number | null;
}

/** Describes why `parseObject` rejects a text; `noun` is what the object should be, such as `lead`. */
export function objectFault(text: string, noun: string): LocatedFault {
  const fault = findJsonFault(text);
  if (fault === null) return nonObjectFault(text, noun);
  const format = recognizeText(text);
  if (format !== null) return { detail: bodyFormats[format], reason: format, at: null };
  const { kind, at } = fault;
  const isSecondObject = kind === "text_after_end" && text.startsWith("{", at);
  const description = isSecondObject ? `a second object; send one ${noun} per request` : jsonFaults[kind];
  return { detail: `${describePosition(text, at)}: ${description}`, reason: kind, at };
}

function nonObjectFault(text: string, noun: string): LocatedFault {
  const value: unknown = JSON.parse(text);
  const fault = (detail: string, reason: string) => ({ detail: `the body is ${detail}`, reason, at: null });
  if (Array.isArray(value)) return fault(`an array; send one ${noun} per request, as an object`, "array");
  if (typeof value === "string" && value.trimStart().startsWith("{")) {
    return fault(
      "a string that contains JSON, because it was encoded twice; send a JSON object",
      "encoded_twice",
    );
  }
  return fault(`${describeType(value)}; send a JSON object`, "no_object");
}

export function bytesFault(bytes: Uint8Array): BodyFault {
  const reason = recognizeBytes(bytes);
  if (reason !== "not_utf8") return { detail: bodyFormats[reason], reason };
  const { text, at } = locateInvalidByte(bytes);
  return { detail: `${bodyFormats[reason]}: ${describePosition(text, at)}`, reason };
}

/** Decodes the bytes with replacement characters; `at` is the index of the first invalid byte in the text. */
function locateInvalidByte(bytes: Uint8Array): { text: string; at: number } {
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  const encoded = new TextEncoder().encode(text);
  let at = 0;
  for (let byte = 0; at < text.length; at++) {
    const code = text.codePointAt(at) as number;
    // U+FFFD replaces invalid bytes, but may also have been sent.
    if (
      code === 0xfffd && encoded.subarray(byte, byte + 3).some((one, index) => bytes[byte + index] !== one)
    ) {
      break;
    }
    byte += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    if (code > 0xffff) at++;
  }
  return { text, at };
}

/** Returns the line and column of an index, both counted from 1. */
export function lineAndColumn(text: string, at: number): { line: number; column: number } {
  let [line, column] = [1, 1];
  for (let index = 0; index < at; index++) {
    const code = text.charCodeAt(index);
    if (code === 0x0a || code === 0x0d && text.charCodeAt(index + 1) !== 0x0a) [line, column] = [line + 1, 1];
    // A surrogate pair is one column, and CRLF is one line break.
    else if ((code & 0xfc00) !== 0xdc00 && code !== 0x0d) column++;
  }
  return { line, column };
}

function describePosition(text: string, at: number): string {
  const { line, column } = lineAndColumn(text, at);
  return `line ${line}, column ${column}`;
}

function describeType(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (isObject(value)) return "an object";
  return `a ${typeof value}`;
}

const displayLengthMax = 64;
/** Matches invisible characters: controls, direction marks, joiners and line separators. */
const invisible = /[\p{C}\p{Zl}\p{Zp}\u034f\u115f\u1160\u3164\uffa0]/gu;

/**
 * Returns a field name that is safe to display: API keys are hidden, long names truncated to 64 characters, invisible
 * characters escaped, and unusual names quoted.
 */
export function displayName(name: string): string {
  if (keyInText.test(name)) return "a field";
  const characters = [...name.slice(0, 2 * displayLengthMax + 2).toWellFormed()];
  const displayed = characters.slice(0, displayLengthMax).join("").replace(
    invisible,
    (one) => `\\u{${(one.codePointAt(0) as number).toString(16)}}`,
  );
  const text = characters.length > displayLengthMax ? `${displayed}…` : displayed;
  return /^[\p{L}\p{N}_.-]+$/u.test(text) ? text : `"${text}"`;
}

interface WrongType {
  readonly name: string;
  /** The text that follows the name in `detail`. */
  readonly text: string;
}

export function wrongTypes(envelope: Readonly<Record<string, unknown>>): WrongType[] {
  const faults: WrongType[] = [];
  for (const name of fieldNames) {
    const value = envelope[name] ?? null;
    if (value === null || typeof value === "string") continue;
    faults.push({
      name,
      text: `is ${describeType(value)}; a string is needed${typeof value === "number" ? ", in quotes" : ""}`,
    });
  }
  const { cost = null, extra } = envelope;
  if (cost !== null && typeof cost !== "number") {
    const hint = typeof cost === "string" ? ", without quotes" : "";
    faults.push({ name: "cost", text: `is ${describeType(cost)}; a number is needed${hint}` });
  }
  if (extra !== undefined && !isObject(extra)) {
    faults.push({ name: "extra", text: `is ${describeType(extra)}; an object is needed` });
  }
  return faults;
}

export function typeFault(envelope: Readonly<Record<string, unknown>>): BodyFault {
  const faults = wrongTypes(envelope);
  return {
    detail: faults.map(({ name, text }) => `${name} ${text}`).join(". "),
    reason: `wrong_type ${faults.map(({ name }) => name).join(" ")}`,
  };
}

/** Describes the fault of a form field with an array or an object as its value. */
export function nestedFault(name: string, value: unknown): BodyFault {
  return {
    detail: `${displayName(name)} is ${describeType(value)}; a string, number, boolean or null is needed`,
    reason: "nested_value",
  };
}
