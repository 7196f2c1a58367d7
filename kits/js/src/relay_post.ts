/**
 * A page's post, as the relay takes it. This module is browser compatible.
 *
 * @module
 */

import { readBody } from "./core/body.ts";
import { parseObject } from "./core/judge.ts";
import type { Lead } from "./core/lead.ts";
import { type PageAnswer, pageKey } from "./page_protocol.ts";

/** What is let through. */
export interface Bounds {
  readonly fields: ReadonlySet<string>;
  readonly bytesMax: number;
  /** A visitor who sends more slowly is not waited for. */
  readonly timeMs: number;
}

/** A post that goes no further. */
export interface RefusedPost {
  readonly answer: PageAnswer;
  readonly httpStatus: number;
  /** For the operator, without anything that was sent. */
  readonly why: string;
  /** The names of the fields that are not let through, for whoever looks at the answer in the browser's tools. */
  readonly fields?: Readonly<Record<string, "not_allowed">>;
}

/** A post that may go on. */
export interface PagePost {
  readonly key: string;
  readonly lead: Lead;
}

/** More fields that are not allowed are not named. */
const fieldsNamedMax = 20;

/** The lead and its key, or why they are refused. */
export async function readPost(request: Request, bounds: Bounds): Promise<PagePost | RefusedPost> {
  if (request.method !== "POST") return refused(405, "it is no POST");
  const type = request.headers.get("content-type") ?? "";
  if (!/^application\/json\s*(;|$)/i.test(type)) return refused(415, "it is not application/json");
  const key = request.headers.get("idempotency-key") ?? "";
  if (!pageKey.shape.test(key)) return refused(400, "it has no idempotency key of a page");
  if (Number(request.headers.get("content-length") ?? 0) > bounds.bytesMax) return tooLarge;
  const body = await readInTime(request, bounds);
  if (!(body instanceof Uint8Array)) return body;
  const lead = readLead(body);
  if (lead === null) return refused(400, "its body is not a JSON object in UTF-8");
  const wrong = Object.entries(lead)
    .filter(([name, value]) => !bounds.fields.has(name) || !isPlain(value))
    .slice(0, fieldsNamedMax);
  if (wrong.length === 0) return { key, lead };
  return {
    ...refused(422, "it has a field that is not on the relay's list, or one that is no text, number or tick"),
    fields: Object.fromEntries(wrong.map(([name]) => [name, "not_allowed"])),
  };
}

const decoder = new TextDecoder("utf-8", { fatal: true });

/** The lead in a body; `null` when there is none. What is not UTF-8 would be posted as something else. */
function readLead(body: Uint8Array): Lead | null {
  try {
    return parseObject(decoder.decode(body));
  } catch {
    return null;
  }
}

/** A form's value is text, and at most a tick or a number; one that is not held exactly would be posted as another. */
function isPlain(value: unknown): boolean {
  if (typeof value !== "number") return typeof value !== "object" || value === null;
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
}

/** The body, or why it is not taken. */
async function readInTime(request: Request, bounds: Bounds): Promise<Uint8Array | RefusedPost> {
  const ender = new AbortController();
  const timer = setTimeout(() => ender.abort(), bounds.timeMs);
  try {
    return await readBody(request.body, bounds.bytesMax, ender.signal) ?? tooLarge;
  } catch {
    if (!ender.signal.aborted) return refused(400, "its body was cut short");
    return { ...refused(408, "its body came too slowly"), answer: { status: "try_later" } };
  } finally {
    clearTimeout(timer);
  }
}

const tooLarge = refused(413, "its body is too large");

/** A post that no repeat would help. */
export function refused(httpStatus: number, why: string): RefusedPost {
  return { answer: { status: "refused" }, httpStatus, why };
}
