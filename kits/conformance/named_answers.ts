/**
 * The answers of the intake that cases name instead of writing them out.
 *
 * @module
 */

import type { Answer } from "./case.ts";

const acknowledgement = {
  event_id: "0660bd1782f0d200016cea739903366605de5c",
  received_at: "2026-11-20T22:51:59.806Z",
  source: "acme-web",
  flags: [],
};
const error = (code: string, more: object = {}) => ({ error: code, request_id: "{{request_id}}", ...more });
const missing = { first_name: "required", last_name: "required", phone: "required" };

const detail = "cost is a string; a number is needed, without quotes";

/** By name; one of them with other members is written `{"like": NAME, …}`. */
export const named: Readonly<Record<string, Answer>> = {
  "accepted": { status: 202, json: { ...acknowledgement, status: "accepted" } },
  "duplicate": { status: 200, json: { ...acknowledgement, status: "duplicate" } },
  "invalid_json": { status: 400, json: error("invalid_json", { detail }) },
  "unauthorized": { status: 401, json: error("unauthorized") },
  "method_not_allowed": { status: 405, json: error("method_not_allowed") },
  "body_too_large": { status: 413, json: { error: "body_too_large" } },
  "validation_failed": { status: 422, json: error("validation_failed", { fields: missing }) },
  "rate_limited": { status: 429, headers: { "Retry-After": "1" }, json: { error: "rate_limited" } },
  "not_accepting": { status: 503, json: error("not_accepting") },
  "vocabulary": {
    status: 200,
    headers: { "Cache-Control": "public, max-age=300" },
    json: {
      project_area: [{ area: "kitchen", status: "confirmed" }, { area: "koi pond", status: "proposed" }],
      project_service: ["replacement", "repair", "remodel", "maintain"],
      required: ["first_name", "last_name", "phone"],
    },
  },
};

/** An answer with what it is like filled in. @throws {Error} for a name that there is not */
export function resolved(answer: Answer | string): Answer {
  const { like, ...own } = typeof answer === "string" ? { like: answer } : answer;
  if (like === undefined) return own;
  const base = named[like];
  if (base === undefined) throw new Error(`No answer is called ${like}`);
  return { ...base, ...own };
}
