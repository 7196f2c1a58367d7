/**
 * What an answer means. This module is browser compatible.
 *
 * @module
 */

import type { Answer } from "./transport.ts";

/** What an answer means for the call. */
export type Verdict<T> =
  | { readonly kind: "done"; readonly value: T }
  /** 2xx, but not the intake's: a captive portal, for example. */
  | { readonly kind: "foreign" }
  | { readonly kind: "server_error" }
  | { readonly kind: "rate_limited" }
  | { readonly kind: "unauthorized" }
  | { readonly kind: "invalid_lead"; readonly fields: Readonly<Record<string, string>> }
  | { readonly kind: "refused" };

/** A JSON object as it was read; `null` when the body is something else. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** What the server said of an accepted lead. */
export interface Acknowledged {
  /** Identifies the lead in support; keep it. Sorts by time, and has no other meaning. */
  readonly eventId: string;
  /** `duplicate` when the idempotency key was accepted before: `eventId` is then that lead's. */
  readonly status: "accepted" | "duplicate";
  /** UTC, in ISO 8601. */
  readonly receivedAt: string;
  /** The label of the key. */
  readonly source: string;
  /** What the server remarked, such as `phone_unnormalized`: no reason to post again. */
  readonly flags: readonly string[];
}

/** Judges the answer to a post. */
export function judgePost(answer: Answer): Verdict<Acknowledged> {
  const { status } = answer;
  if (status >= 200 && status < 300) {
    const value = status === 200 || status === 202 ? readAcknowledgement(readObject(answer.body)) : null;
    return value === null ? { kind: "foreign" } : { kind: "done", value };
  }
  if (status === 422) {
    const fields = readFields(readObject(answer.body));
    return fields === null ? { kind: "refused" } : { kind: "invalid_lead", fields };
  }
  return judgeStatus(status);
}

/** Judges the answer to a key check. */
export function judgeKeyCheck(answer: Answer): Verdict<"valid" | "invalid"> {
  if (answer.status === 401) return { kind: "done", value: "invalid" };
  if (answer.status === 422 && readCode(answer.body) === "validation_failed") {
    return { kind: "done", value: "valid" };
  }
  return judgeStatus(answer.status);
}

/** Judges by the status alone; what has a meaning of its own for a call has been dealt with. */
export function judgeStatus(status: number): Verdict<never> {
  if (status >= 200 && status < 300) return { kind: "foreign" };
  if (status === 401) return { kind: "unauthorized" };
  if (status === 429) return { kind: "rate_limited" };
  if (status >= 500 && status < 600) return { kind: "server_error" };
  return { kind: "refused" };
}

/** The answer's `error` where it is one of ours: a stranger's may hold anything, also what was sent. */
export function readCode(body: Uint8Array): string | null {
  const code = readObject(body)?.error;
  return typeof code === "string" && /^[a-z_]{1,64}$/.test(code) ? code : null;
}

/** What an answer of ours says is wrong. */
export function readDetail(body: Uint8Array): string | null {
  const detail = readObject(body)?.detail;
  return typeof detail === "string" && readCode(body) !== null ? detail : null;
}

const decoder = new TextDecoder();

/** The JSON object in a body; `null` when there is none. */
export function readObject(body: Uint8Array): JsonObject | null {
  return parseObject(decoder.decode(body));
}

/** The JSON object in a text; `null` when there is none. */
export function parseObject(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value as JsonObject : null;
  } catch {
    // The parser's error quotes what it read.
    return null;
  }
}

function readAcknowledgement(object: JsonObject | null): Acknowledged | null {
  if (object === null) return null;
  const { event_id: eventId, status, received_at: receivedAt, source, flags } = object;
  if (typeof eventId !== "string" || eventId === "") return null;
  if (status !== "accepted" && status !== "duplicate") return null;
  if (typeof receivedAt !== "string" || typeof source !== "string" || !isStrings(flags)) return null;
  return { eventId, status, receivedAt, source, flags };
}

function readFields(object: JsonObject | null): Readonly<Record<string, string>> | null {
  const fields = object?.fields;
  if (typeof fields !== "object" || fields === null || Array.isArray(fields)) return null;
  return isStrings(Object.values(fields)) ? fields as Record<string, string> : null;
}

/** Whether it is an array of strings. */
export function isStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
