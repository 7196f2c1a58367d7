import assert from "node:assert/strict";
import { test } from "node:test";
import { formMisspelling, likelyField } from "../../src/lead/misspelling.ts";
import { validate } from "../../src/lead/validate.ts";
import { areas } from "../support/lead/areas.ts";

const detailOf = (body: object) => {
  const verdict = validate(JSON.stringify(body), areas);
  assert.ok(verdict.kind === "validation_failed");
  return verdict.detail;
};
const [first_name, last_name, phone] = ["Ada", "Lovelace", "415-555-0123"];

test("a misspelled required field is named with the one that is meant", () => {
  const names = {
    first_name: ["firstName", "FIRST_NAME", "First Name", "fname", "given-name", "frist_name", "first_nam"],
    last_name: ["lastName", "surname", "family_name", "lastnam", "Apellidos", "lats_name"],
    phone: [
      "Phone",
      "phone_number",
      "PhoneNumber",
      "tel",
      "mobile",
      "your-phone",
      "phoen",
      "phone2",
      "Teléfono",
    ],
  };
  for (const [meant, all] of Object.entries(names)) {
    for (const name of all) {
      const { [meant as "phone"]: value, ...rest } = { first_name, last_name, phone };
      const shown = /\s/.test(name) ? `"${name}"` : name;
      assert.equal(detailOf({ ...rest, [name]: value }), `${shown} is no field of a lead; ${meant} is`, name);
    }
  }
});

test("nothing is guessed where nothing comes near, nor for a key check, nor for a lead that lacks nothing", () => {
  assert.equal(detailOf({}), undefined);
  assert.equal(detailOf({ first_name: " ", last_name, phone }), undefined);
  assert.equal(detailOf({ last_name, phone, campaign: "spring", host: "x", score: 1 }), undefined);
  assert.equal(
    detailOf({ first_name, last_name, phone, firstName: "x", zip: "9".repeat(21) }),
    "zip has 21 characters; 20 are allowed",
  );
  assert.equal(
    validate(JSON.stringify({ first_name, last_name, phone, phone_number: "x" }), areas).kind,
    "valid",
  );
});

test("what stands in a required field's stead is named for a form as well, and none that the form requires itself", () => {
  const told = (posted: readonly string[], required: readonly string[], missing = required) =>
    formMisspelling(posted, { required, missing })?.detail;
  assert.equal(told(["Email"], ["email"]), "Email is no field that the form requires; email is");
  assert.equal(told(["mail"], ["your-email"]), "mail is no field that the form requires; your-email is");
  assert.equal(
    told(["rooff_type"], ["roof_type"]),
    "rooff_type is no field that the form requires; roof_type is",
  );
  assert.equal(told(["email"], ["email", "mail"], ["mail"]), undefined);
  assert.equal(told(["message"], ["name"]), undefined);
  assert.equal(
    formMisspelling(["Email"], { required: ["email"], missing: ["email"] })?.reason,
    "misspelled email",
  );
});

test("an unknown name of an accepted lead has a likely field, by its known names or within two letters, and none that is taken", () => {
  const free = () => true;
  const likely = {
    zipcode: "zip",
    emailAddress: "email",
    comments: "project_details",
    projct_area: "project_area",
  };
  for (const [name, field] of Object.entries(likely)) assert.equal(likelyField(name, free), field);
  for (const name of ["campaign", "utm_source", "", "電話"]) {
    assert.equal(likelyField(name, free), null, name);
  }
  assert.equal(likelyField("zipcode", (field) => field !== "zip"), null);
});

test("however many names are sent, a hundred are looked at", () => {
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`other${n}`, 1]));
  assert.equal(detailOf({ last_name, phone, ...many, firstName: first_name }), undefined);
  assert.equal(
    formMisspelling([...Object.keys(many), "Phone"], { required: ["phone"], missing: ["phone"] }),
    null,
  );
});

test("a required name without a Latin letter, and a sent one of other signs, stand for nothing", () => {
  const required = ["電話", "phone"];
  assert.equal(formMisspelling(["phoné☃", "電"], { required, missing: required }), null);
});
