import assert from "node:assert/strict";
import { test } from "node:test";
import { readAttribution } from "../../src/forms/attribution.ts";
import { readFields } from "../../src/forms/fields.ts";

function attribution(fields: Readonly<Record<string, unknown>>) {
  const posted = readFields(JSON.stringify(fields));
  assert.ok(posted);
  return readAttribution(posted);
}
const ofPage = (page_url: unknown) => attribution({ page_url });

test("only the six parameters are read from page_url's query", () => {
  assert.deepEqual(
    ofPage(
      "https://acme.example/roof?utm_source=google&utm_medium=cpc&utm_campaign=fall&utm_term=roof+repair&utm_content=b&gclid=Cj0K&fbclid=x&utm_id=7",
    ),
    {
      gclid: "Cj0K",
      utm_source: "google",
      utm_medium: "cpc",
      utm_campaign: "fall",
      utm_term: "roof repair",
      utm_content: "b",
    },
  );
  assert.deepEqual(ofPage("https://acme.example/"), {});
});

test("each parameter missing from page_url is read from referrer", () => {
  assert.deepEqual(
    attribution({
      referrer: "https://acme.example/?utm_source=old&utm_campaign=spring&gclid=r",
      page_url: "https://acme.example/contact?utm_source=new&utm_campaign=%20",
    }),
    { gclid: "r", utm_source: "new", utm_campaign: "spring" },
  );
});

test("a value over 500 characters is ignored, and referrer is read instead", () => {
  const long = "x".repeat(501);
  assert.deepEqual(
    attribution({ page_url: `?utm_source=${long}`, referrer: "?utm_source=b" }),
    { utm_source: "b" },
  );
  assert.equal(ofPage(`?utm_source=${long.slice(1)}`).utm_source?.length, 500);
});
