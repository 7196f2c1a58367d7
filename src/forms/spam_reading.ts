/**
 * A submission as the score reads it: which field holds what, and its text without disguises. This module is
 * browser compatible.
 *
 * @module
 */

import { findLinks, type Link } from "./spam_hosts.ts";
import { foldText, wordsOf } from "./spam_fold.ts";

/** A value of the flat JSON object that a form posts. */
export type FormValue = string | number | boolean | null;

/**
 * What a field holds, by its name: `message` is free text, `answer` anything else that a form asks, `link` a
 * field that asks for a link or file.
 */
export type FieldRole = "name" | "email" | "phone" | "place" | "link" | "company" | "answer" | "message";

/** One field that a person may have filled in. */
export interface ReadField {
  readonly role: FieldRole;
  /** As sent, well-formed. */
  readonly text: string;
  /** Without case, accents, full-width and decorative forms, look-alikes and invisible characters. */
  readonly folded: string;
  /** The words of `folded`. */
  readonly words: readonly string[];
  /** The links in `text`, but for those to the site that the form is on. */
  readonly links: readonly Link[];
}

/** A submission's fields that are not blank, in the order of their names. */
export type Reading = readonly ReadField[];

/** Names of what the site sends along and nobody types, `website` (the honeypot, judged elsewhere) among them. */
const technical = new Set([
  ..."page_url page_title referrer referer landing_page form_key form_id form_name website gclid fbclid msclkid"
    .split(" "),
  ..."gbraid wbraid user_agent ip ip_address session session_id visitor_id request_id token csrf csrf_token nonce"
    .split(" "),
  ..."locale lang language timezone source_url g_recaptcha_response h_captcha_response cf_turnstile_response"
    .split(" "),
]);

/** Words of a field's name, the first list that has one decides. */
const roles: readonly (readonly [FieldRole, ReadonlySet<string>])[] = [
  [
    "message",
    set(
      "message messages msg comment comments detail details description notes note question questions inquiry enquiry body mensaje comentario comentarios detalles consulta pregunta descripcion help about",
    ),
  ],
  ["email", set("email mail emailaddress correo")],
  ["phone", set("phone telephone tel mobile cell cellphone phonenumber telefono celular movil fax")],
  [
    "link",
    set(
      "url urls link links site web homepage photo photos image images picture pictures file files upload uploads attachment attachments listing foto fotos enlace archivo",
    ),
  ],
  [
    "company",
    set(
      "company business organization organisation empresa compania employer subject asunto title project service",
    ),
  ],
  [
    "place",
    set(
      "city ciudad state estado zip zipcode postal postcode cp address street direccion calle county country pais apt unit suite",
    ),
  ],
  [
    "name",
    set(
      "name names fname lname firstname lastname fullname yourname surname nombre nombres apellido apellidos contact customer",
    ),
  ],
];

/** Longer values are free text, whatever the field is called. */
const answerLengthMax = 80;

/**
 * So many characters of a submission are judged, shared among its fields.
 *
 * Chosen: what the intake takes of a project's details at most. Scoring holds up everybody's requests for as long as
 * it takes: the worst 64 KiB took 140 ms, what is judged of them takes 20.
 */
export const judgedLengthMax = 16_000;

/** So many fields of a submission are judged. */
export const judgedFieldsMax = 200;

/** Reads a submission, as far as it is judged: see {@linkcode judgedFields} and {@linkcode judgedLengthMax}. */
export function readSubmission(fields: Readonly<Record<string, FormValue>>): Reading {
  const typed = judgedFields(fields).flatMap(({ name, text }) => {
    const role = roleOf(name, text);
    return role === undefined ? [] : [{ role, text }];
  });
  const lengthMax = sharedLengthMax(typed.map(({ text }) => text.length));
  const ownHost = hostOfPage(fields);
  return typed.map(({ role, text: whole }) => {
    const text = endsOf(whole, lengthMax);
    // Some characters stand for many: \ufdfa for eighteen.
    const folded = foldText(text).slice(0, judgedLengthMax);
    const links = findLinks(text).filter((link) => ownHost === undefined || link.host !== ownHost);
    return { role, text, folded, words: wordsOf(folded), links };
  });
}

/**
 * The fields that are not blank, by name. Chosen: of more than {@linkcode judgedFieldsMax} those with the longest
 * values, because no form has as many and each costs time.
 */
function judgedFields(
  fields: Readonly<Record<string, FormValue>>,
): readonly { name: string; text: string }[] {
  const filled: { name: string; text: string }[] = [];
  for (const [name, value] of Object.entries(fields)) {
    if (value === null || typeof value === "boolean") continue;
    const text = String(value).toWellFormed().trim();
    if (text !== "") filled.push({ name, text });
  }
  const byName = (a: { name: string }, b: { name: string }) => a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
  if (filled.length <= judgedFieldsMax) return filled.sort(byName);
  return filled.sort((a, b) => b.text.length - a.text.length || byName(a, b)).slice(0, judgedFieldsMax)
    .sort(byName);
}

/** The length at which all texts must be cut, so that together they have no more than the most that is judged. */
function sharedLengthMax(lengths: readonly number[]): number {
  let left = judgedLengthMax;
  const ascending = lengths.toSorted((a, b) => a - b);
  for (const [at, length] of ascending.entries()) {
    const share = Math.floor(left / (ascending.length - at));
    if (length > share) return share;
    left -= length;
  }
  return judgedLengthMax;
}

/** A long text's beginning and its end, where a pitch has its opening and its address. */
function endsOf(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text;
  const tail = Math.floor(lengthMax / 4);
  return `${text.slice(0, lengthMax - tail)}\n${text.slice(text.length - tail)}`.toWellFormed();
}

/** A person who says which page of the site they mean is not advertising it. */
function hostOfPage(fields: Readonly<Record<string, FormValue>>): string | undefined {
  const page = Object.hasOwn(fields, "page_url") ? fields.page_url : undefined;
  return typeof page === "string" ? findLinks(page.slice(0, 2000))[0]?.host : undefined;
}

/** What a field holds; nothing when it is a technical one. */
function roleOf(name: string, text: string): FieldRole | undefined {
  const words = nameWords(name);
  const joined = words.join("_");
  if (technical.has(joined) || joined.startsWith("utm_") || name.startsWith("_")) {
    // A name of a leading underscore is technical by custom; free text is not.
    return text.length > answerLengthMax && name.startsWith("_") ? "message" : undefined;
  }
  for (const [role, known] of roles) {
    if (!words.some((word) => known.has(word))) continue;
    const isFree = (role === "company" || role === "name") && text.length > answerLengthMax;
    return isFree ? "message" : role;
  }
  return text.length > answerLengthMax ? "message" : "answer";
}

/** `firstName`, `first-name` and `fields[First Name]` are all `first`, `name`. */
function nameWords(name: string): readonly string[] {
  const spaced = name.slice(0, 100).replaceAll(/([a-z])([A-Z])/g, "$1 $2");
  return wordsOf(foldText(spaced)).filter((word) => word !== "fields" && !/^\d+$/.test(word));
}

function set(words: string): ReadonlySet<string> {
  return new Set(words.split(" "));
}
