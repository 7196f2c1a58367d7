import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { TestEnv, visitor } from "../support/test_env.ts";

/** Generated bodies: each is accepted and stored completely, or refused with a reason and not stored. */
const testEnv = await TestEnv.open();
await testEnv.start();
const { form, key } = await testEnv.formWithKey();
const runs = Number(process.env.FC_RUNS ?? 150);

const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.constantFrom(
    "",
    " ",
    "\u0000",
    "\ud800",
    "ada@example.com",
    "https://a.example",
    "555 123 4567",
    "\u202e",
  ),
);
const flat = fc.oneof(
  text,
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
);
const nested = fc.oneof(fc.constant([]), fc.constant({}), fc.array(text, { maxLength: 2 }));
const name = fc.oneof(
  fc.constantFrom("name", "email", "website", "form_key", "phone", "page_url", "__proto__", "message", ""),
  text,
);
const body = fc.record({
  members: fc.array(
    fc.tuple(name, fc.oneof({ weight: 20, arbitrary: flat }, { weight: 1, arbitrary: nested })),
    {
      maxLength: 8,
    },
  ),
  isWhole: fc.boolean(),
});

/** Returns the field's name as the service reads it. */
const mended = (sent: string) => sent.toWellFormed().replaceAll("\0", "");
const isFilled = (value: unknown) =>
  typeof value === "string" ? /[^\p{White_Space}\p{Cc}]/u.test(value) : value !== null && value !== undefined;

test("any flat body answers 202 and is stored as sent, or 400 and is not stored", async () => {
  await fc.assert(
    fc.asyncProperty(body, async ({ members, isWhole }) => {
      // A different message each time, or it would be a duplicate.
      const all = [...members, ...(isWhole ? Object.entries(visitor()) : [])];
      const sent = `{${
        all.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join(",")
      }}`;
      const last = new Map(all.map(([key, value]) => [mended(key), value]));
      last.delete("form_key");
      const isFlat = [...last.values()].every((value) => typeof value !== "object" || value === null);
      const isComplete = ["name", "email"].every((one) => isFilled(last.get(one)));
      const expected = !isFlat ? "invalid_json" : isComplete ? "accepted" : "missing_required";

      const { json } = await testEnv.submit(form, { key: key.text, body: sent });
      if (json.status === "duplicate") assert.ok(!isWhole && expected === "accepted");
      else assert.equal(json.error ?? json.status, expected, sent);
      if (json.status !== "accepted") return;
      const event = await testEnv.event(json.submission_id);
      assert.equal(event.raw, sent);
      const website = last.get("website");
      const found = await testEnv.submission(json.submission_id);
      assert.equal(found.verdict === "honeypot", website !== false && isFilled(website));
      if (found.verdict !== "honeypot") last.delete("website");
      const stored = Object.entries(JSON.parse(event.lead_text)).map(([one]) => one);
      assert.deepEqual(new Set(stored), new Set(last.keys()));
    }),
    { numRuns: runs },
  );
});
