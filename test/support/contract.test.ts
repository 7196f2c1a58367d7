/**
 * The check of answers against the OpenAPI document finds what it is there to find.
 *
 * @module
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { assertDocumented, type Exchanged } from "./contract.ts";
import { findings } from "./contract_schema.ts";

const id = "9f0c2a6be1d8473350ab1c27";
const refused: Exchanged = {
  method: "POST",
  path: "/v1/intake",
  status: 401,
  headers: {
    "content-type": "application/json",
    "cache-control": "no-store",
    "x-request-id": id,
    "ratelimit-policy": '"ip";q=120;w=60',
    "ratelimit": '"ip";r=30;t=1',
    "date": "Fri, 20 Nov 2026 23:38:33 GMT",
  },
  text: JSON.stringify({ error: "unauthorized", request_id: id }),
};
const read: Exchanged = {
  method: "GET",
  path: "/v1/vocabulary?x=1",
  status: 200,
  headers: {
    "content-type": "application/json",
    "cache-control": "public, max-age=300",
    "access-control-allow-origin": "*",
    "x-request-id": id,
  },
  text: JSON.stringify({
    project_area: [{ area: "roof", status: "confirmed" }],
    project_service: [],
    required: [],
  }),
};

test("documented answers pass", () => {
  assertDocumented(refused);
  assertDocumented(read);
  assertDocumented({ ...read, method: "HEAD", text: "" });
});

const wrong: Readonly<Record<string, Exchanged>> = {
  "an undocumented status": { ...refused, status: 403 },
  "another operation's status": { ...read, status: 202 },
  "an undocumented member": { ...refused, text: refused.text.replace("}", ',"hint":"x"}') },
  "a member deep inside": { ...read, text: read.text.replace('"roof"', '"roof","id":1') },
  "a member too few": { ...refused, text: '{"error":"unauthorized"}' },
  "the code of another status": { ...refused, text: refused.text.replace("unauthorized", "not_found") },
  "a value out of an enum": { ...read, text: read.text.replace("confirmed", "retired") },
  "an undocumented header": { ...refused, headers: { ...refused.headers, "retry-after": "1" } },
  "a header too few": { ...refused, headers: { ...refused.headers, "ratelimit": undefined } },
  "a header of another shape": { ...refused, headers: { ...refused.headers, "ratelimit": "30" } },
  "another caching": { ...read, headers: { ...read.headers, "cache-control": "no-store" } },
  "another media type": { ...refused, headers: { ...refused.headers, "content-type": "text/plain" } },
  "a body that is no JSON": { ...refused, text: "unauthorized" },
  "a body for a HEAD": { ...read, method: "HEAD" },
  "a success for a method that is not served": { ...read, method: "PUT" },
  "200 at an unknown path": { ...read, path: "/v1/vocabulary/" },
  "401 at an unknown path": { ...refused, path: "/v1/intake/" },
};

for (const [what, exchanged] of Object.entries(wrong)) {
  test(`${what} fails`, () => assert.throws(() => assertDocumented(exchanged), assert.AssertionError));
}

test("a request that could not be read gets one of the answers for such, and no other", () => {
  const unread = { ...refused, method: "-", path: null, headers: { ...refused.headers } };
  delete (unread.headers as Record<string, unknown>)["ratelimit"];
  delete (unread.headers as Record<string, unknown>)["ratelimit-policy"];
  const text = JSON.stringify({ error: "invalid_json", request_id: id });
  for (const status of [400, 408, 417, 431]) assertDocumented({ ...unread, status, text });
  assert.throws(() => assertDocumented({ ...unread, status: 401 }), assert.AssertionError);
});

test("each keyword of a schema is looked at", () => {
  const cases: [schema: object, good: unknown, bad: unknown][] = [
    [{ type: "string", minLength: 2 }, "ab", "a"],
    [{ type: "string", maxLength: 1 }, "🏠", "🏠🏠"],
    [{ type: "string", pattern: "^a$" }, "a", "b"],
    [{ type: "string", format: "date-time" }, "2026-11-20T23:38:33.123Z", "2026-11-20T23:38:33+01:00"],
    [{ type: "string", nullable: true }, null, 1],
    [{ type: "string" }, "", null],
    [{ type: "integer", minimum: 0 }, 0, -1],
    [{ type: "number", maximum: 1 }, 0.5, 1.5],
    [{ type: "integer" }, 1, 1.5],
    [{ type: "boolean" }, false, 0],
    [{ type: "array", items: { type: "string" }, uniqueItems: true }, ["a", "b"], ["a", "a"]],
    [{ type: "array", items: { type: "string" }, maxItems: 1 }, ["a"], ["a", "b"]],
    [{ type: "array", items: { type: "string" } }, ["a"], [1]],
    [{ type: "object", properties: {} }, {}, []],
    [{ type: "object", additionalProperties: true }, { a: 1 }, null],
    [{ type: "object", properties: { a: {} }, minProperties: 1 }, { a: 1 }, {}],
    [{ anyOf: [{ type: "string" }, { type: "integer" }] }, 1, true],
    [{ oneOf: [{ type: "number" }, { type: "integer" }] }, 1.5, 1],
  ];
  for (const [schema, good, bad] of cases) {
    assert.deepEqual(findings({}, { ...schema }, good), [], JSON.stringify(schema));
    assert.notDeepEqual(findings({}, { ...schema }, bad), [], JSON.stringify(schema));
  }
});

test("a keyword that nobody looks at is an error, and so is a reference to nothing", () => {
  assert.throws(() => findings({}, { type: "string", multipleOf: 2 }, ""), /multipleOf/);
  assert.throws(() => findings({ a: {} }, { $ref: "#/a/b" }, ""), /not in the document/);
});
