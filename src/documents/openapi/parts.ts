/**
 * The shared parts of the OpenAPI document: references, headers, parameters, responses. This module is browser compatible.
 */

import { type ErrorCode, type ErrorRule, errors, unreadErrors } from "../../contract/errors.ts";
import { formPlaceholders } from "../../contract/forms.ts";
import { formatCount, limits } from "../../contract/limits.ts";
import { initialRateHeaders, rateHeaderNames, rateHeaders } from "../../contract/rate_headers.ts";
import { placeholders } from "../examples.ts";
import { sentence } from "../markdown.ts";
import { documentEncoding } from "../published.ts";

/** A part of the document, as JSON. */
export type Node = { readonly [name: string]: unknown };

/** Returns a reference to a shared component. */
export function ref(
  kind: "schemas" | "headers" | "parameters" | "responses" | "examples",
  name: string,
): Node {
  return { $ref: `#/components/${kind}/${name}` };
}

/** Returns an object with a value for each name. */
export function mapNames<T extends string, V>(names: readonly T[], value: (name: T) => V): Record<T, V> {
  return Object.fromEntries(names.map((name) => [name, value(name)])) as Record<T, V>;
}

/**
 * Returns the schema of a string that currently has one of these values.
 *
 * Chosen: no `enum`, because generated clients throw on values that are added later.
 */
export function extensibleEnum(values: readonly string[], rest: Node = {}): Node {
  return { type: "string", "x-extensible-enum": values, ...rest };
}

/** Describes the JSON content of a message; `rest` contains its example or examples. */
export function jsonContent(schema: Node, rest: Node = {}): Readonly<Record<string, Node>> {
  return { "application/json": { schema, ...rest } };
}

const idempotencyKey = (description: string, example: string): Node => ({
  name: "Idempotency-Key",
  in: "header",
  description,
  schema: { type: "string", maxLength: limits.idempotencyKeyLengthMax },
  example,
});

/** `components.parameters`. */
export const parameters: Readonly<Record<string, Node>> = {
  IdempotencyKey: idempotencyKey(
    "Your ID for the lead, the same on every retry. All keys of one customer share one namespace: add your own prefix, " +
      "or your lead can count as a repeat of another source's. Do not use a timestamp or a new value for each try. " +
      `Without the header, the same normalized lead counts as a repeat for ${limits.contentWindowHours} hours.`,
    placeholders.idempotencyKey,
  ),
  FormIdempotencyKey: idempotencyKey(
    "Your ID for the submission: the same on every retry, and a new one for each submission. All forms of a customer " +
      "share one namespace, separate from its leads. Without the header, the same fields in the same form count as a " +
      `repeat for ${limits.formContentWindowMinutes} minutes.`,
    formPlaceholders.idempotencyKey,
  ),
  RequestId: {
    name: "X-Request-Id",
    in: "header",
    description:
      "Your ID for the request. The response header of the same name, `request_id` in error bodies and the service's " +
      "log contain it. A value that is longer, or contains control characters or a key, is replaced.",
    schema: { type: "string", maxLength: limits.requestIdLengthMax },
    example: placeholders.requestId,
  },
  IfNoneMatch: {
    name: "If-None-Match",
    in: "header",
    description: "The `ETag` of your copy. If the copy is current, the response is 304.",
    schema: { type: "string" },
    example: '"7c2f0f3f0d0a4b6e9a51"',
  },
  Version: {
    name: "v",
    in: "query",
    description:
      "The version that the page refers to. If it is the current one, you can cache the response forever.",
    schema: { type: "string" },
    example: "7c2f0f3f0d0a4b6e",
  },
};

const header = (description: string, schema: Node, example: unknown): Node => ({
  description,
  required: true,
  schema,
  example,
});

/** Describes a header that has one of these values. */
export function enumHeader(description: string, ...values: string[]): Node {
  return header(description, { type: "string", enum: values }, values[0]);
}

