/**
 * Reads the fields of a posted form, which is a flat JSON object, and keeps them as written. This module is browser
 * compatible.
 */

import { formKeyName, honeypotName } from "../contract/forms.ts";
import { limits } from "../contract/limits.ts";
import { canonicalWord } from "../lead/fingerprint.ts";
import { type BodyFault, findJsonFault, nestedFault, objectFault } from "../lead/body_fault.ts";
import {
  decodeString,
  members,
  parseObject,
  removeNul,
  replaceLoneSurrogates,
  withoutByteOrderMark,
} from "../lead/json.ts";
import { formMisspelling } from "../lead/misspelling.ts";
import { comparedFieldsMax } from "../lead/sender.ts";
import { type TechnicalKind, technicalKind } from "../lead/technical_fields.ts";
import { composed, normalizeDetails } from "../lead/text.ts";
import type { FormValue } from "./spam/score.ts";

export interface Field {
  readonly value: FormValue;
  /** The name as written, with its quotation marks. */
  readonly nameText: string;
  /** The value as written, with every digit of a number. */
  readonly valueText: string;
}

export interface Posted {
  /** The fields in the order of the body, without `form_key`, and without `website` if it is not filled in. */
  readonly fields: ReadonlyMap<string, Field>;
  /** Whether the honeypot `website` is filled in. */
  readonly isHoneypotFilled: boolean;
}

/**
 * Parses a decoded body; returns `null` unless it is a flat JSON object. Source: SPEC, Tenant forms; DECISIONS, Forms.
 * Chosen: as on the intake, the last duplicate wins, and lone surrogates become U+FFFD. U+0000 is removed, because
 * PostgreSQL's JSON functions fail on it. Everything else remains as sent.
 */
export function readFields(body: string): Posted | null {
  const sent = withoutByteOrderMark(body);
  // Rejected: parseObject, whose object takes three times as long for thousands of names.
  if (findJsonFault(sent) !== null || !sent.trimStart().startsWith("{")) return null;
  // Cleaned after validation, because removing text could make an invalid body valid.
  const cleaned = removeNul(replaceLoneSurrogates(sent));
  const fields = new Map<string, Field>();
  const nested = new Set<string>();
  for (const { name, nameText, valueText } of members(cleaned)) {
    if (name === formKeyName) continue;
    if (/^[[{]/.test(valueText)) nested.add(name);
    else {
      if (nested.size > 0) nested.delete(name);
      const value = valueText.startsWith('"') ? decodeString(valueText) : JSON.parse(valueText);
      fields.set(name, { value, nameText, valueText });
    }
  }
  if (nested.size > 0) return null;
  const isHoneypotFilled = isFilled(fields.get(honeypotName)?.value ?? null);
  if (!isHoneypotFilled) fields.delete(honeypotName);
  return { fields, isHoneypotFilled };
}

/** Describes why {@linkcode readFields} rejects a body. */
export function fieldsFault(body: string): BodyFault {
  const sent = withoutByteOrderMark(body);
  const posted = parseObject(sent, limits.jsonDepthMax);
  if (posted === null) return objectFault(sent, "submission");
  const [name, value] =
    Object.entries(posted).find(([name, value]) =>
      name !== formKeyName && value !== null && typeof value === "object"
    ) ?? ["", null];
  return nestedFault(name, value);
}

/** Whether a honeypot is filled in. Chosen: not by `null`, `false` or white space, which untouched fields may send. */
function isFilled(value: FormValue): boolean {
  return value !== false && !isBlank(value);
}

/** Whether a value is `null`, or a string with nothing but white space and control characters. */
function isBlank(value: FormValue): boolean {
  return value === null || typeof value === "string" && !/[^\p{White_Space}\p{Cc}]/u.test(value);
}

/** Returns the required fields that are missing, `null` or blank; 0 and `false` count as values. */
export function missingFields({ fields }: Posted, required: readonly string[]): string[] {
  return required.filter((name) => isBlank(fields.get(name)?.value ?? null));
}

/** A body's fields, or why the body is refused: the response's code, `fields` and `detail`, and the reason for the log. */
export type CheckedFields =
  | { readonly kind: "valid"; readonly posted: Posted }
  | { readonly kind: "invalid_json" } & BodyFault
  | {
    readonly kind: "missing_required";
    readonly fields: Readonly<Record<string, string>>;
    /** Whether the body has no fields, as that of a key check. */
    readonly empty: boolean;
  } & Partial<BodyFault>;

/** Reads a decoded body, and checks that the form's required fields are filled in. */
export function checkFields(body: string, required: readonly string[]): CheckedFields {
  const posted = readFields(body);
  if (posted === null) return { kind: "invalid_json", ...fieldsFault(body) };
  const missing = missingFields(posted, required);
  if (missing.length === 0) return { kind: "valid", posted };
  return {
    kind: "missing_required",
    fields: Object.fromEntries(missing.map((name) => [name, "required"])),
    empty: posted.fields.size === 0,
    ...formMisspelling(posted.fields.keys(), { required, missing }),
  };
}

/** Returns the text of a JSON object with the fields as written. */
export function submissionText({ fields }: Posted): string {
  return `{${[...fields.values()].map(({ nameText, valueText }) => `${nameText}:${valueText}`).join(",")}}`;
}

/** The kinds of fields that change when a visitor sends the same input again, for example after a reload. */
const changingKinds: ReadonlySet<TechnicalKind | null> = new Set(["token", "time", "page", "certificate"]);

/** Whether a field counts when a submission that names its sender is compared with earlier ones. */
export const isCompared = (name: string): boolean => !changingKinds.has(technicalKind(name));

/**
 * Returns a text that is the same for all spellings of a submission, or {@linkcode submissionText} if there are more than
 * {@linkcode comparedFieldsMax} fields. Source: DECISIONS, Forms and Decided for the operator (Content hash). Chosen: fields of
 * the {@linkcode changingKinds} are left out only if the post names its sender; otherwise, two people's equal votes would be one.
 */
export function canonicalFields(
  posted: Posted,
  { isIdentified }: { readonly isIdentified: boolean },
): string {
  const { fields } = posted;
  if (fields.size > comparedFieldsMax) return submissionText(posted);
  const members: string[] = [];
  for (const [name, { value, valueText }] of fields) {
    if (isBlank(value) || isIdentified && !isCompared(name)) continue;
    const text = typeof value === "string"
      ? JSON.stringify(normalizeDetails(value))
      : canonicalWord(valueText);
    members.push(composed(`${JSON.stringify(name)}:${text}`));
  }
  // Sorted without a comparison function, which would double the time.
  return members.sort().join(",");
}
