/**
 * Who sent a submission, for the operator's search: phone, email and last name from the fields whose names say that
 * they hold them.
 *
 * @module
 */

import { countryDefault, fields as caps } from "../contract/fields.ts";
import { toE164 } from "../lead/phone.ts";
import { normalizeCountry } from "../lead/place.ts";
import { asSent, isLongerThan, normalizeLine } from "../lead/text.ts";
import type { SubmissionPart } from "../store/serving/accept.ts";
import { comparedFieldsMax, type Field, type Posted } from "./fields.ts";

const nameLengthMax = 100;
/** Latin letters with accents, full-width ones, marks: of no other character normalization makes a known name, and of some it makes a sentence. */
const nameCharacters = /^[\x20-\u024f\u0300-\u036f\u1e00-\u1eff\uff00-\uffef]+$/;

/** Folded names of fields, the surest first. */
const names = {
  phone: set(
    "phone phonenumber telephone telephonenumber tel mobile mobilephone mobilenumber cell cellphone cellnumber",
    "homephone workphone telefono celular movil",
  ),
  email: set("email emailaddress mail correo correoelectronico"),
  lastName: set("lastname lname surname familyname apellido apellidos"),
  name: set("name fullname nombre nombrecompleto"),
} as const;

function set(...lists: string[]): readonly string[] {
  return lists.flatMap((list) => list.split(" "));
}

/**
 * The contact. Names are compared without case, accents and punctuation, and without a leading `your`, `my`,
 * `contact`, `customer` or `form`: `E-Mail`, `your-email`, `Teléfono`.
 *
 * Chosen: phone and email as a lead's are normalized, the last name in lower case; the last name of a whole one is its
 * last word, because that is right most often and this only has to find, not to address. What is too long for an
 * index is left out.
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
  const lastName = normalizeLine(first(names.lastName));
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

function foldName(name: string): string {
  // No known name comes near; Unicode's normalization is quadratic in a run of combining marks.
  if (name.length > nameLengthMax || !/[a-z\uff00-\uffef]/i.test(name)) return "";
  if (/^[a-z]+$/.test(name)) return withoutOwner(name);
  if (!nameCharacters.test(name)) return "";
  return withoutOwner(name.normalize("NFKD").toLowerCase().replace(/[^a-z0-9]/g, ""));
}

function withoutOwner(letters: string): string {
  return letters.replace(/^(?:your|my|contact|customer|form)(?=.)/, "");
}

/** A phone number may come as a JSON number. */
function textOf(field: Field | undefined): string {
  if (field === undefined || field.value === null || typeof field.value === "boolean") return "";
  return typeof field.value === "string" ? field.value : field.valueText;
}

function within(text: string, lengthMax: number): string | null {
  return text === "" || isLongerThan(text, lengthMax) ? null : text;
}
