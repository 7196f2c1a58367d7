import assert from "node:assert/strict";
import test from "node:test";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { errors, formErrors } from "../../src/contract/errors.ts";
import { failureExamples, leadExamples } from "../../src/documents/examples.ts";
import {
  flagNames,
  projectServices,
  reasons,
  requiredFields,
  vocabularyStatuses,
} from "../../src/contract/fields.ts";
import { openapi } from "../../src/documents/openapi.ts";
import { resolve, type Schema } from "../support/contract/schema.ts";

const document = openapi({
  intake: "https://intake.acme.test",
  forms: "https://forms.acme.test",
  subscription: "https://plans.acme.test",
});
// deno-lint-ignore no-explicit-any -- the assertions say what it must be
const post = document.paths["/v1/intake"]?.post as any;
const schemas = document.components.schemas as Readonly<Record<string, Schema>>;
// deno-lint-ignore no-explicit-any -- as above
const lead = schemas.Lead as any;

// deno-lint-ignore no-explicit-any -- as above
const operations: any[] = Object.values(document.paths).flatMap((item) =>
  Object.entries(item).filter(([name]) => name !== "servers").map(([, operation]) => operation)
);

/** Returns the linter's problems of any severity, one line each. */
async function lint(text: string): Promise<string[]> {
  const open = { severity: "error", allowAdditionalProperties: true } as const;
  const config = await createConfig({
    extends: ["recommended-strict"],
    rules: {
      "operation-operationId-unique": "error",
      "operation-singular-tag": "error",
      // A lead may have further members. The schema omits this, because generators would make a map of it.
      "no-invalid-media-type-examples": open,
      "no-invalid-schema-examples": open,
      "no-invalid-parameter-examples": open,
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

test("the document passes a strict linter without warnings", async () => {
  assert.deepEqual(await lint(JSON.stringify(document)), []);
});

test("the pattern of a required field rejects blanks, whether or not a library anchors it", () => {
  for (const name of requiredFields) {
    const { pattern } = lead.properties[name];
    for (
      const [text, isFilled] of [["Ada", true], [" Ada\nLovelace ", true], ["", false], [
        " \t\n",
        false,
      ]] as const
    ) {
      assert.equal(new RegExp(pattern, "u").test(text), isFilled);
      assert.equal(new RegExp(pattern, "u").exec(text)?.[0] === text, isFilled, "the whole of it");
    }
  }
});

/** Yields every schema of the document, including nested ones, with its place. */
function* everySchema(part: unknown, at = ""): Generator<[at: string, schema: Schema]> {
  if (typeof part !== "object" || part === null) return;
  if (/(\/schemas\/\w+|\/properties\/[\w-]+|\/schema|\/items|\/additionalProperties)$/.test(at)) {
    yield [at, part as Schema];
  }
  if (/\/examples?$/.test(at)) return;
  for (const [name, inner] of Object.entries(part)) yield* everySchema(inner, `${at}/${name}`);
}

test("no schema uses alternatives, sets, maps with properties or defaults, which break generated clients", () => {
  const all = [...everySchema(document)];
  assert.ok(all.length > 60);
  for (const [at, schema] of all) {
    for (const keyword of ["anyOf", "oneOf", "allOf", "not", "uniqueItems", "default", "discriminator"]) {
      assert.equal(schema[keyword], undefined, `${at} has ${keyword}`);
    }
    // The native Java client once made a map of it and sent {}. Plans are only read, and their further members are
    // data.
    const isMap = schema.properties !== undefined && schema.additionalProperties !== undefined;
    if (isMap) assert.match(at, /\/Plan(Item)?$/, at);
  }
});

test("both acknowledgements share one schema, and so do all errors", () => {
  for (const { responses } of operations) {
    for (const [status, response] of Object.entries(responses)) {
      // deno-lint-ignore no-explicit-any -- as above
      const media = resolve<any>(document, response as Schema).content?.["application/json"];
      if (media === undefined || status === "503" && media.schema.$ref.endsWith("/Health")) continue;
      if (Number(status) >= 400) assert.equal(media.schema.$ref, "#/components/schemas/ErrorBody");
    }
  }
  for (const status of [200, 202]) {
    const { schema } = post.responses[status].content["application/json"];
    assert.equal(schema.$ref, "#/components/schemas/Acknowledgement");
  }
});

test("only closed lists are enums in responses", () => {
  const enums = [...everySchema(document.components.schemas)].filter(([, schema]) =>
    schema.enum !== undefined
  );
  assert.deepEqual(enums.map(([at, schema]) => [at, schema.enum]), [
    ["/Acknowledgement/properties/status", ["accepted", "duplicate"]],
    ["/SubmissionAcknowledgement/properties/status", ["accepted", "duplicate"]],
  ]);
  const listed = (at: string) =>
    // deno-lint-ignore no-explicit-any -- as above
    at.split("/").reduce((part: any, name) => part[name], schemas)["x-extensible-enum"];
  assert.deepEqual(listed("Acknowledgement/properties/flags/items"), flagNames);
  assert.deepEqual(listed("Vocabulary/properties/project_service/items"), projectServices);
  assert.deepEqual(listed("VocabularyTerm/properties/status"), Object.keys(vocabularyStatuses));
  assert.deepEqual(listed("Plan/properties/interval"), ["day", "week", "month", "year"]);
  assert.deepEqual(listed("ErrorBody/properties/fields/additionalProperties"), reasons);
  const codes = listed("ErrorBody/properties/error");
  for (const code of [...Object.keys(errors), ...Object.keys(formErrors)]) {
    assert.ok(codes.includes(code), code);
  }
});

test("every error code is documented with its status, and every read documents a 429", () => {
  for (const { status } of Object.values(errors)) assert.ok(post.responses[status], String(status));
  // deno-lint-ignore no-explicit-any -- as above
  const form = document.paths["/v1/forms/{tenant}/{form_key}"]?.post as any;
  for (const [code, { status }] of Object.entries(formErrors)) {
    assert.ok(form.responses[status], code);
  }
  for (const { operationId, responses } of operations) assert.ok(responses[429], operationId);
});

test("every flag and every reason has an example", () => {
  const { examples } = post.requestBody.content["application/json"];
  assert.deepEqual(Object.keys(examples), [...Object.keys(leadExamples), ...flagNames]);
  const shown = Object.values(failureExamples).flatMap(({ response }) =>
    response.status === 422 ? Object.values(response.fields) : []
  );
  for (const reason of reasons) assert.ok(shown.includes(reason), reason);
});
