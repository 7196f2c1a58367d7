/** A submission as the score reads it. This module is browser compatible. */

import { foldInto, gap } from "./fold.ts";

const set = (words: string): ReadonlySet<string> => new Set(words.split(" "));

/** Words in field names, by role; the first match counts. */
const fieldWords = {
  message: set(
    "about body comment comments description detail details enquiry help inquiry message messages msg note notes question questions " +
      "comentario comentarios consulta descripcion detalles mensaje pregunta commentaire commentaires precisions projet demande",
  ),
  email: set("email emailaddress mail correo courriel"),
  phone: set("cell cellphone fax mobile phone phonenumber tel telephone celular movil telefono portable"),
  link: set(
    "attachment attachments file files homepage image images link links listing photo photos picture pictures site upload uploads url " +
      "urls web archivo enlace foto fotos fichier lien",
  ),
  company: set(
    "business company employer organisation organization project service subject title asunto compania empresa entreprise sujet objet",
  ),
  place: set(
    "address apt city country county postal postcode state street suite unit zip zipcode calle ciudad cp direccion estado pais adresse " +
      "ville pays rue",
  ),
  name: set(
    "contact customer firstname fname fullname lastname lname name names surname yourname apellido apellidos nombre nombres nom prenom",
  ),
} as const;

/** Fields that sites fill in themselves; the honeypot counts elsewhere. */
const technicalFields: ReadonlySet<string> = set(
  "cf_turnstile_response csrf csrf_token fbclid form_id form_key form_name form_started_at form_loaded_at g_recaptcha_response gbraid " +
    "gclid h_captcha_response ip ip_address landing_page lang language locale msclkid nonce page_title page_url referer referrer " +
    "request_id session session_id source_url timezone token user_agent visitor_id wbraid website",
);

/** A value of a posted form. */
export type FormValue = string | number | boolean | null;

export type Submission = ReadonlyMap<string, { readonly value: FormValue }>;

/** A field's role by its name; `answer` is any other. */
export type FieldRole = keyof typeof fieldWords | "answer";

export interface ReadField {
  readonly role: FieldRole;
  /** As sent, well-formed. */
  readonly text: string;
  /** Its beginning and end, up to {@linkcode shownMax} characters. */
  readonly shown: string;
  /** `shown`, folded. */
  readonly folded: string;
  readonly words: readonly string[];
}

/** The fields that are not blank: messages first, then names, addresses and the rest. */
export interface Reading {
  readonly fields: readonly ReadField[];
  /** The beginning of the page's address, or empty. */
  readonly pageUrl: string;
  /** Some fields or names exceed what is scored. */
  readonly isTooMuch: boolean;
}

/** Fields that are scored. Chosen: more than any form has. */
export const scoredFieldsMax = 200;
/** Characters of a name that are scored. Chosen: more than any form plug-in makes. */
export const scoredNameMax = 120;
/** Characters of a field that are searched letter by letter. */
export const shownMax = 3_000;
/** The same for all fields together. */
const shownAllMax = 6_000;
/** Longer values are free text. */
const answerMax = 80;
const order = [...Object.keys(fieldWords), "answer"];
const codes = new Uint16Array(shownMax + 1);

export function readSubmission(submission: Submission): Reading {
  const typed: { role: FieldRole; name: string; text: string }[] = [];
  let isTooMuch = false;
  for (const [name, { value }] of submission) {
    if (value === null || typeof value === "boolean") continue;
    const text = typeof value === "number" ? String(value) : value.toWellFormed().trim();
    if (text === "") continue;
    isTooMuch ||= name.length > scoredNameMax;
    if (typed.length === scoredFieldsMax) {
      isTooMuch = true;
      break;
    }
    const role = roleOf(name.slice(0, scoredNameMax), text);
    if (role !== null) typed.push({ role, name, text });
  }
  typed.sort((a, b) =>
    order.indexOf(a.role) - order.indexOf(b.role) || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)
  );
  let left = shownAllMax;
  const fields = typed.map(({ role, text }) => {
    const shown = endsOf(text, Math.min(left, shownMax));
    left -= shown.length;
    const folded = foldText(shown);
    return {
      role,
      text,
      shown,
      folded,
      words: folded.split(/[ .@]+/).filter((word) => word !== ""),
    };
  });
  const page = submission.get("page_url")?.value;
  return { fields, pageUrl: typeof page === "string" ? page.slice(0, 300) : "", isTooMuch };
}

export function fieldsOf(reading: Reading, ...roles: readonly FieldRole[]): readonly ReadField[] {
  return reading.fields.filter(({ role }) => roles.includes(role));
}

/** The beginning and end of a text, `max` characters together: a pitch has its opening and its address there. */
function endsOf(text: string, max: number): string {
  if (text.length <= max) return text;
  const tail = Math.floor(max / 4);
  return `${text.slice(0, max - tail)} ${text.slice(text.length - tail)}`.slice(0, max).toWellFormed();
}

function foldText(text: string): string {
  return String.fromCharCode(...codes.subarray(0, foldInto(codes, text)));
}

/** The role of a field; `null` for one that a program fills in. */
function roleOf(name: string, text: string): FieldRole | null {
  // `firstName`, `first-name` and `fields[First Name]` are all `first`, `name`.
  const words = foldText(name.replaceAll(/([a-z])([A-Z])/g, "$1 $2").replaceAll(/[@.]/g, " ")).split(
    String.fromCharCode(gap),
  ).filter((word) => word !== "" && word !== "fields");
  const isFree = text.length > answerMax;
  if (technicalFields.has(words.join("_")) || words[0] === "utm" || name.startsWith("_")) {
    // A leading underscore marks a technical field; free text is not technical.
    return isFree && name.startsWith("_") ? "message" : null;
  }
  for (
    const [role, known] of Object.entries(fieldWords) as [keyof typeof fieldWords, ReadonlySet<string>][]
  ) {
    if (!words.some((word) => known.has(word))) continue;
    return isFree && (role === "company" || role === "name") ? "message" : role;
  }
  return isFree ? "message" : "answer";
}
