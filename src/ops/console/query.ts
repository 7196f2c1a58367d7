/**
 * Reads what a form sends, in the address or in the body: strictly, so that a filter that is not understood is told
 * and never left out in silence.
 *
 * @module
 */

import { markup } from "../../http/markup.ts";
import { trimmed } from "../../lead/text.ts";
import { RefusedPage } from "./layout.ts";

// An e-mail address or an Idempotency-Key and some more.
const valueLengthMax = 1_000;
const pairsMax = 1_000;

/** What a form has sent, by name. */
export class Query {
  readonly #values: ReadonlyMap<string, readonly string[]>;

  constructor(values: ReadonlyMap<string, readonly string[]>) {
    this.#values = values;
  }

  /** The value of a name, without white space at its ends; `null` when it is missing or blank. */
  text(name: string): string | null {
    const values = this.#values.get(name) ?? [];
    if (values.length > 1) throw malformed(markup`<code>${name}</code> is there more than once.`);
    // As the envelope is trimmed: a byte-order mark is no white space there, and a term may begin with one.
    const value = trimmed(values[0] ?? "");
    return value === "" ? null : value;
  }

  /** All values of a name. */
  all(name: string): readonly string[] {
    return this.#values.get(name) ?? [];
  }

  /** The value of a name that must have this shape. */
  shaped(name: string, shape: RegExp): string | null {
    const value = this.text(name);
    if (value !== null && !shape.test(value)) {
      throw malformed(markup`The value of <code>${name}</code> does not have the shape that it needs.`);
    }
    return value;
  }

  /** The value of a name that must be one of these. */
  oneOf<T extends string>(name: string, allowed: readonly T[]): T | null {
    const value = this.text(name);
    const found = allowed.find((one) => one === value) ?? null;
    if (value !== null && found === null) {
      throw malformed(markup`<code>${name}</code> must be one of ${allowed.join(", ")}.`);
    }
    return found;
  }
}

/** The shape of an event's or a submission's id. */
export const idShape = /^[0-9a-z]{8,64}$/;
/** The shape of a tenant's slug. */
export const slugShape = /^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$/;
/** The shape of a row's number. */
export const numberShape = /^[1-9]\d{0,17}$/;

/**
 * Reads `application/x-www-form-urlencoded` text in which only the names in `allowed` may stand.
 *
 * @throws {RefusedPage} of status 400
 */
export function parseQuery(text: string, allowed: readonly string[]): Query {
  const values = new Map<string, string[]>();
  const pairs = text.split("&").filter((pair) => pair !== "");
  if (pairs.length > pairsMax) throw malformed(markup`There are more than ${pairsMax} values.`);
  for (const pair of pairs) {
    const mark = pair.indexOf("=");
    const name = decode(mark === -1 ? pair : pair.slice(0, mark));
    const value = mark === -1 ? "" : decode(pair.slice(mark + 1));
    if (!allowed.includes(name)) {
      throw malformed(
        allowed.length === 0
          ? markup`This page takes no parameters.`
          : markup`This page takes only these parameters: ${allowed.join(", ")}.`,
      );
    }
    if (value.length > valueLengthMax || value.includes("\0")) {
      throw malformed(
        markup`The value of <code>${name}</code> is too long or has a character that cannot be.`,
      );
    }
    values.set(name, [...(values.get(name) ?? []), value]);
  }
  return new Query(values);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    throw malformed(markup`It has a <code>%</code> that stands for no character.`);
  }
}

function malformed(advice: ReturnType<typeof markup>): RefusedPage {
  return new RefusedPage(400, "The request cannot be read", advice);
}

/** The part of an address behind its path, from the values that are not `null`. */
export function queryOf(values: Readonly<Record<string, string | null>>): string {
  const pairs = Object.entries(values).filter(([, value]) => value !== null);
  if (pairs.length === 0) return "";
  return `?${new URLSearchParams(pairs as [string, string][]).toString()}`;
}
