/**
 * Where a text stops being JSON, and what is wrong there. `JSON.parse` decides what is valid; this is asked only about
 * what it has refused. Nothing recurses, and every character is looked at once. This module is browser compatible.
 *
 * @module
 */

import { limits } from "../contract/limits.ts";
import { spaceEnd } from "./json.ts";
import type { JsonFault, JsonFaultKind } from "./json_fault.ts";

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
