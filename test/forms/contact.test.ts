import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { findContact } from "../../src/forms/contact.ts";
import { readFields } from "../../src/forms/fields.ts";

const nobody = { phone: null, email: null, lastName: null, fullName: null };

function contact(fields: Readonly<Record<string, unknown>> | string) {
  const posted = readFields(typeof fields === "string" ? fields : JSON.stringify(fields));
  assert.ok(posted);
  return findContact(posted);
}

test("phone, email and names are normalized as in a lead, the names in lower case", () => {
  assert.deepEqual(
    contact({
      first_name: "Edward",
      last_name: " Van  Halen ",
      email: " Ada@Example.COM",
      phone: "(555) 123-4567",
    }),
    { phone: "+15551234567", email: "ada@example.com", lastName: "van halen", fullName: "edward van halen" },
  );
  assert.deepEqual(contact({ message: "hello" }), nobody);
});

test("contact fields are recognized by common names", () => {
  for (
    const name of ["phone", "Phone Number", "your-tel", "mobile", "cell_phone", "Teléfono", "contact[phone]"]
  ) {
    assert.equal(contact({ [name]: "555 123 4567" }).phone, "+15551234567", name);
  }
  for (const name of ["email", "E-Mail", "your-email", "EmailAddress", "correo", "customer_email"]) {
    assert.equal(contact({ [name]: "a@b.example" }).email, "a@b.example", name);
  }
  for (const name of ["last_name", "lastName", "Surname", "family-name", "Apellidos"]) {
    assert.equal(contact({ [name]: "Lovelace" }).lastName, "lovelace", name);
  }
  for (const name of ["phonetic", "emails_ok", "filename", "form", "your", ""]) {
    assert.deepEqual(contact({ [name]: "x" }), nobody, name);
  }
});

test("a number is read digit by digit, and a boolean is ignored", () => {
  assert.equal(contact('{"phone":5551234567,"email":true}').phone, "+15551234567");
  assert.equal(contact('{"phone":12345678901234567890}').phone, "12345678901234567890");
  assert.equal(contact('{"email":true}').email, null);
});

test("a value too long for an index is left out", () => {
  const long = "x".repeat(30_000);
  assert.deepEqual(contact({ phone: long, email: long, last_name: long }), {
    ...nobody,
  });
  const { lastName, fullName } = contact({ name: `${long} King` });
  assert.deepEqual([lastName, fullName], ["king", null]);
});

test("a contact is always short, well-formed and without control characters", () => {
  const text = fc.string({ unit: "binary", maxLength: 300 });
  fc.assert(fc.property(text, text, text, (phone, email, name) => {
    for (const value of Object.values(contact({ phone, email, name }))) {
      if (value === null) continue;
      assert.ok(value.isWellFormed() && value.length <= 508 && !/\p{Cc}/u.test(value));
    }
  }));
});
