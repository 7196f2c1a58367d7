/**
 * Invented leads, forms and keys: each lead as a client may spell it, and what the specification makes of the fields that
 * are controlled here. Nothing of the service's own normalizer is used.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import type { Chance } from "./chance.ts";

/** In each name, so that content can be found where it must not be. */
export const marker = "Zqx";

/** A lead or a form before it is spelled. */
export interface Content {
  /** Names it, however it is spelled. */
  readonly name: string;
  readonly expected: Readonly<Record<string, unknown>>;
  /** One of the ways in which it may be written. */
  spell(chance: Chance): string;
}

type Field = readonly [
  name: string,
  spellings: readonly unknown[],
  expected: unknown,
  flag?: string | undefined,
];

/** In the order in which an answer lists them. Source: SPEC, Lead acknowledgement. */
export const flagNames = [
  ...["phone_unnormalized", "project_area_unknown", "project_service_unknown", "email_shape_suspect"],
  ...["extra_fields_preserved", "country_unrecognized"],
];
/** A number that no double holds, as it is sent. */
const precise = (text: string): unknown =>
  (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(text);

/** The caps that are met here, in characters. Source: DECISIONS, The lead envelope. */
const caps = {
  ...{ first_name: 100, last_name: 100, email: 254, street_address: 200, city: 100, state: 64, zip: 20 },
  ...{ country: 64, project_area: 100, project_service: 64, project_material: 200, external_id: 200 },
};

const given = ["Ada", "José", "Zoë", "李", "O’Neil", "Анна", "🦄"];
/** What each optional field may be spelled like, what becomes of it, and the flag. */
const optional: Readonly<Record<string, readonly (readonly [readonly unknown[], string?, string?])[]>> = {
  street_address: [[["12\u0007 Main\tSt", " 12  Main St"], "12 Main St"], [[null, " \u00a0"]]],
  city: [[["🦄".repeat(100)], "🦄".repeat(100)], [["A\ud800"], "A\ufffd"]],
  state: [[["tx", " TX"], "TX"], [["Texas"], "Texas"]],
  project_area: [
    [["roof", " Roof ", "ROOF"], "roof"],
    [["whole home", "Whole  Home"], "whole home"],
    [["moon base"], "moon base", "project_area_unknown"],
  ],
  project_service: [[["repair", " Repair "], "repair"], [["paint"], "paint", "project_service_unknown"]],
  project_material: [[["slate\u3000tile", "slate tile "], "slate tile"]],
  external_id: [[["No  7", "No 7"], "No 7"], [[null, ""]]],
};

/** A valid lead; `name` is its alone in the round. */
export function leadOf(chance: Chance, name: string): Content {
  const first = chance.pick(given);
  const digits = `${2 + chance.below(8)}${String(chance.below(10 ** 9)).padStart(9, "0")}`;
  const phone = /(...)(...)(....)/.exec(digits) as RegExpExecArray;
  const own = `0${digits} x${chance.below(99)}`;
  const last = `${marker}${name}`;
  const fields: Field[] = [
    [
      "first_name",
      [`${first} ${name}`, `  ${first}\t${name} `, `${first}\u00a0 ${name}`],
      `${first} ${name}`,
    ],
    ["last_name", [last, ` ${last}\n`], last],
  ];
  const [spellings, country, countryFlag] = chance.pick<readonly [readonly string[], string, string?]>([
    ...[[[], "US"], [[], "US"], [["USA", "us", "U.S.", "united states"], "US"]] as const,
    ...[[["Canada", "ca"], "CA"], [["MEX", " mx "], "MX"]] as const,
    [["Narnia"], "Narnia", "country_unrecognized"],
  ]);
  fields.push(["country", spellings.length === 0 ? [undefined, null] : spellings, country, countryFlag]);
  if (chance.oneIn(6)) fields.push(["phone", [own], own, "phone_unnormalized"]);
  // Ten bare digits are no number of Mexico's neighbours.
  else if (country === "MX") fields.push(["phone", [digits], digits, "phone_unnormalized"]);
  else {
    const spelled = [`(${phone[1]}) ${phone[2]}-${phone[3]}`, `+1${digits}`, digits, `tel:1-${digits}`];
    fields.push(["phone", spelled, `+1${digits}`]);
  }
  if (chance.oneIn(2)) {
    const email = `${last}@example.com`.toLowerCase();
    fields.push(["email", [`${last}@Example.com`, `${last}@EXAMPLE.com`], email]);
  } else if (chance.oneIn(3)) {
    const email = `${last}${chance.pick([" at home", "@home", "@a..b"])}`;
    fields.push(["email", [email], email.toLowerCase(), "email_shape_suspect"]);
  }
  const cents = 2 + chance.below(99_997);
  const hasCost = chance.oneIn(2);
  const dollars = (all: number) => (all / 100).toFixed(2);
  // Half a cent is rounded up, and less than a half down.
  const costs = [dollars(cents), `${dollars(cents - 1)}5`, `${dollars(cents)}4`].map(precise);
  if (hasCost) fields.push(["cost", costs, undefined]);
  for (const [field, choices] of Object.entries(optional)) {
    if (!chance.oneIn(3)) continue;
    const [spelled, expected, flag] = chance.pick(choices);
    fields.push([field, spelled, expected, flag]);
  }
  const [zips, zip] = chance.pick([
    ...[[[], undefined], [[], undefined], [["k1a0b1", "K1A-0B1"], "K1A 0B1"]] as const,
    [["123456789"], country === "US" ? "12345-6789" : "123456789"] as const,
  ]);
  if (zip !== undefined) fields.push(["zip", zips, zip]);
  if (chance.oneIn(4)) {
    const lines = `${marker}${name}\n\n\n${"detail ".repeat(1 + chance.below(100))}end\n`;
    const spelled = [`${lines}\n\n\n\nbye`, `${lines}\r\n\r\n \r\n\r\nbye\r\n`];
    fields.push(["project_details", spelled, `${lines}\nbye`]);
  }
  const number = chance.pick(["12345678901234567890", "1.10", "-0"]);
  const own1 = `crm_${name}`;
  const flag = "extra_fields_preserved";
  const extras: readonly [extra: string, fields: Field[]][] = [
    [`{"${own1}":${number}}`, [[own1, [precise(number)], undefined, flag]]],
    // What stands beside it wins.
    [`{"${own1}":${number}}`, [
      [own1, [precise(number)], undefined, flag],
      ["extra", [{ [own1]: 1 }], undefined],
    ]],
    [`{"source":"${own1}"}`, [["source", [own1], undefined, flag]]],
  ];
  const [extra, more] = chance.oneIn(3) ? chance.pick(extras) : ["{}", []];
  fields.push(...more);
  const expected = Object.fromEntries(
    fields.flatMap(([field, , value]) => value === undefined ? [] : [[field, value]]),
  );
  if (hasCost) expected.cost_cents = cents;
  expected.extra = extra;
  expected.flags = flagNames.filter((flag) => fields.some(([, , , own]) => own === flag));
  return { name, expected, spell: (how) => spell(fields, how) };
}

/** A word that the forms block. */
export const blockedWord = "casino";

/** A submission of a form; the hidden field is filled in a trapped one, and one of spam has the blocked word. */
export function formOf(chance: Chance, name: string, kind: "form" | "trapped_form" | "spam_form"): Content {
  const email = `${marker}${name}${chance.oneIn(4) ? "@home" : "@example.com"}`.toLowerCase();
  const blocked = kind === "spam_form" ? `, not of a ${blockedWord}` : "";
  const phone = `212555${String(chance.below(10_000)).padStart(4, "0")}`;
  const fields: Field[] = [
    ["name", [`${chance.pick(given)} ${marker}${name}`], undefined],
    ["email", [email], undefined, email.endsWith("@home") ? "email_shape_suspect" : undefined],
    ["message", [
      `Please call me about the roof of my house, number ${chance.below(999)}${blocked}.`,
    ], undefined],
    ...(chance.oneIn(2) ? [["phone", [phone], undefined] as const] : []),
    ...(chance.oneIn(2)
      ? [["page_url", [`https://a.example/?utm_source=news&gclid=g${name}#x`], undefined] as const]
      : []),
    ...(kind === "trapped_form" ? [["website", ["https://spam.example"], undefined] as const] : []),
  ];
  const expected: Record<string, unknown> = Object.fromEntries(
    fields.map(([field, [value]]) => [field, value]),
  );
  const campaign = expected.page_url === undefined ? {} : { gclid: `g${name}`, utm_source: "news" };
  expected.extra = JSON.stringify({ form_key: "contact", attribution: campaign });
  expected.flags = fields.flatMap(([, , , flag]) => flag ?? []);
  // An empty one is none, and the path names the form.
  const hidden: Field[] = kind === "trapped_form" ? [] : [["website", ["", "  "], undefined]];
  hidden.push(["form_key", ["contact", "other"], undefined]);
  return { name, expected, spell: (how) => spell([...fields, ...hidden], how) };
}

function spell(fields: readonly Field[], chance: Chance): string {
  const rest = [...fields];
  const members: [string, unknown][] = [];
  while (rest.length > 0) {
    const [[name, spellings]] = rest.splice(chance.below(rest.length), 1) as [Field];
    members.push([name, chance.pick(spellings)]);
  }
  const text = JSON.stringify(Object.fromEntries(members), null, chance.below(3));
  return chance.oneIn(4) ? ` ${text}\n` : text;
}

/** A request that is refused, and how. */
export interface Refused {
  readonly body: string;
  readonly expected: {
    readonly status: number;
    readonly error: string;
    readonly fields?: Readonly<Record<string, string>>;
  };
  readonly path?: string;
  readonly method?: string;
  readonly idempotencyKey?: string;
}

const missing = (...names: string[]) => Object.fromEntries(names.map((name) => [name, "required"]));
const nested = (depth: number) => `{"first_name":"Ada","x":${"[".repeat(depth)}${"]".repeat(depth)}}`;

/** Requests that are refused, by what they are; `tenant` is that of the key. */
export const refusals = {
  probe: () => ({
    body: "{}",
    expected: {
      ...{ status: 422, error: "validation_failed", fields: missing("first_name", "last_name", "phone") },
    },
  }),
  invalid: (chance, name) => {
    const lead = { first_name: "Ada", last_name: `${marker}${name}`, phone: "2125550123" };
    const [field, cap] = chance.pick(Object.entries(caps));
    const [more, fields] = chance.pick<[object, Record<string, string>]>([
      [{ last_name: " \u00a0\n" }, missing("last_name")],
      [{ first_name: "x".repeat(101), phone: null }, { first_name: "too_long", phone: "required" }],
      [{ cost: chance.pick([1000, 0, 0.004, -1, 999.995]) }, { cost: "out_of_range" }],
      [{ [field]: "é".repeat(cap + 1) }, { [field]: "too_long" }],
      [{ project_details: "x".repeat(16_001) }, { project_details: "too_long" }],
      [{ phone: "1".repeat(65) }, { phone: "too_long" }],
    ]);
    return {
      body: JSON.stringify({ ...lead, ...more }),
      expected: { status: 422, error: "validation_failed", fields },
    };
  },
  long_key: (chance, name) => ({
    body: leadOf(chance, name).spell(chance),
    idempotencyKey: "x".repeat(201),
    expected: { status: 422, error: "validation_failed", fields: { "Idempotency-Key": "too_long" } },
  }),
  not_json: (chance) => ({
    body: chance.pick([
      ...['{"first_name":', "[]", "a=b", nested(64), '{"extra":[]}', '{"extra":null}', '{"phone":12}'],
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
  unknown_key: (chance, name) => ({
    body: chance.pick(["{}", leadOf(chance, name).spell(chance)]),
    expected: { status: 401, error: "unauthorized" },
  }),
  form_probe: (chance, name, tenant) => ({
    path: `/v1/forms/${tenant}/contact`,
    body: chance.pick(["{}", JSON.stringify({ name: "", website: name })]),
    expected: { status: 400, error: "missing_required", fields: missing("name", "email") },
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
} satisfies Record<string, (chance: Chance, name: string, tenant: string) => Refused>;

const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** A key as the documents describe it, with 32 characters of chance and its checksum. */
export function keyText(chance: Chance, prefix: "lead_live_" | "lead_test_" | "form_live_"): string {
  const body = prefix + Array.from({ length: 32 }, () => digits[chance.below(62)]).join("");
  let rest = crc32(body);
  let sum = "";
  for (let place = 0; place < 6; place += 1, rest = Math.floor(rest / 62)) sum = `${digits[rest % 62]}${sum}`;
  return body + sum;
}

/** What the database keeps of it, in hex. */
export function keyDigest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
