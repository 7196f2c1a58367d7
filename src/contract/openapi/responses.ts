/**
 * The answers that the operations of the OpenAPI document have in common. This module is browser compatible.
 *
 * @module
 */

import { type ErrorCode, type ErrorRule, errors, unreadErrors } from "../errors.ts";
import { placeholders } from "../examples.ts";
import { grouped } from "../guidance.ts";
import { limits } from "../limits.ts";
import { sentence } from "../markdown.ts";
import { fixed, rateNames, sometimes, withHeaders } from "./headers.ts";
import { jsonOf, type Node, ref } from "./node.ts";

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
