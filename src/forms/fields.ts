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

export interface Field {
  readonly value: FormValue;
  /** As written, with its quotes. */
  readonly nameText: string;
  /** As written: every digit of a number. */
  readonly valueText: string;
}

export interface Posted {
  /** In the order of the body, without `form_key` and an empty `website`. */
  readonly fields: ReadonlyMap<string, Field>;
  /** The honeypot `website` is filled in. */
  readonly isTrapped: boolean;
}

/** More fields are stored and delivered, but not compared in detail. Chosen: several times the longest form. */
export const comparedFieldsMax = 500;

const byteOrderMark = "\ufeff";

/**
 * Reads a body, decoded from UTF-8; `null` unless it is a flat JSON object. Source: SPEC, Tenant forms; DECISIONS,
 * Forms. Chosen: as on the intake, the last of duplicate members counts, and lone surrogates become U+FFFD. U+0000 is
 * removed, because PostgreSQL's JSON functions fail on it. Everything else stays as sent.
 */
export function readFields(body: string): Posted | null {
  const sent = withoutMark(body);
  const parsed = parseMembers(sent, limits.jsonDepthMax);
  if (parsed === null) return null;
  // Cleaned after validation, because removal could make an invalid text valid.
  const cleaned = withoutNul(replaceLoneSurrogates(sent));
  const members = cleaned === sent ? parsed : parseMembers(cleaned, limits.jsonDepthMax) ?? [];
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

/** The fault of a body that {@linkcode readFields} refuses. */
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

/** Whether a honeypot is filled in. Chosen: `null`, `false` and white space are what an untouched field may send. */
function isFilled(value: FormValue): boolean {
  return value !== false && !isBlank(value);
}

/** `null`, or text of white space and control characters alone. */
function isBlank(value: FormValue): boolean {
  return value === null || typeof value === "string" && !/[^\p{White_Space}\p{Cc}]/u.test(value);
}

/** The required fields that are missing, `null` or blank; 0 and `false` are present, because "no" is an answer. */
export function missingFields({ fields }: Posted, required: readonly string[]): string[] {
  return required.filter((name) => isBlank(fields.get(name)?.value ?? null));
}

/** The fields as a JSON object, as sent. */
export function submissionText({ fields }: Posted): string {
  return `{${[...fields.values()].map(({ nameText, valueText }) => `${nameText}:${valueText}`).join(",")}}`;
}

/**
 * The same text for any spelling of a submission; of more than {@linkcode comparedFieldsMax} fields the text as
 * written. Source: DECISIONS, Forms (content hash).
 */
export function canonicalFields(posted: Posted): string {
  const { fields } = posted;
  if (fields.size > comparedFieldsMax) return submissionText(posted);
  const members: string[] = [];
  // A comparison function would take half of the time.
  for (const name of [...fields.keys()].sort()) {
    const { value, valueText } = fields.get(name) as Field;
    if (isBlank(value)) continue;
    const text = typeof value === "string"
      ? JSON.stringify(normalizeDetails(value))
      : canonicalWord(valueText);
    members.push(`${JSON.stringify(name)}:${text}`);
  }
  return members.join(",");
}
