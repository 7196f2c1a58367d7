/** The validator, which runs in the server and in the playground. This module is browser compatible. */

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
import { dollars, grouped, limits } from "../contract/limits.ts";
import { type BodyFault, objectFault, typeFault } from "./body_fault.ts";
import { toCents } from "./decimal.ts";
import { looksLikeEmail } from "./email.ts";
import { isObject, members, parseObject, replaceLoneSurrogates, spaceEnd, wordEnd } from "./json.ts";
import type { Areas, Lead, Validation } from "./lead.ts";
import { leadMisspelling } from "./misspelling.ts";
import { toE164 } from "./phone.ts";
import { foldArea, normalizeCountry, normalizeState, normalizeZip } from "./place.ts";
import { asSent, isLongerThan, normalizeDetails, normalizeLine } from "./text.ts";

interface Scope {
  /** Normalized, or the default. */
  readonly country: string;
  readonly areas: Areas;
  readonly flags: Flag[];
}

type Rule = (text: string, scope: Scope) => string;

const freeText: Rule = (text) => text;

/** The rule of each field, applied to normalized text that is not blank. Source: SPEC, Lead envelope. */
const rules: Readonly<Record<FieldName, Rule>> = {
  first_name: freeText,
  last_name: freeText,
  phone: (text, { country, flags }) => toE164(text, country) ?? flagged(text, "phone_unnormalized", flags),
  // Suspect values are lower-cased too: global normalization has no exception.
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

/** The fields in envelope order; one list, because lookups by name cost more than most rules. */
const columns = fieldNames.map((name) => ({
  name,
  ...fields[name],
  read: name === "phone" ? asSent : name === "project_details" ? normalizeDetails : normalizeLine,
  rule: rules[name],
}));

const services: ReadonlySet<string> = new Set(projectServices);

const envelopeNames: ReadonlySet<string> = new Set([...fieldNames, "cost", "extra"]);

const byteOrderMark = "\ufeff";

/**
 * Validates and normalizes a request body, decoded from UTF-8. A wrong JSON type is `invalid_json`, whatever else is
 * wrong. Source: SPEC, Lead envelope and Global normalization; DECISIONS, The lead envelope.
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
  const details: string[] = [];
  const flags: Flag[] = [];
  const scope = { country: countryOf(envelope), areas, flags };
  let isFailing = false;
  const fail = (name: string, reason: Reason): void => {
    failing[name] = reason;
    isFailing = true;
  };
  let known = (envelope.cost === undefined ? 0 : 1) + (extra === undefined ? 0 : 1);

  for (const { name, lengthMax, required, read, rule } of columns) {
    const sent = envelope[name];
    if (sent !== undefined) known++;
    if (typeof sent !== "string" && sent !== undefined && sent !== null) return refused(typeFault(envelope));
    const text = typeof sent === "string" ? read(sent) : "";
    if (text !== "") {
      const value = rule(text, scope);
      const counted = name === "phone" ? text : value;
      if (isLongerThan(counted, lengthMax)) {
        fail(name, "too_long");
        details.push(lengthDetail(name, counted, lengthMax));
      }
      lead[name] = value;
    } else if (name === "country") lead[name] = countryDefault;
    else if (required) fail(name, "required");
  }

  const size = Object.keys(envelope).length;
  const hasMore = size > known || extra !== undefined;
  const written = hasMore || cost !== null ? readWritten(text, hasMore) : nothingWritten;
  if (cost !== null) {
    const cents = toCents(written.cost);
    if (cents === null) {
      fail("cost", "out_of_range");
      details.push(costDetail);
    } else lead.cost_cents = cents;
  }
  if (written.extra !== null) flags.push("extra_fields_preserved");

  if (isFailing) {
    const missing = requiredFields.filter((name) => failing[name] === "required");
    const misspelling = missing.length === 0 ? null : leadMisspelling(envelope, missing);
    if (misspelling !== null) details.unshift(misspelling.detail);
    return {
      kind: "validation_failed",
      fields: failing,
      empty: size === 0,
      ...misspelling,
      ...(details.length === 0 ? {} : { detail: details.join(". ") }),
    };
  }
  return {
    kind: "valid",
    lead: lead as unknown as Lead,
    extra: written.extra,
    flags: flags.length < 2 ? flags : flagNames.filter((flag) => flags.includes(flag)),
  };
}

/** The `detail` for a text over its cap, in characters. */
export function lengthDetail(name: string, text: string, lengthMax: number): string {
  return `${name} has ${grouped([...text].length)} characters; ${grouped(lengthMax)} are allowed`;
}

const costDetail = `cost is out of range; ${dollars(limits.costCentsMin)} to ${
  dollars(limits.costCentsMax)
} is allowed`;

function refused({ detail, reason }: BodyFault): Validation {
  return { kind: "invalid_json", detail, reason };
}

/** The country for `phone` and `zip`, whose rules run before that of `country`. */
function countryOf({ country }: Readonly<Record<string, unknown>>): string {
  const text = typeof country === "string" ? normalizeLine(country) : "";
  return text === "" ? countryDefault : normalizeCountry(text) ?? text;
}

function flagged(text: string, flag: Flag, flags: Flag[]): string {
  flags.push(flag);
  return text;
}

/** Parts of a body that need its text. */
interface Written {
  /** As written; `""` when it was not sent. */
  readonly cost: string;
  readonly extra: string | null;
}

const nothingWritten: Written = { cost: "", extra: null };

/** Finds `cost` by a search; `null` if the body has escapes or a second `"cost"`, which need a full scan. */
function findCost(text: string): string | null {
  const nameAt = text.indexOf(costName);
  const colonAt = spaceEnd(text, nameAt + costName.length);
  const isSure = nameAt > 0 && text[colonAt] === ":" && !text.includes(costName, colonAt) &&
    !text.includes("\\u");
  const at = spaceEnd(text, colonAt + 1);
  return isSure ? text.slice(at, wordEnd(text, at)) : null;
}

const costName = '"cost"';

/**
 * Extracts the text of `cost` and the members outside the envelope, verbatim, those of `extra` first; the last name
 * wins. Lone surrogates are replaced before names are compared, so that names stay unique.
 */
function readWritten(text: string, hasMore: boolean): Written {
  // A full scan costs as much as JSON.parse, and most leads do not need it.
  const found = hasMore ? null : findCost(text);
  if (found !== null) return { cost: found, extra: null };
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
  return { cost, extra: kept.size === 0 ? null : replaceLoneSurrogates(`{${[...kept.values()].join(",")}}`) };
}
