import assert from "node:assert/strict";
import { test } from "node:test";
import { projectServices } from "../../src/contract/fields.ts";
import { validate } from "../../src/lead/validate.ts";
import { readPageSources } from "../../src/site/source.ts";
import { areas } from "../support/lead/areas.ts";

const sources = readPageSources();
const examplesOf = (body: string) =>
  [...body.matchAll(/^```json lead\n([\s\S]*?)\n```$/gm)].map(([, text]) => text as string);

test("each area and service page has an example lead about it that is accepted without flags", () => {
  const pages = sources.filter(({ area, service }) => area !== null || service !== null);
  assert.equal(pages.length, areas.size + projectServices.length);
  for (const { path, body, area, service } of pages) {
    const examples = examplesOf(body);
    assert.equal(examples.length, 1, path);
    const verdict = validate(examples[0] ?? "", areas);
    assert.ok(verdict.kind === "valid", `${path}: ${JSON.stringify(verdict)}`);
    assert.deepEqual(verdict.flags, [], path);
    assert.equal(verdict.extra, null, path);
    if (area !== null) assert.equal(verdict.lead.project_area, area, path);
    if (service !== null) assert.equal(verdict.lead.project_service, service, path);
  }
  const phones = sources.flatMap(({ body }) => examplesOf(body)).map((text) => JSON.parse(text).phone);
  for (const phone of phones) assert.match(phone, /^\(555\) \d{3}-\d{4}$/, "reserved for fiction");
});
