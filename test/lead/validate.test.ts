import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { fieldNames, fields, flagNames, reasons } from "../../src/contract/fields.ts";
import { canonicalText } from "../../src/lead/fingerprint.ts";
import type { Lead, Validation } from "../../src/lead/lead.ts";
import { validate } from "../../src/lead/validate.ts";
import { areas } from "../support/lead/areas.ts";
import { literalOf, messyText, numberText, runs } from "../support/lead/properties.ts";

const base = { first_name: "Ada", last_name: "Lovelace", phone: "+14155550123" };

type Valid = Extract<Validation, { kind: "valid" }>;

function validLead(body: string): Valid {
  const validation = validate(body, areas);
  assert.equal(validation.kind, "valid", body);
  return validation as Valid;
}

/** Values with a meaning for some field, and random ones. */
const fieldText = fc.oneof(
  messyText,
  fc.constantFrom("US", "fr", "ca", "Canada", "Elsewhere", "k1a0b1", "941031234", "Roof", "crawl  space"),
  fc.constantFrom(
    "415-555-0123",
    "+1 (415) 555-0123",
    "+44 20 7946 0958",
    "A@B.CO",
    "Repair",
    "a\r\n\r\n\n\nb",
  ),
);

/** The members of an envelope, as pairs of name and text of the value. */
const envelope = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: fc.tuple(fc.constantFrom(...fieldNames), fieldText.chain(literalOf)) },
    { weight: 1, arbitrary: fc.tuple(fc.constantFrom(...fieldNames), fc.constant("null")) },
    { weight: 2, arbitrary: fc.tuple(fc.constant("cost"), fc.constantFrom("1.005", "45", "999.99", "1e1")) },
    { weight: 2, arbitrary: fc.tuple(fc.constant("extra"), fc.json().map((text) => `{"x":${text}}`)) },
    {
      weight: 2,
      arbitrary: fc.tuple(
        fc.constantFrom("note", "__proto__", "source", "First_Name", "x"),
        fc.oneof(fc.json(), numberText, messyText.chain(literalOf)),
      ),
    },
  ),
  { maxLength: 12 },
);

const required = Object.entries(base).map(([name, value]) => [name, JSON.stringify(value)] as const);

function bodyOf(pairs: readonly (readonly [string, string])[]): string {
  return `{${pairs.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join()}}`;
}

/** The body that a caller would post who has only the normalized lead. */
function repost(lead: Lead, extra: string | null): string {
  const { cost_cents, ...texts } = lead;
  const pairs = Object.entries(texts).map(([name, text]) => [name, JSON.stringify(text)] as [string, string]);
  if (cost_cents !== undefined) pairs.push(["cost", String(cost_cents / 100)]);
  if (extra !== null) pairs.push(["extra", extra]);
  return bodyOf(pairs);
}

test("no text makes the validator throw", () => {
  const anything = fc.oneof(messyText, fc.json(), envelope.map(bodyOf), fc.string({ unit: "binary" }));
  fc.assert(
    fc.property(anything, (body) => {
      const validation = validate(body, areas);
      if (validation.kind === "validation_failed") {
        assert.ok(Object.keys(validation.fields).length > 0);
        for (const [name, reason] of Object.entries(validation.fields)) {
          assert.ok(name in fields || name === "cost", name);
          assert.ok(reasons.includes(reason));
        }
      }
    }),
    runs,
  );
});

test("a normalized lead posted again is the same lead with the same flags", () => {
  fc.assert(
    fc.property(envelope, (pairs) => {
      const validation = validate(bodyOf([...required, ...pairs]), areas);
      if (validation.kind !== "valid") return;
      const again = validLead(repost(validation.lead, validation.extra));
      assert.deepEqual(again, validation);
      assert.equal(canonicalText(again.lead, again.extra), canonicalText(validation.lead, validation.extra));
    }),
    runs,
  );
});

