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

test("detail names a misspelled required field and the correct one", () => {
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

test("nothing is suggested for a key check, a complete lead or names that resemble no field", () => {
  assert.equal(detailOf({}), undefined);
  assert.equal(detailOf({ first_name: " ", last_name, phone }), undefined);
  assert.equal(detailOf({ last_name, phone, campaign: "spring", host: "x", score: 1 }), undefined);
  assert.equal(
    detailOf({ first_name, last_name, phone, firstName: "x", zip: "9".repeat(21) }),
    "zip has 21 characters; at most 20 are allowed",
  );
  assert.equal(
    validate(JSON.stringify({ first_name, last_name, phone, phone_number: "x" }), areas).kind,
    "valid",
  );
});

test("a form's detail names a misspelled field, unless the form requires a field of that name", () => {
  const suggestion = (posted: readonly string[], required: readonly string[], missing = required) =>
    formMisspelling(posted, { required, missing })?.detail;
  assert.equal(suggestion(["Email"], ["email"]), "Email is not a required field of the form; email is");
  assert.equal(
    suggestion(["mail"], ["your-email"]),
    "mail is not a required field of the form; your-email is",
  );
  assert.equal(
    suggestion(["rooff_type"], ["roof_type"]),
    "rooff_type is not a required field of the form; roof_type is",
  );
  assert.equal(suggestion(["email"], ["email", "mail"], ["mail"]), undefined);
  assert.equal(suggestion(["message"], ["name"]), undefined);
  assert.equal(
    formMisspelling(["Email"], { required: ["email"], missing: ["email"] })?.reason,
    "misspelled email",
  );
});

test("the likely field of an unknown name is an alias or at most two letters away, and is not already set", () => {
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

test("only the first hundred names are checked", () => {
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`other${n}`, 1]));
  assert.equal(detailOf({ last_name, phone, ...many, firstName: first_name }), undefined);
  assert.equal(
    formMisspelling([...Object.keys(many), "Phone"], { required: ["phone"], missing: ["phone"] }),
    null,
  );
});

test("names without Latin letters match nothing", () => {
  const required = ["電話", "phone"];
  assert.equal(formMisspelling(["phoné☃", "電"], { required, missing: required }), null);
});
