import assert from "node:assert/strict";
import { test } from "node:test";
import { findSender, summarizeSubmission } from "../../src/lead/sender.ts";

const cases: readonly (readonly [fields: object, name: string, lastName: string, country: string])[] = [
  [{ "First Name": " Ada ", "your-surname": "Lovelace", name: "A. L." }, "Ada Lovelace", "Lovelace", "US"],
  [{ nombre: "María", apellidos: "García López" }, "María García López", "García López", "US"],
  [{ name: "Ada Lovelace", surname: "LOVELACE" }, "Ada Lovelace", "LOVELACE", "US"],
  [{ name: "Ada King Lovelace", first_name: "Ada" }, "Ada King Lovelace", "Lovelace", "US"],
  [{ first_name: "Ada" }, "Ada", "", "US"],
  [{ last_name: "Lovelace" }, "Lovelace", "Lovelace", "US"],
  [{ name: " \u0007", "full name": "Ada Lovelace", country: "canada" }, "Ada Lovelace", "Lovelace", "CA"],
  [{ country: "Narnia" }, "", "", "Narnia"],
  [{ "Prénom": "Zoé", "Nom de famille": "Roy" }, "Zoé Roy", "Roy", "US"],
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

test("a summary has the name, an address or number, and the message that a mail quotes, not the longest field", () => {
  const fields = {
    first_name: "Ada",
    last_name: "Lovelace",
    phone: "555-123-4567",
    page_url: `https://acme.example/?gclid=${"x".repeat(300)}`,
    Mensaje: " El techo\n gotea ",
    budget: "$500",
  };
  assert.deepEqual(summarizeSubmission(fields), {
    name: "Ada Lovelace",
    contact: "555-123-4567",
    excerpt: "El techo gotea",
  });
  assert.equal(summarizeSubmission({ ...fields, email: "ada@example.com" }).contact, "ada@example.com");
});

test("without a message, a summary has the answers, without what the site filled in; it is cut between words", () => {
  const answers = {
    homeowner: "Yes",
    credit_score: "Good (680-719)",
    form_started_at: "1795877127399",
    phone: "5",
  };
  assert.equal(summarizeSubmission(answers).excerpt, "homeowner: Yes, credit_score: Good (680-719)");
  assert.deepEqual(summarizeSubmission({}), { name: "", contact: "", excerpt: "" });
  assert.equal(summarizeSubmission({ message: "word ".repeat(60) }).excerpt, `${"word ".repeat(39)}word…`);
  assert.equal(summarizeSubmission({ message: "x".repeat(201) }).excerpt, `${"x".repeat(200)}…`);
});
