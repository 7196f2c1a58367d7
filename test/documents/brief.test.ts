import { errors } from "../../src/contract/errors.ts";
import { fieldNames, flagNames, projectServices, reasons } from "../../src/contract/fields.ts";
import { brief, normalizedExamples } from "../../src/documents/brief.ts";
import { keyCheck, limitRows } from "../../src/documents/guidance.ts";
import { validate } from "../../src/lead/validate.ts";
import { areas } from "../support/lead/areas.ts";
import assert from "node:assert/strict";
import test from "node:test";

const text = brief("https://intake.acme.test");

test("it names every field, service, flag, reason, error, limit and answer to the key check", () => {
  const named = [...fieldNames, "cost", ...projectServices, ...flagNames, ...reasons, ...Object.keys(errors)];
  for (const name of named) assert.ok(text.includes(`\`${name}\``), name);
  for (const { limit, value } of limitRows) assert.ok(text.includes(`| ${limit} | ${value} |`), limit);
  for (const { answer, meaning } of keyCheck) assert.ok(text.includes(`| ${answer} | ${meaning} |`), answer);
  for (const { status } of Object.values(errors)) assert.match(text, new RegExp(`\\| ${status} \\|`));
});

test("every address in it is the one that was given", () => {
  const addresses = [...text.matchAll(/https?:\/\/[^\s`"'>)]+/g)].map(([address]) => address);
  assert.ok(addresses.length > 8);
  for (const address of addresses) assert.match(address, /^https:\/\/intake\.acme\.test\/|^https?:\/\/$/);
});

test("the brief names whom to write to about a key, where there is somebody", () => {
  const named = brief("https://intake.acme.test", "keys@acme.example");
  assert.match(named, /answered with 401, write to \[keys@acme\.example\]\(mailto:keys@acme\.example\)/);
  assert.doesNotMatch(text, /mailto:/);
});

for (const { field, sent, stored, country, flag, about } of normalizedExamples) {
  test(`${field} ${sent}${country === undefined ? "" : ` in ${country}`} is stored as ${stored}`, () => {
    const value = field === "cost" ? Number(sent) : sent;
    const body = {
      first_name: "Ada",
      last_name: "Lovelace",
      phone: "+1 555 123 4567",
      ...(country === undefined ? {} : { country }),
      [field]: value,
    };
    const verdict = validate(JSON.stringify(body), areas);
    assert.ok(verdict.kind === "valid");
    const lead = verdict.lead as Readonly<Record<string, unknown>>;
    assert.equal(
      field === "cost" ? Number(lead.cost_cents) / 100 : lead[field],
      field === "cost" ? Number(stored) : stored,
    );
    assert.deepEqual(verdict.flags, flag === undefined ? [] : [flag]);
    assert.match(about, /^[A-Z].*\.$/);
  });
}
