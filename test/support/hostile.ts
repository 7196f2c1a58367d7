/**
 * Generates posts from a seed: every trap of Unicode and JSON in members and values, and every size one below, at and one
 * above its limit.
 */

import { fieldNames, fields } from "../../src/contract/fields.ts";
import { formatCents, limits } from "../../src/contract/limits.ts";
import type { Random } from "./faults/random.ts";

/** A post: the text of its body, and its headers. */
export interface HostilePost {
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Text that breaks parsers, databases, pages and mails. */
const traps = [
  "\0",
  "\ud800",
  "\udc00",
  "\ud83d\0\ude00",
  "\\u0000",
  "\\",
  '"',
  "'",
  "\u202e",
  "\u2066",
  "\u200f",
  "\u200b",
  "\u200d",
  "\ufeff",
  "\u0085",
  "\u2028",
  "\u00ad",
  "\r\n",
  "\t",
  "\u001b[31m",
  "e\u0301",
  "é",
  "a\u0301\u0316\u0327",
  "\u1112\u1161\u11ab",
  "\u212b",
  "\ufdfa",
  "İ",
  "ß",
  "ǅ",
  "𝒜",
  "1️⃣",
  "👩‍👩‍👧‍👦",
  "🇺🇸",
  "\u{10ffff}",
  "\ufffe",
  "\ufffd",
  "مرحبا",
  "貸",
  "%00",
  "{{x}}",
  "$1",
  "<!channel>",
  "<script>",
  "&#0;",
  "=1+1",
  "\n.\n",
  "../",
] as const;

/** Names that mean something to the service, its SQL, JavaScript or a CRM recipe. */
const names = [
  "cost_cents",
  "extra",
  "phone",
  "email",
  "name",
  "message",
  "external_id",
  "project_area",
  "last_name",
  "form_key",
  "website",
  "page_url",
  "utm_source",
  "attribution",
  "event_id",
  "__proto__",
  "constructor",
  "toString",
  "length",
  "",
  " ",
] as const;

/** Values as JSON texts. */
const values = [
  "null",
  "true",
  "-0",
  "1e400",
  "-1E-400",
  "12345678901234567890.10",
  "9".repeat(2_000),
  '""',
  '" "',
  '"1e5"',
  '"not a number"',
  '"\\u0061\\u0000"',
  '"\\ud800x\\udc00"',
] as const;

/** A value nested `depth` levels. */
const nested = (depth: number) => `${"[".repeat(depth)}1${"]".repeat(depth)}`;

/** Returns text from traps. */
export function hostileText(random: Random): string {
  return Array.from(
    { length: 1 + random.below(6) },
    () => random.oneIn(3) ? "word " : random.pick(traps),
  ).join("");
}

function hostileName(random: Random): string {
  if (random.oneIn(20)) return hostileText(random).repeat(500);
  return random.oneIn(3) ? random.pick(names) : hostileText(random);
}

function hostileValue(random: Random, { isFlat }: { readonly isFlat: boolean }): string {
  if (!isFlat && random.oneIn(4)) {
    return random.pick([
      nested(limits.jsonDepthMax - 2),
      `{${member(hostileName(random), random.pick(values))}}`,
      `[${random.pick(values)},{"":${nested(3)}}]`,
    ]);
  }
  return random.oneIn(2) ? random.pick(values) : JSON.stringify(hostileText(random));
}

const member = (name: string, valueText: string) => `${JSON.stringify(name)}:${valueText}`;

function hostileMembers(random: Random, kind: { readonly isFlat: boolean }): string[] {
  const list = Array.from(
    { length: random.below(6) },
    () => member(hostileName(random), hostileValue(random, kind)),
  );
  // Repeats a name with another value.
  return list.length > 0 && random.oneIn(4)
    ? [...list, member(hostileName(random), '"again"'), ...list]
    : list;
}

/** Returns a lead; `id` makes it different from others, and most leads are valid. */
export function hostileLead(random: Random, id: string): string {
  const known = fieldNames.filter((name) => random.oneIn(3) && !fields[name].required)
    .map((name) => member(name, random.oneIn(20) ? "[]" : JSON.stringify(hostileText(random))));
  const extra = random.oneIn(3) ? [`"extra":{${hostileMembers(random, { isFlat: false })}}`] : [];
  return `{${[
    ...hostileMembers(random, { isFlat: false }),
    ...known,
    ...extra,
    member("first_name", JSON.stringify(`A${hostileText(random)}`)),
    member("last_name", JSON.stringify(`${id} ${hostileText(random)}`)),
    member("phone", JSON.stringify(random.oneIn(3) ? `${id} ${hostileText(random)}` : "(555) 123-4567")),
    ...random.oneIn(2) ? [`"cost":${random.pick(["12.34", '"0.01"', "null", "1e400"])}`] : [],
  ]}}`;
}

/** Returns the fields of a form that requires `name` and `email`; most submissions are valid. */
export function hostileForm(random: Random, id: string): string {
  return `{${[
    ...random.oneIn(20) ? [member(hostileName(random), "[]")] : [],
    ...hostileMembers(random, { isFlat: true }),
    member("name", JSON.stringify(`${id} ${hostileText(random)}`)),
    member("email", JSON.stringify(random.oneIn(3) ? hostileText(random) + "x" : `g${id}@example.com`)),
    member("message", JSON.stringify(`Please repair our roof before winter. ${id} ${hostileText(random)}`)),
    ...random.oneIn(6) ? ['"website":"https://spam.example"'] : [],
  ]}}`;
}

const aroundLimit = (limit: number) => [limit - 1, limit, limit + 1];

/** Returns posts of leads with every size around its limit. */
export function leadsAtLimits(id: string): HostilePost[] {
  const lead = (member: string) => `{"first_name":"A","last_name":"${id}","phone":"5551234567",${member}}`;
  const fieldPosts = fieldNames.flatMap((name) =>
    aroundLimit(fields[name].lengthMax).flatMap((length) =>
      ["a", "😀", "\ufdfa"].map((unit) => ({ body: lead(member(name, JSON.stringify(unit.repeat(length)))) }))
    )
  );
  const costs = [limits.costCentsMin, limits.costCentsMax].flatMap(aroundLimit)
    .map((cents) => ({ body: lead(`"cost":${formatCents(cents)}`) }));
  // The body is one level.
  const depths = aroundLimit(limits.jsonDepthMax).map((depth) => ({
    body: lead(`"x":${nested(depth - 1)}`),
  }));
  return [...fieldPosts, ...costs, ...depths, ...postsAtLimits(lead)];
}

/** Returns submissions of a form, as {@linkcode hostileForm}, with every size around its limit. */
export function formsAtLimits(id: string): HostilePost[] {
  return postsAtLimits((member) => `{"name":"${id}","email":"${id}@example.com",${member}}`);
}

function postsAtLimits(body: (member: string) => string): HostilePost[] {
  const withHeader = (name: string, limit: number) =>
    aroundLimit(limit).flatMap((length) =>
      // As bytes: Node writes one byte per character.
      ["a", Buffer.from("😀").toString("latin1")].map((unit) => ({
        body: body(`"x":${length}`),
        headers: { [name]: unit.repeat(length) },
      }))
    );
  const room = limits.bodyBytesMax - Buffer.byteLength(body('"x":""'));
  return [
    ...withHeader("Idempotency-Key", limits.idempotencyKeyLengthMax),
    ...withHeader("X-Request-Id", limits.requestIdLengthMax),
    ...aroundLimit(room).flatMap((length) => [
      { body: body(`"x":"${"x".repeat(length)}"`) },
      // One name fills the body.
      { body: body(`"x${"x".repeat(length)}":""`) },
    ]),
  ];
}
