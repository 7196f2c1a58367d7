/** Finds the sender in the fields of a form submission. This module is browser compatible. */

import { countryDefault } from "../contract/fields.ts";
import { fieldAliases, foldName } from "./field_aliases.ts";
import { normalizeCountry } from "./place.ts";
import { technicalKind } from "./technical_fields.ts";
import { isLongerThan, normalizeLine } from "./text.ts";

/** The maximum number of fields that are compared. Chosen: 500, more than any form has. */
export const comparedFieldsMax = 500;

/**
 * Finds the sender in fields with known names (`E-Mail`, `your-email`, `Teléfono`), skipping those whose text is blank.
 * `take` returns a further field's text; `used` has all values taken. The last word of a full name counts as the last
 * name. The country is its code, or the sender's text if no country is recognized.
 */
export function findSender<Value>(
  fields: Iterable<readonly [name: string, value: Value]>,
  toText: (value: Value) => string,
) {
  const byName = new Map<string, Value>();
  for (const [name, value] of [...fields].slice(0, comparedFieldsMax)) {
    const folded = foldName(name);
    if (!byName.has(folded) && /[^\p{White_Space}\p{Cc}]/u.test(toText(value))) byName.set(folded, value);
  }
  const used = new Set<Value>();
  const find = (field: keyof typeof fieldAliases) =>
    fieldAliases[field].map((name) => byName.get(name)).find((value) => value !== undefined);
  const take = (field: keyof typeof fieldAliases): string => {
    const value = find(field);
    if (value === undefined) return "";
    used.add(value);
    return toText(value);
  };
  const country = normalizeLine(take("country")) || countryDefault;
  const lastName = normalizeLine(take("last_name"));
  const fullName = lastName === "" || find("first_name") === undefined ? normalizeLine(take("name")) : "";
  const given = fullName || normalizeLine(take("first_name"));
  return {
    // A form may ask for the given name as "name" (nombre, apellidos).
    name: ` ${given}`.toLowerCase().endsWith(` ${lastName}`.toLowerCase())
      ? given
      : `${given} ${lastName}`.trim(),
    lastName: lastName || fullName.slice(fullName.lastIndexOf(" ") + 1),
    country: normalizeCountry(country) ?? country,
    find,
    take,
    used,
  };
}

/** A submission in a list. The texts are empty if the submission has none. */
interface SubmissionSummary {
  readonly name: string;
  /** The email address; without one, the phone number. */
  readonly contact: string;
  /** The message; without one, the answers with their fields' names. At most {@linkcode excerptMax} characters. */
  readonly excerpt: string;
}

/** The maximum length of an excerpt. Chosen: 200 characters, about four lines on a phone. */
const excerptMax = 200;

/** Summarizes a submission, given its values as text. */
export function summarizeSubmission(fields: Readonly<Record<string, string>>): SubmissionSummary {
  const entries = Object.entries(fields).map((field) => [field[0], field] as const);
  const { name, take, used } = findSender(entries, ([, value]) => value);
  const contact = normalizeLine(take("email")) || normalizeLine(take("phone"));
  take("phone");
  const message = take("project_details");
  const answers = entries.filter(([name, field]) => !used.has(field) && technicalKind(name) === null)
    .map(([, [name, value]]) => `${name}: ${value}`);
  return { name, contact, excerpt: excerptOf(normalizeLine(message || answers.join(", "))) };
}

/** Cuts a line between words. */
function excerptOf(line: string): string {
  if (!isLongerThan(line, excerptMax)) return line;
  const start = line.slice(0, excerptMax).toWellFormed();
  const end = start.lastIndexOf(" ");
  return `${end === -1 ? start : start.slice(0, end)}…`;
}
