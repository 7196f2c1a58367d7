import assert from "node:assert/strict";
import { test } from "node:test";
import { projectServices } from "../../src/contract/fields.ts";
import { validate } from "../../src/lead/validate.ts";
import { readPageSources } from "../../src/site/source.ts";
import { areas } from "../support/lead/areas.ts";

const sources = readPageSources();
const examplesOf = (body: string) =>
  [...body.matchAll(/^```json lead\n([\s\S]*?)\n```$/gm)].map(([, text]) => text as string);

test("every page of an area or a service has an example lead that is accepted without a flag, and is about it", () => {
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
});

test("no example has a number that could be somebody's: all are of the ranges kept for fiction", () => {
  for (const { path, body } of sources) {
    for (const text of examplesOf(body)) {
      assert.match(
        validate(text, areas).kind === "valid" ? JSON.parse(text).phone : "",
        /^\(555\) \d{3}-\d{4}$/,
        path,
      );
    }
  }
});
