/** Reads a visitor's campaign parameters from the URLs of the page and its referrer. This module is browser compatible. */

import { attributionNames, attributionSources } from "../contract/forms.ts";
import { isLongerThan, normalizeLine } from "../lead/text.ts";
import type { Posted } from "./fields.ts";

type Attribution = Partial<Record<typeof attributionNames[number], string>>;

/** The maximum length of a value, in characters. Chosen: five times the length of Google's click ids. */
const lengthMax = 500;

/** The maximum length of an encoded parameter: up to four bytes per character, each encoded as three characters. */
const encodedLengthMax = 12 * lengthMax;

/** The maximum number of parameters that are read. Chosen: 100, more than any site uses. */
const parametersMax = 100;

/**
 * Reads the campaign from the query of `page_url`, and parameters missing there from `referrer`. Source: SPEC, Tenant
 * forms; DECISIONS, Forms. Chosen: malformed URLs are read too; names match in any case; the first usable value of a
 * repeated parameter counts; a blank value, or one over 500 characters, is ignored, because a truncated id would be wrong.
 */
export function readAttribution({ fields }: Posted): Attribution {
  const attribution: Attribution = {};
  for (const source of attributionSources) {
    const address = fields.get(source)?.value;
    if (typeof address === "string") readQuery(queryString(address), attribution);
  }
  return Object.fromEntries(
    attributionNames.flatMap((name) => attribution[name] === undefined ? [] : [[name, attribution[name]]]),
  );
}

function queryString(address: string): string {
  const [beforeFragment = ""] = address.split("#", 1);
  const start = beforeFragment.indexOf("?");
  return start === -1 ? "" : beforeFragment.slice(start + 1);
}

/** Adds a query's campaign parameters. Rejected: `URLSearchParams`, which took 130 ms for 64 KiB of `%FF&`. */
function readQuery(query: string, attribution: Attribution): void {
  for (let at = 0, count = 0; at < query.length && count < parametersMax; count++) {
    const next = query.indexOf("&", at);
    const end = next === -1 ? query.length : next;
    const equals = query.slice(at, Math.min(end, at + nameLengthMax + 1)).indexOf("=");
    const name = equals === -1 ? undefined : attributionName(query.slice(at, at + equals));
    if (name !== undefined && attribution[name] === undefined && end - at <= encodedLengthMax) {
      const text = normalizeLine(decodeValue(query.slice(at + equals + 1, end)));
      if (text !== "" && !isLongerThan(text, lengthMax)) attribution[name] = text;
    }
    at = end + 1;
  }
}

/** The maximum length of a percent-encoded name. */
const nameLengthMax = 3 * Math.max(...attributionNames.map((name) => name.length));

function attributionName(encoded: string): typeof attributionNames[number] | undefined {
  const name = encoded.replace(
    /%([0-7][0-9a-f])/gi,
    (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)),
  ).toLowerCase();
  return attributionNames.find((known) => known === name);
}

/** Decodes a value; never throws: an invalid `%` is kept, and invalid UTF-8 becomes U+FFFD. */
function decodeValue(encoded: string): string {
  return new URLSearchParams(`=${encoded}`).get("") ?? "";
}
