/** The operations of the OpenAPI document. This module is browser compatible. */

import { errors, formErrors } from "../../contract/errors.ts";
import { projectServices, requiredFields } from "../../contract/fields.ts";
import { formExample, formPlaceholders } from "../../contract/forms.ts";
import { limits } from "../../contract/limits.ts";
import { planExample } from "../../contract/plans.ts";
import {
  type AcceptedExample,
  acknowledgementExample,
  type Example,
  failureExamples,
  flagExamples,
  leadExamples,
  submissionExample,
} from "../examples.ts";
import { keyCheck } from "../guidance.ts";
import { type DocumentName, type DocumentRule, documents } from "../published.ts";
import {
  commonResponses,
  enumHeader,
  errorExample,
  errorResponse,
  errorText,
  gateResponses,
  jsonContent,
  type Node,
  optionalHeaders,
  optionalRateLimitHeaders,
  rateLimitHeaders,
  readResponses,
  ref,
  rejected,
  type Response,
  withHeaders,
} from "./parts.ts";

const acceptedExamples: Readonly<Record<string, AcceptedExample>> = { ...leadExamples, ...flagExamples };

function acknowledgementResponse(description: string, examples: Readonly<Record<string, Node>>): Response {
  return {
    description,
    headers: rateLimitHeaders,
    content: jsonContent(ref("schemas", "Acknowledgement"), { examples }),
  };
}

/** Describes the 202, with an example response for each accepted example request, under the same name. */
function acceptedResponse(): Response {
  const examples = Object.entries(acceptedExamples).map(([name, { title, response }]) => [
    name,
    { summary: title, value: acknowledgementExample("accepted", response.flags) },
  ]);
  return acknowledgementResponse(
    "The lead and its delivery record are on disk, in one transaction. This is final.",
    Object.fromEntries(examples),
  );
}

/** Describes the response to rejected bodies, with all examples for its error code. */
function rejectedResponse(
  code: "invalid_json" | "validation_failed",
  headers: Response["headers"],
): Response {
  const examples = Object.entries(failureExamples as Readonly<Record<string, Example>>)
    .flatMap(([name, { title, about, response }]) =>
      response.status === errors[code].status
        ? [[name, { summary: title, description: about, value: errorExample(code, response) }]]
        : []
    );
  return errorResponse(errorText(errors[code]), headers, { examples: Object.fromEntries(examples) });
}

/** Lists the responses to a lead. Source: SPEC, POST intake. */
function intakeResponses(): Readonly<Record<string, Node>> {
  return {
    ...commonResponses,
    ...gateResponses(errors),
    200: acknowledgementResponse(
      "A success: this `Idempotency-Key` was accepted before, or the same lead without a key within the window. No " +
        "second lead is stored.",
      { repeat: { summary: "A repeat of the minimal lead", value: acknowledgementExample("duplicate") } },
    ),
    202: acceptedResponse(),
    400: rejectedResponse("invalid_json", optionalRateLimitHeaders),
    422: rejectedResponse("validation_failed", rateLimitHeaders),
  };
}

export function intakePath(): Node {
  const examples = Object.entries(acceptedExamples).map(([name, { title, about, body }]) => [
    name,
    { summary: title, description: about, value: JSON.parse(body) },
  ]);
  const probe = keyCheck.map(({ response, meaning }) => `- ${response}: ${meaning}`).join("\n");
  return {
    post: {
      operationId: "postLead",
      tags: ["Intake"],
      summary: "Post one lead",
      description:
        "Stores one lead and its delivery record in one transaction, then responds. Delivery follows in the background.\n\n" +
        "The service checks each request in this order: limit per IP address, method, size, key, limit per " +
        "key, validation, idempotency.\n\n" +
        `**Key check.** Post \`{}\` with a real key; it is the only probe that production allows.\n\n${probe}`,
      security: [{ apiKey: [] }],
      parameters: [ref("parameters", "IdempotencyKey"), ref("parameters", "RequestId")],
      requestBody: {
        description:
          `UTF-8, at most ${limits.bodyBytesMax} bytes, not compressed. \`Content-Type\` is ignored: the body must ` +
          "be a JSON object.",
        required: true,
        content: jsonContent(ref("schemas", "Lead"), { examples: Object.fromEntries(examples) }),
      },
      responses: intakeResponses(),
    },
  };
}

