/**
 * The check of answers against the OpenAPI document finds what it is there to find.
 *
 * @module
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { limits } from "../../../src/contract/limits.ts";
import { firstBudgets } from "../../../src/contract/rate_headers.ts";
import { assertDocumented, type Exchanged } from "./contract.ts";
import { findings } from "./schema.ts";

const inLowerCase = (headers: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

const id = "9f0c2a6be1d8473350ab1c27";
const unlimited = {
  "content-type": "application/json",
  "cache-control": "no-store",
  "x-request-id": id,
  "date": "Fri, 20 Nov 2026 23:38:33 GMT",
};
const refused: Exchanged = {
  method: "POST",
  path: "/v1/intake",
  status: 401,
  headers: { ...unlimited, ...inLowerCase(firstBudgets({ name: "ip", rate: limits.ipRate })) },
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
    "etag": '"7c2f0f3f0d0a4b6e9a51xx"',
    "vary": "Accept-Encoding",
    "x-content-type-options": "nosniff",
    "x-request-id": id,
  },
  text: JSON.stringify({
    project_area: [{ area: "roof", status: "confirmed" }],
    project_service: [],
    required: [],
  }),
};

const submitted: Exchanged = {
  surface: "forms",
  method: "POST",
  path: "/v1/forms/acme/contact",
  status: 400,
  headers: { ...refused.headers, "ratelimit": '"ip";r=9;t=1, "tenant";r=9;t=1' },
  text: JSON.stringify({ error: "missing_required", request_id: id, fields: { name: "required" } }),
};
const health: Exchanged = {
  surface: "forms",
  method: "GET",
  path: "/healthz",
  status: 200,
  headers: { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store", "x-request-id": id },
  text: "ok",
};

test("documented answers pass", () => {
  assertDocumented(refused);
  assertDocumented(submitted);
  assertDocumented(health);
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
  "an answer of another surface": { ...refused, surface: "forms" },
  "a form's answer on the intake": { ...submitted, surface: "intake" },
  "a form without a name": { ...submitted, path: "/v1/forms/acme/" },
  "another word for health": { ...health, text: "fine" },
  "a request id that is not the header's": { ...refused, text: refused.text.replace(id, "another") },
  "fields of another error": {
    ...refused,
    text: refused.text.replace("}", ',"fields":{"phone":"required"}}'),
  },
  "a field that cannot fail so": { ...submitted, text: submitted.text.replace('"required"', '"too_long"') },
  "missing fields that are not named": { ...submitted, text: submitted.text.replace(/,"fields":.*/, "}") },
  "a detail where none belongs": { ...refused, text: refused.text.replace("}", ',"detail":"x"}') },
};

for (const [what, exchanged] of Object.entries(wrong)) {
  test(`${what} fails`, () => assert.throws(() => assertDocumented(exchanged), assert.AssertionError));
}

test("a request that could not be read gets one of the answers for such, and no other", () => {
  const unread = { ...refused, method: "-", path: null, headers: unlimited };
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
    [{ type: "array", items: { type: "string" } }, ["a", "b"], ["a", "a"]],
    [{ type: "string", enum: ["a"] }, "a", "b"],
    [{ type: "string", "x-extensible-enum": ["a"] }, "a", "b"],
    [{ type: "array", items: { type: "string" } }, ["a"], [1]],
    [{ type: "object", properties: {} }, {}, []],
    [{ type: "object", additionalProperties: true }, { a: 1 }, null],
    [{ type: "object", additionalProperties: { type: "string" } }, { a: "b" }, { a: 1 }],
    [{ type: "object", properties: { a: {} }, required: ["a"] }, { a: 1 }, {}],
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