/** Returns the name that a rate limit header has in `components.headers`. */
const componentName = (name: string) => name.replaceAll("-", "");

/** The names that the rate limit headers have in `components.headers`. */
export const rateNames: readonly string[] = rateHeaderNames.map(componentName);

const firstResponse = initialRateHeaders({ name: "ip", rate: limits.ipRate }, {
  name: "key",
  rate: limits.keyRate,
});

const rateHeaderParts = Object.fromEntries(
  Object.entries(rateHeaders).map(([name, { description, pattern }]) => [
    componentName(name),
    header(
      description,
      { type: "string", pattern: `^"ip";${pattern}(, "(key|tenant)";${pattern})?$` },
      firstResponse[name],
    ),
  ]),
);

/** `components.headers`. */
export const headers: Readonly<Record<string, Node>> = {
  RequestId: header(
    "The request ID: yours, or a generated one. A reverse proxy may add the header to the response a second time, with " +
      "the same value; use the first.",
    { type: "string", minLength: 1 },
    placeholders.requestId,
  ),
  ...rateHeaderParts,
  RetryAfter: header(
    "The minimum wait before the next try, in seconds.",
    { type: "integer", minimum: limits.retryAfterSeconds },
    limits.retryAfterSeconds,
  ),
  NoStore: enumHeader("Do not cache the response.", "no-store"),
  AllowOrigin: enumHeader("Scripts from any origin can read the response.", "*"),
  ETag: header(
    "The version of the content.",
    { type: "string", pattern: '^"[^"]+"$' },
    '"7c2f0f3f0d0a4b6e9a51"',
  ),
  Vary: enumHeader("The content is compressed for clients that accept it.", "Accept-Encoding"),
  ContentEncoding: {
    ...enumHeader("Present if the content is compressed.", documentEncoding),
    required: false,
  },
  NoSniff: enumHeader("Browsers must not guess another media type.", "nosniff"),
};

/** Returns the headers that every response has, and the ones with the given names. */
export function withHeaders(...names: (keyof typeof headers)[]): Record<string, Node> {
  return Object.fromEntries(["RequestId", ...names].map((name) => [wireNames[name], ref("headers", name)]));
}

/** Returns headers that only some of the responses have. */
export function optionalHeaders(...names: string[]): Record<string, Node> {
  return Object.fromEntries(names.map((name) => [wireNames[name], { ...headers[name], required: false }]));
}

const wireNames: Readonly<Record<string, string>> = {
  RequestId: "X-Request-Id",
  ...Object.fromEntries(rateHeaderNames.map((name) => [componentName(name), name])),
  RetryAfter: "Retry-After",
  NoStore: "Cache-Control",
  AllowOrigin: "Access-Control-Allow-Origin",
  ETag: "ETag",
  Vary: "Vary",
  ContentEncoding: "Content-Encoding",
  NoSniff: "X-Content-Type-Options",
};

/** A response. A type, because an interface would not be assignable to {@linkcode Node}. */
export type Response = {
  readonly description: string;
  readonly headers: Readonly<Record<string, Node>>;
  readonly content?: Readonly<Record<string, Node>>;
};

type Headers = Readonly<Record<string, Node>>;

export function errorExample(
  code: string,
  { fields, detail }: { readonly fields?: Readonly<Record<string, string>>; readonly detail?: string } = {},
): Node {
  return {
    error: code,
    // This body has no request ID, because it is sent before the handler runs.
    ...(code === "body_too_large" ? {} : { request_id: placeholders.requestId }),
    ...(fields === undefined ? {} : { fields }),
    ...(detail === undefined ? {} : { detail }),
  };
}

/** Describes an error response; `more` contains its example or examples. */
export function errorResponse(description: string, headers: Headers, more: Node): Response {
  return { description, headers, content: jsonContent(ref("schemas", "ErrorBody"), more) };
}

/** Describes the response with an error code. */
export function rejected(code: string, description: string, headers: Headers): Response {
  return errorResponse(description, headers, { example: errorExample(code) });
}

