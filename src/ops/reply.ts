/**
 * Replies of the operator's listener: what it says is for whoever asked and for nobody else, and it is kept nowhere.
 */

import type { Reply } from "../http/exchange.ts";
import { noStore } from "../http/reply.ts";

/**
 * On every answer of the operator's listener, the console's pages included: kept in no cache, taken for nothing but what
 * it says it is, embedded by no other origin, and its address, which may name a person, sent to nobody.
 */
const opsHeaders = Object.freeze({
  "Cache-Control": noStore,
  "X-Content-Type-Options": "nosniff",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
});

/** On what is data: whoever opens it as a page runs nothing. */
const dataHeaders = Object.freeze({
  ...opsHeaders,
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
});

/** A reply of JSON text. */
export function jsonText(status: number, body: string): Reply {
  return { status, headers: { ...dataHeaders, "Content-Type": "application/json" }, body };
}

/** A reply of any other text. */
export function dataText(body: string, headers: Readonly<Record<string, string>>): Reply {
  return { status: 200, headers: { ...dataHeaders, ...headers }, body };
}

/** The codes of the operator's listener, and what they come with. */
export const opsErrors = {
  invalid_parameter: 400,
  not_found: 404,
  method_not_allowed: 405,
  not_available: 503,
} as const;

/** A refusal; `members` say more than the code does. */
export function refuseOps(
  code: keyof typeof opsErrors,
  requestId: string,
  members: Readonly<Record<string, string>> = {},
): Reply {
  return jsonText(opsErrors[code], JSON.stringify({ error: code, ...members, request_id: requestId }));
}