test("a valid lead has the contract's caps, field order, flags and characters", () => {
  fc.assert(
    fc.property(envelope, (pairs) => {
      const validation = validate(bodyOf([...required, ...pairs]), areas);
      if (validation.kind !== "valid") return;
      const order = [...fieldNames, "cost_cents"];
      assert.deepEqual(Object.keys(validation.lead), order.filter((name) => name in validation.lead));
      for (const name of fieldNames) {
        const text = validation.lead[name];
        if (text === undefined) continue;
        assert.ok(text.isWellFormed() && text !== "", name);
        assert.ok([...text].length <= fields[name].lengthMax, name);
        assert.ok(!text.includes("\0"), name);
        if (name === "phone") assert.doesNotMatch(text, /^\p{White_Space}|\p{Cc}|\p{White_Space}$/u);
        else if (name !== "project_details") {
          assert.doesNotMatch(text, /^ | $| {2}|(?! )[\p{Cc}\p{White_Space}]/u);
        }
      }
      assert.deepEqual(validation.flags, flagNames.filter((flag) => validation.flags.includes(flag)));
      assert.equal(validation.flags.includes("extra_fields_preserved"), validation.extra !== null);
      if (validation.extra === null) return;
      assert.ok(validation.extra.isWellFormed());
      JSON.parse(validation.extra, (name, value) => {
        assert.ok(name.isWellFormed() && (typeof value !== "string" || value.isWellFormed()));
        return value;
      });
    }),
    runs,
  );
});

test("unknown members are preserved verbatim", () => {
  const unknown = fc.uniqueArray(
    fc.tuple(
      fc.oneof(
        messyText.map((text) => text.toWellFormed()),
        fc.constantFrom("__proto__", "constructor", "a"),
      ),
      fc.oneof(fc.json(), numberText, fc.string({ unit: "grapheme" }).chain(literalOf)),
    ),
    { selector: ([name]) => name, minLength: 1, maxLength: 6 },
  ).filter((pairs) => pairs.every(([name]) => !(name in fields) && name !== "cost" && name !== "extra"));
  fc.assert(
    fc.property(unknown, (pairs) => {
      fc.pre(bodyOf(pairs).isWellFormed());
      const { extra, lead } = validLead(bodyOf([...required, ...pairs]));
      assert.equal(extra, bodyOf(pairs));
      assert.deepEqual(lead, { ...base, country: "US" });
      assert.equal(validLead(bodyOf([...required, ["extra", bodyOf(pairs)]])).extra, extra);
    }),
    runs,
  );
});

test("the order and spelling of members do not change the content", () => {
  const spelled = envelope.chain((pairs) => {
    const unique = [...new Map([...required, ...pairs]).entries()];
    const literals = unique.map(([name, value]) =>
      fc.tuple(literalOf(name), value.startsWith('"') ? literalOf(JSON.parse(value)) : fc.constant(value))
    );
    const whole = fc.tuple(...literals)
      .chain((list) => fc.shuffledSubarray(list, { minLength: list.length, maxLength: list.length }))
      .map((list) => `{ ${list.map(([name, value]) => `${name} :\n${value}`).join(" ,\t")} }`);
    return fc.tuple(fc.constant(bodyOf(unique)), whole);
  });
  fc.assert(
    fc.property(spelled, ([left, right]) => {
      const [a, b] = [validate(left, areas), validate(right, areas)];
      assert.equal(a.kind, b.kind);
      if (a.kind !== "valid" || b.kind !== "valid") return assert.deepEqual(a, b);
      assert.deepEqual([a.lead, a.flags], [b.lead, b.flags]);
      assert.equal(canonicalText(a.lead, a.extra), canonicalText(b.lead, b.extra));
    }),
    runs,
  );
});

test("the length of an email is counted after lower-casing", () => {
  // U+0130 becomes an i and a combining dot.
  const fits = `${"İ".repeat(121)}@example.com`;
  assert.equal([...validLead(JSON.stringify({ ...base, email: fits })).lead.email!].length, 254);
  const validation = validate(JSON.stringify({ ...base, email: `İ${fits}` }), areas);
  assert.deepEqual(validation, {
    kind: "validation_failed",
    fields: { email: "too_long" },
    empty: false,
    detail: "email has 256 characters; at most 254 are allowed",
  });
});