function submissionResponse(status: "accepted" | "duplicate", description: string): Response {
  return {
    description,
    headers: rateLimitHeaders,
    content: jsonContent(ref("schemas", "SubmissionAcknowledgement"), { example: submissionExample(status) }),
  };
}

/** Lists the responses to a submission. Source: DECISIONS, Forms. */
function submissionResponses(): Readonly<Record<string, Node>> {
  const { invalid_json, missing_required, tenant_mismatch, form_not_found } = formErrors;
  return {
    ...commonResponses,
    ...gateResponses(formErrors),
    200: submissionResponse(
      "duplicate",
      "A success: the same submission was accepted before, or its `Idempotency-Key` was. Nothing more is delivered.",
    ),
    202: submissionResponse(
      "accepted",
      "The submission and its delivery record are on disk. Thank the visitor.",
    ),
    400: errorResponse(
      `\`missing_required\`: ${errorText(missing_required)}\n\n\`invalid_json\`: ${errorText(invalid_json)}`,
      optionalRateLimitHeaders,
      {
        examples: {
          missing_required: {
            summary: "Missing fields, or the response to the probe",
            value: errorExample("missing_required", { fields: { name: "required", email: "required" } }),
          },
          invalid_json: {
            summary: "A value that is not flat",
            value: errorExample("invalid_json", {
              detail: "name is an array; a string, number, boolean or null is needed",
            }),
          },
        },
      },
    ),
    403: rejected("tenant_mismatch", errorText(tenant_mismatch), rateLimitHeaders),
    404: rejected("form_not_found", errorText(form_not_found), optionalRateLimitHeaders),
  };
}

const pathParameter = (name: string, description: string, example: string): Node => ({
  name,
  in: "path",
  required: true,
  description,
  schema: { type: "string", minLength: 1 },
  example,
});

/** Describes `/v1/forms/{tenant}/{form_key}`. Source: SPEC, Tenant forms. */
export function formsPath(): Node {
  return {
    post: {
      operationId: "submitForm",
      tags: ["Forms"],
      summary: "Post one form submission",
      description:
        "Stores and delivers a visitor's submission. Post it from the customer's web server: there is no CORS, and the " +
        "key must stay on the server.\n\n" +
        "The service checks each request in this order: limit per IP address, method, size, key, tenant, limit " +
        "per tenant, form, body, idempotency.\n\n" +
        "**Key check.** Post `{}`: 400 `missing_required` means that the key and the form are correct. Nothing is " +
        "stored.\n\n" +
        "A submission that is held as spam gets the same response.",
      security: [{ apiKey: [] }],
      parameters: [
        pathParameter("tenant", "The customer's slug. It must match the key.", formPlaceholders.tenant),
        pathParameter("form_key", "The key of one of the customer's forms.", formPlaceholders.formKey),
        ref("parameters", "FormIdempotencyKey"),
        ref("parameters", "RequestId"),
      ],
      requestBody: {
        description: `UTF-8, at most ${limits.bodyBytesMax} bytes, not compressed.`,
        required: true,
        content: jsonContent(ref("schemas", "Submission"), { example: formExample }),
      },
      responses: submissionResponses(),
    },
  };
}

interface Read {
  readonly operationId: string;
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters?: readonly Node[];
  /** The values of `Cache-Control`. */
  readonly caching: readonly string[];
  /** The description and the content of the 200 response. */
  readonly ok: Pick<Response, "description" | "content">;
  /** Further headers of the 200 response. */
  readonly headers?: Response["headers"];
}

