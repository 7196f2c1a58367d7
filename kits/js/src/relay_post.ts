/**
 * A page's post, as the relay takes it. This module is browser compatible.
 *
 * @module
 */

import { readBody } from "./core/body.ts";
import { readObject } from "./core/judge.ts";
import type { Lead } from "./core/lead.ts";
import { type PageAnswer, pageKey } from "./page_protocol.ts";

/** What is let through. */
export interface Bounds {
  readonly fields: ReadonlySet<string>;
  readonly bytesMax: number;
}

/** A post that goes no further. */
export type RefusedPost = PageAnswer & { readonly httpStatus?: number };

/** A post that may go on. */
export interface PagePost {
  readonly key: string;
  readonly lead: Lead;
}

/** A visitor who sends more slowly is not waited for. */
const bodyTimeoutMs = 20_000;
/** More fields that are not allowed are not named. */
const fieldsNamedMax = 20;

/** The lead and its key, or why they are refused. */
export async function readPost(request: Request, bounds: Bounds): Promise<PagePost | RefusedPost> {
  if (request.method !== "POST") return refused(405);
  const type = request.headers.get("content-type") ?? "";
  if (!/^application\/json\s*(;|$)/i.test(type)) return refused(415);
  const key = request.headers.get("idempotency-key") ?? "";
  if (!pageKey.shape.test(key)) return refused(400);
  if (Number(request.headers.get("content-length") ?? 0) > bounds.bytesMax) return refused(413);
  const body = await readInTime(request, bounds.bytesMax);
  if (typeof body === "number") return refused(body);
  const lead = readObject(body);
  if (lead === null) return refused(400);
  // A form's value is text, and at most a number or a tick.
  const wrong = Object.entries(lead)
    .filter(([name, value]) => !bounds.fields.has(name) || (typeof value === "object" && value !== null))
    .slice(0, fieldsNamedMax);
  if (wrong.length > 0) {
    return { status: "invalid", fields: Object.fromEntries(wrong.map(([name]) => [name, "not_allowed"])) };
  }
  return { key, lead };
}

/** The body, or the status that says why it is not taken. */
async function readInTime(request: Request, bytesMax: number): Promise<Uint8Array | number> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<number>((resolve) => {
    timer = setTimeout(() => resolve(408), bodyTimeoutMs);
  });
  try {
    return await Promise.race([readBody(request.body, bytesMax).then((body) => body ?? 413), late]);
  } catch {
    return 400;
  } finally {
    clearTimeout(timer);
  }
}

function refused(httpStatus: number): RefusedPost {
  return { status: "refused", httpStatus };
}
