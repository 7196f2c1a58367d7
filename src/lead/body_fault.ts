/**
 * Says what is wrong with a refused body, for the sender and for the log, without any value of it. This module is
 * browser compatible. Source: DECISIONS, Decided since (400 `invalid_json` and 422).
 */

import { keyInText } from "../contract/api_key.ts";
import { fieldNames } from "../contract/fields.ts";
import { limits } from "../contract/limits.ts";
import { isObject, spaceEnd } from "./json.ts";

/** Faults of JSON by their name in the log; the words follow the place. */
export const jsonFaults = {
  trailing_comma: "a trailing comma; remove it",
  stray_comma: "a comma with nothing before it",
  missing_comma: "a comma is missing here",
  missing_colon: "a colon is missing after a name",
  missing_value: "a value is missing",
  text_after_string: 'text after a string; write a double quote inside a string as \\"',
  text_after_value: "text after a value; a comma or a closing bracket is needed",
  single_quotes: "a single quote; JSON allows double quotes only",
  typographic_quotes: 'a typographic quote; JSON allows the straight double quote " only',
  comment: "a comment; JSON has no comments",
  placeholder: "a template placeholder that was not filled in",
  unquoted_name: "a name without double quotes",
  unquoted_text: "text without double quotes",
  not_a_number: "NaN and Infinity are not JSON; leave the field out",
  foreign_word: "a constant of another language; JSON has true, false and null, in lower case",
  leading_zero: "a number with a leading zero; text, such as a ZIP code, needs double quotes",
  malformed_number: "not a valid JSON number; text, such as a phone number, needs double quotes",
  line_break: "a line break in a string; write it as \\n, or close the string before it",
  control_character: "a control character in a string; write a tab as \\t, any other as \\u and four digits",
  bad_escape: "an invalid escape; write \\\\ for a backslash",
  unclosed_string: "a string that is never closed",
  unclosed_object: "an object that is never closed: the body ends before its }",
  unclosed_array: "an array that is never closed: the body ends before its ]",
  mismatched_bracket: "a closing bracket of the wrong kind",
  text_after_end: "text after the end of the JSON",
  too_deep: `nested deeper than ${limits.jsonDepthMax} levels`,
  byte_order_mark: "a byte order mark; only one is allowed, at the very beginning",
  strange_space: "a space that JSON does not allow, such as a no-break space",
  no_json: "not JSON; a JSON object begins with {",
} as const;

export type JsonFaultKind = keyof typeof jsonFaults;

/** A fault and its index in the text. */
export interface JsonFault {
  readonly kind: JsonFaultKind;
  readonly at: number;
}

/** Formats other than JSON, by their name in the log. */
export const bodyFormats = {
  empty: "the body is empty; a JSON object is needed",
  form_encoded: "the body is form-encoded; a JSON object is needed",
  multipart: "the body is multipart/form-data; a JSON object is needed",
  html: "the body is an HTML page; a JSON object is needed",
  xml: "the body is XML; a JSON object is needed",
  percent_encoded: "the body is percent-encoded; the JSON itself is needed",
  base64: "the body is base64; the JSON itself is needed",
  object_object: "the body is a JavaScript object turned into text; turn it into JSON with JSON.stringify",
  utf16: "the body is UTF-16; UTF-8 is needed",
  compressed: "the body is compressed; send it uncompressed",
  not_utf8: "the body is not UTF-8; it may be Latin-1 or Windows-1252",
} as const;

export type BodyFormat = keyof typeof bodyFormats;

