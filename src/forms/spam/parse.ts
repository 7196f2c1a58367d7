/** Prepares a submission for the spam score. This module is browser compatible. */

import { splitDisclosure } from "./disclosure.ts";
import { technicalKind } from "../../lead/technical_fields.ts";
import { foldInto, gap } from "./fold.ts";

export const wordSet = (words: string): ReadonlySet<string> => new Set(words.split(" "));

/** The words in a field's name that determine its role; the first role with a match applies. */
const fieldWords = {
  message: wordSet(
    "about body comment comments description detail details enquiry help inquiry message messages msg note notes question questions " +
      "comentario comentarios consulta descripcion detalles mensaje pregunta commentaire commentaires precisions projet demande",
  ),
  email: wordSet("email emailaddress mail correo courriel"),
  phone: wordSet("cell cellphone fax mobile phone phonenumber tel telephone celular movil telefono portable"),
  link: wordSet(
    "attachment attachments file files homepage image images link links listing photo photos picture pictures site upload uploads url " +
      "urls web archivo enlace foto fotos fichier lien",
  ),
  company: wordSet(
    "business company employer organisation organization project service subject title asunto compania empresa entreprise sujet objet",
  ),
  place: wordSet(
    "address apt city country county postal postcode state street suite unit zip zipcode calle ciudad cp direccion estado pais adresse " +
      "ville pays rue",
  ),
  name: wordSet(
    "contact customer firstname fname fullname lastname lname name names surname yourname apellido apellidos nombre nombres nom prenom",
  ),
} as const;

export type FormValue = string | number | boolean | null;

export type Submission = ReadonlyMap<string, { readonly value: FormValue }>;

/**
 * The role of a field, determined by its name and the length of its value; `text` is long text in a field of another name, `site`
 * prose in a technical field, or a long name.
 */
type FieldRole = keyof typeof fieldWords | "text" | "answer" | "site";

export interface ParsedField {
  readonly role: FieldRole;
  /** The trimmed, well-formed value, without {@linkcode disclosure}. */
  readonly text: string;
  /** The sentences that are a site's disclosure. */
  readonly disclosure: string;
  /** The start and end of the value, up to {@linkcode excerptMax} characters in total. */
  readonly excerpt: string;
  /** The folded excerpt. */
  readonly folded: string;
  readonly words: readonly string[];
}

export interface ParsedSubmission {
  /** The fields that contain text or a number, excluding technical fields, and long names, ordered by role. */
  readonly fields: readonly ParsedField[];
  /** The start of the page's URL, or `""`. */
  readonly pageUrl: string;
  /** Whether the submission has more fields than are scored. */
  readonly isTooLarge: boolean;
}

/** The maximum number of scored fields. Chosen: 200 is more than any real form has. */
export const scoredFieldsMax = 200;
/** The number of characters at the start of a field's name that determine its role. */
const readNameMax = 120;
/** The maximum length of a field's excerpt, to which patterns are applied. */
export const excerptMax = 3_000;
/** The maximum total length of the excerpts. */
const excerptsMax = 6_000;
/** The maximum length of an answer; longer values are free text. */
const answerMax = 80;
/** The maximum length of a browser's name. */
const userAgentMax = 400;
const roleOrder = [...Object.keys(fieldWords), "text", "answer", "site"];
/** The maximum total length of texts that are searched for disclosures. */
const disclosuresMax = 12_000;
const codes = new Uint16Array(excerptMax + 1);

export function parseSubmission(submission: Submission): ParsedSubmission {
  const roleFields: { role: FieldRole; name: string; text: string }[] = [];
  let fieldCount = 0;
  for (const [name, { value }] of submission) {
    if (value === null || typeof value === "boolean") continue;
    const text = typeof value === "number" ? String(value) : value.toWellFormed().trim();
    if (text === "") continue;
    const role = fieldRole(name.slice(0, readNameMax), text);
    if (role !== null && ++fieldCount > scoredFieldsMax) break;
    // A question as a name may contain a disclosure, or hide a pitch.
    if (name.length > answerMax) roleFields.push({ role: "site", name: "", text: name.toWellFormed() });
    if (role !== null) roleFields.push({ role, name, text });
  }
  roleFields.sort((a, b) =>
    roleOrder.indexOf(a.role) - roleOrder.indexOf(b.role) || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)
  );
  let remaining = excerptsMax;
  let searchable = disclosuresMax;
  const fields = roleFields.map(({ role, text: value }) => {
    searchable -= value.length;
    const { own: text, disclosure } = value.length > answerMax && searchable >= 0
      ? splitDisclosure(value)
      : { own: value, disclosure: "" };
    const excerpt = makeExcerpt(text, Math.min(remaining, excerptMax));
    remaining -= excerpt.length;
    const folded = foldText(excerpt);
    return {
      role,
      text,
      disclosure,
      excerpt,
      folded,
      words: folded.split(/[ .@]+/).filter((word) => word !== ""),
    };
  });
  const page = submission.get("page_url")?.value;
  return {
    fields,
    pageUrl: typeof page === "string" ? page.slice(0, 300) : "",
    isTooLarge: fieldCount > scoredFieldsMax,
  };
}

export function fieldsWithRole(
  parsed: ParsedSubmission,
  ...roles: readonly FieldRole[]
): readonly ParsedField[] {
  return parsed.fields.filter(({ role }) => roles.includes(role));
}

/**
 * Returns the start and end of the text, at most `max` characters in total, because a sales pitch has its opening at the
 * start and its link at the end.
 */
function makeExcerpt(text: string, max: number): string {
  if (text.length <= max) return text;
  const tail = Math.floor(max / 4);
  return `${text.slice(0, max - tail)} ${text.slice(text.length - tail)}`.slice(0, max).toWellFormed();
}

function foldText(text: string): string {
  return String.fromCharCode(...codes.subarray(0, foldInto(codes, text)));
}

/** Returns the role of a field; `null` for a technical field. */
function fieldRole(name: string, text: string): FieldRole | null {
  // `firstName`, `first-name` and `fields[First Name]` all have the words `first` and `name`.
  const words = foldText(name.replaceAll(/([a-z])([A-Z])/g, "$1 $2").replaceAll(/[@.]/g, " ")).split(
    String.fromCharCode(gap),
  ).filter((word) => word !== "" && word !== "fields");
  const isFree = text.length > answerMax;
  // Prose is scored under any name, because a pitch could be posted as `token`.
  if (technicalKind(name) !== null) {
    const isBrowser = /agent/i.test(name) && text.length <= userAgentMax && text.startsWith("Mozilla/");
    return !/[\s\u2800\u3164]/.test(text) || isBrowser ? null : "site";
  }
  if (name.startsWith("_")) return isFree ? "text" : null;
  for (
    const [role, roleWords] of Object.entries(fieldWords) as [keyof typeof fieldWords, ReadonlySet<string>][]
  ) {
    if (!words.some((word) => roleWords.has(word))) continue;
    return isFree && (role === "company" || role === "name") ? "text" : role;
  }
  return isFree ? "text" : "answer";
}
