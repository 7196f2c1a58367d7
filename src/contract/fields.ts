/** The lead envelope as data. This module is browser compatible. */

/** The country of a lead that names none. Source: SPEC, Lead envelope. */
export const countryDefault = "US";

/** Other spellings of a country, in any case, by code. Source: SPEC, Lead envelope. */
export const countrySynonyms = {
  US: ["USA", "U.S.", "United States"],
  CA: ["CAN", "Canada"],
  MX: ["MEX", "Mexico"],
} as const;

const synonyms = Object.entries(countrySynonyms)
  .map(([code, names]) => `${names.map((name) => `\`${name}\``).join(", ")} become \`${code}\``).join("; ");

/** `lengthMax` is in runes (Unicode code points). */
interface FieldRule {
  readonly required: boolean;
  readonly lengthMax: number;
  readonly description: string;
}

/** The string fields, in SPEC's order. Source: SPEC, Lead envelope; caps: DECISIONS, The lead envelope. */
export const fields = {
  first_name: { required: true, lengthMax: 100, description: "Given name." },
  last_name: {
    required: true,
    lengthMax: 100,
    description: "Surname. Required since 2026-08-24: CRMs refuse a contact without one.",
  },
  phone: {
    required: true,
    lengthMax: 64,
    description:
      "In any format. A US or Canadian number becomes `+1XXXXXXXXXX`; anything else is stored as sent and flagged `phone_unnormalized`, never refused.",
  },
  email: {
    required: false,
    lengthMax: 254,
    description:
      "Lower-cased. A value that does not look like an address is kept and flagged `email_shape_suspect`; deliverability is not checked.",
  },
  street_address: {
    required: false,
    lengthMax: 200,
    description: "Street line of the job address.",
  },
  city: { required: false, lengthMax: 100, description: "Free text." },
  state: {
    required: false,
    lengthMax: 64,
    description: "2-letter US or Canadian code, upper-cased; or free text, left alone.",
  },
  zip: {
    required: false,
    lengthMax: 20,
    description:
      "US 5- or 9-digit ZIP, Canadian postal code, or free text elsewhere. Nine bare US digits become `NNNNN-NNNN`, a Canadian code `ANA NAN`.",
  },
  country: {
    required: false,
    lengthMax: 64,
    description:
      `ISO-3166 alpha-2, upper-cased; \`${countryDefault}\` when omitted. In upper or lower case, ${synonyms}. Anything else that is not two characters is kept as sent and flagged \`country_unrecognized\`.`,
  },
  project_area: {
    required: false,
    lengthMax: 100,
    description:
      "Which part of the home: a term of the vocabulary, in any case, or your own. An unknown term is stored as sent, flagged `project_area_unknown` and counted.",
  },
  project_service: {
    required: false,
    lengthMax: 64,
    description:
      "One of `replacement`, `repair`, `remodel`, `maintain`, in any case. An unknown one is stored and flagged `project_service_unknown`.",
  },
  project_material: { required: false, lengthMax: 200, description: "Free text." },
  project_details: {
    required: false,
    lengthMax: 16_000,
    description:
      "The homeowner's own description. Line breaks are preserved; runs of three or more blank lines collapse to one.",
  },
  external_id: {
    required: false,
    lengthMax: 200,
    description:
      "Your id for the lead. Recorded, but not treated as unique: deduplication uses the `Idempotency-Key`.",
  },
} as const satisfies Record<string, FieldRule>;

export type FieldName = keyof typeof fields;

export const fieldNames = Object.keys(fields) as FieldName[];

export const requiredFields = fieldNames.filter((name) => fields[name].required);

export const projectServices = ["replacement", "repair", "remodel", "maintain"] as const;

/** Why a field fails validation. Source: SPEC, Error body. */
export const reasons = ["required", "too_long", "out_of_range"] as const;

export type Reason = typeof reasons[number];

/** Statuses of a vocabulary term; both are accepted alike. Source: SPEC, Vocabulary. */
export const vocabularyStatuses = {
  confirmed: "A term in deliberate use.",
  proposed: "A term that arrived in real leads and is not ratified yet.",
} as const;

/** Observations on a successful response, never rejections. Source: SPEC, Lead acknowledgement. */
export const flags = {
  phone_unnormalized: "The phone number is stored as sent; it is not a US or Canadian number.",
  project_area_unknown: "The project area is not in the vocabulary; it is stored as sent.",
  project_service_unknown: "The project service is none of the four; it is stored as sent.",
  email_shape_suspect: "The email does not look like an address; it is stored as sent.",
  extra_fields_preserved: "Fields outside the envelope are kept under `extra`.",
  country_unrecognized: "The country is not recognized; it is stored as sent.",
} as const;

export type Flag = keyof typeof flags;

/** All flags, in the order in which a response lists them. */
export const flagNames = Object.keys(flags) as Flag[];
