/** Validates a lead, on the server and in the playground. This module is browser compatible. */

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
import { formatCents, formatCount, limits } from "../contract/limits.ts";
import { type BodyFault, objectFault, typeFault } from "./body_fault.ts";
import { toCents } from "./decimal.ts";
import { looksLikeEmail } from "./email.ts";
import {
  isObject,
  members,
  parseObject,
  replaceLoneSurrogates,
  skipWhiteSpace,
  withoutByteOrderMark,
  wordEnd,
} from "./json.ts";
import type { Areas, Lead, Validation } from "./lead.ts";
import { leadMisspelling } from "./misspelling.ts";
import { toE164 } from "./phone.ts";
import { foldArea, normalizeCountry, normalizeState, normalizeZip } from "./place.ts";
import { isLongerThan, normalizeDetails, normalizeLine, withoutControls } from "./text.ts";

interface RuleContext {
  /** The country, normalized if recognized; the default if it was omitted. */
  readonly country: string;
  readonly areas: Areas;
  readonly flags: Flag[];
}

type Rule = (text: string, context: RuleContext) => string;

const freeText: Rule = (text) => text;

/** The rule for each field; a rule receives normalized, non-blank text. Source: SPEC, Lead envelope. */
const rules: Readonly<Record<FieldName, Rule>> = {
  first_name: freeText,
  last_name: freeText,
  phone: (text, { country, flags }) => toE164(text, country) ?? withFlag(text, "phone_unnormalized", flags),
  // Suspect addresses are lower-cased too.
  email: (text, { flags }) => {
    const email = text.toLowerCase();
    return looksLikeEmail(email) ? email : withFlag(email, "email_shape_suspect", flags);
  },
  street_address: freeText,
  city: freeText,
  state: normalizeState,
  zip: (text, { country }) => normalizeZip(text, country),
  country: (text, { flags }) => normalizeCountry(text) ?? withFlag(text, "country_unrecognized", flags),
  project_area: (text, { areas, flags }) =>
    areas.get(foldArea(text)) ?? withFlag(text, "project_area_unknown", flags),
  project_service: (text, { flags }) => {
    const service = text.toLowerCase();
    return services.has(service) ? service : withFlag(text, "project_service_unknown", flags);
  },
  project_material: freeText,
  project_details: freeText,
  external_id: freeText,
};

/** All properties of each field in one list, because lookups by name cost more than most rules. */
const fieldList = fieldNames.map((name) => ({
  name,
  ...fields[name],
  normalize: name === "phone"
    ? withoutControls
    : name === "project_details"
    ? normalizeDetails
    : normalizeLine,
  rule: rules[name],
}));

const services: ReadonlySet<string> = new Set(projectServices);

const envelopeNames: ReadonlySet<string> = new Set([...fieldNames, "cost", "extra"]);

/**
 * Validates and normalizes a request body that was decoded from UTF-8. A wrong JSON type takes precedence over other
 * faults. Source: SPEC, Lead envelope and Global normalization; DECISIONS, The lead envelope.
 */
