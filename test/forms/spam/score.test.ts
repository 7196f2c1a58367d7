import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { type SpamReasonName, spamReasons } from "../../../src/forms/spam/reasons.ts";
import { defaultThreshold, type FormValue } from "../../../src/forms/spam/score.ts";
import { type FormCase, readCases } from "../../support/forms/cases.ts";
import { message, reasonNames, score, scoreCase } from "../../support/forms/score.ts";
import { messyText, runs } from "../../support/lead/properties.ts";

const tuning = readCases("tuning.jsonl");
const heldOut = readCases("held_out.jsonl");
/**
 * What the score did on the held-out cases when they were scored for the first time; `test/vectors/forms/README.md` has
 * the table. It is no promise: it is where a change has to start from.
 */
const measured = { ham: { held: 5, count: 275 }, spam: { held: 180, count: 237 } };

const fieldName = fc.oneof(
  fc.constantFrom("name", "email", "phone", "message", "city", "page_url", "_started_at", "photos", "budget"),
  fc.constantFrom("__proto__", "constructor", "toString", "hasOwnProperty", "", "\ud800"),
  messyText,
);
const spammyText = fc.array(
  fc.oneof(
    messyText,
    fc.constantFrom(
      "http://",
      "://",
      "www.",
      "a.example",
      "bit.ly/x",
      "<a href=",
      "[url=",
      "casino",
      "саsinо",
      "our services",
    ),
    fc.constantFrom(
      "my roof leaks",
      "asdfgh",
      "!!!",
      "$$$",
      "{{",
      "ＦＲＥＥ",
      "\u200b",
      "you pay",
      "necesito",
      " ",
    ),
  ),
).map((parts) => parts.join(" "));
const fieldValue: fc.Arbitrary<FormValue> = fc.oneof(
  spammyText,
  fc.double(),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
);
const anyFields = fc.array(fc.tuple(fieldName, fieldValue), { maxLength: 12 }).map((entries) => {
  const fields = Object.create(null) as Record<string, FormValue>;
  for (const [name, value] of entries) fields[name] = value;
  return fields;
});

test("any flat JSON object gets a whole score that is the sum of its named reasons, each once", () => {
  fc.assert(
    fc.property(anyFields, fc.array(messyText, { maxLength: 4 }), (fields, blocked) => {
      const { score: total, reasons } = score(fields, blocked);
      assert.equal(total, reasons.reduce((sum, { points }) => sum + points, 0));
      assert.equal(new Set(reasons.map(({ name }) => name)).size, reasons.length);
      for (const { name, points } of reasons) {
        assert.ok(Object.hasOwn(spamReasons, name), name);
        assert.ok(Number.isSafeInteger(points) && points > 0, `${name} ${points}`);
      }
    }),
    runs,
  );
});

test("a submission scores the same twice, and in any order of its fields", () => {
  fc.assert(
    fc.property(anyFields, (fields) => {
      const once = score(fields);
      assert.deepEqual(score(fields), once);
      const turned = Object.create(null) as Record<string, FormValue>;
      for (const [name, value] of Object.entries(fields).reverse()) turned[name] = value;
      assert.deepEqual(score(turned), once);
    }),
    runs,
  );
  for (const { fields, blocked, receivedAtMs } of tuning) {
    const turned = Object.fromEntries(Object.entries(fields).reverse());
    const options = { blocked, receivedAtMs };
    assert.deepEqual(scoreCase({ fields: turned, ...options }), scoreCase({ fields, ...options }));
  }
});

test("a blocked word that a message has raises the score by enough to hold it", () => {
  fc.assert(
    fc.property(anyFields, fc.stringMatching(/^[a-z]{5,9}$/), (fields, word) => {
      const message = `${String(fields.message ?? "")} ${word} `;
      const before = score({ ...fields, message }).score;
      const after = score({ ...fields, message }, [word]).score;
      assert.ok(after >= before + defaultThreshold, `${before} → ${after}`);
    }),
    runs,
  );
});

test("reasons hold names and points only: nothing that was written is in them", () => {
  for (const { fields, blocked, receivedAtMs } of tuning) {
    const { reasons } = scoreCase({ fields, blocked, receivedAtMs });
    for (const reason of reasons) assert.deepEqual(Object.keys(reason).sort(), ["name", "points"]);
  }
});

