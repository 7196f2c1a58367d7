/**
 * Why a body is no lead, in words: the intake says only `invalid_json`.
 *
 * @module
 */

import { fieldNames } from "../contract/fields.ts";
import { limits } from "../contract/limits.ts";
import { isObject, parseObject } from "../lead/json.ts";

/** What is wrong with a body that is answered with 400. */
interface Explanation {
  readonly text: string;
  /** Fields of the wrong type, with what is wrong. */
  readonly fields: Readonly<Record<string, string>>;
  /** Where the JSON breaks, when the browser tells. */
  readonly at: number | null;
}

function typeOf(value: unknown): string {
  if (value === null) return "`null`";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** Explains a body that the validator calls `invalid_json`. Never throws. */
export function explain(body: string): Explanation {
  const text = body.replace(/^\ufeff/, "");
  if (text.trim() === "") {
    return { text: "The body is empty. A lead is one JSON object.", fields: {}, at: null };
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return broken(text, error);
  }
  if (!isObject(value)) {
    return { text: `The body is ${typeOf(value)}. A lead is one JSON object.`, fields: {}, at: null };
  }
  if (parseObject(text, limits.jsonDepthMax) === null) {
    return { text: `The body nests deeper than ${limits.jsonDepthMax} levels.`, fields: {}, at: null };
  }
  const fields = wrongTypes(value);
  const names = Object.keys(fields).map((name) => `\`${name}\``).join(", ");
  return { text: `The wrong type in ${names} makes the whole body no lead.`, fields, at: null };
}

function wrongTypes(envelope: Readonly<Record<string, unknown>>): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of fieldNames) {
    const value = envelope[name];
    if (value !== undefined && value !== null && typeof value !== "string") {
      found[name] = `is ${typeOf(value)}; text is needed`;
    }
  }
  const { cost = null, extra } = envelope;
  if (cost !== null && typeof cost !== "number") {
    found.cost = `is ${typeOf(cost)}; a number is needed, without quotes`;
  }
  if (extra !== undefined && !isObject(extra)) {
    found.extra = `is ${typeOf(extra)}; only an object may be sent`;
  }
  return found;
}

/** Browsers say where the JSON breaks in ways of their own; one says nothing. */
function broken(text: string, error: unknown): Explanation {
  const message = error instanceof SyntaxError ? error.message : "";
  const position = /position (\d+)/.exec(message)?.[1];
  const [, line, column] = /line (\d+) column (\d+)/.exec(message) ?? [];
  let at: number | null = null;
  if (position !== undefined) at = Number(position);
  else if (line !== undefined) at = offsetOf(text, Number(line), Number(column));
  else if (/end of|unterminated/i.test(message)) at = text.length;
  const words = message.replace(/^JSON\.parse: /, "").replace(/ (in|of the) JSON.*$| at position.*$/, "");
  const where = at === null ? "" : ` in line ${lineOf(text, at)}`;
  return { text: `This is not valid JSON${where}${words === "" ? "" : `: ${words}`}.`, fields: {}, at };
}

function offsetOf(text: string, line: number, column: number): number {
  let start = 0;
  for (let n = 1; n < line; n++) start = text.indexOf("\n", start) + 1;
  return start + column - 1;
}

/** The number of the line in which an index stands, from 1. */
export function lineOf(text: string, at: number): number {
  return text.slice(0, at).split("\n").length;
}
