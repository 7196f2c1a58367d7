/**
 * The validator: one request body in, what it comes to out. It runs as it is in the server and in the
 * playground. This module is browser compatible.
 *
 * @module
 */

import {
  countryDefault,
  type FieldName,
  fieldNames,
  fields,
  type Flag,
  flagNames,
  projectServices,
  type Reason,
  requiredFields,
} from "../contract/fields.ts";
import { limits } from "../contract/limits.ts";
import { type BodyFault, objectFault } from "./body_fault.ts";
import { toCents } from "./cost.ts";
import { looksLikeEmail } from "./email.ts";
import { isObject, members, mendEscapes, parseObject } from "./json.ts";
import type { Areas, Lead, Validation } from "./lead.ts";
import { leadMisspelling } from "./misspelling.ts";
import { toE164 } from "./phone.ts";
import { foldArea, normalizeCountry, normalizeState, normalizeZip } from "./place.ts";
import { asSent, isLongerThan, normalizeDetails, normalizeLine } from "./text.ts";
import { typeFault } from "./wrong_member.ts";

/** What a field's rule may look at beside its own value, and where it leaves its observations. */
interface Scope {
  /** Normalized; the default when the lead names none. */
  readonly country: string;
  readonly areas: Areas;
  readonly flags: Set<Flag>;
}

type Rule = (text: string, scope: Scope) => string;

/** Fields that have no rule of their own are lines of free text. */
const freeText: Rule = (text) => text;

/**
 * The rule of each field, applied to text that is trimmed, free of what the field may not hold, and
 * not blank.
 *
 * Source: SPEC, Lead envelope.
 */
const rules: Readonly<Record<FieldName, Rule>> = {
  first_name: freeText,
  last_name: freeText,
  phone: (text, { country, flags }) => toE164(text, country) ?? flagged(text, "phone_unnormalized", flags),
  // Chosen: a suspect value is lower-cased too, because global normalization knows no exception.
  email: (text, { flags }) => {
    const email = text.toLowerCase();
    return looksLikeEmail(email) ? email : flagged(email, "email_shape_suspect", flags);
  },
  street_address: freeText,
  city: freeText,
  state: normalizeState,
  zip: (text, { country }) => normalizeZip(text, country),
  country: (text, { flags }) => normalizeCountry(text) ?? flagged(text, "country_unrecognized", flags),
  project_area: (text, { areas, flags }) =>
    areas.get(foldArea(text)) ?? flagged(text, "project_area_unknown", flags),
  project_service: (text, { flags }) => {
    const service = text.toLowerCase();
    return services.has(service) ? service : flagged(text, "project_service_unknown", flags);
  },
  project_material: freeText,
  project_details: freeText,
  external_id: freeText,
};

const services: ReadonlySet<string> = new Set(projectServices);

/** The top-level names that do not land in `extra`. */
const envelopeNames: ReadonlySet<string> = new Set([...fieldNames, "cost", "extra"]);

/** A mark that some encoders put before UTF-8. */
const byteOrderMark = "\ufeff";

/**
 * Validates and normalizes a request body, decoded from UTF-8.
 *
 * Source: SPEC, Lead envelope and Global normalization; DECISIONS, The lead envelope.
 *
 * Chosen: a wrong JSON type answers `invalid_json` whatever else is wrong, because then the body as a
 * whole is not a lead. Caps count the normalized value (`phone`: as sent), so padding never makes a
 * field too long. Of duplicate members only the last has to have the right type. Half a surrogate pair
 * that stands in the body itself, which cannot happen over the wire, reads as U+FFFD, because that is
 * what a browser would have sent.
 */
