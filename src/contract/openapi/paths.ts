/**
 * The operations of the OpenAPI document. This module is browser compatible.
 *
 * @module
 */

import { type DocumentName, type DocumentRule, documents } from "../documents.ts";
import { type Example, flagExamples, leadExamples, placeholders } from "../examples.ts";
import { projectServices, requiredFields } from "../fields.ts";
import { keyCheck } from "../guidance.ts";
import { limits } from "../limits.ts";
import { fixed, sometimes, withHeaders } from "./headers.ts";
import { type Node, ref } from "./node.ts";
import { everywhere, intakeResponses, reads, type Response } from "./responses.ts";

/** What every operation takes. */
const requestId = ref("parameters", "RequestId");

function intake(): Node {
  const examples = Object.entries({ ...leadExamples, ...flagExamples } as Record<string, Example>)
    .map(([name, { title, about, body }]) => [
      name,
      { summary: title, description: about, value: JSON.parse(body) },
    ]);
  const probe = keyCheck.map(({ answer, meaning }) => `- ${answer}: ${meaning}`).join("\n");
  return {
    post: {
      operationId: "postLead",
      tags: ["Intake"],
      summary: "Post one lead",
      description:
        "Stores one lead and its delivery record in one transaction, then answers. Delivery follows by itself.\n\n" +
        "The checks come in this order: limit per address, method, size, key, limit per key, validation, idempotency.\n\n" +
        `**Key check.** Post \`{}\` with a real key; it is the only probe that production allows.\n\n${probe}`,
      security: [{ apiKey: [] }],
      parameters: [ref("parameters", "IdempotencyKey"), requestId],
      requestBody: {
        description:
          `UTF-8, at most ${limits.bodyBytesMax} bytes, not compressed. \`Content-Type\` is not looked at: the body ` +
          "either is a JSON object or it is not.",
        required: true,
        content: {
          "application/json": { schema: ref("schemas", "Lead"), examples: Object.fromEntries(examples) },
        },
      },
      responses: intakeResponses(),
    },
  };
}

const headToo = "HEAD answers the same without the body.";

function vocabulary(): Node {
  const headers = {
    ...withHeaders("AllowOrigin", "ETag", "Vary"),
    "Cache-Control": fixed("Keep it this long.", `public, max-age=${limits.vocabularyMaxAgeSeconds}`),
  };
  const ok: Response = {
    description: "The vocabulary as it is now.",
    headers: { ...headers, ...withHeaders("ContentEncoding", "NoSniff") },
    content: {
      "application/json": {
        schema: ref("schemas", "Vocabulary"),
        example: {
          project_area: [{ area: "kitchen", status: "confirmed" }, { area: "roof", status: "confirmed" }],
          project_service: projectServices,
          required: requiredFields,
        },
      },
    },
  };
  return {
    get: {
      operationId: "getVocabulary",
      tags: ["Reads"],
      summary: "Read the vocabulary",
      description:
        `The terms that \`project_area\` is compared with. It grows without notice: read it live. ${headToo}`,
      security: [],
      parameters: [ref("parameters", "IfNoneMatch"), ref("parameters", "AcceptEncoding"), requestId],
      responses: { ...everywhere, ...reads, 200: ok, 304: unchanged(headers) },
    },
  };
}

const unchanged = (headers: Response["headers"]): Response => ({
  description: "The copy at hand is still good.",
  headers,
});

function health(): Node {
  const answer = (description: string, schema: Node, example: Node): Response => ({
    description,
    headers: withHeaders("NoStore"),
    content: { "application/json": { schema, example } },
  });
  const open = answer("Leads are being taken.", ref("schemas", "Health"), {
    ok: true,
    pending: 0,
    dead: 0,
    store_writable: true,
  });
  const closed = answer(
    "Leads are not being taken: the store is not writable, or the process is stopping.",
    { oneOf: [ref("schemas", "Health"), ref("schemas", "NotAccepting")] },
    { ok: false, pending: 12, dead: 0, store_writable: false },
  );
  return {
    get: {
      operationId: "getHealth",
      tags: ["Reads"],
      summary: "Ask whether leads are being taken",
      description: headToo,
      security: [],
      parameters: [requestId],
      responses: {
        ...everywhere,
        ...reads,
        200: { ...open, headers: withHeaders("NoStore", "AllowOrigin") },
        503: {
          ...closed,
          headers: { ...closed.headers, "Access-Control-Allow-Origin": sometimes("AllowOrigin") },
        },
      },
    },
  };
}

const operationIds: Readonly<Record<DocumentName, string>> = {
  openapi: "getOpenApi",
  brief: "getBrief",
  playground: "getPlayground",
  script: "getPlaygroundScript",
  style: "getPlaygroundStyle",
  icon: "getPlaygroundIcon",
};

function document(name: DocumentName): Node {
  const rule: DocumentRule = documents[name];
  const mediaType = rule.contentType.split(";")[0] as string;
  const schema = mediaType === "application/json" ? ref("schemas", "OpenApi") : { type: "string" };
  const versioned = rule.cachingOfVersion;
  const headers = {
    ...withHeaders("AllowOrigin", "ETag", "Vary"),
    "Cache-Control": fixed(
      "Keep it this long.",
      ...(versioned === undefined ? [] : [versioned]),
      rule.caching,
    ),
  };
  const own = Object.entries(rule.headers ?? {})
    .map(([header, value]) => [header, fixed("What the page may do in a browser.", value)]);
  const ok: Response = {
    description: rule.about,
    headers: { ...headers, ...withHeaders("ContentEncoding", "NoSniff"), ...Object.fromEntries(own) },
    content: { [mediaType]: { schema } },
  };
  return {
    get: {
      operationId: operationIds[name],
      tags: ["Documents"],
      summary: rule.about.replace(/[:.].*/, ""),
      description: `${rule.about} ${headToo}`,
      security: [],
      parameters: [
        ...(versioned === undefined ? [] : [ref("parameters", "Version")]),
        ref("parameters", "IfNoneMatch"),
        ref("parameters", "AcceptEncoding"),
        requestId,
      ],
      responses: { ...everywhere, ...reads, 200: ok, 304: unchanged(headers) },
    },
  };
}

/** `paths`: everything public on the intake host. Source: SPEC, Surfaces. */
export function paths(): Readonly<Record<string, Node>> {
  return {
    "/v1/intake": intake(),
    "/v1/vocabulary": vocabulary(),
    "/healthz": health(),
    ...Object.fromEntries(
      (Object.keys(documents) as DocumentName[]).map((name) => [documents[name].path, document(name)]),
    ),
  };
}

/** The security scheme's name is used by the operations. */
export const securitySchemes: Readonly<Record<string, Node>> = {
  apiKey: {
    type: "apiKey",
    in: "header",
    name: "X-API-Key",
    description:
      "Your key: one per lead source, issued by the customer whom the leads are for. Its label becomes the " +
      `lead's \`source\`, here \`${placeholders.source}\`. Keep it in a secret store.`,
  },
};
