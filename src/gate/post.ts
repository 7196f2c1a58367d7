/** The steps that all posts with an API key share: decoding, authentication, rate limits, commit and refusals. */

import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import {
  type KeyFault,
  keyFault,
  keyInText,
  type KeySurface,
  keySurface,
  maskKeys,
} from "../contract/api_key.ts";
import type { Exchange, Reply } from "../http/exchange.ts";
import { json } from "../http/reply.ts";
import { type BodyFault, bytesFault } from "../lead/body_fault.ts";
import { Unavailable } from "../store/pool.ts";
import type { Entry, Outcome } from "../store/serving/accept.ts";
import type { Committer } from "../store/serving/committer.ts";
import type { ApiKey, KeyStore } from "../store/serving/lookup.ts";
import type { Reference } from "../store/serving/reference.ts";
import type { Totals } from "../store/serving/totals.ts";
import { readIdempotencyKey } from "./idempotency_key.ts";
import type { AuthenticatedRateLimiter, Bucket, IpRateLimiter, RateDecision } from "./rate.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const encodedBody: BodyFault = {
  detail: "the body has a Content-Encoding; send it uncompressed, without that header",
  reason: "content_encoding",
};

/**
 * Decodes a body; returns a fault if its `Content-Encoding` is not `identity` or it is not UTF-8. Keeps a byte order
 * mark, because the raw body is stored unchanged.
 *
 * Source: DECISIONS, The lead envelope and The intake endpoint.
 */
export function decodeBody(exchange: Exchange, bytes: Uint8Array): string | BodyFault {
  if (!isIdentity(exchange.header("content-encoding"))) return encodedBody;
  try {
    return utf8.decode(bytes);
  } catch {
    return bytesFault(bytes);
  }
}

/** The fault for a body that did not arrive in full. */
export const incompleteBody: BodyFault = {
  detail: "the body is incomplete",
  reason: "incomplete",
};

function isIdentity(contentEncoding: string | undefined): boolean {
  return contentEncoding === undefined || contentEncoding === "" ||
    contentEncoding.toLowerCase() === "identity";
}

/** The members and headers of an error response, without its code. */
interface Refusal {
  /** The request id; `null` for 413 and the per-IP 429. */
  readonly requestId: string | null;
  /** The failing fields and their reasons. */
  readonly fields?: Readonly<Record<string, string>>;
  /** The fault in English, without values from the body; only for 400, 401 and 422. */
  readonly detail?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

type Refuse<Code extends string> = (code: Code, refusal: Refusal) => Reply;

/** Returns a renderer for the codes in an error table. Source: SPEC, Error body; `detail`: DECISIONS, Decided since. */
export function createErrorRenderer<Code extends string>(
  errors: Readonly<Record<Code, { readonly status: number }>>,
): Refuse<Code> {
  return (code, refusal) =>
    json(errors[code].status, {
      error: code,
      ...(refusal.requestId === null ? {} : { request_id: refusal.requestId }),
      ...(refusal.fields === undefined ? {} : { fields: refusal.fields }),
      ...(refusal.detail === undefined ? {} : { detail: refusal.detail }),
    }, refusal.headers);
}

/** The dependencies of a {@linkcode Post}. */
export interface GateParts {
  readonly ipLimiter: IpRateLimiter;
  readonly keys: KeyStore;
  readonly committer: Committer;
  readonly totals: Totals;
  readonly reference: () => Reference;
  /** A monotonic clock in milliseconds. */
  readonly nowMs: () => number;
}

export interface RefusalDetails extends Pick<Refusal, "fields" | "detail" | "headers"> {
  /** The fault for the log, without the caller's data. */
  readonly reason?: string;
  /** Whether the body has no fields, so that the request is a key check and its refusal is not counted. */
  readonly empty?: boolean;
}

type GateCode = "unauthorized" | "not_accepting";

// Before a 429, a key is looked up again only if the cached lookup is older than this, so that a flood stays cheap.
const cachedKeyAgeMaxMs = 1_000;

const keyInUrl: KeyFault = {
  detail:
    "the key came in the URL, which may be logged; have the key replaced, and send the new one as X-API-Key",
  reason: "key_in_url",
};
const keyInAuthorization: KeyFault = {
  detail: "the key came in Authorization; send it as X-API-Key",
  reason: "key_in_authorization",
};
const fullKey = /(?:lead|form)_(?:live|test)_[0-9A-Za-z]{38}/;

/** Whether an `Authorization` header contains a key or the start of one, in plain text or in `Basic` credentials. */
function containsKey(authorization: string): boolean {
  const [, credentials = ""] = /^basic\s+(.*)$/i.exec(authorization) ?? [];
  return keyInText.test(authorization) ||
    keyInText.test(Buffer.from(credentials, "base64").toString("latin1"));
}

const noLimit: RateDecision = { isAllowed: true, headers: {} };

/** A request that needs a key, with the decisions of the rate limiters and the authenticated key. */
export class Post<Code extends string> {
  /** The time of arrival according to {@linkcode GateParts.nowMs}. */
  readonly arrivedAtMs: number;
  readonly #exchange: Exchange;
  readonly #parts: GateParts;
  readonly #refuse: Refuse<Code | GateCode>;
  #addressDecision = noLimit;
  #lastDecision = noLimit;
  #isKeyCheck = false;
  #authenticated: { readonly key: ApiKey; readonly digest: string; readonly isCached: boolean } | null = null;

