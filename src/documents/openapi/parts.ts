/**
 * The parts that the operations of the OpenAPI document share: references, headers, parameters, answers. This module is
 * browser compatible.
 */

import { type ErrorCode, type ErrorRule, errors, unreadErrors } from "../../contract/errors.ts";
import { formPlaceholders } from "../../contract/forms.ts";
import { grouped, limits } from "../../contract/limits.ts";
import { firstBudgets, rateHeaderNames, rateHeaders } from "../../contract/rate_headers.ts";
import { placeholders } from "../examples.ts";
import { sentence } from "../markdown.ts";
import { documentEncoding } from "../published.ts";

/** A part of the document, as plain JSON. */
export type Node = { readonly [name: string]: unknown };

/** A reference to a part that is used in several places. */
export function ref(
  kind: "schemas" | "headers" | "parameters" | "responses" | "examples",
  name: string,
): Node {
  return { $ref: `#/components/${kind}/${name}` };
}

/** An object made of a list's names. */
export function byName<T extends string, V>(names: readonly T[], value: (name: T) => V): Record<T, V> {
  return Object.fromEntries(names.map((name) => [name, value(name)])) as Record<T, V>;
}

/**
 * Text of an answer that is one of these today.
 *
 * Chosen: no `enum`, because generated clients throw on a value that is new to them, and a list that may grow must not
 * break them; `x-extensible-enum` says the same to readers and to this service's own tests.
 */
export function oneOfToday(values: readonly string[], rest: Node = {}): Node {
  return { type: "string", "x-extensible-enum": values, ...rest };
}

/** JSON as content, with its example or examples. */
export function jsonOf(schema: Node, rest: Node = {}): Readonly<Record<string, Node>> {
  return { "application/json": { schema, ...rest } };
}

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

/** One answer. A type, not an interface: only that is a {@linkcode Node} as well. */
export type Response = {
  readonly description: string;
  readonly headers: Readonly<Record<string, Node>>;
  readonly content?: Readonly<Record<string, Node>>;
};

type Headers = Readonly<Record<string, Node>>;

/** The error body as it looks. */
export function errorExample(
  code: string,
  { fields, detail }: { readonly fields?: Readonly<Record<string, string>>; readonly detail?: string } = {},
): Node {
  return {
    error: code,
    // Not on what is answered before the handler.
    ...(code === "body_too_large" ? {} : { request_id: placeholders.requestId }),
    ...(fields === undefined ? {} : { fields }),
    ...(detail === undefined ? {} : { detail }),
  };
}

const errorContent = (code: string) => jsonOf(ref("schemas", "ErrorBody"), { example: errorExample(code) });

/** What a code means and what to do about it. */
export function errorText({ condition, callerAction, retry }: ErrorRule): string {
  return `${sentence(condition)} ${sentence(callerAction)} Retry: ${retry}.`;
}

/** The shared answer of each status that is given before the path is looked at. */
export const unreadNames: Readonly<Record<keyof typeof unreadErrors, string>> = {
  400: "MalformedRequest",
  408: "RequestTimeout",
  417: "ExpectationFailed",
  421: "WrongHost",
  431: "HeadersTooLarge",
  501: "UnsupportedCoding",
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
  TooManyReads: {
    description:
      `Over ${
        grouped(limits.publicRead.perMinute)
      } reads a minute from one address, ${limits.publicRead.burst} at once; ` +
      "the body has no `request_id`. Wait `Retry-After` seconds.",
    headers: {
      ...withHeaders("NoStore", ...rateNames, "RetryAfter"),
      ...sometimes("AllowOrigin"),
    },
    content: jsonOf(ref("schemas", "ErrorBody"), { example: { error: "rate_limited" } }),
  },
  ...Object.fromEntries(
    Object.entries(unreadErrors).map(([status, { code, condition }]) => [
      unreadNames[Number(status) as keyof typeof unreadErrors],
      {
        description: sentence(condition),
        headers: {
          ...withHeaders("NoStore"),
          // The one of them that a read answers by itself too.
          ...(status === "503" ? { ...sometimes("AllowOrigin") } : {}),
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

/** What every public read answers besides its own. */
export const ofEveryRead: Readonly<Record<string, Node>> = {
  ...everywhere,
  405: {
    description: errorText(errors.method_not_allowed),
    headers: {
      ...withHeaders("NoStore"),
      ...sometimes("AllowOrigin"),
      Allow: fixed("The methods that the path serves.", "GET, HEAD"),
    },
    content: errorContent("method_not_allowed"),
  },
  429: ref("responses", "TooManyReads"),
};

/** The headers of an answer that comes after the limit of the address. */
export const rated: Headers = withHeaders("NoStore", ...rateNames);

/** Those of an answer that comes before the limits are looked at, or after. */
export const perhapsRated: Headers = {
  ...withHeaders("NoStore"),
  ...sometimes(...rateNames),
};

/** What both key-gated posts may be answered with, and how each surface words it. */
type SharedCode = Extract<
  ErrorCode,
  "unauthorized" | "method_not_allowed" | "body_too_large" | "rate_limited" | "not_accepting"
>;

/** The refusals of a key-gated post by status, without those that are about what is in it. */
export function gateResponses(
  rules: Readonly<Record<SharedCode, ErrorRule>>,
): Readonly<Record<string, Response>> {
  const refused = (code: SharedCode, headers: Headers): Response => ({
    description: errorText(rules[code]),
    headers,
    content: errorContent(code),
  });
  return {
    401: refused("unauthorized", rated),
    405: refused("method_not_allowed", {
      ...rated,
      Allow: fixed("The method that the path serves.", "POST"),
    }),
    413: refused("body_too_large", rated),
    429: refused("rate_limited", { ...rated, ...withHeaders("RetryAfter") }),
    503: refused("not_accepting", perhapsRated),
  };
}