export function validate(body: string, areas: Areas): Validation {
  const text = withoutByteOrderMark(body).toWellFormed();
  const envelope = parseObject(text, limits.jsonDepthMax);
  if (envelope === null) return invalidJson(objectFault(text, "lead"));

  const { cost = null, extra } = envelope;
  if (cost !== null && typeof cost !== "number") return invalidJson(typeFault(envelope));
  if (extra !== undefined && !isObject(extra)) return invalidJson(typeFault(envelope));

  const lead: Record<string, string | number> = {};
  const failing: Record<string, Reason> = {};
  const details: string[] = [];
  const flags: Flag[] = [];
  const context = { country: countryOf(envelope), areas, flags };
  let isFailing = false;
  const fail = (name: string, reason: Reason): void => {
    failing[name] = reason;
    isFailing = true;
  };
  let knownCount = (envelope.cost === undefined ? 0 : 1) + (extra === undefined ? 0 : 1);

  for (const { name, lengthMax, required, normalize, rule } of fieldList) {
    const sent = envelope[name];
    if (sent !== undefined) knownCount++;
    if (typeof sent !== "string" && sent !== undefined && sent !== null) {
      return invalidJson(typeFault(envelope));
    }
    const text = typeof sent === "string" ? normalize(sent) : "";
    if (text !== "") {
      const value = rule(text, context);
      const measured = name === "phone" ? text : value;
      if (isLongerThan(measured, lengthMax)) {
        fail(name, "too_long");
        details.push(lengthDetail(name, measured, lengthMax));
      }
      lead[name] = value;
    } else if (name === "country") lead[name] = countryDefault;
    else if (required) fail(name, "required");
  }

  const memberCount = Object.keys(envelope).length;
  const hasExtra = memberCount > knownCount || extra !== undefined;
  const verbatim = hasExtra || cost !== null ? readVerbatimParts(text, hasExtra) : noVerbatimParts;
  if (cost !== null) {
    const cents = toCents(verbatim.cost);
    if (cents === null) {
      fail("cost", "out_of_range");
      details.push(costDetail);
    } else lead.cost_cents = cents;
  }
  if (verbatim.extra !== null) flags.push("extra_fields_preserved");

  if (isFailing) {
    const missing = requiredFields.filter((name) => failing[name] === "required");
    const misspelling = missing.length === 0 ? null : leadMisspelling(envelope, missing);
    if (misspelling !== null) details.unshift(misspelling.detail);
    return {
      kind: "validation_failed",
      fields: failing,
      empty: memberCount === 0,
      ...misspelling,
      ...(details.length === 0 ? {} : { detail: details.join(". ") }),
    };
  }
  return {
    kind: "valid",
    lead: lead as unknown as Lead,
    extra: verbatim.extra,
    flags: flags.length < 2 ? flags : flagNames.filter((flag) => flags.includes(flag)),
  };
}

/** Returns the `detail` for a text that exceeds its maximum length. */
export function lengthDetail(name: string, text: string, lengthMax: number): string {
  return `${name} has ${formatCount([...text].length)} characters; at most ${
    formatCount(lengthMax)
  } are allowed`;
}

const costDetail = `cost is out of range; it must be between ${formatCents(limits.costCentsMin)} and ${
  formatCents(limits.costCentsMax)
}`;

function invalidJson({ detail, reason }: BodyFault): Validation {
  return { kind: "invalid_json", detail, reason };
}

/** Returns the country for the `phone` and `zip` rules, which run before the `country` rule. */
function countryOf({ country }: Readonly<Record<string, unknown>>): string {
  const text = typeof country === "string" ? normalizeLine(country) : "";
  return text === "" ? countryDefault : normalizeCountry(text) ?? text;
}

function withFlag(text: string, flag: Flag, flags: Flag[]): string {
  flags.push(flag);
  return text;
}

/** The parts of a body that are read from its text, as written. */
interface VerbatimParts {
  /** The text of the cost; `""` if it was not sent. */
  readonly cost: string;
  readonly extra: string | null;
}

const noVerbatimParts: VerbatimParts = { cost: "", extra: null };

/** Finds the text of `cost` with `indexOf`; `null` if escapes or a second `"cost"` require a full scan. */
function findCost(text: string): string | null {
  const nameAt = text.indexOf(costName);
  const colonAt = skipWhiteSpace(text, nameAt + costName.length);
  const isUnambiguous = nameAt > 0 && text[colonAt] === ":" && !text.includes(costName, colonAt) &&
    !text.includes("\\u");
  const at = skipWhiteSpace(text, colonAt + 1);
  return isUnambiguous ? text.slice(at, wordEnd(text, at)) : null;
}

const costName = '"cost"';

/**
 * Extracts `cost` and the unknown members as written, after the members of `extra`; the last duplicate wins. Lone
 * surrogates are replaced before names are compared, so that names stay unique.
 */
function readVerbatimParts(text: string, hasExtra: boolean): VerbatimParts {
  // A full scan costs as much as JSON.parse, and most leads do not need it.
  const costText = hasExtra ? null : findCost(text);
  if (costText !== null) return { cost: costText, extra: null };
  let cost = "";
  let extraText = "{}";
  const unknown = [];
  for (const member of members(text)) {
    if (member.name === "cost") cost = member.valueText;
    else if (member.name === "extra") extraText = member.valueText;
    else if (!envelopeNames.has(member.name)) unknown.push(member);
  }
  const extra = new Map<string, string>();
  for (const { name, nameText, valueText } of [...members(extraText), ...unknown]) {
    extra.set(name, `${nameText}:${valueText}`);
  }
  return {
    cost,
    extra: extra.size === 0 ? null : replaceLoneSurrogates(`{${[...extra.values()].join(",")}}`),
  };
}
