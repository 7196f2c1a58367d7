import assert from "node:assert/strict";
import test from "node:test";
import { formErrors } from "../../src/contract/errors.ts";
import { formsBrief } from "../../src/documents/forms_brief.ts";
import { startedAtNames } from "../../src/forms/spam/signs.ts";
import { startedAtName } from "../../src/contract/forms.ts";

const text = formsBrief({ forms: "https://forms.example", intake: "https://intake.example" });

test("the forms' brief has its parts in order", () => {
  const headings = [...text.matchAll(/^## \d+\. (.*)$/gm)].map(([, heading]) => heading);
  assert.deepEqual(headings, [
    "Check key and form",
    "Eight rules",
    "Post a submission",
    "The body",
    "Answers",
    "What becomes of it",
    "Limits",
    "Retry policy",
    "For your web server",
    "Definition of done",
  ]);
});

test("it names every error with its status, and what the scorer reads the time of opening from", () => {
  for (const [code, { status }] of Object.entries(formErrors)) {
    assert.ok(text.includes(`| ${status} | \`${code}\` |`), code);
  }
  assert.ok((startedAtNames as readonly string[]).includes(startedAtName));
});

test("its tables are whole, nothing in it is left open, and every address is one that was given", () => {
  const tables = text.split("\n\n").filter((part) => part.startsWith("| "));
  assert.equal(tables.length, 6);
  for (const table of tables) {
    const cells = table.trimEnd().split("\n").map((line) => line.replaceAll("\\|", "").split("|").length);
    assert.equal(new Set(cells).size, 1, table);
  }
  assert.doesNotMatch(text.replaceAll(/^```.*?^```$/gms, ""), /undefined|NaN|\[object/);
  for (const [address] of text.matchAll(/https?:\/\/[^\s`"'<>)]+/g)) {
    assert.match(address, /^https:\/\/(forms|intake)\.example\/|^https:\/\/acme\.example\/|^https?:\/\/$/);
  }
});

test("the forms' brief names whom to write to about a key, where there is somebody", () => {
  const urls = { forms: "https://forms.example", intake: "https://intake.example" };
  assert.match(
    formsBrief(urls, "keys@acme.example"),
    /write to \[keys@acme\.example\]\(mailto:keys@acme\.example\)/,
  );
  assert.doesNotMatch(text, /mailto:/);
});