  constructor(exchange: Exchange, parts: GateParts, refuse: Refuse<Code | GateCode>) {
    this.#exchange = exchange;
    this.#parts = parts;
    this.#refuse = refuse;
    this.arrivedAtMs = parts.nowMs();
  }

  /** The request id as it is stored: without API keys. */
  get requestId(): string {
    return maskKeys(this.#exchange.requestId);
  }

  /** The headers for the rate limits that were checked so far; after a 503, only for the address's limit. */
  get headers(): RateDecision["headers"] {
    return this.#lastDecision.headers;
  }

  /** Applies the limit for the client address; returns whether the request is allowed. */
  allowAddress(): boolean {
    const { ipLimiter, reference } = this.#parts;
    this.#addressDecision = ipLimiter.allow(
      this.#exchange.clientAddress,
      reference().ipLimits,
      this.arrivedAtMs,
    );
    this.#lastDecision = this.#addressDecision;
    return this.#lastDecision.isAllowed;
  }

  /**
   * Returns the active key in `X-API-Key`, or `null`; sets the exchange's `keyId` for the access log. A key with a
   * wrong checksum or for the other surface causes no query.
   *
   * @throws {Unavailable} if the store cannot be read
   */
  authenticate(surface: KeySurface): ApiKey | null | Promise<ApiKey | null> {
    const { keys } = this.#parts;
    const text = this.#exchange.header("x-api-key") ?? "";
    if (keySurface(text) !== surface) return null;
    const digest = hash("sha256", text, "hex");
    const cached = keys.cached(digest);
    if (cached !== null) return this.#setAuthenticated(cached, digest, true);
    return keys.find(digest).then((key) => key === null ? null : this.#setAuthenticated(key, digest, false));
  }

  #setAuthenticated(key: ApiKey, digest: string, isCached: boolean): ApiKey {
    this.#exchange.keyId = String(key.id);
    this.#authenticated = { key, digest, isCached };
    return key;
  }

  /**
   * Renders 401 for a request without an active key. `detail` depends only on the request; neither the response nor its
   * timing reveals whether a key exists.
   *
   * Source: DECISIONS, Decided since (401).
   */
  refuseKey(surface: KeySurface): Promise<Reply> {
    const { query } = this.#exchange;
    const text = this.#exchange.header("x-api-key") ?? "";
    if (text.trim() !== "") return this.refuse("unauthorized", keyFault(text, surface) ?? {});
    if (keyInText.test(query)) {
      this.#reportExposedKey(query);
      return this.refuse("unauthorized", keyInUrl);
    }
    const isInAuthorization = containsKey(this.#exchange.header("authorization") ?? "");
    return this.refuse("unauthorized", isInAuthorization ? keyInAuthorization : {});
  }

  /**
   * Counts and logs an active key in the query string, because proxies may have logged it; the 401 does not wait for the
   * lookup.
   */
  #reportExposedKey(query: string): void {
    const { keys, totals } = this.#parts;
    const { requestId } = this.#exchange;
    const [text = ""] = fullKey.exec(query) ?? [];
    if (keySurface(text) === null) return;
    keys.find(hash("sha256", text, "hex")).then(
      (key) => key !== null && totals.exposed(key.id, requestId),
      // The store may be unavailable; the 401 still tells the caller to replace the key.
      () => {},
    );
  }

