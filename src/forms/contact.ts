/** Finds the sender's phone number, email address and last name, for the operator's search. */

import { countryDefault, fields as caps } from "../contract/fields.ts";
import { fieldAliases as names, foldName } from "../lead/field_aliases.ts";
import { toE164 } from "../lead/phone.ts";
import { normalizeCountry } from "../lead/place.ts";
import { isLongerThan, normalizeLine, withoutControls } from "../lead/text.ts";
import type { SubmissionPart } from "../store/serving/accept.ts";
import { comparedFieldsMax, type Field, type Posted } from "./fields.ts";

/**
 * Returns the contact from fields with known names (`E-Mail`, `your-email`, `Teléfono`), normalized for search. A value
 * that is blank or too long for an index becomes `null`. Chosen: the last word of a full name counts as the last name.
 */
export function findContact({ fields }: Posted): SubmissionPart["contact"] {
  const byName = new Map<string, Field>();
  let remaining = comparedFieldsMax;
  for (const [name, field] of fields) {
    if (remaining-- === 0) break;
    const folded = foldName(name);
    if (!byName.has(folded)) byName.set(folded, field);
  }
  const first = (aliases: readonly string[]): string =>
    aliases.map((name) => toText(byName.get(name))).find((text) => normalizeLine(text) !== "") ?? "";

  const sentCountry = normalizeLine(toText(byName.get("country")));
  const country = normalizeCountry(sentCountry === "" ? countryDefault : sentCountry) ?? sentCountry;
  const phone = withoutControls(first(names.phone));
  const lastName = normalizeLine(first(names.last_name));
  const fullName = normalizeLine(first(names.name));
  return {
    phone: nullIfTooLong(toE164(phone, country) ?? phone, caps.phone.lengthMax),
    email: nullIfTooLong(normalizeLine(first(names.email)).toLowerCase(), caps.email.lengthMax),
    lastName: nullIfTooLong(
      (lastName === "" ? fullName.slice(fullName.lastIndexOf(" ") + 1) : lastName).toLowerCase(),
      caps.last_name.lengthMax,
    ),
  };
}

/** Returns a string, or a number as written, because a phone number may be a JSON number; `""` for other values. */
function toText(field: Field | undefined): string {
  if (field === undefined || field.value === null || typeof field.value === "boolean") return "";
  return typeof field.value === "string" ? field.value : field.valueText;
}

function nullIfTooLong(text: string, lengthMax: number): string | null {
  return text === "" || isLongerThan(text, lengthMax) ? null : text;
}
