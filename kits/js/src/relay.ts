/**
 * The relay of a page's leads: a `Request` → `Response` handler for an edge function, which adds the key.
 *
 * The page learns what it has to do, and nothing of the key, the intake or its answers.
 *
 * @module
 */

import { idempotencyKey, readTime } from "./core/arguments.ts";
import type { Acknowledgement } from "./core/client.ts";
import {
  InvalidLeadError,
  LeadsError,
  MisconfiguredError,
  nothingSent,
  RefusedError,
} from "./core/errors.ts";
import { isThisMachine } from "./core/address.ts";
import { isStrings } from "./core/judge.ts";
import { limits } from "./core/limits.ts";
import { tell } from "./core/watch.ts";
import { type ClientOptions, LeadsClient } from "./index.ts";
import { type PageAnswer, pageKey } from "./page_protocol.ts";
import { readPost, refused, type RefusedPost } from "./relay_post.ts";

export type { ClientOptions } from "./index.ts";
export type { PageAnswer } from "./page_protocol.ts";

/** What a relay is made of: a client, and what it lets through. */
export interface RelayOptions extends ClientOptions {
  /** The pages' origins, such as `https://www.example.com`: others are answered 403. */
  readonly origins: readonly string[];
  /** The fields that a form may have: a lead with another one is answered 422. */
  readonly fields: readonly string[];
  /** Stands before every idempotency key, and keeps this site's leads apart from the customer's other sources. */
  readonly namespace: string;
  /** The largest body that a page may post: 65,536 bytes, as at the intake. */
  readonly bodyBytesMax?: number | undefined;
  /** This relay's answer: the body's coming and the post with its waits. 20,000, which is less than the page waits. */
  readonly deadlineMs?: number | undefined;
  /**
   * Hears why a lead was not accepted, `unauthorized` above all, also where the relay itself refused it: the page is
   * only told to try later, or that it was refused. What it throws or rejects with is dropped.
   */
  readonly onError?: ((error: LeadsError) => void) | undefined;
}

/** What edge runtimes hand over with a request; only `waitUntil` is used. */
export interface RelayContext {
  /** Keeps the function alive until the lead is posted, also when the visitor leaves. */
  waitUntil?(promise: Promise<unknown>): void;
}

/** Answers a page's request. It never rejects. */
export type Relay = (request: Request, context?: RelayContext) => Promise<Response>;

/** A page waits for the answer, 30 seconds a try: its visitor has less patience than a program. */
const answerTimeMs = 20_000;
/** How much of the time the body may take. */
const bodyShare = 0.5;

/**
 * Makes the handler.
 *
 * @throws {MisconfiguredError} when key, address, an origin, the fields or the namespace cannot be right
 */
