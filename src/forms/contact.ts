/** The sender's phone, email and last name, for the operator's search. */

import { countryDefault, fields as caps } from "../contract/fields.ts";
import { fieldAliases as names, foldName } from "../lead/field_aliases.ts";
import { toE164 } from "../lead/phone.ts";
import { normalizeCountry } from "../lead/place.ts";
import { asSent, isLongerThan, normalizeLine } from "../lead/text.ts";
import type { SubmissionPart } from "../store/serving/accept.ts";
import { comparedFieldsMax, type Field, type Posted } from "./fields.ts";

/**
 * The contact, from fields with a known name (`E-Mail`, `your-email`, `Teléfono`), normalized as in a lead. Chosen:
 * the last word of a full name is the last name: it serves the search. Values too long for an index are left out.
 */
export function contactOf({ fields }: Posted): SubmissionPart["contact"] {
  const byName = new Map<string, Field>();
  let left = comparedFieldsMax;
  for (const [name, field] of fields) {
    if (left-- === 0) break;
    const folded = foldName(name);
    if (!byName.has(folded)) byName.set(folded, field);
  }
  const first = (wanted: readonly string[]): string =>
    wanted.map((name) => textOf(byName.get(name))).find((text) => normalizeLine(text) !== "") ?? "";

  const sentCountry = normalizeLine(textOf(byName.get("country")));
  const country = normalizeCountry(sentCountry === "" ? countryDefault : sentCountry) ?? sentCountry;
  const phone = asSent(first(names.phone));
  const lastName = normalizeLine(first(names.last_name));
  const wholeName = normalizeLine(first(names.name));
  return {
    phone: within(toE164(phone, country) ?? phone, caps.phone.lengthMax),
    email: within(normalizeLine(first(names.email)).toLowerCase(), caps.email.lengthMax),
    lastName: within(
      (lastName === "" ? wholeName.slice(wholeName.lastIndexOf(" ") + 1) : lastName).toLowerCase(),
      caps.last_name.lengthMax,
    ),
  };
}

/** A phone number may come as a JSON number. */
function textOf(field: Field | undefined): string {
  if (field === undefined || field.value === null || typeof field.value === "boolean") return "";
  return typeof field.value === "string" ? field.value : field.valueText;
}

function within(text: string, lengthMax: number): string | null {
  return text === "" || isLongerThan(text, lengthMax) ? null : text;
}
