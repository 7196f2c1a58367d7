import assert from "node:assert/strict";
import test from "node:test";
import { normalizedExamples } from "../../src/documents/brief.ts";
import { validate } from "../../src/lead/validate.ts";
import { areas } from "../support/lead/areas.ts";

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