test("a lone surrogate in the body's text is read as U+FFFD", () => {
  assert.equal(validLead(`{"first_name":"A\ud83d","last_name":"B","phone":"1"}`).lead.first_name, "A\ufffd");
  const { extra } = validLead(
    bodyOf([...required, ["x\ude00", '"\ud83d\\ude00"']]).replace("\\ude00", "\ude00"),
  );
  assert.equal(extra, '{"x\ufffd":"\ufffd\\ufffd"}');
});

test("a recognized project_area is stored as the vocabulary spells it", () => {
  const spelled = new Map([["hvac", "HVAC"], ["crawl space", "Crawl Space"]]);
  for (const [sent, stored] of [["hvac", "HVAC"], [" CRAWL  space", "Crawl Space"]] as const) {
    const validation = validate(JSON.stringify({ ...base, project_area: sent }), spelled);
    assert.ok(validation.kind === "valid");
    assert.equal(validation.lead.project_area, stored);
    assert.deepEqual(validation.flags, []);
  }
  const validation = validate(JSON.stringify({ ...base, project_area: "roof" }), new Map());
  assert.deepEqual(validation.kind === "valid" && validation.flags, ["project_area_unknown"]);
});

test("a cost is rounded by the digits of its last occurrence, however its name is escaped", () => {
  // As doubles both are the same number.
  const [half, less] = ["1.005", "1.00499999999999999999"];
  const escaped = '"c\\u006fst"';
  const members: [string, number][] = [
    [`"cost":${half}`, 101],
    [`"cost":${less}`, 100],
    [`"cost" :\t${less} `, 100],
    [`${escaped}:${less}`, 100],
    [`"cost":${half},"cost":${less}`, 100],
    [`"cost":${less},"cost" :${half}`, 101],
    [`"cost" : ${half},"cost":${less}`, 100],
    [`"cost":${half},${escaped}:${less}`, 100],
    [`${escaped}:${half},"cost":${less}`, 100],
    [`"city":"cost","cost":${less}`, 100],
    [`"cost":${less},"city":"cost"`, 100],
    [`"cost":${less},"city":"\\"cost\\":${half}"`, 100],
    [`"city":"\\"cost","cost":${less}`, 100],
    [`"cost":${half},"note":{"cost":${less}}`, 101],
    [`"note":{"cost":${less}},"cost":${half}`, 101],
  ];
  const rest = JSON.stringify(base).slice(1, -1);
  for (const [member, cents] of members) {
    for (const body of [`{${rest},${member}}`, `{${member},${rest}}`]) {
      assert.equal(validLead(body).lead.cost_cents, cents, body);
    }
  }
  assert.equal(validLead(`{${rest},"cost":${half},"cost":null}`).lead.cost_cents, undefined);
});

test("no body of 64 KiB overflows the stack", () => {
  const bodies = [
    "[".repeat(65_536),
    `{"a":${"[".repeat(32_000)}${"]".repeat(32_000)}}`,
    `${'{"a":'.repeat(13_000)}`,
    `{"first_name":"${" ".repeat(65_000)}"}`,
    `{"first_name":"${" a".repeat(32_000)}"}`,
    `{"phone":"${"\u3000-".repeat(16_000)}"}`,
    `{"project_details":"${" \\n".repeat(21_000)}"}`,
    `{"email":"${"@".repeat(65_000)}"}`,
    `{"email":"a@${".".repeat(65_000)}"}`,
    `{"zip":"${"1".repeat(65_000)}"}`,
    `{"cost":1e${"9".repeat(65_000)}}`,
    `{"cost":0.${"0".repeat(65_000)}}`,
    `{"x":"${"\\ud800".repeat(10_000)}"}`,
    `{"x":"${"\\\\".repeat(32_000)}"}`,
    `{${Array.from({ length: 7000 }, (_, at) => `"${at}":0`)}}`,
    `{${'"a":0,'.repeat(10_000)}"a":0}`,
  ];
  for (const body of bodies) assert.doesNotThrow(() => validate(body, areas), body.slice(0, 30));
});
