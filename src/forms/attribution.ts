/** The campaign that brought a visitor, from the addresses of the page and its referrer. */

import { attributionNames, attributionSources } from "../contract/forms.ts";
import { isLongerThan, normalizeLine } from "../lead/text.ts";
import type { Posted } from "./fields.ts";

/** Absent members were not found. */
type Attribution = Partial<Record<typeof attributionNames[number], string>>;

/** In characters. Chosen: five times the length of Google's click ids. */
const lengthMax = 500;

/** A character takes at most four bytes, each written as `%` and two digits. */
const writtenLengthMax = 12 * lengthMax;

/** Chosen: more than any site uses. */
const parametersMax = 100;

/**
 * Reads the campaign from `page_url`'s query, and what that lacks from `referrer`'s. Source: SPEC, Tenant forms;
 * DECISIONS, Forms. Chosen: malformed addresses are read too; names in any case; the first of repeated parameters; a
 * value that is blank or over 500 characters counts as absent, because half an id is another id.
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

/** Decodes only the parameters that it needs: the platform's parser took 130 ms for 64 KiB of `%FF&`. */
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

/** Never throws: an invalid `%` stays, invalid UTF-8 becomes U+FFFD. */
function decoded(written: string): string {
  return new URLSearchParams(`=${written}`).get("") ?? "";
}
