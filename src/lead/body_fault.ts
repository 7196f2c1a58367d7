/**
 * What is wrong with a body that is refused, for whoever sent it and for the log. It is looked for only when the body
 * has been refused, and tells no value of it. This module is browser compatible.
 *
 * Source: DECISIONS, Decided since (400 `invalid_json` and 422).
 *
 * @module
 */

import { keyInText } from "../contract/api_key.ts";
import { fieldNames } from "../contract/fields.ts";
import { limits } from "../contract/limits.ts";
import { isObject, spaceEnd } from "./json.ts";

/** What may be wrong, by the name that the log has for it, in words that follow the place. */
export const jsonFaults = {
  trailing_comma: "a trailing comma; take it out",
  stray_comma: "a comma with nothing before it",
  missing_comma: "a comma is missing before this",
  missing_colon: "a colon is missing after a name",
  missing_value: "a value is missing",
  text_after_string: 'text after a string; a double quote inside a string is written \\"',
  text_after_value: "text after a value; a comma or the closing bracket is needed",
  single_quotes: "a single quote; JSON takes double quotes only",
  typographic_quotes: 'a typographic quote; JSON takes the straight double quote " only',
  comment: "a comment; JSON has none",
  placeholder: "a placeholder of a template that was not filled in",
  unquoted_name: "a name without double quotes",
  unquoted_text: "text without double quotes",
  not_a_number: "NaN and Infinity are no JSON; leave the field out",
  foreign_word: "a word of another language; JSON has true, false and null, in lower case",
  leading_zero: "a number with a leading zero; text, such as a ZIP code, needs double quotes",
  malformed_number: "a number that JSON does not know; text, such as a phone number, needs double quotes",
  line_break: "a line break in a string; write it as \\n, or close the string before it",
  control_character: "a control character in a string; write a tab as \\t, any other as \\u and four digits",
  bad_escape: "a backslash that begins no escape; write \\\\ for a backslash",
  unclosed_string: "a string begins that is never closed",
  unclosed_object: "an object begins that is never closed: the body ends before its }",
  unclosed_array: "an array begins that is never closed: the body ends before its ]",
  mismatched_bracket: "a bracket that closes another kind of bracket",
  text_after_end: "text after the end of the JSON",
  too_deep: `nested deeper than ${limits.jsonDepthMax} levels`,
  byte_order_mark: "a byte order mark; one at the very beginning is all that there may be",
  strange_space: "a space that JSON does not know, such as a no-break space",
  no_json: "no JSON begins here; a JSON object begins with {",
} as const;

/** The name of a fault. */
export type JsonFaultKind = keyof typeof jsonFaults;

/** What is wrong, and the index of it. */
export interface JsonFault {
  readonly kind: JsonFaultKind;
  readonly at: number;
}

/** What a body may seem to be, by the name that the log has for it, in words. */
export const guises = {
  empty: "the body is empty; a JSON object is needed",
  form_encoded: "the body is form-encoded; a JSON object is needed",
  multipart: "the body is multipart/form-data; a JSON object is needed",
  html: "the body is an HTML page; a JSON object is needed",
  xml: "the body is XML; a JSON object is needed",
  percent_encoded: "the body is percent-encoded; the JSON itself is needed",
  base64: "the body is base64; the JSON itself is needed",
  object_object:
    "the body is what JavaScript calls an object that was not turned into JSON; JSON.stringify turns it into JSON",
  utf16: "the body is UTF-16; UTF-8 is needed",
  compressed: "the body is compressed; it is needed as it is",
  not_utf8: "the body is not UTF-8; perhaps it is Latin-1 or Windows-1252",
} as const;

/** The name of a guise. */
export type Guise = keyof typeof guises;

