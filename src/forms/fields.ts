/**
 * The fields of a posted form: a flat JSON object, read without loss.
 *
 * @module
 */

import { formKeyName, honeypotName } from "../contract/forms.ts";
import { limits } from "../contract/limits.ts";
import { canonicalJson } from "../lead/fingerprint.ts";
import { decode, members, mendEscapes, parseObject, withoutNul } from "../lead/json.ts";
import { normalizeDetails } from "../lead/text.ts";
import type { FormValue } from "./spam_reading.ts";

/** One field. */
export interface Field {
  readonly value: FormValue;
  /** The member as it was written, name and value. */
  readonly written: string;
  /** The value as it was written: every digit of a number. */
  readonly valueText: string;
}

/** What was posted. */
export interface Posted {
  /** By name, in the order of the body; without `form_key` and an empty `website`. */
  readonly fields: ReadonlyMap<string, Field>;
  /** Somebody filled in `website`, which people do not see. */
  readonly isTrapped: boolean;
}

const byteOrderMark = "\ufeff";

/**
 * Reads a body, decoded from UTF-8; `null` for what is not a flat JSON object.
 *
 * Source: SPEC, Tenant forms; DECISIONS, Forms.
 *
 * Chosen: as on the intake, of duplicate members the last one wins, and it alone has to be flat; lone surrogates
 * become U+FFFD. U+0000 vanishes, because PostgreSQL's JSON functions and most receivers fail on it and nobody types
 * it; the raw body keeps it. Everything else stays as it was sent: nothing is trimmed, no digit is lost.
 */
export function readFields(body: string): Posted | null {
  const sent = body.startsWith(byteOrderMark) ? body.slice(1) : body;
  // Mended after it has proved valid: what is taken out could stand where nothing may.
  if (parseObject(sent, limits.jsonDepthMax) === null) return null;
  const fields = new Map<string, Field>();
  for (const { name, nameText, valueText } of members(withoutNul(mendEscapes(sent)))) {
    if (name !== formKeyName) fields.set(name, read(nameText, valueText));
  }
  for (const { valueText } of fields.values()) if (/^[[{]/.test(valueText)) return null;
  const isTrapped = isFilled(fields.get(honeypotName)?.value ?? null);
  if (!isTrapped) fields.delete(honeypotName);
  return { fields, isTrapped };
}

function read(nameText: string, valueText: string): Field {
  return { value: valueOf(valueText), written: `${nameText}:${valueText}`, valueText };
}

function valueOf(text: string): FormValue {
  if (text.startsWith('"')) return decode(text);
  if (text === "true" || text === "false") return text === "true";
  return text === "null" ? null : Number(text);
}

/**
 * Whether a honeypot's value is a fill. Chosen: text that is not blank, any number and `true`; `null`, `false` and white
 * space are what an untouched field may send.
 */
function isFilled(value: FormValue): boolean {
  return value !== false && !isBlank(value);
}

/** `null`, or text of white space and control characters alone. */
function isBlank(value: FormValue): boolean {
  return value === null || typeof value === "string" && !/[^\p{White_Space}\p{Cc}]/u.test(value);
}

/**
 * Which of the required fields are missing, `null` or blank.
 *
 * Chosen: numbers and booleans are present, 0 and `false` too, because "no" is an answer.
 */
export function missingFields({ fields }: Posted, required: readonly string[]): string[] {
  return required.filter((name) => isBlank(fields.get(name)?.value ?? null));
}

/** The submission as a JSON object: the fields as they were sent. */
export function submissionText({ fields }: Posted): string {
  return `{${[...fields.values()].map(({ written }) => written).join(",")}}`;
}

/**
 * One text for each submission, however it was spelled: the order of the members, escapes, white space and 1.10 for
 * 1.1 make no difference, and neither does a blank field for none. Source: DECISIONS, Forms (content hash).
 */
export function canonicalFields({ fields }: Posted): string {
  return [...fields].filter(([, { value }]) => !isBlank(value)).sort(([a], [b]) => a < b ? -1 : 1)
    .map(([name, { value, valueText }]) => {
      const text = typeof value === "string"
        ? JSON.stringify(normalizeDetails(value))
        : canonicalJson(valueText);
      return `${JSON.stringify(name)}:${text}`;
    }).join(",");
}