/** Describes an error code's condition and remedy. */
export function errorText({ condition, callerAction, retry }: ErrorRule): string {
  return `${sentence(condition)} ${sentence(callerAction)} Retry: ${retry}.`;
}

/** The names of the shared responses that are sent before routing, by status. */
export const preRoutingNames: Readonly<Record<keyof typeof unreadErrors, string>> = {
  400: "MalformedRequest",
  408: "RequestTimeout",
  417: "ExpectationFailed",
  421: "WrongHost",
  431: "HeadersTooLarge",
  501: "UnsupportedCoding",
  503: "Fault",
};

/** `components.responses`: responses that are not specific to one path. */
export const sharedResponses: Readonly<Record<string, Response>> = {
  NotFound: rejected(
    "not_found",
    `${sentence(errors.not_found.condition)} Paths must match exactly, without a trailing slash.`,
    withHeaders("NoStore"),
  ),
  TooManyReads: errorResponse(
    `One IP address exceeded ${
      formatCount(limits.publicRead.perMinute)
    } reads per minute with bursts of ${limits.publicRead.burst}. ` +
      "The body has no `request_id`. Wait `Retry-After` seconds.",
    { ...withHeaders("NoStore", ...rateNames, "RetryAfter"), ...optionalHeaders("AllowOrigin") },
    { example: { error: "rate_limited" } },
  ),
  ...Object.fromEntries(
    Object.entries(unreadErrors).map(([status, { code, condition }]) => [
      preRoutingNames[Number(status) as keyof typeof unreadErrors],
      rejected(code, sentence(condition), {
        ...withHeaders("NoStore"),
        // The handlers for reads also return this status.
        ...(status === "503" ? optionalHeaders("AllowOrigin") : {}),
      }),
    ]),
  ),
};

/** The responses that every operation has. */
export const commonResponses: Readonly<Record<string, Node>> = {
  404: ref("responses", "NotFound"),
  ...Object.fromEntries(
    Object.entries(preRoutingNames).map(([status, name]) => [status, ref("responses", name)]),
  ),
};

/** The responses that every public read has. */
export const readResponses: Readonly<Record<string, Node>> = {
  ...commonResponses,
  405: rejected("method_not_allowed", errorText(errors.method_not_allowed), {
    ...withHeaders("NoStore"),
    ...optionalHeaders("AllowOrigin"),
    Allow: enumHeader("The methods that the path serves.", "GET, HEAD"),
  }),
  429: ref("responses", "TooManyReads"),
};

/** The headers of a response that is sent only after the limit per IP address has been checked. */
export const rateLimitHeaders: Headers = withHeaders("NoStore", ...rateNames);

/** The headers of a response that may also be sent before the limit per IP address has been checked. */
export const optionalRateLimitHeaders: Headers = {
  ...withHeaders("NoStore"),
  ...optionalHeaders(...rateNames),
};

/** The error codes that the two POST operations with an API key share. */
type SharedCode = Extract<
  ErrorCode,
  "unauthorized" | "method_not_allowed" | "body_too_large" | "rate_limited" | "not_accepting"
>;

/** Describes, by status, the error responses to a POST with an API key, except those about its content. */
export function gateResponses(
  rules: Readonly<Record<SharedCode, ErrorRule>>,
): Readonly<Record<string, Response>> {
  const response = (code: SharedCode, headers: Headers) => rejected(code, errorText(rules[code]), headers);
  return {
    401: response("unauthorized", rateLimitHeaders),
    405: response("method_not_allowed", {
      ...rateLimitHeaders,
      Allow: enumHeader("The method that the path serves.", "POST"),
    }),
    413: response("body_too_large", rateLimitHeaders),
    429: response("rate_limited", { ...rateLimitHeaders, ...withHeaders("RetryAfter") }),
    503: response("not_accepting", optionalRateLimitHeaders),
  };
}
