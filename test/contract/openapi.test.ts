import assert from "node:assert/strict";
import test from "node:test";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { type ErrorCode, errors } from "../../src/contract/errors.ts";
import { type Example, failureExamples, flagExamples, leadExamples } from "../../src/contract/examples.ts";
import { fieldNames, fields, flagNames, projectServices, requiredFields } from "../../src/contract/fields.ts";
import { limits } from "../../src/contract/limits.ts";
import { openapi } from "../../src/contract/openapi.ts";
import { errorSchemas } from "../../src/contract/openapi/schemas.ts";
import { findings, type Schema } from "../support/contract_schema.ts";

const document = openapi("https://intake.acme.test");
// deno-lint-ignore no-explicit-any -- the assertions say what it must be
const post = document.paths["/v1/intake"]?.post as any;
const schemas = document.components.schemas as Readonly<Record<string, Schema>>;
// deno-lint-ignore no-explicit-any -- as above
const lead = schemas.Lead as any;

/** What the linter says, one line for each problem of any severity. */
async function lint(text: string): Promise<string[]> {
  const config = await createConfig({
    extends: ["recommended-strict"],
    rules: {
      "operation-operationId-unique": "error",
      "operation-singular-tag": "error",
      "no-invalid-schema-examples": "error",
      "no-invalid-parameter-examples": "error",
      "no-required-schema-properties-undefined": "error",
      "no-schema-type-mismatch": "error",
      "component-name-unique": "error",
      "parameter-description": "error",
      "tag-description": "error",
      "no-http-verbs-in-paths": "error",
      "path-not-include-query": "error",
      "operation-description": "error",
    },
  });
  const problems = await lintFromString({ source: text, absoluteRef: "openapi.json", config });
  return problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`);
}

test("the document passes a strict linter without a warning", async () => {
  assert.deepEqual(await lint(JSON.stringify(document)), []);
});

test("the linter would say so, if an example, a reference or a description were wrong", async () => {
  const text = JSON.stringify(document);
  for (
    const [from, to] of [
      ['"first_name":"Ada"', '"first_name":1'],
      ["#/components/schemas/Health", "#/components/schemas/Wealth"],
      ['"operationId":"getHealth",', ""],
      ['"flags":["phone_unnormalized"]', '"flags":["phone_odd"]'],
    ] as const
  ) {
    assert.ok(text.includes(from), from);
    assert.notDeepEqual(await lint(text.replace(from, to)), [], from);
  }
});

test("servers holds the address that was given, and so do the links", () => {
  assert.deepEqual(document.servers.map(({ url }) => url), ["https://intake.acme.test"]);
  assert.equal(document.openapi, "3.0.3");
  assert.match(String(document.info.description), /https:\/\/intake\.acme\.test\/api\/INTEGRATION\.md/);
});

test("the envelope has every field with its cap, and null where it counts as left out", () => {
  assert.deepEqual(Object.keys(lead.properties), [...fieldNames, "cost", "extra"]);
  assert.deepEqual(lead.required, requiredFields);
  assert.equal(lead.additionalProperties, true);
  for (const name of fieldNames) {
    const { anyOf, ...rest } = lead.properties[name];
    const schema = anyOf?.[1] ?? rest;
    assert.equal(schema.maxLength, fields[name].lengthMax, name);
    assert.equal(schema.nullable ?? false, !fields[name].required, name);
  }
  const { cost } = lead.properties;
  assert.deepEqual([cost.type, cost.minimum, cost.maximum], ["number", 0.01, 999.99]);
});

test("the enums are the tables'", () => {
  assert.deepEqual(schemas.Flag?.enum, flagNames);
  assert.deepEqual(schemas.ProjectService?.enum, projectServices);
});

test("every error code is documented with its status", () => {
  for (const code of Object.keys(errors) as ErrorCode[]) {
    // deno-lint-ignore no-explicit-any -- as above
    const schema = schemas[errorSchemas[code]] as any;
    assert.deepEqual(schema.properties.error.enum, [code]);
    assert.ok(post.responses[errors[code].status], code);
  }
});

test("POST /v1/intake documents its headers with their caps", () => {
  const parameters = document.components.parameters as Readonly<Record<string, Schema>>;
  const caps = Object.values(parameters).map(({ name, schema }) => [name, (schema as Schema).maxLength]);
  assert.deepEqual(caps.filter(([, cap]) => cap !== undefined), [
    ["Idempotency-Key", limits.idempotencyKeyLengthMax],
    ["X-Request-Id", limits.requestIdLengthMax],
  ]);
  assert.deepEqual(post.security, [{ apiKey: [] }]);
  assert.ok(post.responses[429].headers["Retry-After"]);
  assert.ok(post.responses[405].headers.Allow);
});

test("every request example has its answer under the same name, and refusals are examples of answers", () => {
  const { examples } = post.requestBody.content["application/json"];
  assert.deepEqual(Object.keys(examples), [...Object.keys(leadExamples), ...flagNames]);
  const answers = post.responses[202].content["application/json"].examples;
  const all: Readonly<Record<string, Example>> = { ...leadExamples, ...flagExamples };
  for (const [name, { body, answer }] of Object.entries(all)) {
    assert.deepEqual(examples[name].value, JSON.parse(body));
    assert.deepEqual(answers[name].value.flags, answer.status === 202 && answer.flags, name);
  }
  const refusals = post.responses[422].content["application/json"].examples;
  for (const [name, { answer }] of Object.entries(failureExamples)) {
    if (answer.status === 422) assert.deepEqual(refusals[name].value.fields, answer.fields, name);
  }
});

test("the examples are as their schemas say, in this project's stricter reading too", () => {
  for (const operation of Object.values(document.paths).flatMap((item) => Object.values(item))) {
    // deno-lint-ignore no-explicit-any -- as above
    for (const { content = {} } of Object.values((operation as any).responses) as any[]) {
      const media = content["application/json"];
      if (media === undefined) continue;
      const shown = Object.values(media.examples ?? {}) as { value: unknown }[];
      const values = [media.example, ...shown.map(({ value }) => value)];
      for (const value of values.filter((value) => value !== undefined)) {
        assert.deepEqual(findings(document, media.schema, value), []);
      }
    }
  }
});
