/** The fields of the lead envelope, and the flags in a response. This module is browser compatible. */

/** The country of a lead that omits the field. Source: SPEC, Lead envelope. */
export const countryDefault = "US";

/** The accepted synonyms for each country code, in any case. Source: SPEC, Lead envelope. */
export const countrySynonyms = {
  US: ["USA", "U.S.", "United States"],
  CA: ["CAN", "Canada"],
  MX: ["MEX", "Mexico"],
} as const;

const synonyms = Object.entries(countrySynonyms)
  .map(([code, names]) => `${names.map((name) => `\`${name}\``).join(", ")} become \`${code}\``).join("; ");

/** The rule for a field; `lengthMax` is in runes (Unicode code points). */
interface FieldRule {
  readonly required: boolean;
  readonly lengthMax: number;
  readonly description: string;
}

/** The string fields, in the specification's order. Source: SPEC, Lead envelope; lengths: DECISIONS. */
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
      "Sent in any format. A US or Canadian number becomes `+1` and ten digits (E.164); anything else is stored as sent and flagged `phone_unnormalized`, never refused.",
  },
  email: {
    required: false,
    lengthMax: 254,
    description:
      "Lower-cased. A value that does not look like an address is stored and flagged `email_shape_suspect`; deliverability is not checked.",
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
    description: "2-letter US or Canadian code, upper-cased; or free text, unchanged.",
  },
  zip: {
    required: false,
    lengthMax: 20,
    description:
      "US 5- or 9-digit ZIP, Canadian postal code, or free text elsewhere. Nine US digits without a hyphen become `NNNNN-NNNN`; a Canadian code becomes `ANA NAN`.",
  },
  country: {
    required: false,
    lengthMax: 64,
    description:
      `ISO-3166 alpha-2, upper-cased; \`${countryDefault}\` when omitted. In upper or lower case, ${synonyms}. Anything else that is not two characters is stored as sent and flagged \`country_unrecognized\`.`,
  },
  project_area: {
    required: false,
    lengthMax: 100,
    description:
      "Which part of the home: a vocabulary term, regardless of case, or the sender's own word. An unknown term is stored as sent, flagged `project_area_unknown` and counted.",
  },
  project_service: {
    required: false,
    lengthMax: 64,
    description:
      "One of `replacement`, `repair`, `remodel`, `maintain`; case is ignored. An unknown value is stored and flagged `project_service_unknown`.",
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
      "The sender's ID for the lead. Recorded, but not treated as unique: deduplication uses the `Idempotency-Key`.",
  },
} as const satisfies Record<string, FieldRule>;

/** The maximum length of first and last name with a space between them. */
export const fullNameLengthMax: number = fields.first_name.lengthMax + 1 + fields.last_name.lengthMax;

export type FieldName = keyof typeof fields;

export const fieldNames = Object.keys(fields) as FieldName[];

export const requiredFields = fieldNames.filter((name) => fields[name].required);

export const projectServices = ["replacement", "repair", "remodel", "maintain"] as const;

/** The reasons for which a field can fail validation. Source: SPEC, Error body. */
export const reasons = ["required", "too_long", "out_of_range"] as const;

export type Reason = typeof reasons[number];

/** The statuses of a vocabulary term; leads with either status are accepted. Source: SPEC, Vocabulary. */
export const vocabularyStatuses = {
  confirmed: "A term in deliberate use.",
  proposed: "A term that arrived in real leads and is not ratified yet.",
} as const;

/** The flags in a successful response: observations, never rejections. Source: SPEC, Lead acknowledgement. */
export const flags = {
  phone_unnormalized: "The phone number was not recognized as US or Canadian; it is stored as sent.",
  project_area_unknown: "The project area is not in the vocabulary; it is stored as sent.",
  project_service_unknown: "The project service is not one of the four; it is stored as sent.",
  email_shape_suspect: "The email does not look like an address; it is stored all the same.",
  extra_fields_preserved: "Fields outside the envelope are stored under `extra`.",
  country_unrecognized: "The country is not recognized; it is stored as sent.",
} as const;

export type Flag = keyof typeof flags;

/** All flags, in the order in which responses list them. */
export const flagNames = Object.keys(flags) as Flag[];
