import assert from "node:assert/strict";
import { test } from "node:test";
import { findSender } from "../../src/lead/sender.ts";

const cases: readonly (readonly [fields: object, name: string, lastName: string, country: string])[] = [
  [{ "First Name": " Ada ", "your-surname": "Lovelace", name: "A. L." }, "Ada Lovelace", "Lovelace", "US"],
  [{ nombre: "María", apellidos: "García López" }, "María García López", "García López", "US"],
  [{ name: "Ada Lovelace", surname: "LOVELACE" }, "Ada Lovelace", "LOVELACE", "US"],
  [{ name: "Ada King Lovelace", first_name: "Ada" }, "Ada King Lovelace", "Lovelace", "US"],
  [{ first_name: "Ada" }, "Ada", "", "US"],
  [{ last_name: "Lovelace" }, "Lovelace", "Lovelace", "US"],
  [{ name: " \u0007", "full name": "Ada Lovelace", country: "canada" }, "Ada Lovelace", "Lovelace", "CA"],
  [{ country: "Narnia" }, "", "", "Narnia"],
];

test("a form's sender has the names and the country of the first fields with known names that are not blank", () => {
  for (const [fields, ...expected] of cases) {
    const { name, lastName, country } = findSender(Object.entries(fields), String);
    assert.deepEqual([name, lastName, country], expected, JSON.stringify(fields));
  }
});

test("the fields of a form's sender that were taken are reported as used, and no field after the 500th is read", () => {
  const email = ["E-Mail", "ada@example.com"] as const;
  const { take, used } = findSender([["message", "Hi"], email], String);
  assert.equal(take("email"), "ada@example.com");
  assert.deepEqual([...used], ["ada@example.com"]);
  const others = Array.from({ length: 500 }, (_, index) => [`field ${index}`, "x"] as const);
  assert.equal(findSender([...others, email], String).take("email"), "");
});