export function validate(body: string, areas: Areas): Validation {
  const text = (body.startsWith(byteOrderMark) ? body.slice(1) : body).toWellFormed();
  const envelope = parseObject(text, limits.jsonDepthMax);
  if (envelope === null) return refused(objectFault(text, "lead"));

  const { cost = null, extra } = envelope;
  if (cost !== null && typeof cost !== "number") return refused(typeFault(envelope));
  if (extra !== undefined && !isObject(extra)) return refused(typeFault(envelope));

  const lead: Record<string, string | number> = {};
  const failing: Record<string, Reason> = {};
  const flags = new Set<Flag>();
  const scope = { country: countryOf(envelope), areas, flags };
  let known = (envelope.cost === undefined ? 0 : 1) + (extra === undefined ? 0 : 1);

  for (const name of fieldNames) {
    const sent = envelope[name];
    if (sent !== undefined) known++;
    if (typeof sent !== "string" && sent !== undefined && sent !== null) return refused(typeFault(envelope));
    const read = typeof sent === "string" ? readText(name, sent) : "";
    if (read !== "") {
      const value = rules[name](read, scope);
      if (isLongerThan(name === "phone" ? read : value, fields[name].lengthMax)) failing[name] = "too_long";
      lead[name] = value;
    } else if (name === "country") lead[name] = countryDefault;
    else if (fields[name].required) failing[name] = "required";
  }

  const size = Object.keys(envelope).length;
  // The scan for what was written costs as much as JSON.parse, and most leads have no use for it.
  const written = cost !== null || size > known || extra !== undefined ? readWritten(text) : nothingWritten;
  if (cost !== null) {
    const cents = toCents(written.cost);
    if (cents === null) failing.cost = "out_of_range";
    else lead.cost_cents = cents;
  }
  if (written.extra !== null) flags.add("extra_fields_preserved");

  if (Object.keys(failing).length > 0) {
    const missing = requiredFields.filter((name) => failing[name] === "required");
    const misspelling = missing.length === 0 ? null : leadMisspelling(envelope, missing);
    return { kind: "validation_failed", fields: failing, empty: size === 0, ...misspelling };
  }
  return {
    kind: "valid",
    lead: lead as unknown as Lead,
    extra: written.extra,
    flags: flags.size === 0 ? [] : flagNames.filter((flag) => flags.has(flag)),
  };
}

function refused({ detail, reason }: BodyFault): Validation {
  return { kind: "invalid_json", detail, reason };
}

/** Text of a field before its own rule; `""` when it is blank. */
function readText(name: FieldName, sent: string): string {
  if (name === "phone") return asSent(sent);
  return name === "project_details" ? normalizeDetails(sent) : normalizeLine(sent);
}

/** The country that the rules of `phone` and `zip` go by, read ahead of its turn. */
function countryOf({ country }: Readonly<Record<string, unknown>>): string {
  const text = typeof country === "string" ? normalizeLine(country) : "";
  return text === "" ? countryDefault : normalizeCountry(text) ?? text;
}

function flagged(text: string, flag: Flag, flags: Set<Flag>): string {
  flags.add(flag);
  return text;
}

/** What only the text of the body tells. */
interface Written {
  /** The digits of `cost`; `""` when it was not sent. */
  readonly cost: string;
  /** See {@linkcode Validation}. */
  readonly extra: string | null;
}

const nothingWritten: Written = { cost: "", extra: null };

/**
 * Collects the digits of `cost` and what lies outside the envelope from a valid body.
 *
 * Chosen: the members of `extra` come first and unknown top-level members after them, each where its
 * name first stood; a clash leaves one member, with the name and value written last at the top level.
 * Inside a value nothing is touched, duplicates neither. Lone surrogate escapes become `\ufffd`, in
 * names before they are compared, so that no two members end up with one name.
 */
function readWritten(text: string): Written {
  let cost = "";
  let extraText = "{}";
  const unknown = [];
  for (const member of members(text)) {
    if (member.name === "cost") cost = member.valueText;
    else if (member.name === "extra") extraText = member.valueText;
    else if (!envelopeNames.has(member.name)) unknown.push(member);
  }
  const kept = new Map<string, string>();
  for (const { name, nameText, valueText } of [...members(extraText), ...unknown]) {
    kept.set(name, `${nameText}:${valueText}`);
  }
  return { cost, extra: kept.size === 0 ? null : mendEscapes(`{${[...kept.values()].join(",")}}`) };
}
