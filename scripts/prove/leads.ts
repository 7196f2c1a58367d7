/**
 * Generates leads, submissions and keys: the spellings that clients may send, and the values that the specification stores for
 * them. This module does not use the service's normalizer.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import type { Random } from "./random.ts";

/** A part of every last name, by which lead content is found in logs. */
export const marker = "Zqx";

/** A lead or submission, independent of its spelling. */
export interface Content {
  /** Identifies the content in all of its spellings. */
  readonly name: string;
  readonly expected: Readonly<Record<string, unknown>>;
  /** Returns a body with random spellings of the values. */
  spell(random: Random): string;
}

type Field = readonly [
  name: string,
  spellings: readonly unknown[],
  stored: unknown,
  flag?: string | undefined,
];

/** The flags, in the order of responses. Source: SPEC, Lead acknowledgement. */
export const flagNames = [
  "phone_unnormalized",
  "project_area_unknown",
  "project_service_unknown",
  "email_shape_suspect",
  "extra_fields_preserved",
  "country_unrecognized",
];
/** Returns a value that JSON.stringify writes as exactly this number, even if no double can represent it. */
export const exactNumber = (text: string): unknown =>
  (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(text);

/** The maximum lengths that are tested here, in characters. Source: DECISIONS, The lead envelope. */
const caps = {
  first_name: 100,
  last_name: 100,
  email: 254,
  street_address: 200,
  city: 100,
  state: 64,
  zip: 20,
  country: 64,
  project_area: 100,
  project_service: 64,
  project_material: 200,
  external_id: 200,
};

const givenNames = ["Ada", "José", "Zoë", "李", "O’Neil", "Анна", "🦄"];
/** The spellings of optional fields, each list with its stored value and flag. */
const optionalFields: Readonly<Record<string, readonly (readonly [readonly unknown[], string?, string?])[]>> =
  {
    street_address: [[["12\u0007 Main\tSt", " 12  Main St"], "12 Main St"], [[null, " \u00a0"]]],
    city: [[["🦄".repeat(100)], "🦄".repeat(100)], [["A\ud800"], "A\ufffd"]],
    state: [[["tx", " TX"], "TX"], [["Texas"], "Texas"], [["t1"], "t1"]],
    project_area: [
      [["roof", " Roof ", "ROOF"], "roof"],
      [["whole home", "Whole  Home"], "whole home"],
      [["moon base"], "moon base", "project_area_unknown"],
    ],
    project_service: [[["repair", " Repair "], "repair"], [["paint"], "paint", "project_service_unknown"]],
    project_material: [[["slate\u3000tile", "slate tile "], "slate tile"]],
    external_id: [[["No  7", "No 7"], "No 7"], [[null, ""]]],
  };

/** Creates a valid lead; `name` must be unique in the round. */
export function randomLead(random: Random, name: string): Content {
  const first = random.pick(givenNames);
  const digits = `${2 + random.below(8)}${String(random.below(10 ** 9)).padStart(9, "0")}`;
  const phone = /(...)(...)(....)/.exec(digits) as RegExpExecArray;
  const ownFormat = random.pick([
    `0${digits} x${random.below(99)}`,
    `+${digits}`,
    `1${digits.slice(1)}`,
    digits.slice(1),
    `${digits} ext 7`,
    `+44 20 ${digits.slice(2)}`,
    `+2${digits}`,
  ]);
  const last = `${marker}${name}`;
  const fields: Field[] = [
    [
      "first_name",
      [`${first} ${name}`, `  ${first}\t${name} `, `${first}\u00a0 ${name}`],
      `${first} ${name}`,
    ],
    ["last_name", [last, ` ${last}\n`], last],
  ];
  const [spellings, country, countryFlag] = random.pick<readonly [readonly string[], string, string?]>([
    ...[[[], "US"], [[], "US"], [["USA", "us", "U.S.", "united states"], "US"]] as const,
    ...[[["Canada", "ca", "CAN"], "CA"], [["MEX", " mx ", "Mexico"], "MX"], [["gb", "GB"], "GB"]] as const,
    [["Narnia"], "Narnia", "country_unrecognized"],
  ]);
  fields.push(["country", spellings.length === 0 ? [undefined, null] : spellings, country, countryFlag]);
  if (random.oneIn(6)) fields.push(["phone", [ownFormat], ownFormat, "phone_unnormalized"]);
  // In these countries, ten bare digits are not a US or Canadian number.
  else if (country === "MX" || country === "GB") {
    fields.push(["phone", [digits], digits, "phone_unnormalized"]);
  } else {
    const wide = digits.replace(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit)));
    const spelled = [
      `(${phone[1]}) ${phone[2]}-${phone[3]}`,
      `+1${digits}`,
      digits,
      `tel:1-${digits}`,
      wide,
      `+1 ${phone[1]}.${phone[2]}/${phone[3]}`,
    ];
    fields.push(["phone", spelled, `+1${digits}`]);
  }
  if (random.oneIn(2)) {
    const email = `${last}@example.com`.toLowerCase();
    fields.push(["email", [`${last}@Example.com`, `${last}@EXAMPLE.com`], email]);
  } else if (random.oneIn(3)) {
    const email = `${last}${random.pick([" at home", "@home", "@a..b", "@@a.b", "@a.b."])}`;
    fields.push(["email", [email], email.toLowerCase(), "email_shape_suspect"]);
  }
  const cents = 2 + random.below(99_997);
  const hasCost = random.oneIn(2);
  const dollars = (all: number) => (all / 100).toFixed(2);
  // Half a cent is rounded up, less than half a cent down.
  const costs = [dollars(cents), `${dollars(cents - 1)}5`, `${dollars(cents)}4`].map(exactNumber);
  if (hasCost) fields.push(["cost", costs, undefined]);
  for (const [field, choices] of Object.entries(optionalFields)) {
    if (!random.oneIn(3)) continue;
    const [spelled, expected, flag] = random.pick(choices);
    fields.push([field, spelled, expected, flag]);
  }
  const [zips, zip] = random.pick([
    ...[[[], undefined], [[], undefined], [["k1a0b1", "K1A-0B1"], "K1A 0B1"]] as const,
    [["123456789"], country === "US" ? "12345-6789" : "123456789"] as const,
  ]);
  if (zip !== undefined) fields.push(["zip", zips, zip]);
  if (random.oneIn(4)) {
    const lines = `${marker}${name}\n\n\n${"detail ".repeat(1 + random.below(100))}end\n`;
    const spelled = [`${lines}\n\n\n\nbye`, `${lines}\r\n\r\n \r\n\r\nbye\r\n`];
    fields.push(["project_details", spelled, `${lines}\nbye`]);
  }
  const number = random.pick(["12345678901234567890", "1.10", "-0"]);
  const crmField = `crm_${name}`;
  const flag = "extra_fields_preserved";
  const extras: readonly [extra: string, fields: Field[]][] = [
    [`{"${crmField}":${number}}`, [[crmField, [exactNumber(number)], undefined, flag]]],
    // The top-level member overrides the same member of `extra`.
    [`{"${crmField}":${number}}`, [
      [crmField, [exactNumber(number)], undefined, flag],
      ["extra", [{ [crmField]: 1 }], undefined],
    ]],
    [`{"source":"${crmField}"}`, [["source", [crmField], undefined, flag]]],
  ];
  const [extra, more] = random.oneIn(3) ? random.pick(extras) : ["{}", []];
  fields.push(...more);
  const expected = Object.fromEntries(
    fields.flatMap(([field, , value]) => value === undefined ? [] : [[field, value]]),
  );
  if (hasCost) expected.cost_cents = cents;
  expected.extra = extra;
  expected.flags = flagNames.filter((flag) => fields.some(([, , , own]) => own === flag));
  return { name, expected, spell: (random) => spell(fields, random) };
}

