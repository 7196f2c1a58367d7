/** Common names of lead and form fields. This module is browser compatible. */

import type { FieldName } from "../contract/fields.ts";

const nameLengthMax = 100;
/** Latin letters, full-width letters and marks: nothing else normalizes to a known name. */
const nameCharacters = /^[\x20-\u024f\u0300-\u036f\u1e00-\u1eff\uff00-\uffef]+$/;

/** Folded names by field, the surest first; `name` is a full name. */
export const fieldAliases: Readonly<Record<FieldName | "cost" | "name", readonly string[]>> = {
  first_name: words("firstname fname givenname forename first"),
  last_name: words("lastname lname surname familyname last apellido apellidos"),
  phone: words(
    "phone phonenumber telephone telephonenumber tel mobile mobilephone mobilenumber cell cellphone cellnumber",
    "homephone workphone primaryphone telefono celular movil",
  ),
  email: words("email emailaddress mail correo correoelectronico"),
  street_address: words("streetaddress street address address1 addressline1 streetline1 direccion"),
  city: words("city town locality ciudad"),
  state: words("state province stateprovince statecode estado"),
  zip: words("zip zipcode postalcode postcode codigopostal"),
  country: words("country countrycode pais"),
  project_area: words("projectarea area room"),
  project_service: words("projectservice service servicetype projecttype"),
  project_material: words("projectmaterial material"),
  project_details: words(
    "projectdetails details description projectdescription message comment comments notes",
  ),
  external_id: words("externalid leadid referenceid"),
  cost: words("cost price leadcost leadprice"),
  name: words("name fullname nombre nombrecompleto"),
};

function words(...lists: string[]): readonly string[] {
  return lists.flatMap((list) => list.split(" "));
}

/**
 * Folds a field name: drops case, accents, punctuation and a leading `your`, `my` or such; `""` without a Latin
 * letter.
 */
export function foldName(name: string): string {
  // Unicode normalization is quadratic in a run of combining marks.
  if (name.length > nameLengthMax || !/[a-z\uff00-\uffef]/i.test(name)) return "";
  if (/^[a-z]+$/.test(name)) return withoutOwner(name);
  // A byte order mark, or a copied joiner.
  const seen = name.replace(/\p{Cf}+/gu, "");
  if (!nameCharacters.test(seen)) return "";
  return withoutOwner(seen.normalize("NFKD").toLowerCase().replace(/[^a-z0-9]/g, ""));
}

function withoutOwner(letters: string): string {
  return letters.replace(/^(?:your|my|contact|customer|form)(?=.)/, "");
}
