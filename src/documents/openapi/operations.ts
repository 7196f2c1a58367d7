/**
 * The operations of the OpenAPI document: posts of leads and submissions, and everything that is read without a key. This
 * module is browser compatible.
 */

import { errors, formErrors } from "../../contract/errors.ts";
import { projectServices, requiredFields } from "../../contract/fields.ts";
import { formExample, formPlaceholders } from "../../contract/forms.ts";
import { limits } from "../../contract/limits.ts";
import { planExample } from "../../contract/plans.ts";
import {
  type AcceptedExample,
  type Example,
  failureExamples,
  flagExamples,
  leadExamples,
  placeholders,
} from "../examples.ts";
import { keyCheck } from "../guidance.ts";
import { type DocumentName, type DocumentRule, documents } from "../published.ts";
import {
  errorExample,
  errorText,
  everywhere,
  fixed,
  gateResponses,
  jsonOf,
  type Node,
  ofEveryRead,
  perhapsRated,
  rated,
  ref,
  type Response,
  sometimes,
  withHeaders,
} from "./parts.ts";

const acceptedExamples: Readonly<Record<string, AcceptedExample>> = { ...leadExamples, ...flagExamples };

const acknowledgement = (status: string, flags: readonly string[]): Node => ({
  event_id: placeholders.eventId,
  status,
  received_at: placeholders.receivedAt,
  source: placeholders.source,
  flags,
});

function acknowledged(description: string, examples: Readonly<Record<string, Node>>): Response {
  return { description, headers: rated, content: jsonOf(ref("schemas", "Acknowledgement"), { examples }) };
}

/** Request examples and the answers to them have the same names. */
function accepted(): Response {
  const examples = Object.entries(acceptedExamples).map(([name, { title, answer }]) => [
    name,
    { summary: title, value: acknowledgement("accepted", answer.flags) },
  ]);
  return acknowledged(
    "The lead and its delivery record are on disk, committed together. This is final.",
    Object.fromEntries(examples),
  );
}

/** What is refused because of its content, with an example of each way. */
function refused(code: "invalid_json" | "validation_failed", headers: Response["headers"]): Response {
  const examples = Object.entries(failureExamples as Readonly<Record<string, Example>>)
    .flatMap(([name, { title, about, answer }]) =>
      answer.status === errors[code].status
        ? [[name, { summary: title, description: about, value: errorExample(code, answer) }]]
        : []
    );
  return {
    description: errorText(errors[code]),
    headers,
    content: jsonOf(ref("schemas", "ErrorBody"), { examples: Object.fromEntries(examples) }),
  };
}

/** Everything that the post answers. Source: SPEC, POST intake. */
function responses(): Readonly<Record<string, Node>> {
  return {
    ...everywhere,
    ...gateResponses(errors),
    200: acknowledged(
      "This `Idempotency-Key` was accepted before, or without one the same lead within the window. As good as 202: " +
        "no second lead was made.",
      { repeat: { summary: "A repeat of the minimal lead", value: acknowledgement("duplicate", []) } },
    ),
    202: accepted(),
    400: refused("invalid_json", perhapsRated),
    422: refused("validation_failed", rated),
  };
}

/** `/v1/intake`. */
export function intakePath(): Node {
  const examples = Object.entries(acceptedExamples).map(([name, { title, about, body }]) => [
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
        "Stores one lead and its delivery record in one transaction, then answers. Delivery follows in the background.\n\n" +
        "The service checks in this order: limit per address, method, size, key, limit per key, validation, idempotency.\n\n" +
        `**Key check.** Post \`{}\` with a real key; it is the only probe that production allows.\n\n${probe}`,
      security: [{ apiKey: [] }],
      parameters: [ref("parameters", "IdempotencyKey"), ref("parameters", "RequestId")],
      requestBody: {
        description:
          `UTF-8, at most ${limits.bodyBytesMax} bytes, not compressed. \`Content-Type\` is ignored: the body must ` +
          "be a JSON object.",
        required: true,
        content: jsonOf(ref("schemas", "Lead"), { examples: Object.fromEntries(examples) }),
      },
      responses: responses(),
    },
  };
}

function submissionAcknowledged(status: "accepted" | "duplicate", description: string): Response {
  const example = { status, submission_id: placeholders.eventId, received_at: placeholders.receivedAt };
  return {
    description,
    headers: rated,
    content: jsonOf(ref("schemas", "SubmissionAcknowledgement"), { example }),
  };
}

/** Everything that the post answers. Source: DECISIONS, Forms. */
function submissionResponses(): Readonly<Record<string, Node>> {
  const { invalid_json, missing_required, tenant_mismatch, form_not_found } = formErrors;
  const refused = (headers: Response["headers"], text: string, more: Node): Response => ({
    description: text,
    headers,
    content: jsonOf(ref("schemas", "ErrorBody"), more),
  });
  return {
    ...everywhere,
    ...gateResponses(formErrors),
    200: submissionAcknowledged(
      "duplicate",
      "The same submission again, or another one under a used `Idempotency-Key`. As good as 202; nothing further is " +
        "delivered.",
    ),
    202: submissionAcknowledged(
      "accepted",
      "The submission and its delivery record are on disk. Thank the visitor.",
    ),
    400: refused(
      perhapsRated,
      `\`missing_required\`: ${errorText(missing_required)}\n\n\`invalid_json\`: ${errorText(invalid_json)}`,
      {
        examples: {
          missing_required: {
            summary: "The probe's answer, or what to ask the visitor for",
            value: errorExample("missing_required", { fields: { name: "required", email: "required" } }),
          },
          invalid_json: {
            summary: "Not what a form posts",
            value: errorExample("invalid_json", {
              detail: "name is an array; text, a number, true, false or null is needed",
            }),
          },
        },
      },
    ),
    403: refused(rated, errorText(tenant_mismatch), { example: errorExample("tenant_mismatch") }),
    404: refused(perhapsRated, errorText(form_not_found), { example: errorExample("form_not_found") }),
  };
}

const segment = (name: string, description: string, example: string): Node => ({
  name,
  in: "path",
  required: true,
  description,
  schema: { type: "string", minLength: 1 },
  example,
});

/** `/v1/forms/{tenant}/{form_key}`. Source: SPEC, Tenant forms. */
export function formsPath(): Node {
  return {
    post: {
      operationId: "submitForm",
      tags: ["Forms"],
      summary: "Post one submission of a form",
      description:
        "Stores and delivers what a visitor has filled in. For the customer's own web servers: there is no CORS, and " +
        "the key stays on the server.\n\n" +
        "The service checks in this order: limit per address, method, size, key, tenant, limit per tenant, form, body, " +
        "idempotency.\n\n" +
        "**Key check.** Post `{}`: 400 `missing_required` means that key and form are right. Nothing is stored.\n\n" +
        "A submission that is held as spam gets the same answer.",
      security: [{ apiKey: [] }],
      parameters: [
        segment("tenant", "The customer's slug. It must match the key.", formPlaceholders.tenant),
        segment("form_key", "The key of one of the customer's forms.", formPlaceholders.formKey),
        ref("parameters", "FormIdempotencyKey"),
        ref("parameters", "RequestId"),
      ],
      requestBody: {
        description: `UTF-8, at most ${limits.bodyBytesMax} bytes, not compressed.`,
        required: true,
        content: jsonOf(ref("schemas", "Submission"), { example: formExample }),
      },
      responses: submissionResponses(),
    },
  };
}

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
