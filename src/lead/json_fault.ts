/**
 * What may be wrong with a text that is no JSON, in words. This module is browser compatible.
 *
 * @module
 */

import { limits } from "../contract/limits.ts";

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
