/** The fields of a posted form: a flat JSON object, read without loss. */

import { formKeyName, honeypotName } from "../contract/forms.ts";
import { limits } from "../contract/limits.ts";
import { canonicalWord } from "../lead/fingerprint.ts";
import { type BodyFault, nestedFault, objectFault } from "../lead/body_fault.ts";
import {
  type ParsedMember,
  parseMembers,
  parseObject,
  replaceLoneSurrogates,
  withoutNul,
} from "../lead/json.ts";
import { normalizeDetails } from "../lead/text.ts";
import type { FormValue } from "./spam/score.ts";

/** One field. */
export interface Field {
  readonly value: FormValue;
  /** The name as it was written, with its quotes. */
  readonly nameText: string;
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

/**
 * A submission of more fields is stored and delivered as any other, but told apart as it was written, and its contact is
 * looked for in so many. Chosen: several times what the longest form has, because a body has room for eight thousand,
 * and each costs a microsecond wherever it is looked at.
 */
export const comparedFieldsMax = 500;

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
  const sent = withoutMark(body);
  const parsed = parseMembers(sent, limits.jsonDepthMax);
  if (parsed === null) return null;
  // Mended after it has proved valid: what is taken out could stand where nothing may.
  const mended = withoutNul(replaceLoneSurrogates(sent));
  const members = mended === sent ? parsed : parseMembers(mended, limits.jsonDepthMax) ?? [];
  const fields = new Map<string, Field>();
  const nested = new Set<string>();
  for (const member of members) {
    const { name } = member;
    if (name === formKeyName) continue;
    if (!isField(member)) nested.add(name);
    else {
      if (nested.size > 0) nested.delete(name);
      fields.set(name, member);
    }
  }
  if (nested.size > 0) return null;
  const isTrapped = isFilled(fields.get(honeypotName)?.value ?? null);
  if (!isTrapped) fields.delete(honeypotName);
  return { fields, isTrapped };
}

/** What is wrong with a body that {@linkcode readFields} has refused. */
export function fieldsFault(body: string): BodyFault {
  const sent = withoutMark(body);
  const posted = parseObject(sent, limits.jsonDepthMax);
  if (posted === null) return objectFault(sent, "submission");
  const [name, value] =
    Object.entries(posted).find(([name, value]) =>
      name !== formKeyName && value !== null && typeof value === "object"
    ) ?? ["", null];
  return nestedFault(name, value);
}

function withoutMark(body: string): string {
  return body.startsWith(byteOrderMark) ? body.slice(1) : body;
}

function isField(member: ParsedMember): member is ParsedMember & Field {
  return member.value === null || typeof member.value !== "object";
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
  return `{${[...fields.values()].map(({ nameText, valueText }) => `${nameText}:${valueText}`).join(",")}}`;
}

/**
 * One text for each submission, however it was spelled: the order of the members, escapes, white space and 1.10 for
 * 1.1 make no difference, and neither does a blank field for none. Source: DECISIONS, Forms (content hash).
 *
 * Of more than {@linkcode comparedFieldsMax} fields it is the text as it was written.
 */
export function canonicalFields(posted: Posted): string {
  const { fields } = posted;
  if (fields.size > comparedFieldsMax) return submissionText(posted);
  const told: string[] = [];
  // Without a comparison of ours, which took half of the time that a thousand fields take.
  for (const name of [...fields.keys()].sort()) {
    const { value, valueText } = fields.get(name) as Field;
    if (isBlank(value)) continue;
    const text = typeof value === "string"
      ? JSON.stringify(normalizeDetails(value))
      : canonicalWord(valueText);
    told.push(`${JSON.stringify(name)}:${text}`);
  }
  return told.join(",");
}
