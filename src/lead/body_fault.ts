/**
 * What is wrong with a body that is refused, for whoever sent it and for the log. It is looked for only when the body
 * has been refused, and tells no value of it. This module is browser compatible.
 *
 * Source: DECISIONS, Decided since (400 `invalid_json` and 422).
 *
 * @module
 */

import { keyInText } from "../contract/api_key.ts";
import { guiseOf, guiseOfBytes, guises } from "./guise.ts";
import { isObject } from "./json.ts";
import { jsonFaults } from "./json_fault.ts";
import { findJsonFault } from "./json_scan.ts";

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