/** The words and phrases that each form blocks. */
export const blockedPhrases = ["casino", "free spins", "free chips"] as const;

/** Creates a short lead with a single spelling; `expected` are the stored values of the given fields. */
export function shortLead(lastName: string, fields: object, expected: object): Content {
  const lead = { first_name: "Eve", last_name: lastName, phone: "2125550100", ...fields };
  const body = JSON.stringify(lead);
  return {
    name: body,
    spell: () => body,
    expected: { ...lead, phone: `+1${lead.phone}`, country: "US", extra: "{}", flags: [], ...expected },
  };
}

/** The form keys of each tenant that has forms. */
export const formKeys = ["contact", "quote"] as const;

/** Returns the same submission for another form, which is stored separately. */
export function forForm({ name, expected, spell }: Content, form: string): Content {
  const extra = JSON.stringify({ ...JSON.parse(String(expected.extra)), form_key: form });
  return { name: `${name} ${form}`, expected: { ...expected, extra }, spell };
}

type SubmissionKind = "form" | "trapped_form" | "spam_form";

/** Creates a submission; a trapped one has the honeypot filled in, and spam contains a blocked phrase. */
export function randomSubmission(random: Random, name: string, kind: SubmissionKind): Content {
  const email = `${marker}${name}${random.oneIn(4) ? "@home" : "@example.com"}`.toLowerCase();
  const end = kind === "spam_form" ? `, not of a house with ${random.pick(blockedPhrases)}` : "";
  const phone = `212555${String(random.below(10_000)).padStart(4, "0")}`;
  const fields: Field[] = [
    ["name", [`${random.pick(givenNames)} ${marker}${name}`], undefined],
    ["email", [email], undefined, email.endsWith("@home") ? "email_shape_suspect" : undefined],
    ["message", [`Please call me about the roof of house number ${random.below(999)}${end}.`], undefined],
    // 0 and false satisfy `required`.
    ["consent", [random.pick([true, false, 0])], undefined],
    ...random.pick<Field[]>([
      ...[[], [["phone", [phone], undefined]]] as Field[][],
      [["phone", [random.pick(["", " "])], undefined], ["mobile", [phone], undefined]],
    ]),
    ...(random.oneIn(2)
      ? [["page_url", [`https://a.example/?utm_source=news&gclid=g${name}#x`], undefined] as const]
      : []),
    // The referrer adds the attribution that `page_url` lacks.
    ...(random.oneIn(2)
      ? [["referrer", ["https://b.example/?UTM_Source=b&utm_medium=mail"], undefined] as const]
      : []),
    ...(kind === "trapped_form" ? [["website", ["https://spam.example"], undefined] as const] : []),
  ];
  const expected: Record<string, unknown> = Object.fromEntries(
    fields.map(([field, [value]]) => [field, value]),
  );
  const attribution = {
    ...(expected.referrer === undefined ? {} : { utm_source: "b", utm_medium: "mail" }),
    ...(expected.page_url === undefined ? {} : { gclid: `g${name}`, utm_source: "news" }),
  };
  const names = ["gclid", "utm_source", "utm_medium"].filter((name) => name in attribution);
  const members = ["form_key", "attribution", ...names];
  expected.extra = JSON.stringify({ form_key: "contact", attribution }, members);
  expected.flags = fields.flatMap(([, , , flag]) => flag ?? []);
  // An empty honeypot is no trap, and `form_key` in the body does not change the form.
  const hidden: Field[] = kind === "trapped_form" ? [] : [["website", ["", "  "], undefined]];
  hidden.push(["form_key", ["contact", "other"], undefined]);
  const content = { name, expected, spell: (random: Random) => spell([...fields, ...hidden], random) };
  return forForm(content, random.pick(formKeys));
}

