/** Which campaign a visitor came from, as the addresses of the page and of the page before tell. */

import { attributionNames, attributionSources } from "../contract/forms.ts";
import { isLongerThan, normalizeLine } from "../lead/text.ts";
import type { Posted } from "./fields.ts";

/** What was found; what was not is absent. */
type Attribution = Partial<Record<typeof attributionNames[number], string>>;

/** In characters. Chosen: Google's click ids have about 100; what is far longer is no campaign's name. */
const lengthMax = 500;

/** A character takes at most four bytes, each written as `%` and two digits. */
const writtenLengthMax = 12 * lengthMax;

/** So many parameters of an address are looked at. Chosen: no site's own page has as many, and each costs time. */
const parametersMax = 100;

/**
 * Reads the campaign from `page_url`'s query and, for what that lacks, from `referrer`'s.
 *
 * Source: SPEC, Tenant forms; DECISIONS, Forms.
 *
 * Chosen: whatever stands between the first `?` and the first `#` is the query, so relative and malformed addresses
 * tell what they can; names in any case; the first of repeated parameters; values as a line of text, and one that is
 * blank or over 500 characters counts as absent, because half an id is another id. `page_url` keeps the whole.
 */
export function attributionOf({ fields }: Posted): Attribution {
  const found: Attribution = {};
  for (const source of attributionSources) {
    const address = fields.get(source)?.value;
    if (typeof address === "string") readQuery(queryOf(address), found);
  }
  return Object.fromEntries(
    attributionNames.flatMap((name) => found[name] === undefined ? [] : [[name, found[name]]]),
  );
}

function queryOf(address: string): string {
  const [beforeFragment = ""] = address.split("#", 1);
  const mark = beforeFragment.indexOf("?");
  return mark === -1 ? "" : beforeFragment.slice(mark + 1);
}

/** Only what is wanted is decoded: the platform's own parser took 130 ms for 64 KiB of `%FF&`. */
function readQuery(query: string, found: Attribution): void {
  for (let at = 0, count = 0; at < query.length && count < parametersMax; count++) {
    const next = query.indexOf("&", at);
    const end = next === -1 ? query.length : next;
    const equals = query.slice(at, Math.min(end, at + nameLengthMax + 1)).indexOf("=");
    const name = equals === -1 ? undefined : nameOf(query.slice(at, at + equals));
    if (name !== undefined && found[name] === undefined && end - at <= writtenLengthMax) {
      const text = normalizeLine(decoded(query.slice(at + equals + 1, end)));
      if (text !== "" && !isLongerThan(text, lengthMax)) found[name] = text;
    }
    at = end + 1;
  }
}

/** The longest of the names with every letter escaped. */
const nameLengthMax = 3 * Math.max(...attributionNames.map((name) => name.length));

function nameOf(written: string): typeof attributionNames[number] | undefined {
  const name = written.replace(
    /%([0-7][0-9a-f])/gi,
    (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)),
  ).toLowerCase();
  return attributionNames.find((one) => one === name);
}

/** Never throws: a `%` that is no escape stays, bytes that are no UTF-8 become U+FFFD. */
function decoded(written: string): string {
  return new URLSearchParams(`=${written}`).get("") ?? "";
}