test("every reason is found in some case that the score was tuned with", () => {
  const found = new Set(
    tuning.flatMap(({ fields, blocked, receivedAtMs }) =>
      scoreCase({ fields, blocked, receivedAtMs }).reasons.map(({ name }) => name)
    ),
  );
  assert.deepEqual(Object.keys(spamReasons).filter((name) => !found.has(name as SpamReasonName)), []);
});

test("no language and no script is held for itself", () => {
  const texts = [
    "您好,我想装修厨房和两个浴室,请问可以免费估价吗?",
    "Здравствуйте, нужно заменить крышу на доме. Когда можете приехать?",
    "السلام عليكم، أحتاج إلى تصليح السقف في بيتي",
    "Chào anh, nhà tôi cần sửa lại mái nhà và thay cửa sổ",
    "화장실 리모델링 견적을 받고 싶습니다",
    "ਸਾਨੂੰ ਬੇਸਮੈਂਟ ਵਿੱਚ ਨਵਾਂ ਫਲੋਰ ਲਗਵਾਉਣਾ ਹੈ",
    "Dzień dobry, potrzebuję wymienić okna w domu",
    "می‌خواهم کف خانه را پارکت کنم",
  ];
  for (const text of texts) {
    assert.ok(score(message(text)).score <= 10, `${text} ${score(message(text)).score}`);
  }
});

test("the loan for a roof, the website's form and the casino next door pass", () => {
  const passing = [
    "I need a loan for the roof, do you offer financing? My credit is bad.",
    "I tried my website's contact form to reach you. The kitchen sink leaks.",
    "We live behind the casino. A tree fell on the fence and we need it fixed.",
    "I KEEP CALLING. MY FURNACE IS OUT AND MY WIFE IS SICK. PLEASE COME TODAY!!!!",
    "Necesito un préstamo para el techo, ¿ustedes dan financiamiento?",
    "hola, necesito un estimate para el roof, el insurance viene el friday",
    "deck",
  ];
  for (const text of passing) assert.ok(score(message(text)).score < defaultThreshold, text);
});

test("a pitch is found at both ends of a message of the largest size, and among thousands of fields", () => {
  const pitch = "We offer SEO services, backlinks and guest posts for your website: https://rank.example/a";
  const story = "Water came in at the chimney when it rained, and again in spring. ";
  const padding = Array.from({ length: 800 }, (_, at) => `${at} ${story}`).join("");
  const fields = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`f${at}`, `x${at}`]));
  for (
    const posted of [message(pitch + padding), message(padding + pitch), { ...fields, ...message(pitch) }]
  ) {
    assert.ok(reasonNames(posted).includes("pitch_search_ranking"));
  }
  assert.ok(score(message(padding)).score < defaultThreshold);
});

test("the corpus has distinct cases under distinct ids, of both labels and languages", () => {
  const all = [...tuning, ...heldOut];
  assert.equal(new Set(all.map(({ id }) => id)).size, all.length);
  assert.equal(new Set(all.map(({ fields }) => JSON.stringify(Object.values(fields)))).size, all.length);
  for (const language of ["en", "es"]) {
    for (const label of ["ham", "spam"]) {
      const count = all.filter((one) => one.language === language && one.label === label).length;
      assert.ok(count >= 40, `${language} ${label}: ${count}`);
    }
  }
});

test("of the cases that nobody tuned by no more ham is held, and no less spam, than was measured", (t) => {
  const [ham, spam] = [heldOf(heldOut, "ham"), heldOf(heldOut, "spam")];
  t.diagnostic(`ham: ${ham.held} of ${ham.count} held; spam: ${spam.held} of ${spam.count} held`);
  assert.deepEqual([ham.count, spam.count], [measured.ham.count, measured.spam.count]);
  assert.ok(ham.held <= measured.ham.held, `ham: ${ham.held} held`);
  assert.ok(spam.held >= measured.spam.held, `spam: ${spam.held} held`);
});

test("of the cases that the score was tuned with at most 1 % of the ham is held and at least 90 % of the spam", (t) => {
  const [ham, spam] = [heldOf(tuning, "ham"), heldOf(tuning, "spam")];
  t.diagnostic(`ham: ${ham.held} of ${ham.count} held; spam: ${spam.held} of ${spam.count} held`);
  assert.ok(ham.held <= 0.01 * ham.count);
  assert.ok(spam.held >= 0.9 * spam.count);
});

function heldOf(cases: readonly FormCase[], label: FormCase["label"]): { held: number; count: number } {
  const labelled = cases.filter((one) => one.label === label);
  const held = labelled.filter((one) => scoreCase(one).score >= defaultThreshold).length;
  return { held, count: labelled.length };
}