function spell(fields: readonly Field[], random: Random): string {
  const rest = [...fields];
  const members: [string, unknown][] = [];
  while (rest.length > 0) {
    const [[name, spellings]] = rest.splice(random.below(rest.length), 1) as [Field];
    members.push([name, random.pick(spellings)]);
  }
  let text = JSON.stringify(Object.fromEntries(members), null, random.below(3));
  if (random.oneIn(6)) text = text.replaceAll("@", "\\u0040");
  return random.oneIn(4) ? ` ${text}\n` : text;
}

/** A request that must be refused, and the expected response. */
export interface RefusedRequest {
  readonly body: string;
  readonly expected: {
    readonly status: number;
    readonly error: string;
    readonly fields?: Readonly<Record<string, string>>;
  };
  readonly path?: string;
  readonly method?: string;
  readonly idempotencyKey?: string;
  /** The value of a second `Idempotency-Key` header. */
  readonly secondKey?: string;
}

const requiredReasons = (...names: string[]) => Object.fromEntries(names.map((name) => [name, "required"]));
const nestedJson = (depth: number) => `{"first_name":"Ada","x":${"[".repeat(depth)}${"]".repeat(depth)}}`;

/** Functions that create requests to be refused, by kind; `tenant` is the key's tenant. */
export const refusals = {
  probe: () => ({
    body: "{}",
    expected: {
      status: 422,
      error: "validation_failed",
      fields: requiredReasons("first_name", "last_name", "phone"),
    },
  }),
  invalid: (random, name) => {
    const lead = { first_name: "Ada", last_name: `${marker}${name}`, phone: "2125550123" };
    const [field, cap] = random.pick(Object.entries(caps));
    const [more, fields] = random.pick<[object, Record<string, string>]>([
      [{ last_name: " \u00a0\n" }, requiredReasons("last_name")],
      [{ first_name: "x".repeat(101), phone: null }, { first_name: "too_long", phone: "required" }],
      [{ cost: random.pick([1000, 0, 0.004, -1, 999.995]) }, { cost: "out_of_range" }],
      [{ [field]: "é".repeat(cap + 1) }, { [field]: "too_long" }],
      [{ project_details: "x".repeat(16_001) }, { project_details: "too_long" }],
      [{ phone: "1".repeat(65) }, { phone: "too_long" }],
    ]);
    return {
      body: JSON.stringify({ ...lead, ...more }),
      expected: { status: 422, error: "validation_failed", fields },
    };
  },
  long_key: (random, name) => ({
    body: randomLead(random, name).spell(random),
    idempotencyKey: "x".repeat(201),
    expected: { status: 422, error: "validation_failed", fields: { "Idempotency-Key": "too_long" } },
  }),
  two_keys: (random, name) => ({
    body: randomLead(random, name).spell(random),
    idempotencyKey: `two-${name}`,
    secondKey: `two-${name}`,
    expected: { status: 400, error: "invalid_json" },
  }),
  not_json: (random) => ({
    body: random.pick([
      '{"first_name":',
      "[]",
      "a=b",
      nestedJson(64),
      '{"extra":[]}',
      '{"extra":null}',
      '{"phone":12}',
      '{"first_name":"Ada","last_name":"B","phone":"1","cost":"12"}',
    ]),
    expected: { status: 400, error: "invalid_json" },
  }),
  too_large: () => ({
    body: JSON.stringify({ project_details: "x".repeat(65_537 - 22) }),
    expected: { status: 413, error: "body_too_large" },
  }),
  wrong_method: () => ({
    body: "{}",
    method: "PUT",
    expected: { status: 405, error: "method_not_allowed" },
  }),
  unknown_key: (random, name) => ({
    body: random.pick(["{}", randomLead(random, name).spell(random)]),
    expected: { status: 401, error: "unauthorized" },
  }),
  forms_key: (random, name) => ({
    body: random.pick(["{}", randomLead(random, name).spell(random)]),
    expected: { status: 401, error: "unauthorized" },
  }),
  lead_key_for_form: (_, __, tenant) => ({
    path: `/v1/forms/${tenant}/contact`,
    body: "{}",
    expected: { status: 401, error: "unauthorized" },
  }),
  form_probe: (random, name, tenant) => ({
    path: `/v1/forms/${tenant}/contact`,
    body: random.pick(["{}", JSON.stringify({ name: "", website: name })]),
    expected: { status: 400, error: "missing_required", fields: requiredReasons("name", "email", "consent") },
  }),
  nested_form: (_, name, tenant) => ({
    path: `/v1/forms/${tenant}/contact`,
    body: JSON.stringify({ name: "Ada", email: `${name}@example.com`, message: ["one"] }),
    expected: { status: 400, error: "invalid_json" },
  }),
  wrong_tenant: (_, __, tenant) => ({
    path: `/v1/forms/${tenant === "north" ? "south" : "north"}/contact`,
    body: "{}",
    expected: { status: 403, error: "tenant_mismatch" },
  }),
  unknown_form: (_, __, tenant) => ({
    path: `/v1/forms/${tenant}/contacts`,
    body: "{}",
    expected: { status: 404, error: "form_not_found" },
  }),
} satisfies Record<string, (random: Random, name: string, tenant: string) => RefusedRequest>;

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Creates an API key: a prefix, 32 random characters and a checksum. */
export function keyText(random: Random, prefix: "lead_live_" | "lead_test_" | "form_live_"): string {
  const body = prefix + Array.from({ length: 32 }, () => base62[random.below(62)]).join("");
  let checksum = crc32(body);
  let checksumText = "";
  for (let place = 0; place < 6; place += 1, checksum = Math.floor(checksum / 62)) {
    checksumText = `${base62[checksum % 62]}${checksumText}`;
  }
  return body + checksumText;
}

/** Returns the digest that the database stores for a key, in hex. */
export function keyDigest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
