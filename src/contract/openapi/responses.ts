/**
 * The answers of the OpenAPI document. This module is browser compatible.
 *
 * @module
 */

import { type ErrorCode, errors, unreadErrors } from "../errors.ts";
import {
  type AcceptedExample,
  type Example,
  failureExamples,
  flagExamples,
  leadExamples,
  placeholders,
} from "../examples.ts";
import { fixed, sometimes, withHeaders } from "./headers.ts";
import { limits } from "../limits.ts";
import { type Node, ref } from "./node.ts";
import { errorSchemas } from "./schemas.ts";

/** One answer. A type, not an interface: only that is a {@linkcode Node} as well. */
export type Response = {
  readonly description: string;
  readonly headers: Readonly<Record<string, Node>>;
  readonly content?: Readonly<Record<string, Node>>;
};

/** The error body as it looks. */
function errorBody(code: ErrorCode, fields?: Readonly<Record<string, string>>): Node {
  return {
    error: code,
    ...(code === "body_too_large" ? {} : { request_id: placeholders.requestId }),
    ...(fields === undefined ? {} : { fields }),
  };
}

const jsonOf = (schema: Node, rest: Node = {}): Readonly<Record<string, Node>> => ({
  "application/json": { schema, ...rest },
});

const errorContent = (code: ErrorCode) =>
  jsonOf(ref("schemas", errorSchemas[code]), { example: errorBody(code) });

const sentence = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

function errorText(code: ErrorCode): string {
  const { condition, callerAction, retry } = errors[code];
  return `${sentence(condition)} ${sentence(callerAction)} Retry: ${retry}.`;
}

/** The shared answer of each status that is given before the path is looked at. */
export const unreadNames: Readonly<Record<keyof typeof unreadErrors, string>> = {
  400: "MalformedRequest",
  408: "RequestTimeout",
  417: "ExpectationFailed",
  421: "WrongHost",
  431: "HeadersTooLarge",
  503: "Fault",
};

/** `components.responses`: what any path may answer, because nothing has looked at the path yet. */
export const sharedResponses: Readonly<Record<string, Response>> = {
  NotFound: {
    description: `${
      sentence(errors.not_found.condition)
    } Paths are compared as they are, without a slash at the end.`,
    headers: withHeaders("NoStore"),
    content: errorContent("not_found"),
  },
  ...Object.fromEntries(
    Object.entries(unreadErrors).map(([status, { code, condition }]) => [
      unreadNames[Number(status) as keyof typeof unreadErrors],
      {
        description: sentence(condition),
        headers: {
          ...withHeaders("NoStore"),
          // The one of them that a read answers by itself too.
          ...(status === "503" ? { "Access-Control-Allow-Origin": sometimes("AllowOrigin") } : {}),
        },
        content: errorContent(code),
      },
    ]),
  ),
};

/** What every operation answers besides its own. */
export const everywhere: Readonly<Record<string, Node>> = {
  404: ref("responses", "NotFound"),
  ...Object.fromEntries(
    Object.entries(unreadNames).map(([status, name]) => [status, ref("responses", name)]),
  ),
};

/** What every public read answers besides its own and what {@linkcode everywhere} has. */
export const reads: Readonly<Record<string, Response>> = {
  405: {
    description: errorText("method_not_allowed"),
    headers: {
      ...withHeaders("NoStore", "AllowOrigin"),
      Allow: fixed("The methods that the path serves.", "GET, HEAD"),
    },
    content: errorContent("method_not_allowed"),
  },
  429: {
    description:
      `Over ${limits.publicRead.perMinute} reads a minute from one address, ${limits.publicRead.burst} at once; ` +
      "the body has no `request_id`. Wait `Retry-After` seconds.",
    headers: withHeaders("NoStore", "AllowOrigin", "RateLimitPolicy", "RateLimit", "RetryAfter"),
    content: jsonOf(ref("schemas", errorSchemas.rate_limited), { example: { error: "rate_limited" } }),
  },
};

const rated = withHeaders("NoStore", "RateLimitPolicy", "RateLimit");

function acknowledged(
  description: string,
  schema: "Accepted" | "Duplicate",
  examples: Readonly<Record<string, Node>>,
): Response {
  return { description, headers: rated, content: jsonOf(ref("schemas", schema), { examples }) };
}

const acceptedExamples: Readonly<Record<string, AcceptedExample>> = { ...leadExamples, ...flagExamples };

const acknowledgement = (status: string, flags: readonly string[]): Node => ({
  event_id: placeholders.eventId,
  status,
  received_at: placeholders.receivedAt,
  source: placeholders.source,
  flags,
});

/** Request examples and the answers to them have the same names. */
function accepted(): Response {
  const examples = Object.entries(acceptedExamples).map(([name, { title, answer }]) => [
    name,
    { summary: title, value: acknowledgement("accepted", answer.flags) },
  ]);
  return acknowledged(
    "The lead and its delivery record are on disk, committed together. This is final.",
    "Accepted",
    Object.fromEntries(examples),
  );
}

function validationFailed(): Response {
  const examples = Object.entries(failureExamples as Readonly<Record<string, Example>>)
    .flatMap(([name, { title, about, answer }]) =>
      answer.status === 422
        ? [[name, {
          summary: title,
          description: about,
          value: errorBody("validation_failed", answer.fields),
        }]]
        : []
    );
  return {
    description: errorText("validation_failed"),
    headers: rated,
    content: jsonOf(ref("schemas", "ValidationFailed"), { examples: Object.fromEntries(examples) }),
  };
}

/** An answer that comes before the limits are looked at, or after. */
const perhapsRated = {
  ...withHeaders("NoStore"),
  "RateLimit-Policy": sometimes("RateLimitPolicy"),
  RateLimit: sometimes("RateLimit"),
};

const intakeError = (code: ErrorCode, headers: Readonly<Record<string, Node>> = rated): Response => ({
  description: errorText(code),
  headers,
  content: errorContent(code),
});

/** Everything that `POST /v1/intake` answers. Source: SPEC, POST intake. */
export function intakeResponses(): Readonly<Record<string, Node>> {
  return {
    ...everywhere,
    200: acknowledged(
      "This `Idempotency-Key` was accepted before, or without one the same lead within the window. As good as 202: " +
        "no second lead was made. `event_id`, `received_at` and `flags` are those of the first.",
      "Duplicate",
      { repeat: { summary: "A repeat of the minimal lead", value: acknowledgement("duplicate", []) } },
    ),
    202: accepted(),
    400: intakeError("invalid_json", perhapsRated),
    401: intakeError("unauthorized"),
    405: intakeError("method_not_allowed", {
      ...rated,
      Allow: fixed("The method that the path serves.", "POST"),
    }),
    413: intakeError("body_too_large"),
    422: validationFailed(),
    429: intakeError("rate_limited", {
      ...rated,
      ...withHeaders("RetryAfter"),
    }),
    503: intakeError("not_accepting", perhapsRated),
  };
}
