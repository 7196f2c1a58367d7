/** Common alternative names for lead and form fields. This module is browser compatible. */

import type { FieldName } from "../contract/fields.ts";

const nameLengthMax = 100;
/** Matches names of Latin and full-width characters; no alias is in another script. */
const nameCharacters = /^[\x20-\u024f\u0300-\u036f\u1e00-\u1eff\uff00-\uffef]+$/;

/** The folded aliases for each field, most reliable first; `name` is a full name. */
export const fieldAliases: Readonly<Record<FieldName | "cost" | "name", readonly string[]>> = {
  first_name: splitWords("firstname fname givenname forename first prenom vorname voornaam imie fornamn"),
  last_name: splitWords(
    "lastname lname surname familyname last apellido apellidos nomdefamille nachname cognome sobrenome achternaam nazwisko efternamn",
  ),
  phone: splitWords(
    "phone phonenumber telephone telephonenumber tel mobile mobilephone mobilenumber cell cellphone cellnumber",
    "homephone workphone primaryphone telefono celular movil telefon telefonnummer telefone telefoon telefoonnummer handy cellulare",
  ),
  email: splitWords("email emailaddress mail correo correoelectronico courriel emailadresse epost"),
  street_address: splitWords(
    "streetaddress street address address1 addressline1 streetline1 direccion adresse strasse indirizzo endereco adres",
  ),
  city: splitWords("city town locality ciudad ville stadt citta cidade miasto"),
  state: splitWords("state province stateprovince statecode estado"),
  zip: splitWords(
    "zip zipcode postalcode postcode codigopostal codepostal plz postleitzahl kodpocztowy postnummer",
  ),
  country: splitWords("country countrycode pais"),
  project_area: splitWords("projectarea area room"),
  project_service: splitWords("projectservice service servicetype projecttype"),
  project_material: splitWords("projectmaterial material"),
  project_details: splitWords(
    "projectdetails details description projectdescription message comment comments notes",
    "mensaje comentario comentarios consulta detalles descripcion commentaire commentaires demande nachricht anfrage",
    "messaggio richiesta mensagem wiadomosc bericht meddelande",
  ),
  external_id: splitWords("externalid leadid referenceid"),
  cost: splitWords("cost price leadcost leadprice"),
  name: splitWords(
    "name fullname nombre nombrecompleto nom nomcomplet nome nomecompleto naam namn imieinazwisko",
  ),
};

function splitWords(...lists: string[]): readonly string[] {
  return lists.flatMap((list) => list.split(" "));
}

/**
 * Folds a name: removes case, accents, punctuation and a leading `your`, `my` or similar; returns `""` for a name that is
 * too long, has no Latin letter or contains another script.
 */
export function foldName(name: string): string {
  // Limits the cost of Unicode normalization, which is quadratic in a run of combining marks.
  if (name.length > nameLengthMax || !/[a-z\uff00-\uffef]/i.test(name)) return "";
  if (/^[a-z]+$/.test(name)) return removeOwner(name);
  // Removes invisible characters, such as a byte order mark.
  const visible = name.replace(/\p{Cf}+/gu, "");
  if (!nameCharacters.test(visible)) return "";
  return removeOwner(visible.normalize("NFKD").toLowerCase().replace(/[^a-z0-9]/g, ""));
}

function removeOwner(letters: string): string {
  return letters.replace(/^(?:your|my|contact|customer|form)(?=.)/, "");
}
