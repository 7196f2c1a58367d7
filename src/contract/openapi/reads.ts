/**
 * What is read without a key in the OpenAPI document: vocabulary, plans, health, and the documents themselves. This
 * module is browser compatible.
 *
 * @module
 */

import { type DocumentName, type DocumentRule, documents } from "../documents.ts";
import { projectServices, requiredFields } from "../fields.ts";
import { limits } from "../limits.ts";
import { planExample } from "../plans.ts";
import { fixed, sometimes, withHeaders } from "./headers.ts";
import { jsonOf, type Node, ref } from "./node.ts";
import { ofEveryRead, type Response } from "./responses.ts";

/** The 304 and the headers of the 200 of what is kept by its tag; `own` are further ones. */
function tagged(caching: readonly string[], own: Readonly<Record<string, Node>> = {}) {
  const headers = {
    ...withHeaders("AllowOrigin", "ETag", "Vary"),
    "Cache-Control": fixed("Keep it this long.", ...caching),
  };
  const unchanged: Response = { description: "The copy at hand is still good.", headers };
  return { unchanged, whole: { ...headers, ...withHeaders("ContentEncoding", "NoSniff"), ...own } };
}

/** `/v1/vocabulary`. Source: SPEC, Vocabulary. */
export function vocabularyPath(): Node {
  const { unchanged, whole } = tagged([`public, max-age=${limits.vocabularyMaxAgeSeconds}`]);
  const ok: Response = {
    description: "The vocabulary as it is now.",
    headers: whole,
    content: jsonOf(ref("schemas", "Vocabulary"), {
      example: {
        project_area: [{ area: "kitchen", status: "confirmed" }, { area: "roof", status: "confirmed" }],
        project_service: projectServices,
        required: requiredFields,
      },
    }),
  };
  return {
    get: {
      operationId: "getVocabulary",
      tags: ["Intake"],
      summary: "Read the vocabulary",
      description: "The terms that `project_area` is compared with. It grows without notice: read it live.",
      security: [],
      parameters: [ref("parameters", "IfNoneMatch")],
      responses: { ...ofEveryRead, 200: ok, 304: unchanged },
    },
  };
}

/** `/api/plans`. Source: SPEC, GET plans. */
export function plansPath(): Node {
  const { unchanged, whole } = tagged([`public, max-age=${limits.plansMaxAgeSeconds}`]);
  const ok: Response = {
    description: "The plans, in an order of their own.",
    headers: whole,
    content: jsonOf({ type: "array", items: ref("schemas", "Plan") }, { example: [planExample] }),
  };
  return {
    get: {
      operationId: "getPlans",
      tags: ["Plans"],
      summary: "Read the subscription plans",
      description:
        `Keep the answer for ${
          limits.plansMaxAgeSeconds / 60
        } minutes at least, or read it once for each build of a ` +
        "site; do not poll. When it cannot be read, show no plan: the feed answers 503 rather than an empty list.",
      security: [],
      parameters: [ref("parameters", "IfNoneMatch")],
      responses: { ...ofEveryRead, 200: ok, 304: unchanged },
    },
  };
}

/** `/healthz`, which is on two hosts. Source: SPEC, Intake health and Forms health. */
export function healthPath(): Node {
  const headers = { ...withHeaders("NoStore"), ...sometimes("AllowOrigin") };
  const answer = (description: string, json: Node, text: string): Response => ({
    description,
    headers,
    content: {
      ...jsonOf(ref("schemas", "Health"), { example: json }),
      "text/plain": { schema: { type: "string" }, example: text },
    },
  });
  return {
    get: {
      operationId: "getHealth",
      tags: ["Health"],
      summary: "Ask whether posts are being taken",
      description: "The intake answers in JSON, the forms in plain text: `ok`.",
      security: [],
      responses: {
        ...ofEveryRead,
        200: answer(
          "Posts are being taken.",
          { ok: true, pending: 0, dead: 0, store_writable: true },
          "ok",
        ),
        503: answer(
          "No posts are being taken: the store is not writable, or the process is stopping.",
          { ok: false, pending: 12, dead: 0, store_writable: false },
          "not accepting",
        ),
      },
    },
  };
}

const operationIds: Readonly<Record<DocumentName, string>> = {
  openapi: "getOpenApi",
  brief: "getBrief",
  briefPage: "getBriefPage",
  formsBriefPage: "getFormsBriefPage",
  playground: "getPlayground",
  script: "getPlaygroundScript",
  style: "getPlaygroundStyle",
  copyScript: "getCopyScript",
  icon: "getPlaygroundIcon",
  formsBrief: "getFormsBrief",
};

/** A published document. */
export function documentPath(name: DocumentName): Node {
  const rule: DocumentRule = documents[name];
  const mediaType = rule.contentType.split(";")[0] as string;
  const schema = mediaType === "application/json" ? ref("schemas", "OpenApi") : { type: "string" };
  const versioned = rule.cachingOfVersion;
  const own = Object.entries(rule.headers ?? {})
    .map(([header, value]) => [header, fixed("What the page may do in a browser.", value)]);
  const { unchanged, whole } = tagged(
    versioned === undefined ? [rule.caching] : [versioned, rule.caching],
    Object.fromEntries(own),
  );
  return {
    get: {
      operationId: operationIds[name],
      tags: ["Documents"],
      summary: rule.about.replace(/[:.].*/, ""),
      description: rule.about,
      security: [],
      parameters: [
        ...(versioned === undefined ? [] : [ref("parameters", "Version")]),
        ref("parameters", "IfNoneMatch"),
      ],
      responses: {
        ...ofEveryRead,
        200: { description: rule.about, headers: whole, content: { [mediaType]: { schema } } },
        304: unchanged,
      },
    },
  };
}
