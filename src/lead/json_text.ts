/**
 * JSON texts taken apart and written without white space, everything else as it was written. The texts must be valid.
 * This module is browser compatible.
 *
 * @module
 */

import { spaceEnd, stringEnd, valueEnd } from "./json.ts";

/** The texts of an array's elements, in their order. */
export function elements(text: string): string[] {
  const found: string[] = [];
  let at = spaceEnd(text, text.indexOf("[") + 1);
  while (at < text.length && text[at] !== "]") {
    const end = valueEnd(text, at);
    found.push(text.slice(at, end));
    at = spaceEnd(text, end);
    // Past the comma to the next element, or to the end of what stands behind the bracket.
    at = text[at] === "," ? spaceEnd(text, at + 1) : text.length;
  }
  return found;
}

/** The text without the white space between its tokens. */
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
