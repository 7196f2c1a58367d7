/**
 * Holds what the forms listener answers to its table of codes: an unknown code, status, header or member fails.
 *
 * @module
 */

import assert from "node:assert/strict";
import { unreadErrors } from "../../src/contract/errors.ts";
import { type FormErrorCode, formErrors } from "../../src/contract/form_errors.ts";
import type { Answer } from "./client.ts";

/** What HTTP itself adds, on either runtime. */
const framing = ["connection", "content-length", "date", "keep-alive", "transfer-encoding"];
const always = ["cache-control", "content-type", "x-request-id"];
const budgets = ["ratelimit-policy", "ratelimit"];
/** Answers of a post that come after the per-IP limit. */
const limited: readonly FormErrorCode[] = [
  "invalid_json",
  "missing_required",
  "unauthorized",
  "tenant_mismatch",
  "form_not_found",
  "body_too_large",
  "rate_limited",
];

/** Fails on an answer that the table of codes does not have. */
export function assertFormAnswer(answer: Answer): void {
  const { status, headers, json, text } = answer;
  const what = `${answer.method} ${answer.path} answers ${status} ${text}`;
  const path = answer.path.replace(/\?.*/s, "");
  const isPost = /^\/v1\/forms\/[^/]+\/[^/]+$/.test(path);
  assert.equal(headers["cache-control"], "no-store", what);

  const allowed = new Set([...framing, ...always]);
  if (path === "/healthz" && status !== 405) {
    assert.ok(status === 200 || status === 503, what);
    assert.equal(headers["content-type"], "text/plain; charset=utf-8", what);
    if (answer.method !== "HEAD") assert.equal(text, status === 200 ? "ok" : "not accepting", what);
  } else {
    assert.equal(headers["content-type"], "application/json", what);
    const names = status < 300 ? acknowledged(answer, what) : refused(answer, what);
    if (isPost && names.includes("ratelimit")) { for (const name of budgets) assert.ok(headers[name], what); }
    for (const name of names) allowed.add(name);
    if (status < 300) assert.ok(isPost, what);
    if (json.request_id !== undefined) {
      const sent = Buffer.from(String(headers["x-request-id"]), "latin1").toString("utf8");
      assert.equal(json.request_id, sent, what);
    }
  }
  assert.deepEqual(Object.keys(headers).filter((name) => !allowed.has(name)), [], what);
}

/** Returns the headers that it may have. */
function acknowledged({ status, json }: Answer, what: string): string[] {
  assert.deepEqual(Object.keys(json), ["status", "submission_id", "received_at"], what);
  assert.equal(json.status, { 202: "accepted", 200: "duplicate" }[status], what);
  assert.match(json.submission_id, /^[0-9a-z]{30,}$/, what);
  assert.match(json.received_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/, what);
  return budgets;
}

function refused({ status, json, headers }: Answer, what: string): string[] {
  const code = json.error as FormErrorCode;
  const isUnread = status in unreadErrors && unreadErrors[status as keyof typeof unreadErrors].code === code;
  assert.ok(formErrors[code]?.status === status || isUnread, `${what}: ${code} has its status`);
  const unknown = Object.keys(json).filter((name) => !["error", "request_id", "fields"].includes(name));
  assert.deepEqual(unknown, [], what);
  const early = code === "body_too_large" ||
    code === "rate_limited" && !/tenant/.test(String(headers["ratelimit-policy"]));
  assert.equal(json.request_id === undefined, early, `${what}: request_id`);
  const names: string[] = limited.includes(code) || code === "not_accepting" ? [...budgets] : [];
  if (code === "rate_limited") {
    assert.ok(Number(headers["retry-after"]) >= 1, what);
    names.push("retry-after");
  }
  if (code === "method_not_allowed") {
    assert.ok(headers.allow, what);
    names.push("allow", ...budgets);
  }
  if (json.fields !== undefined) {
    assert.ok(code === "missing_required" || code === "invalid_json", what);
    const reason = code === "missing_required" ? "required" : "too_long";
    assert.deepEqual([...new Set(Object.values(json.fields))], [reason], what);
  } else assert.notEqual(code, "missing_required", what);
  return names;
}
