/**
 * The lead envelope as data: fields, caps, flags, reasons and closed enums. The validator, the
 * OpenAPI document, the brief and the playground are made from these tables. This module is browser
 * compatible.
 *
 * @module
 */

/** One member of the envelope. `lengthMax` is in runes (Unicode code points). */
export interface FieldRule {
  readonly required: boolean;
  readonly lengthMax: number;
  readonly description: string;
}

/**
 * The string fields of the envelope, in the order in which the specification lists them.
 *
 * Source: SPEC, Lead envelope; the caps from DECISIONS, The lead envelope.
 */
export const fields = {
  first_name: { required: true, lengthMax: 100, description: "Given name." },
  last_name: { required: true, lengthMax: 100, description: "Surname." },
  phone: {
    required: true,
    lengthMax: 64,
    description:
      "Any format. A US or Canadian number becomes `+1XXXXXXXXXX`; anything else is stored exactly as sent and flagged `phone_unnormalized`.",
  },
  email: {
    required: false,
    lengthMax: 254,
    description:
      "Lower-cased. A value that does not look like an address is kept and flagged `email_shape_suspect`.",
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
    description: "2-letter US or Canadian code (upper-cased), or free text for other countries.",
  },
  zip: {
    required: false,
    lengthMax: 20,
    description: "US 5- or 9-digit ZIP, Canadian postal code, or free text elsewhere.",
  },
  country: {
    required: false,
    lengthMax: 64,
    description:
      "ISO-3166 alpha-2, `US` when omitted. Common names of the US, Canada and Mexico are mapped; anything else that is not two characters is kept and flagged `country_unrecognized`.",
  },
  project_area: {
    required: false,
    lengthMax: 100,
    description:
      "Which part of the home: a term of the vocabulary. An unknown one is stored, flagged `project_area_unknown` and counted.",
  },
  project_service: {
    required: false,
    lengthMax: 64,
    description:
      "One of `replacement`, `repair`, `remodel`, `maintain`. An unknown one is stored and flagged `project_service_unknown`.",
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
    description: "Your id for the lead. Recorded, never trusted as unique.",
  },
} as const satisfies Record<string, FieldRule>;

/** The name of a string field of the envelope. */
export type FieldName = keyof typeof fields;

/** The names of the string fields, in envelope order. */
export const fieldNames = Object.keys(fields) as FieldName[];

/** The three required fields. Source: SPEC, Vocabulary. */
export const requiredFields = fieldNames.filter((name) => fields[name].required);

/** The closed enum of `project_service`. Source: SPEC, Lead envelope. */
export const projectServices = ["replacement", "repair", "remodel", "maintain"] as const;

/** Why a field fails validation. Source: SPEC, Error body. */
export const reasons = ["required", "too_long", "out_of_range"] as const;

/** Why a field fails validation. */
export type Reason = typeof reasons[number];

/** Observations on a successful response, never rejections. Source: SPEC, Lead acknowledgement. */
export const flags = {
  phone_unnormalized: "The phone number is stored as sent; it is not a US or Canadian number.",
  project_area_unknown: "The project area is not in the vocabulary; it is stored as sent.",
  project_service_unknown: "The project service is none of the four; it is stored as sent.",
  email_shape_suspect: "The email does not look like an address; it is stored as sent.",
  extra_fields_preserved: "Fields outside the envelope are kept under `extra`.",
  country_unrecognized: "The country is not recognized; it is stored as sent.",
} as const;

/** An observation on a successful response. */
export type Flag = keyof typeof flags;

/** All flags, in the order in which a response lists them. */
export const flagNames = Object.keys(flags) as Flag[];
