import assert from "node:assert/strict";
import test from "node:test";
import { fieldNames, fields, flagNames } from "../../src/contract/fields.ts";

test("the envelope has the specification's fields in its order, with their caps", () => {
  const caps = Object.entries(fields).map(([name, { lengthMax }]) => [name, lengthMax]);
  assert.deepEqual(caps, [
    ["first_name", 100],
    ["last_name", 100],
    ["phone", 64],
    ["email", 254],
    ["street_address", 200],
    ["city", 100],
    ["state", 64],
    ["zip", 20],
    ["country", 64],
    ["project_area", 100],
    ["project_service", 64],
    ["project_material", 200],
    ["project_details", 16_000],
    ["external_id", 200],
  ]);
  assert.deepEqual(fieldNames, Object.keys(fields));
});

test("the six flags are in the specification's order", () => {
  assert.deepEqual(flagNames, [
    "phone_unnormalized",
    "project_area_unknown",
    "project_service_unknown",
    "email_shape_suspect",
    "extra_fields_preserved",
    "country_unrecognized",
  ]);
});

test("every flag except extra_fields_preserved starts with its field's name", () => {
  const ofNone = flagNames.filter((flag) => !fieldNames.some((name) => flag.startsWith(`${name}_`)));
  assert.deepEqual(ofNone, ["extra_fields_preserved"]);
});
