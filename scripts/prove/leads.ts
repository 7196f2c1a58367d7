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
const flagNames = [
  ...["phone_unnormalized", "project_area_unknown", "project_service_unknown", "email_shape_suspect"],
  ...["extra_fields_preserved", "country_unrecognized"],
];
/** A number that no double holds, as it is sent. */
const precise = (text: string): unknown =>
  (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(text);

const given = ["Ada", "José", "Zoë", "李", "O’Neil", "Анна", "🦄"];
const areas: readonly (readonly [readonly string[], string, string?])[] = [
  [["roof", " Roof ", "ROOF"], "roof"],
  [["whole home", "Whole  Home"], "whole home"],
  [["moon base"], "moon base", "project_area_unknown"],
];

/** A valid lead; `name` is its alone in the round. */
export function leadOf(chance: Chance, name: string): Content {
  const first = chance.pick(given);
  const digits = `${2 + chance.below(8)}${String(chance.below(10 ** 9)).padStart(9, "0")}`;
  const phone = /(...)(...)(....)/.exec(digits) as RegExpExecArray;
  const cents = 1 + chance.below(99_998);
  const [area, areaExpected, areaFlag] = chance.pick(areas);
  const own = `0${digits} x${chance.below(99)}`;
  const last = `${marker}${name}`;
  const fields: Field[] = [
    [
      "first_name",
      [`${first} ${name}`, `  ${first}\t${name} `, `${first}\u00a0 ${name}`],
      `${first} ${name}`,
    ],
    ["last_name", [last, ` ${last}\n`], last],
    chance.oneIn(6)
      ? ["phone", [own], own, "phone_unnormalized"]
      : ["phone", [`(${phone[1]}) ${phone[2]}-${phone[3]}`, `+1${digits}`, digits], `+1${digits}`],
  ];
  if (chance.oneIn(2)) {
    fields.push([
      "email",
      [`${last}@Example.com`, `${last}@EXAMPLE.com`],
      `${last}@example.com`.toLowerCase(),
    ]);
  } else if (chance.oneIn(3)) {
    fields.push(["email", [`${last} at home`], `${last} at home`.toLowerCase(), "email_shape_suspect"]);
  }
  if (chance.oneIn(2)) fields.push(["cost", [cents / 100], undefined]);
  if (chance.oneIn(3)) fields.push(["project_area", area, areaExpected, areaFlag]);
  if (chance.oneIn(3)) fields.push(["project_service", ["repair", " Repair "], "repair"]);
  else if (chance.oneIn(6)) fields.push(["project_service", ["paint"], "paint", "project_service_unknown"]);
  if (chance.oneIn(4)) fields.push(["zip", ["123456789", "12345-6789"], "12345-6789"]);
  // A zip is the posted one where the country is another.
  if (chance.oneIn(4)) fields.push(["country", ["USA", "us", "U.S."], "US"]);
  else if (!fields.some(([field]) => field === "zip")) {
    fields.push(["country", ["Narnia"], "Narnia", "country_unrecognized"]);
  }
  if (chance.oneIn(4)) {
    const lines = `${marker}${name}\n${"detail ".repeat(1 + chance.below(100))}end`;
    fields.push(["project_details", [lines, `${lines}\r\n`], lines]);
  }
  const number = chance.pick(["12345678901234567890", "1.10", "-0"]);
  const hasExtra = chance.oneIn(4);
  if (hasExtra) fields.push([`crm_${name}`, [precise(number)], undefined, "extra_fields_preserved"]);
  const expected = Object.fromEntries(
    fields.flatMap(([field, , value]) => value === undefined ? [] : [[field, value]]),
  );
  if (fields.some(([field]) => field === "cost")) expected.cost_cents = cents;
  expected.extra = hasExtra ? `{"crm_${name}":${number}}` : "{}";
  expected.flags = flagNames.filter((flag) => fields.some(([, , , own]) => own === flag));
  return { name, expected, spell: (how) => spell(fields, how) };
}

/** A submission of a form; `trap` fills the hidden field. */
export function formOf(chance: Chance, name: string, { trap }: { readonly trap: boolean }): Content {
  const fields: Field[] = [
    ["name", [`${chance.pick(given)} ${marker}${name}`], undefined],
    ["email", [`${marker}${name}@example.com`.toLowerCase()], undefined],
    ["message", [`Please call me about the roof of my house, number ${chance.below(999)}.`], undefined],
    ...(trap ? [["website", ["https://spam.example"], undefined] as const] : []),
  ];
  return {
    name,
    expected: Object.fromEntries(fields.map(([field, [value]]) => [field, value])),
    spell: (how) => spell(fields, how),
  };
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

/** Bodies that fail validation, each with the fields that a 422 must name. */
export function invalidBody(chance: Chance, name: string): { body: string; fields: Record<string, string> } {
  const lead = { first_name: "Ada", last_name: `${marker}${name}`, phone: "2125550123" };
  return chance.pick([
    { body: JSON.stringify({ ...lead, last_name: " " }), fields: { last_name: "required" } },
    { body: JSON.stringify({ ...lead, cost: 1000 }), fields: { cost: "out_of_range" } },
    {
      body: JSON.stringify({ ...lead, first_name: "x".repeat(101), phone: null }),
      fields: { first_name: "too_long", phone: "required" },
    },
  ]);
}

/** Bodies that are no lead. */
export function notJson(chance: Chance): string {
  return chance.pick([
    '{"first_name":',
    "[]",
    '{"first_name":"Ada","last_name":"B","phone":"1","cost":"12"}',
    "a=b",
  ]);
}

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
