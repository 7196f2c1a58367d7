import assert from "node:assert/strict";
import test from "node:test";
import { validate } from "../../src/lead/validate.ts";
import { compare } from "../../src/playground/compare.ts";
import { areas } from "../support/lead/areas.ts";
import vectors from "../vectors/lead.json" with { type: "json" };

function rows(body: string) {
  const validation = validate(body, areas);
  assert.ok(validation.kind === "valid");
  return compare(body, validation).map(({ name, typed, stored, note }) => [name, typed, stored, note]);
}

test("each field stands as typed beside as stored, and what nobody typed or nobody keeps says so", () => {
  const body = '{"first_name":" Ada ","last_name":"L","phone":"415 555 0123","city":" ","zip":null,' +
    '"cost":1.005,"country":"usa","utm":{"a":1.10},"extra":{"b":2}}';
  assert.deepEqual(rows(body), [
    ["first_name", " Ada ", "Ada", ""],
    ["last_name", "L", "L", ""],
    ["phone", "415 555 0123", "+14155550123", ""],
    ["city", " ", null, "left out"],
    ["country", "usa", "US", ""],
    ["cost", "1.005", "1.01", "101 cents"],
    ["b", "2", "2", "under extra"],
    ["utm", '{"a":1.10}', '{"a":1.10}', "under extra"],
  ]);
  const [, , , country] = rows('{"first_name":"A","last_name":"B","phone":"1"}');
  assert.deepEqual(country, ["country", null, "US", "the default"]);
});

test("every valid vector can be compared, and its stored side is the lead", () => {
  for (const { name, body, lead } of vectors.filter(({ kind }) => kind === "valid")) {
    const stored = Object.fromEntries(
      rows(body).filter(([, , , note]) => note !== "under extra")
        .map(([field, , value]) => [field as string, value]),
    );
    for (const [field, value] of Object.entries(lead as object)) {
      if (field === "cost_cents") assert.equal(stored.cost, (value / 100).toFixed(2), name);
      else assert.equal(stored[field], value, name);
    }
  }
});