  /** Applies the limit for the key or tenant; returns whether the request is allowed. */
  allowAuthenticated(limiter: AuthenticatedRateLimiter, bucket: Bucket): boolean {
    this.#lastDecision = limiter.allow(bucket, this.#addressDecision, this.#parts.nowMs());
    return this.#lastDecision.isAllowed;
  }

  /** Commits an entry; the outcome is `revoked` if the key is no longer active. */
  commit(entry: Entry): Promise<Outcome> {
    const { committer, keys, totals } = this.#parts;
    return committer.commit(entry).then((outcome) => {
      if (outcome.kind !== "revoked") {
        this.#exchange.eventId = outcome.eventId;
        totals.used(entry.keyId, outcome.receivedAt);
      } else if (this.#authenticated !== null) keys.forget(this.#authenticated.digest);
      return outcome;
    });
  }

  /**
   * Renders a refusal, and counts it if a key was authenticated. First looks up a cached key again, and renders 401
   * instead if it has been revoked.
   *
   * Source: DECISIONS, The intake endpoint (key check, what a refused request leaves).
   *
   * @throws {Unavailable} if the store cannot be read
   */
  async refuse(code: Code | "unauthorized", fault: RefusalDetails = {}): Promise<Reply> {
    const authenticated = this.#authenticated;
    this.#exchange.reason = logReason(fault);
    if (authenticated === null || code === "unauthorized") return this.#reply(code, fault);
    this.#isKeyCheck = fault.empty ?? false;
    if (await this.#isRevoked(code)) {
      this.#exchange.reason = null;
      return this.#reply("unauthorized");
    }
    const reply = this.#reply(code, fault);
    if (!this.#isKeyCheck) this.#parts.totals.refused(authenticated.key.id, code, fault.fields);
    this.#log(reply, code, fault.fields);
    return reply;
  }

  /** Renders 503 for {@linkcode Unavailable}, and rethrows any other error. */
  refuseUnavailable(error: unknown): Reply {
    if (!(error instanceof Unavailable)) throw error;
    this.#lastDecision = this.#addressDecision;
    const reply = this.#reply("not_accepting");
    this.#log(reply, "not_accepting");
    return reply;
  }

  /** Adds a refused post to the post log if a key was authenticated and it is not a key check. */
  #log({ status }: Reply, error: string, fields?: RefusalDetails["fields"]): void {
    if (this.#authenticated === null || this.#isKeyCheck) return;
    const { requestId, arrivedAtMs } = this;
    const sent = readIdempotencyKey(this.#exchange.headerLines("idempotency-key"));
    this.#parts.totals.log.add({
      keyId: this.#authenticated.key.id,
      requestId,
      status,
      idempotencyKey: sent.kind === "present" ? sent.text : null,
      arrivedAtMs,
      error,
      ...(fields === undefined ? {} : { fields }),
    });
  }

  async #isRevoked(code: string): Promise<boolean> {
    if (this.#authenticated === null || !this.#authenticated.isCached) return false;
    const { digest } = this.#authenticated;
    const { keys } = this.#parts;
    if (code === "rate_limited" && keys.cached(digest, cachedKeyAgeMaxMs) !== null) return false;
    return await keys.find(digest) === null;
  }

  #reply(code: Code | GateCode, { fields, detail, headers }: RefusalDetails = {}): Reply {
    // A 413 and the per-IP 429 have no request id in the body. Source: SPEC, Error body.
    const omitsRequestId = code === "body_too_large" ||
      code === "rate_limited" && this.#authenticated === null;
    return this.#refuse(code, {
      requestId: omitsRequestId ? null : this.#exchange.requestId,
      ...(fields === undefined ? {} : { fields }),
      ...(detail === undefined ? {} : { detail }),
      headers: headers === undefined ? this.headers : { ...this.headers, ...headers },
    });
  }
}

/**
 * Returns the failing fields and any other reason for the log, or `null`; field names never come from the caller.
 */
function logReason({ fields = {}, reason }: RefusalDetails): string | null {
  const failing = Object.entries(fields).map(([name, fieldReason]) => `${name} ${fieldReason}`);
  return [...failing, ...(reason === undefined ? [] : [reason])].join(", ") || null;
}
