/**
 * Which campaign a visitor came from, as the addresses of the page and of the page before tell.
 *
 * @module
 */

import { attributionNames, attributionSources } from "../contract/forms.ts";
import { isLongerThan, normalizeLine } from "../lead/text.ts";
import type { Posted } from "./fields.ts";

/** What was found; what was not is absent. */
export type Attribution = Partial<Record<typeof attributionNames[number], string>>;

/** In characters. Chosen: Google's click ids have about 100; what is far longer is no campaign's name. */
const lengthMax = 500;

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
    if (typeof address !== "string") continue;
    for (const [name, value] of parametersOf(address)) {
      const known = attributionNames.find((one) => one === name.toLowerCase());
      if (known === undefined || found[known] !== undefined) continue;
      const text = normalizeLine(value);
      if (text !== "" && !isLongerThan(text, lengthMax)) found[known] = text;
    }
  }
  return Object.fromEntries(
    attributionNames.flatMap((name) => found[name] === undefined ? [] : [[name, found[name]]]),
  );
}

/** Never throws: a `%` that is no escape stays, bytes that are no UTF-8 become U+FFFD. */
function parametersOf(address: string): Iterable<[string, string]> {
  const [beforeFragment = ""] = address.split("#", 1);
  const mark = beforeFragment.indexOf("?");
  return mark === -1 ? [] : new URLSearchParams(beforeFragment.slice(mark + 1));
}