/** Describes a public read of a resource with an `ETag`. */
function publicRead({ tag, parameters = [], caching, ok, headers = {}, ...operation }: Read): Node {
  const cachingHeaders = {
    ...withHeaders("AllowOrigin", "ETag", "Vary"),
    "Cache-Control": enumHeader("How long you can cache the response.", ...caching),
  };
  return {
    get: {
      ...operation,
      tags: [tag],
      security: [],
      parameters: [...parameters, ref("parameters", "IfNoneMatch")],
      responses: {
        ...readResponses,
        200: {
          ...ok,
          headers: { ...cachingHeaders, ...withHeaders("ContentEncoding", "NoSniff"), ...headers },
        },
        304: { description: "Your copy is current.", headers: cachingHeaders },
      },
    },
  };
}

/** Describes `/v1/vocabulary`. Source: SPEC, Vocabulary. */
export function vocabularyPath(): Node {
  return publicRead({
    operationId: "getVocabulary",
    tag: "Intake",
    summary: "Read the vocabulary",
    description:
      "Returns the recognized terms of `project_area`. The list grows without notice: read it live.",
    caching: [`public, max-age=${limits.vocabularyMaxAgeSeconds}`],
    ok: {
      description: "The current vocabulary.",
      content: jsonContent(ref("schemas", "Vocabulary"), {
        example: {
          project_area: [{ area: "kitchen", status: "confirmed" }, { area: "roof", status: "confirmed" }],
          project_service: projectServices,
          required: requiredFields,
        },
      }),
    },
  });
}

/** Describes `/api/plans`. Source: SPEC, GET plans. */
export function plansPath(): Node {
  return publicRead({
    operationId: "getPlans",
    tag: "Plans",
    summary: "Read the subscription plans",
    description:
      `Cache the response for at least ${
        limits.plansMaxAgeSeconds / 60
      } minutes, or fetch it once per build of your ` +
      "site; do not poll. If you cannot read the plans, show none: the feed returns 503 instead of an empty list.",
    caching: [`public, max-age=${limits.plansMaxAgeSeconds}`],
    ok: {
      description: "The plans, by customer and price.",
      content: jsonContent({ type: "array", items: ref("schemas", "Plan") }, { example: [planExample] }),
    },
  });
}

/** Describes `/healthz` on the intake and forms hosts. Source: SPEC, Intake health and Forms health. */
export function healthPath(): Node {
  const headers = { ...withHeaders("NoStore"), ...optionalHeaders("AllowOrigin") };
  const health = (description: string, json: Node, text: string): Response => ({
    description,
    headers,
    content: {
      ...jsonContent(ref("schemas", "Health"), { example: json }),
      "text/plain": { schema: { type: "string" }, example: text },
    },
  });
  return {
    get: {
      operationId: "getHealth",
      tags: ["Health"],
      summary: "Check whether the service accepts posts",
      description: "The intake responds with JSON, the forms host with plain text: `ok`.",
      security: [],
      responses: {
        ...readResponses,
        200: health(
          "The service accepts posts.",
          { ok: true, pending: 0, dead: 0, store_writable: true },
          "ok",
        ),
        503: health(
          "The service does not accept posts: the store is not writable, or the process is stopping.",
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
  formsPlayground: "getFormsPlayground",
  formsScript: "getFormsPlaygroundScript",
  formsStyle: "getFormsPlaygroundStyle",
  formsIcon: "getFormsPlaygroundIcon",
};

export function documentPath(name: DocumentName): Node {
  const rule: DocumentRule = documents[name];
  const mediaType = rule.contentType.split(";")[0] as string;
  const schema = mediaType === "application/json" ? ref("schemas", "OpenApi") : { type: "string" };
  const versioned = rule.cachingOfVersion;
  const headers = Object.entries(rule.headers ?? {})
    .map(([header, value]) => [header, enumHeader("Restricts what the page can do in a browser.", value)]);
  return publicRead({
    operationId: operationIds[name],
    tag: "Documents",
    summary: rule.about.replace(/[:.].*/, ""),
    description: rule.about,
    parameters: versioned === undefined ? [] : [ref("parameters", "Version")],
    caching: versioned === undefined ? [rule.caching] : [versioned, rule.caching],
    ok: { description: rule.about, content: { [mediaType]: { schema } } },
    headers: Object.fromEntries(headers),
  });
}