export function relay(options: RelayOptions): Relay {
  const { origins, fields, namespace, bodyBytesMax = limits.leadBytesMax, onError, ...rest } = options;
  const deadlineMs = readTime("deadlineMs", rest.deadlineMs ?? answerTimeMs);
  const allowed = new Set(readNames("origins", origins).map(readOrigin));
  const named = new Set(readNames("fields", fields));
  if (!Number.isSafeInteger(bodyBytesMax) || bodyBytesMax < 1) {
    throw new MisconfiguredError("bodyBytesMax is not a whole number from 1");
  }
  if (onError !== undefined && typeof onError !== "function") {
    throw new MisconfiguredError("onError is not a function");
  }
  // The longest key that a page may name has to fit behind the namespace.
  idempotencyKey(namespace, "x".repeat(pageKey.lengthMax));
  const client = new LeadsClient({ ...rest, deadlineMs });
  const bounds = { fields: named, bytesMax: bodyBytesMax, timeMs: deadlineMs * bodyShare };

  async function answer(request: Request, context: RelayContext | undefined): Promise<Told> {
    const startMs = performance.now();
    const post = await readPost(request, bounds);
    if ("answer" in post) return refuse(post);
    const leftMs = deadlineMs - (performance.now() - startMs);
    // The page's leaving does not cancel it: its lead is on its way.
    const posting = client.postLead(post.lead, idempotencyKey(namespace, post.key), {
      deadlineMs: Math.max(1, leftMs),
    });
    try {
      context?.waitUntil?.(posting.catch(() => {}));
    } catch {
      // Without it the lead is posted for as long as the function lives.
    }
    return await posting.then(
      ({ status }: Acknowledgement): Told => ({ status }),
      (error: unknown) => explain(error, named, onError),
    );
  }

  /** Tells the operator, who may have left a field out, or an origin. */
  function refuse({ answer, httpStatus, why, fields }: RefusedPost): Told {
    tell(
      onError,
      new RefusedError(nothingSent, `The relay answered a page's post with ${httpStatus}: ${why}`),
    );
    return { ...answer, httpStatus, ...(fields === undefined ? {} : { fields }) };
  }

  return async (request, context) => {
    const origin = request.headers.get("origin");
    if (origin === null || !allowed.has(origin)) {
      return reply(refuse(refused(403, "its origin is not one of the relay's")), null);
    }
    if (request.method === "OPTIONS") return preflight(origin);
    return reply(await answer(request, context), origin);
  };
}

/** What the page is told, and how. */
type Told = PageAnswer & { readonly httpStatus?: number };

/** Names as a list. @throws {MisconfiguredError} when there are none, or one is no text */
function readNames(option: string, names: unknown): readonly string[] {
  if (!isStrings(names) || names.length === 0 || names.includes("")) {
    throw new MisconfiguredError(`The relay's ${option} are not a list of texts`);
  }
  return names;
}

/** An origin as browsers write it. @throws {MisconfiguredError} when it is not one */
function readOrigin(text: string): string {
  let url: URL | null = null;
  try {
    url = new URL(text);
  } catch {
    // Told below.
  }
  const secure = url?.protocol === "https:" || (url?.protocol === "http:" && isThisMachine(url.hostname));
  if (url === null || !secure || url.origin !== text) {
    throw new MisconfiguredError("An origin of the relay is not one, such as https://www.example.com");
  }
  return text;
}

/** What the page needs to know of a failure. */
function explain(
  error: unknown,
  fields: ReadonlySet<string>,
  onError: ((error: LeadsError) => void) | undefined,
): Told {
  if (!(error instanceof LeadsError)) return { status: "refused" };
  if (error instanceof InvalidLeadError) {
    const named = Object.entries(error.fields).filter(([name, reason]) =>
      fields.has(name) && /^[a-z_]{1,64}$/.test(reason)
    );
    if (named.length > 0) return { status: "invalid", fields: Object.fromEntries(named) };
  }
  tell(onError, error);
  return { status: error.kind === "unavailable" ? "try_later" : "refused" };
}

const httpStatuses = { accepted: 202, duplicate: 200, invalid: 422, try_later: 503, refused: 502 } as const;

function reply(answer: Told, origin: string | null): Response {
  const { httpStatus, ...told } = { httpStatus: httpStatuses[answer.status], ...answer };
  const headers = new Headers({
    "content-type": "application/json",
    "cache-control": "no-store",
    "vary": "Origin",
    "x-content-type-options": "nosniff",
  });
  if (origin !== null) headers.set("access-control-allow-origin", origin);
  if (httpStatus === 405) headers.set("allow", "POST, OPTIONS");
  return new Response(JSON.stringify(told), { status: httpStatus, headers });
}

function preflight(origin: string): Response {
  return new Response(null, {
    status: 204,
    headers: {
      "access-control-allow-origin": origin,
      "access-control-allow-methods": "POST",
      "access-control-allow-headers": "content-type, idempotency-key",
      "access-control-max-age": "7200",
      "vary": "Origin",
    },
  });
}
