import { errors } from "../../src/contract/errors.ts";
import { fieldNames, flagNames, projectServices, reasons } from "../../src/contract/fields.ts";
import { brief, normalizedExamples } from "../../src/documents/brief.ts";
import { keyCheck, limitRows } from "../../src/documents/guidance.ts";
import { validate } from "../../src/lead/validate.ts";
import { areas } from "../support/lead/areas.ts";
import assert from "node:assert/strict";
import test from "node:test";

const text = brief("https://intake.acme.test");

test("the brief names every field, service, flag, reason, error, limit and key-check result", () => {
  const named = [...fieldNames, "cost", ...projectServices, ...flagNames, ...reasons, ...Object.keys(errors)];
  for (const name of named) assert.ok(text.includes(`\`${name}\``), name);
  for (const { limit, value } of limitRows) assert.ok(text.includes(`| ${limit} | ${value} |`), limit);
  for (const { response, meaning } of keyCheck) {
    assert.ok(text.includes(`| ${response} | ${meaning} |`), response);
  }
  for (const { status } of Object.values(errors)) assert.match(text, new RegExp(`\\| ${status} \\|`));
});

test("the brief contains no address other than the configured one", () => {
  const addresses = [...text.matchAll(/https?:\/\/[^\s`"'>)]+/g)].map(([address]) => address);
  assert.ok(addresses.length > 8);
  for (const address of addresses) assert.match(address, /^https:\/\/intake\.acme\.test\/|^https?:\/\/$/);
});

test("the brief names the contact for keys only when one is configured", () => {
  const named = brief("https://intake.acme.test", "keys@acme.example");
  assert.match(named, /gets a 401, write to \[keys@acme\.example\]\(mailto:keys@acme\.example\)/);
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
