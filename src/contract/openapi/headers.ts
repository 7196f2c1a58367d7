/**
 * The headers of the OpenAPI document, those of requests and those of answers. This module is browser
 * compatible.
 *
 * @module
 */

import { documentEncoding } from "../documents.ts";
import { placeholders } from "../examples.ts";
import { formPlaceholders } from "../forms.ts";
import { limits } from "../limits.ts";
import { firstBudgets, rateHeaderNames, rateHeaders } from "../rate_headers.ts";
import { type Node, ref } from "./node.ts";

const idempotencyKey = (description: string, example: string): Node => ({
  name: "Idempotency-Key",
  in: "header",
  description,
  schema: { type: "string", maxLength: limits.idempotencyKeyLengthMax },
  example,
});

/** `components.parameters`: what a request may say in its headers. */
export const parameters: Readonly<Record<string, Node>> = {
  IdempotencyKey: idempotencyKey(
    "Your own name for the lead, the same on every retry. All keys of one customer share one namespace: start it with " +
      "yours, or another source's lead may answer for your own. Never a timestamp, never made anew for a try. " +
      `Without it, the same normalized lead counts as a repeat for ${limits.contentWindowHours} hours.`,
    placeholders.idempotencyKey,
  ),
  FormIdempotencyKey: idempotencyKey(
    "Your own name for the submission, the same on every retry, another one for each submission. All forms of a " +
      "customer share one namespace, apart from its leads. Without it, the same fields in the same form count as a " +
      `repeat for ${limits.formContentWindowMinutes} minutes.`,
    formPlaceholders.idempotencyKey,
  ),
  RequestId: {
    name: "X-Request-Id",
    in: "header",
    description:
      "Your own name for the request. It comes back in the header of the same name, in `request_id` of " +
      "errors, and stands in the service's log. One that is longer, or holds control characters or a key, is replaced.",
    schema: { type: "string", maxLength: limits.requestIdLengthMax },
    example: placeholders.requestId,
  },
  IfNoneMatch: {
    name: "If-None-Match",
    in: "header",
    description: "The `ETag` of the copy at hand; the answer is 304 when it is still good.",
    schema: { type: "string" },
    example: '"7c2f0f3f0d0a4b6e9a51"',
  },
  Version: {
    name: "v",
    in: "query",
    description:
      "The version that the page names. When it is the one that is served, it may be kept for good.",
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

/** A header with one fixed value, or one of several. */
export function fixed(description: string, ...values: string[]): Node {
  return header(description, { type: "string", enum: values }, values[0]);
}

/** By which name a header of the rate limits stands in `components.headers`. */
const componentName = (name: string) => name.replaceAll("-", "");

/** The names of those headers there. */
export const rateNames: readonly string[] = rateHeaderNames.map(componentName);

const firstOfAll = firstBudgets({ name: "ip", rate: limits.ipRate }, { name: "key", rate: limits.keyRate });

const ofRates = Object.fromEntries(
  Object.entries(rateHeaders).map(([name, { description, pattern }]) => [
    componentName(name),
    header(
      description,
      { type: "string", pattern: `^"ip";${pattern}(, "(key|tenant)";${pattern})?$` },
      firstOfAll[name],
    ),
  ]),
);

/** `components.headers`. */
export const headers: Readonly<Record<string, Node>> = {
  RequestId: header(
    "The request's id: yours, or one that the service made. An edge in front may add it a second time; take the first.",
    { type: "string", minLength: 1 },
    placeholders.requestId,
  ),
  ...ofRates,
  RetryAfter: header(
    "Seconds to wait before the next try, at least.",
    { type: "integer", minimum: limits.retryAfterSeconds },
    limits.retryAfterSeconds,
  ),
  NoStore: fixed("The answer is not to be kept.", "no-store"),
  AllowOrigin: fixed("Any site's scripts may read the answer.", "*"),
  ETag: header(
    "The version of the document.",
    { type: "string", pattern: '^"[^"]+"$' },
    '"7c2f0f3f0d0a4b6e9a51"',
  ),
  Vary: fixed("The document comes compressed or not.", "Accept-Encoding"),
  ContentEncoding: {
    ...fixed("How the document is compressed, when it is.", documentEncoding),
    required: false,
  },
  NoSniff: fixed("The media type is the one that is named.", "nosniff"),
};

/** The headers that every answer has, and those with the given names. */
export function withHeaders(...names: (keyof typeof headers)[]): Record<string, Node> {
  return Object.fromEntries(["RequestId", ...names].map((name) => [wireNames[name], ref("headers", name)]));
}

/** Headers that are there on some of the answers only. */
export function sometimes(...names: string[]): Record<string, Node> {
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
