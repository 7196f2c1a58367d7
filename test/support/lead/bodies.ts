/**
 * Generates request bodies: mostly leads, with everything that two engines might read differently.
 */

import fc from "fast-check";
import { fieldNames } from "../../../src/contract/fields.ts";

/**
 * Letters with case and digits of Unicode 17, which Node 24 knows and Deno 2.9 does not: they expect different lower
 * cases.
 */
const unicode17 = /[\ua7ce-\ua7d5\u{11de0}-\u{11de9}\u{16ea0}-\u{16ed3}]/gu;
const blanks = [
  " ",
  "\t",
  "\n",
  "\r",
  "\u0085",
  "\u2028",
  "\u0000",
  "a",
  "\u00a0",
  "\u3000",
  "\u200e",
  "\ufeff",
];
const known = [
  "kitchen",
  " ROOF ",
  "us",
  "U.S.",
  "Canada",
  "K1A0B1",
  "k1a-0b1",
  "123456789",
  "a@b.co",
  "A@B",
  "Repair",
];
const odd = ["İ", "ß", "ﬀ", "Σς", "１２３", "٣٤", "\ud800", "\udc00x", "\ud83c\udfe0", "e\u0301", "\u1e9e"];

const text = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.string({ unit: "binary", maxLength: 30 }).map((sent) => sent.replace(unicode17, "")),
  },
  { weight: 4, arbitrary: fc.string({ unit: fc.constantFrom(...blanks), maxLength: 20 }) },
  { weight: 4, arbitrary: fc.constantFrom(...known) },
  { weight: 3, arbitrary: fc.string({ unit: fc.constantFrom(...odd, "a", " "), maxLength: 12 }) },
  { weight: 1, arbitrary: fc.string({ unit: "grapheme", minLength: 15, maxLength: 260 }) },
);
const phone = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: 2_000_000_000, max: 9_999_999_999 }).map(String) },
  {
    weight: 4,
    arbitrary: fc.string({ unit: fc.constantFrom(..."0123456789+-(). x/٣５"), minLength: 7, maxLength: 20 }),
  },
  { weight: 1, arbitrary: text },
);
const cost = fc.oneof(
  fc.integer({ min: -10, max: 101_000 }).map((cents) => String(cents / 100)),
  fc.double().map((value) => JSON.stringify(value)),
  fc.constantFrom("1.005", "0.005", "0.0049", "999.994", "999.995", "1e2", "-0", "1E400", "null", '"1"'),
);
const anything = fc.jsonValue({ maxDepth: 3, stringUnit: "binary" });
const mostly = (usual: fc.Arbitrary<string>) =>
  fc.oneof({ weight: 300, arbitrary: usual }, { weight: 1, arbitrary: anything });

const fields = fc.record({
  ...Object.fromEntries(
    fieldNames.map((name) => [name, fc.option(mostly(text), { nil: undefined, freq: 2 })]),
  ),
  first_name: mostly(text.map((rest) => `A${rest}`)),
  last_name: mostly(fc.oneof({ weight: 9, arbitrary: text.map((rest) => `B${rest}`) }, text)),
  phone: mostly(phone),
  project_details: fc.option(mostly(fc.string({ unit: fc.constantFrom(...blanks, "b"), maxLength: 300 })), {
    nil: undefined,
  }),
}, { requiredKeys: ["first_name", "last_name", "phone"] });

/** The text of an object: members in any order, some twice, with unusual numbers. */
export const envelopeText = fc.tuple(
  fields,
  fc.option(cost, { freq: 2 }),
  fc.dictionary(text, anything, { maxKeys: 2 }),
  fc.option(fc.oneof({ weight: 9, arbitrary: fc.dictionary(text, anything, { maxKeys: 3 }) }, anything), {
    freq: 2,
  }),
  fc.array(fc.nat(), { maxLength: 4 }),
).map(([known, price, unknown, extra, order]) => {
  const all: [string, unknown][] = [...Object.entries(known), ...Object.entries(unknown)];
  if (extra !== null) all.push(["extra", extra]);
  const members = all.filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  if (price !== null) members.push(`"cost": ${price}`);
  for (const at of order) members.push(members.splice(at % members.length, 1)[0] as string);
  if (order.length === 4) members.push(members[0] as string);
  return `{${members.join(order.length % 2 === 0 ? "," : " ,\n")}}`;
});

/** The text of an envelope with one change. */
export const damagedText = fc.tuple(
  envelopeText,
  fc.nat(),
  fc.constantFrom("", "\\", '"', "\u0000", "{", "\ufeff", "1e9"),
)
  .map(([sent, at, put]) => {
    const place = at % (sent.length + 1);
    return sent.slice(0, place) + put + sent.slice(place + 1);
  });

/** What a text area can contain and a browser can send: lone surrogates become U+FFFD. */
export const body = fc.oneof(
  { weight: 14, arbitrary: envelopeText },
  { weight: 3, arbitrary: damagedText },
  { weight: 1, arbitrary: fc.json({ stringUnit: "binary" }) },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 60 }) },
).map((sent) => sent.toWellFormed());