/** Looked at from the beginning of the text, white space apart; the first that fits. */
const texts: readonly (readonly [Guise, RegExp])[] = [
  ["utf16", /^(?:\0[{\s]|[{\s]\0)/],
  ["empty", /^$/],
  ["html", /^<(?:!doctype html|html)/i],
  ["xml", /^</],
  ["multipart", /^--[^\s][^\n]{0,100}\n[^\n]{0,20}content-disposition:/i],
  ["percent_encoded", /^%7b/i],
  ["object_object", /^\[object \w{1,20}\]/],
  // How `{"`, `{ `, a brace with a line break and `[{` begin in it.
  ["base64", /^(?:ey[A-DI-L]|ew[k-r0-3]|W3[s-v])[\w+/-]{8}/],
  ["form_encoded", /^[\w.%+[\]-]{1,100}=/],
];

/** The most that a guise is known by; what follows is not looked at. */
const lookedAt = 200;

/** What a text that `JSON.parse` has refused seems to be; `null` for what is JSON with a fault, or unknown. */
export function guiseOf(text: string): Guise | null {
  const beginning = text.trimStart().slice(0, lookedAt);
  return texts.find(([, pattern]) => pattern.test(beginning))?.[0] ?? null;
}

/** How files begin that something has packed: gzip, zlib, zip, Zstandard. */
const packed = [[0x1f, 0x8b], [0x78, 0x01], [0x78, 0x9c], [0x78, 0xda], [0x50, 0x4b, 3], [
  0x28,
  0xb5,
  0x2f,
  0xfd,
]];
const utf16Marks = [[0xff, 0xfe], [0xfe, 0xff]];

/** What bytes that are not UTF-8 seem to be. */
export function guiseOfBytes(bytes: Uint8Array): Guise {
  const begins = (marks: readonly (readonly number[])[]) =>
    marks.some((mark) => mark.every((byte, index) => bytes[index] === byte));
  if (begins(packed)) return "compressed";
  return begins(utf16Marks) || bytes[0] === 0 || bytes[1] === 0 ? "utf16" : "not_utf8";
}

/** What may come next, white space apart. */
type Expected = "value" | "first value" | "name" | "first name" | "colon" | "comma" | "end";

const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const word = /[\p{L}_$][\p{L}\d_$]*/uy;
// deno-lint-ignore no-control-regex -- a string has none of them
const plain = /[^"\\\x00-\x1f]*/y;
const escape = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const numeric = /[-+.\d]/;
const foreignWords = /^(?:True|TRUE|False|FALSE|None|NULL|Null|nil|undefined)$/;

/**
 * The first fault of a text, read from its beginning; `null` for a text that is JSON and does not nest too
 * deep.
 */
export function findJsonFault(text: string): JsonFault | null {
  return new Scan(text).run();
}

/** One reading of a text. */
class Scan {
  readonly #text: string;
  /** The indices of the brackets that are open. */
  readonly #open: number[] = [];
  #expected: Expected = "value";
  #at = 0;
  /** The index of the last comma, and that behind the last string. */
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

  /** Reads one token. */
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

  /** Goes past a character. */
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

  /** After a value, inside of a bracket. */
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
    // The longest word that means something has nine letters.
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

  /** What people and other languages write, or else `otherwise`. */
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

/** The index after what a sticky pattern matches at an index; the index itself where it matches nothing. */
function end(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

/** What is wrong. */
export interface BodyFault {
  /** A sentence in English, without any value: names of fields are all that it may have of the body. */
  readonly detail: string;
  /** The kind of it, and the field where it is one of ours: for the log. */
  readonly reason: string;
}

/** A fault that stands at a place of the text, by its index, or as a whole (`null`). */
export interface PlacedFault extends BodyFault {
  readonly at: number | null;
}

/**
 * Why a text, without its byte order mark, is no JSON object of bounded depth: one that `parseObject` has refused.
 * `what` is what such an object is here: `lead`.
 */
export function objectFault(text: string, what: string): PlacedFault {
  const fault = findJsonFault(text);
  if (fault === null) return valueFault(text, what);
  const guise = guiseOf(text);
  if (guise !== null) return { detail: guises[guise], reason: guise, at: null };
  const { kind, at } = fault;
  const isAnother = kind === "text_after_end" && text.startsWith("{", at);
  const wrong = isAnother ? `a second object; one ${what} a call` : jsonFaults[kind];
  return { detail: `${placeIn(text, at)}: ${wrong}`, reason: kind, at };
}

/** Why the text of a JSON value is no object. */
function valueFault(text: string, what: string): PlacedFault {
  const value: unknown = JSON.parse(text);
  const fault = (detail: string, reason: string) => ({ detail: `the body is ${detail}`, reason, at: null });
  if (Array.isArray(value)) return fault(`an array; one ${what} a call, as an object, is needed`, "array");
  if (typeof value === "string" && value.trimStart().startsWith("{")) {
    return fault("a string with JSON in it: it was encoded twice; a JSON object is needed", "encoded_twice");
  }
  return fault(`${typeOf(value)}; a JSON object is needed`, "no_object");
}

/** Why bytes are no text. */
export function bytesFault(bytes: Uint8Array): BodyFault {
  const reason = guiseOfBytes(bytes);
  if (reason !== "not_utf8") return { detail: guises[reason], reason };
  const { text, at } = upToInvalid(bytes);
  return { detail: `${guises[reason]}: ${placeIn(text, at)}`, reason };
}

/** The text with its first invalid byte, and the index of that. */
function upToInvalid(bytes: Uint8Array): { text: string; at: number } {
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  const whole = new TextEncoder().encode(text);
  let at = 0;
  for (let byte = 0; at < text.length; at++) {
    const code = text.codePointAt(at) as number;
    // What is invalid reads as U+FFFD, and so does what was sent as such.
    if (code === 0xfffd && whole.subarray(byte, byte + 3).some((one, index) => bytes[byte + index] !== one)) {
      break;
    }
    byte += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    if (code > 0xffff) at++;
  }
  return { text, at };
}

/** The number of the line in which an index stands, from 1, and that of the character in it. */
export function lineAndColumn(text: string, at: number): { line: number; column: number } {
  let [line, column] = [1, 1];
  for (let index = 0; index < at; index++) {
    const code = text.charCodeAt(index);
    if (code === 0x0a || code === 0x0d && text.charCodeAt(index + 1) !== 0x0a) [line, column] = [line + 1, 1];
    // The second half of a surrogate pair, and LF after CR, are no characters of their own.
    else if ((code & 0xfc00) !== 0xdc00 && code !== 0x0d) column++;
  }
  return { line, column };
}

function placeIn(text: string, at: number): string {
  const { line, column } = lineAndColumn(text, at);
  return `line ${line}, column ${column}`;
}

/** What a JSON value is, with its article. */
export function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (isObject(value)) return "an object";
  return `a ${typeof value}`;
}

const shownLengthMax = 64;
/** Characters that are not seen, or that move others: controls, marks of direction, joiners, line separators. */
const unseen = /[\p{C}\p{Zl}\p{Zp}\u034f\u115f\u1160\u3164\uffa0]/gu;

/**
 * A caller's own name of a field as it may be shown: at most 64 characters of it, with nothing in it that is not seen.
 * A name that looks like a key is not shown at all.
 */
export function shownName(name: string): string {
  if (keyInText.test(name)) return "a field";
  // Twice as many code units have all the characters.
  const characters = [...name.slice(0, 2 * shownLengthMax + 2).toWellFormed()];
  const shown = characters.slice(0, shownLengthMax).join("").replace(
    unseen,
    (one) => `\\u{${(one.codePointAt(0) as number).toString(16)}}`,
  );
  const text = characters.length > shownLengthMax ? `${shown}…` : shown;
  return /^[\p{L}\p{N}_.-]+$/u.test(text) ? text : `"${text}"`;
}

/** A field of the envelope and what is wrong with its type, in words that follow its name. */
export interface WrongType {
  readonly name: string;
  readonly text: string;
}

/** Every member of a lead that has the wrong type. */
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
    found.push({ name: "extra", text: `is ${typeOf(extra)}; only an object may be sent` });
  }
  return found;
}

/** What is wrong with the types of a lead's members. */
export function typeFault(envelope: Readonly<Record<string, unknown>>): BodyFault {
  const wrong = wrongTypes(envelope);
  return {
    detail: wrong.map(({ name, text }) => `${name} ${text}`).join(". "),
    reason: `wrong_type ${wrong.map(({ name }) => name).join(" ")}`,
  };
}

/** What is wrong with a body of which a member, with this name and value, is not flat. */
export function nestedFault(name: string, value: unknown): BodyFault {
  return {
    detail: `${shownName(name)} is ${typeOf(value)}; text, a number, true, false or null is needed`,
    reason: "nested_value",
  };
}