/** Matched against the beginning of the text without leading white space; the first match counts. */
const texts: readonly (readonly [BodyFormat, RegExp])[] = [
  ["utf16", /^(?:\0[{\s]|[{\s]\0)/],
  ["empty", /^$/],
  ["html", /^<(?:!doctype html|html)/i],
  ["xml", /^</],
  ["multipart", /^--[^\s][^\n]{0,100}\n[^\n]{0,20}content-disposition:/i],
  ["percent_encoded", /^%7b/i],
  ["object_object", /^\[object \w{1,20}\]/],
  // Base64 of `{"`, `{ `, a brace with a line break, and `[{`.
  ["base64", /^(?:ey[A-DI-L]|ew[k-r0-3]|W3[s-v])[\w+/-]{8}/],
  ["form_encoded", /^[\w.%+[\]-]{1,100}=/],
];

/** The longest beginning that any pattern needs. */
const beginningLength = 200;

/** The format of a text that `JSON.parse` refuses; `null` for faulty JSON and unknown formats. */
export function bodyFormatOf(text: string): BodyFormat | null {
  const beginning = text.trimStart().slice(0, beginningLength);
  return texts.find(([, pattern]) => pattern.test(beginning))?.[0] ?? null;
}

/** First bytes of gzip, zlib, zip and Zstandard. */
const compressed = [[0x1f, 0x8b], [0x78, 0x01], [0x78, 0x9c], [0x78, 0xda], [0x50, 0x4b, 3], [
  0x28,
  0xb5,
  0x2f,
  0xfd,
]];
const utf16Marks = [[0xff, 0xfe], [0xfe, 0xff]];

/** The likely format of bytes that are not UTF-8. */
export function bodyFormatOfBytes(bytes: Uint8Array): BodyFormat {
  const begins = (marks: readonly (readonly number[])[]) =>
    marks.some((mark) => mark.every((byte, index) => bytes[index] === byte));
  if (begins(compressed)) return "compressed";
  return begins(utf16Marks) || bytes[0] === 0 || bytes[1] === 0 ? "utf16" : "not_utf8";
}

type Expected = "value" | "first value" | "name" | "first name" | "colon" | "comma" | "end";

const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const word = /[\p{L}_$][\p{L}\d_$]*/uy;
// deno-lint-ignore no-control-regex -- a string has none of them
const plain = /[^"\\\x00-\x1f]*/y;
const escape = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const numeric = /[-+.\d]/;
const foreignWords = /^(?:True|TRUE|False|FALSE|None|NULL|Null|nil|undefined)$/;

/** The first fault of a text; `null` for JSON of bounded depth. */
export function findJsonFault(text: string): JsonFault | null {
  return new Scan(text).run();
}

class Scan {
  readonly #text: string;
  readonly #open: number[] = [];
  #expected: Expected = "value";
  #at = 0;
  /** The index of the last comma, and the one after the last string. */
  #comma = 0;
  #stringEnd = -1;

  constructor(text: string) {
    this.#text = text;
  }

  run(): JsonFault | null {
    for (;;) {
      this.#at = spaceEnd(this.#text, this.#at);
      if (this.#at >= this.#text.length) return this.#atEnd();
      const fault = this.#step(this.#text.charAt(this.#at));
      if (fault !== null) return fault;
    }
  }

  #fault(kind: JsonFaultKind, at = this.#at): JsonFault {
    return { kind, at };
  }

  #atEnd(): JsonFault | null {
    const opened = this.#open.at(-1);
    if (opened !== undefined) {
      return this.#fault(this.#isObject() ? "unclosed_object" : "unclosed_array", opened);
    }
    return this.#expected === "end" ? null : this.#fault("missing_value");
  }

  #isObject(): boolean {
    return this.#text.charAt(this.#open.at(-1) as number) === "{";
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
      return this.#expected === "first name" ? this.#close() : this.#fault("trailing_comma", this.#comma);
    }
    if (first === ",") return this.#fault("stray_comma");
    if (first === "{") return this.#fault("placeholder");
    return this.#unexpected("unquoted_name");
  }

  #value(first: string): JsonFault | null {
    if (this.#open.length === 0 && /[}\],:]/.test(first)) return this.#fault("no_json");
    if (first === '"') return this.#string(this.#afterValue());
    if (first === "{" || first === "[") return this.#openBracket(first);
    if (first === "]" && this.#expected === "first value") return this.#close();
    if (first === "]" || first === "}") {
      const isTrailing = this.#expected === "value" && !this.#isObject();
      return isTrailing ? this.#fault("trailing_comma", this.#comma) : this.#fault("missing_value");
    }
    if (first === ",") return this.#fault(this.#isObject() ? "missing_value" : "stray_comma");
    if (numeric.test(first)) return this.#number();
    return this.#word();
  }

  #openBracket(first: string): JsonFault | null {
    if (this.#text.startsWith("{{", this.#at)) return this.#fault("placeholder");
    if (this.#open.length === limits.jsonDepthMax) return this.#fault("too_deep");
    this.#open.push(this.#at);
    return this.#next(first === "{" ? "first name" : "first value");
  }

  #close(): null {
    this.#open.pop();
    return this.#next(this.#afterValue());
  }

  #afterValue(): Expected {
    return this.#open.length === 0 ? "end" : "comma";
  }

  #afterMember(first: string): JsonFault | null {
    if (first === ",") {
      this.#comma = this.#at;
      return this.#next(this.#isObject() ? "name" : "value");
    }
    if (first === "}" || first === "]") {
      return (first === "}") === this.#isObject() ? this.#close() : this.#fault("mismatched_bracket");
    }
    if (/["{[]/.test(first)) return this.#fault("missing_comma");
    const isAfterString = spaceEnd(this.#text, this.#stringEnd) === this.#at;
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
    const found = this.#text.slice(this.#at, Math.min(after, this.#at + 10));
    if (/^(?:true|false|null)$/.test(found)) {
      this.#at = after;
      this.#expected = this.#afterValue();
      return null;
    }
    if (/^(?:NaN|Infinity)$/.test(found)) return this.#fault("not_a_number");
    if (foreignWords.test(found)) return this.#fault("foreign_word");
    return this.#unexpected(this.#open.length === 0 ? "no_json" : "unquoted_text");
  }

  /** A more specific fault than `otherwise`, if the next character shows one. */
  #unexpected(otherwise: JsonFaultKind): JsonFault {
    const first = this.#text.charAt(this.#at);
    if (first === "'" || first === "`") return this.#fault("single_quotes");
    if (/[“”„‟‘’‚«»″]/.test(first)) return this.#fault("typographic_quotes");
    if (first === "\ufeff") return this.#fault("byte_order_mark");
    if (/[\p{White_Space}\u200b-\u200d\u2060]/u.test(first)) return this.#fault("strange_space");
    if (first === "#" || /^\/[/*]/.test(this.#text.slice(this.#at, this.#at + 2))) {
      return this.#fault("comment");
    }
    return this.#fault(otherwise);
  }
}

/** The index after a sticky pattern's match at `at`; `at` without a match. */
function end(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

export interface BodyFault {
  /** An English sentence; of the body it contains field names at most. */
  readonly detail: string;
  /** The fault's kind, and the envelope field if there is one, for the log. */
  readonly reason: string;
}

/** A fault with its index in the text; `null` for the whole body. */
export interface PlacedFault extends BodyFault {
  readonly at: number | null;
}

/** The fault of a text that `parseObject` refuses, without its byte order mark; `what` names the object: `lead`. */
export function objectFault(text: string, what: string): PlacedFault {
  const fault = findJsonFault(text);
  if (fault === null) return valueFault(text, what);
  const format = bodyFormatOf(text);
  if (format !== null) return { detail: bodyFormats[format], reason: format, at: null };
  const { kind, at } = fault;
  const isAnother = kind === "text_after_end" && text.startsWith("{", at);
  const wrong = isAnother ? `a second object; send one ${what} a call` : jsonFaults[kind];
  return { detail: `${placeIn(text, at)}: ${wrong}`, reason: kind, at };
}

function valueFault(text: string, what: string): PlacedFault {
  const value: unknown = JSON.parse(text);
  const fault = (detail: string, reason: string) => ({ detail: `the body is ${detail}`, reason, at: null });
  if (Array.isArray(value)) return fault(`an array; send one ${what} a call, as an object`, "array");
  if (typeof value === "string" && value.trimStart().startsWith("{")) {
    return fault(
      "a string that contains JSON: it was encoded twice; a JSON object is needed",
      "encoded_twice",
    );
  }
  return fault(`${typeOf(value)}; a JSON object is needed`, "no_object");
}

export function bytesFault(bytes: Uint8Array): BodyFault {
  const reason = bodyFormatOfBytes(bytes);
  if (reason !== "not_utf8") return { detail: bodyFormats[reason], reason };
  const { text, at } = upToInvalid(bytes);
  return { detail: `${bodyFormats[reason]}: ${placeIn(text, at)}`, reason };
}

/** The decoded text, and the index of its first invalid byte. */
function upToInvalid(bytes: Uint8Array): { text: string; at: number } {
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  const whole = new TextEncoder().encode(text);
  let at = 0;
  for (let byte = 0; at < text.length; at++) {
    const code = text.codePointAt(at) as number;
    // Invalid bytes decode to U+FFFD; a U+FFFD that was sent is valid.
    if (code === 0xfffd && whole.subarray(byte, byte + 3).some((one, index) => bytes[byte + index] !== one)) {
      break;
    }
    byte += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    if (code > 0xffff) at++;
  }
  return { text, at };
}

/** Line and column of an index, both from 1. */
export function lineAndColumn(text: string, at: number): { line: number; column: number } {
  let [line, column] = [1, 1];
  for (let index = 0; index < at; index++) {
    const code = text.charCodeAt(index);
    if (code === 0x0a || code === 0x0d && text.charCodeAt(index + 1) !== 0x0a) [line, column] = [line + 1, 1];
    // A surrogate pair and CRLF count once.
    else if ((code & 0xfc00) !== 0xdc00 && code !== 0x0d) column++;
  }
  return { line, column };
}

function placeIn(text: string, at: number): string {
  const { line, column } = lineAndColumn(text, at);
  return `line ${line}, column ${column}`;
}

export function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (isObject(value)) return "an object";
  return `a ${typeof value}`;
}

const shownLengthMax = 64;
/** Invisible characters: controls, direction marks, joiners, line separators. */
const invisible = /[\p{C}\p{Zl}\p{Zp}\u034f\u115f\u1160\u3164\uffa0]/gu;

/** A field name as it may be shown: at most 64 visible characters. A name that looks like a key is hidden. */
export function shownName(name: string): string {
  if (keyInText.test(name)) return "a field";
  const characters = [...name.slice(0, 2 * shownLengthMax + 2).toWellFormed()];
  const shown = characters.slice(0, shownLengthMax).join("").replace(
    invisible,
    (one) => `\\u{${(one.codePointAt(0) as number).toString(16)}}`,
  );
  const text = characters.length > shownLengthMax ? `${shown}…` : shown;
  return /^[\p{L}\p{N}_.-]+$/u.test(text) ? text : `"${text}"`;
}

/** A field with a wrong type; `text` follows its name. */
export interface WrongType {
  readonly name: string;
  readonly text: string;
}

export function wrongTypes(envelope: Readonly<Record<string, unknown>>): WrongType[] {
  const found: WrongType[] = [];
  for (const name of fieldNames) {
    const value = envelope[name] ?? null;
    if (value === null || typeof value === "string") continue;
    found.push({
      name,
      text: `is ${typeOf(value)}; a string is needed${typeof value === "number" ? ", in quotes" : ""}`,
    });
  }
  const { cost = null, extra } = envelope;
  if (cost !== null && typeof cost !== "number") {
    const hint = typeof cost === "string" ? ", without quotes" : "";
    found.push({ name: "cost", text: `is ${typeOf(cost)}; a number is needed${hint}` });
  }
  if (extra !== undefined && !isObject(extra)) {
    found.push({ name: "extra", text: `is ${typeOf(extra)}; only an object is allowed` });
  }
  return found;
}

export function typeFault(envelope: Readonly<Record<string, unknown>>): BodyFault {
  const wrong = wrongTypes(envelope);
  return {
    detail: wrong.map(({ name, text }) => `${name} ${text}`).join(". "),
    reason: `wrong_type ${wrong.map(({ name }) => name).join(" ")}`,
  };
}

/** The fault of a form field whose value is not flat. */
export function nestedFault(name: string, value: unknown): BodyFault {
  return {
    detail: `${shownName(name)} is ${typeOf(value)}; text, a number, true, false or null is needed`,
    reason: "nested_value",
  };
}
