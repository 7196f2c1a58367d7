import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { renderEventMail } from "../../src/actions/destinations.ts";
import { event, type EventParts, sending } from "../support/actions/event.ts";

const mail = (parts: EventParts, isTest = false) => renderEventMail(sending(event(parts), { isTest }));

/** The size after which Gmail clips an email. */
const gmailBytes = 102 * 1024;

const large = {
  "quotes": { first_name: "A", last_name: "B", phone: "+15035550100", project_details: `"'`.repeat(8_000) },
  "joints": { first_name: "A", last_name: "B", phone: "+15035550100", project_details: "a.".repeat(8_000) },
  "wide characters": {
    first_name: "A",
    last_name: "B",
    phone: "+15035550100",
    project_details: "漢".repeat(16_000),
  },
};
for (const [name, lead] of Object.entries(large)) {
  test(`details of ${name} at the maximum length are cut in the HTML below Gmail's limit and complete in the text`, () => {
    const { html, text, isCut } = mail({ content: JSON.stringify(lead), extra: '{"last":"one"}' });
    assert.ok(Buffer.byteLength(html) < gmailBytes, `${Buffer.byteLength(html)} bytes`);
    assert.equal(isCut, true);
    assert.match(html, /… \(shortened; the attached file has the full text\)/);
    assert.ok(html.includes(">one<") && html.includes("tel:+15035550100"));
    assert.ok(text.replaceAll(". ", ".").length >= lead.project_details.length);
    assert.ok(html.isWellFormed());
  });
}

test("the HTML of thousands of fields counts those it leaves out, and the text has all", () => {
  const fields = Array.from({ length: 6_000 }, (_, at) => [`f${at}`, at]);
  const { html, text, isCut } = mail({ kind: "form", content: JSON.stringify(Object.fromEntries(fields)) });
  assert.ok(Buffer.byteLength(html) < gmailBytes, `${Buffer.byteLength(html)} bytes`);
  assert.equal(isCut, true);
  const left = Number(/(\d+) more in the attached file/.exec(html)?.[1]);
  assert.equal(html.match(/class="v"/g)?.length, 6_000 - left);
  assert.ok(left < 5_900, `${left}`);
  assert.match(text, /^F5999: 5999$/m);
  assert.match(html, /Received: Thursday, September 3/);
});

test("a typical email is not cut", () => {
  const { html, isCut } = mail({
    content: JSON.stringify({ first_name: "Ada", project_details: "x ".repeat(2_000) }),
  });
  assert.equal(isCut, false);
  assert.ok(Buffer.byteLength(html) < 20_000);
});
